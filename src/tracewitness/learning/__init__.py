"""Expectations that hold on all recorded good runs and tell wrong ones, for a person to choose from."""

from tracewitness.learning.candidates import candidates
from tracewitness.learning.good_runs import failed_by_its_own_word, with_rows
from tracewitness.learning.learned import Learned, learn
from tracewitness.learning.proposal import Candidate
from tracewitness.learning.ranking import Chosen, breaks, least
from tracewitness.learning.writing import checks_text, learned_text

__all__ = [
    "Candidate",
    "Chosen",
    "Learned",
    "breaks",
    "candidates",
    "checks_text",
    "failed_by_its_own_word",
    "learn",
    "learned_text",
    "least",
    "with_rows",
]

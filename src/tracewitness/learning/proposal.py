"""An expectation that could be proposed."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from tracewitness.expectations import Operator
from tracewitness.redaction import Redaction

__all__ = ["Candidate", "without_secrets"]


class Candidate(Struct, frozen=True):
    """An expectation that holds on all recorded good runs.

    Attributes:
        family: what sort of expectation it is.
        operator: the check.
        deciding: how many of the runs decided what it says; the others would have come to the same.
        speaks: in how many runs there was something for it to look at.
    """

    family: str
    operator: Operator
    deciding: int
    speaks: int


def without_secrets(candidates: Iterable[Candidate], redaction: Redaction) -> list[Candidate]:
    """Return the candidates in which nothing would have to be hidden: a file of expectations is shown to many."""

    def is_shown(candidate: Candidate) -> bool:
        written = candidate.operator.to_mapping()
        return bool(redaction.value(written) == written)

    return [candidate for candidate in candidates if is_shown(candidate)]

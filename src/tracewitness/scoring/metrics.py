"""The five metrics, their weights and the score."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from tracewitness.display import nearest_name, show
from tracewitness.errors import UsageError

from .lineup import Lineup

__all__ = ["DEFAULT_WEIGHTS", "ArgumentTotals", "Metrics", "measure", "merged_weights", "score_of"]

DEFAULT_WEIGHTS: Final[Mapping[str, float]] = {
    "selection_accuracy": 0.4,
    "argument_f1": 0.3,
    "sequence_accuracy": 0.2,
    "redundant_rate": 0.1,
    "required_call_recall": 0.0,
}

_LARGEST: Final = 1e300  # so that their sum is finite, too


class Metrics(Struct, frozen=True):
    """The five metrics, each from 0 to 1.

    Attributes:
        selection_accuracy: of the calls made, the share whose tool is expected.
        argument_f1: the harmonic mean of precision and recall of the arguments, over the pairs of calls.
        sequence_accuracy: how alike the orders of the tools are.
        redundant_rate: of the calls made, the share beyond the expected number of each tool; less is better.
        required_call_recall: of the expected calls, the share that was made and did not fail.
    """

    selection_accuracy: float = 1.0
    argument_f1: float = 1.0
    sequence_accuracy: float = 1.0
    redundant_rate: float = 0.0
    required_call_recall: float = 1.0


class ArgumentTotals(Struct, frozen=True):
    """Sums over the arguments and results of all pairs, and of the expected calls without a partner.

    Attributes:
        correct: those that came as expected.
        given: those that came.
        expected: those that were expected.
    """

    correct: int
    given: int
    expected: int


def measure(expected: Lineup, made: Lineup, failed: Sequence[str], arguments: ArgumentTotals) -> Metrics:
    """Compute the metrics.

    Arguments:
        expected: the tools of the expected calls.
        made: the tools of the calls made.
        failed: the tools of those whose result is an error.
        arguments: what pairing the calls came to.
    """
    if not expected.tools or not made.tools:
        return _measure_nothing(any_expected=bool(expected.tools), any_made=bool(made.tools))
    if expected.tools == made.tools and not failed:
        return Metrics(argument_f1=_argument_f1(arguments))
    failures = Counter(failed) if failed else {}
    known = recalled = 0
    beyond = len(made.tools)
    for tool, places in expected.places.items():
        count = len(made.places.get(tool, ()))
        known += count
        beyond -= min(len(places), count)
        recalled += min(len(places), count - failures.get(tool, 0))
    return Metrics(
        selection_accuracy=known / len(made.tools),
        argument_f1=_argument_f1(arguments),
        sequence_accuracy=_sequence_accuracy(expected, made),
        redundant_rate=beyond / len(made.tools),
        required_call_recall=recalled / len(expected.tools),
    )


def _measure_nothing(*, any_expected: bool, any_made: bool) -> Metrics:
    """Return what the metrics are where no call is expected or none was made."""
    if any_expected:
        return Metrics(0.0, 0.0, 0.0, 0.0, 0.0)
    return Metrics(0.0, 0.0, 0.0, 1.0, 1.0) if any_made else Metrics()


def _argument_f1(arguments: ArgumentTotals) -> float:
    """Return 2 · precision · recall / (precision + recall), which is 2 · correct / (given + expected)."""
    total = arguments.given + arguments.expected
    return 2 * arguments.correct / total if total else 1.0


def _sequence_accuracy(expected: Lineup, made: Lineup) -> float:
    """Return 1 - distance / length of the longer list; the distance is V. Levenshtein's, of the tools' names."""
    if expected.tools == made.tools:
        return 1.0
    numbers = {tool: number for number, tool in enumerate(expected.places)}
    wanted = [numbers[tool] for tool in expected.tools]
    came = [numbers.get(tool, -1) for tool in made.tools]  # what is not expected is all the same
    return 1.0 - _edit_distance()(wanted, came) / max(len(wanted), len(came))


@cache
def _edit_distance() -> Callable[[list[int], list[int]], int]:
    """Import the distance; that is slow, and a perfect match does not need it."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance


def merged_weights(given: Mapping[str, float] | None) -> dict[str, float]:
    """Return the weights that are in force: the defaults with the given ones in their place, divided by their sum.

    Raises:
        UsageError: a key is unknown, a weight is no number that is finite and not negative, or all are zero; it
            names the key.

    >>> merged_weights({"required_call_recall": 1})["required_call_recall"]
    0.5
    """
    if given is None:
        return dict(DEFAULT_WEIGHTS)
    if not isinstance(given, Mapping):
        raise UsageError(f"weights are a mapping of metrics to numbers, not {show(given)}")
    weights = {**DEFAULT_WEIGHTS, **{name: _weight(name, value) for name, value in given.items()}}
    total = math.fsum(weights.values())
    if not total:
        raise UsageError(f"all weights are zero; one has to be more: {show(weights, 200)}")
    return {name: weight / total for name, weight in weights.items()}


def _weight(name: object, value: object) -> float:
    if name not in DEFAULT_WEIGHTS:
        near = nearest_name(str(name), DEFAULT_WEIGHTS)
        meant = f"did you mean {near!r}?" if near else f"there are {', '.join(DEFAULT_WEIGHTS)}"
        raise UsageError(f"unknown weight {show(name)}; {meant}")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(f"the weight of {name} is a number, not {show(value)}")
    if not 0 <= value <= _LARGEST:
        raise UsageError(f"the weight of {name} is finite and not negative, not {show(value)}")
    return float(value)


def score_of(metrics: Metrics, weights: Mapping[str, float]) -> float:
    """Return the weighted mean of the metrics, ``redundant_rate`` turned round; exactly 1.0 where all are perfect.

    Both sums are rounded once (R. Shewchuk's method), so that equal terms have equal sums.
    """
    parts = [
        weights["selection_accuracy"] * metrics.selection_accuracy,
        weights["argument_f1"] * metrics.argument_f1,
        weights["sequence_accuracy"] * metrics.sequence_accuracy,
        weights["redundant_rate"] * (1.0 - metrics.redundant_rate),
        weights["required_call_recall"] * metrics.required_call_recall,
    ]
    return math.fsum(parts) / math.fsum(weights.values())

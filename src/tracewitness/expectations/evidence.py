"""Tests of a call's arguments and of a result's payload, and the nearest miss among what failed them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from msgspec import UNSET

from tracewitness.errors import path_text
from tracewitness.expectations.plan import ToolNames
from tracewitness.matching import Difference, Matcher, compile_expected, inside_envelope, sees_envelope
from tracewitness.matching.values import UndecidedError
from tracewitness.trace import MalformedArguments, MalformedResult, ToolCall, ToolResult
from tracewitness.verdict import NearMiss

__all__ = ["ArgumentsTest", "Misses", "PayloadTest", "arguments_test", "instead"]

#: Of the failed candidates so many of the first and so many of the last are kept to find the nearest among: to compare
#: all of them would cost too much in a long trace, and an agent that tries again ends near to what was asked for.
_KEPT_MISSES = 8
#: How far a value is counted to say how much of it differs.
_MOST_LEAVES = 1000


class ArgumentsTest:
    """Whether a call's arguments are as expected, by ``subset``. Malformed ones match nothing.

    Attributes:
        matches: whether decoded arguments match; for a caller who knows that they are a mapping.
        decides: the same, but None where it can't be told; for a caller who must rule a match out.
    """

    __slots__ = ("_compiled", "decides", "matches")

    def __init__(self, expected: Any) -> None:
        self._compiled = compile_expected(expected, "subset")
        self.matches: Callable[[Any], bool] = self._compiled.matches
        self.decides: Callable[[Any], bool | None] = self._compiled.decides

    def holds(self, call: ToolCall) -> bool:
        """Whether the call's arguments match."""
        return call.args.__class__ is not MalformedArguments and self.matches(call.args)

    def differences(self, call: ToolCall) -> list[Difference]:
        """Return where the call's arguments differ."""
        if isinstance(call.args, MalformedArguments):
            reason = f"the arguments could not be read: {call.args.reason}"
            return [Difference(("args",), self._compiled.expected, call.args.raw, reason)]
        return self.mapping_differences(call.args)

    def doubt(self, call: ToolCall) -> str:
        """Say, to go on a sentence about the call's arguments, why it can't be told whether they match."""
        if isinstance(call.args, MalformedArguments):
            return "could not be read"
        first = self.differences(call)[0]
        return f"can't be compared ({path_text(first.path, root='')}: {first.reason})"

    def mapping_differences(self, args: Any) -> list[Difference]:
        """Return where decoded arguments differ."""
        return self._compiled.differences(args, ("args",))


def arguments_test(expected: Any) -> ArgumentsTest | None:
    """Make the test of a field ``args``; None where it is not given, since any arguments will do."""
    return None if expected is UNSET else ArgumentsTest(expected)


class PayloadTest:
    """Whether a result is as expected, by ``subset``.

    Where the payload is an envelope, a mapping with the one key ``result`` (also as JSON text), what is inside counts,
    once. The envelope itself counts as well for a plain mapping that demands the key ``result``, or nothing at all:
    everything else could hold on it because something is not there.

    Arguments:
        expected: what the payload must match.
        is_error: whether the recording must mark the result as an error.
        empty_is_any: whether an expected ``{}`` stands for any payload, as in ``before`` and ``next``.
    """

    __slots__ = ("_any", "_compiled", "_matches", "_sees_envelope", "is_error")

    def __init__(self, expected: Any, *, is_error: bool = False, empty_is_any: bool = True) -> None:
        self._compiled = compile_expected(expected, "subset")
        self._matches = self._compiled.matches
        self._sees_envelope = sees_envelope(self._compiled.expected)
        self._any = empty_is_any and isinstance(expected, dict) and not expected
        self.is_error = is_error

    def holds(self, result: ToolResult) -> bool:
        """Whether the result matches."""
        if (result.is_error is True) is not self.is_error:
            return False
        if self._any:
            return not result.is_malformed
        payload = result.payload
        return payload.__class__ is not MalformedResult and self._payload_holds(payload)

    def _payload_holds(self, payload: Any) -> bool:
        if payload.__class__ is dict and len(payload) != 1:  # quickly: most payloads are no envelopes
            return self._matches(payload)
        if self._sees_envelope and self._matches(payload):
            return True
        try:
            return self._matches(inside_envelope(payload))
        except UndecidedError:
            return False

    def differences(self, result: ToolResult) -> list[Difference]:
        """Return where the result differs."""
        if isinstance(result.payload, MalformedResult):
            reason = f"the result could not be read: {result.payload.reason}"
            return [Difference(("result",), self._compiled.expected, result.payload.raw, reason)]
        if (result.is_error is True) is not self.is_error:
            reason = "the recording marks the result as an error" if result.is_error else "the result is no error"
            return [Difference(("is_error",), self.is_error, result.is_error is True, reason)]
        return self._payload_differences(result.payload)

    def _payload_differences(self, payload: Any) -> list[Difference]:
        try:
            inside = inside_envelope(payload)
        except UndecidedError as undecided:
            return [Difference(("result",), self._compiled.expected, payload, undecided.reason)]
        readings = [payload, inside] if self._sees_envelope else [inside]
        return min((self._compiled.differences(reading, ("result",)) for reading in readings), key=_distance)


def _distance(differences: Iterable[Difference]) -> int:
    """Count the leaves that differ. What is missing, or has another number of items, counts with all that is in it."""
    return sum(
        1 if isinstance(each.expected, Matcher) else max(_size(each.expected), _size(each.actual))
        for each in differences
    )


def _size(value: Any) -> int:
    """Count the leaves of a value, and the mappings and lists themselves, up to a bound."""
    count, rest = 0, [value]
    while rest and count < _MOST_LEAVES:
        item = rest.pop()
        count += 1
        if isinstance(item, dict):
            rest.extend(islice(dict.values(item), _MOST_LEAVES))
        elif type(item) in (list, tuple):
            rest.extend(islice(item, _MOST_LEAVES))
    return count


def instead(wanted: str, calls: Iterable[ToolCall], names: ToolNames) -> tuple[str, ...]:
    """Return the names of the tools that were called where ``wanted`` was not; none where it was called, too."""
    called = tuple(dict.fromkeys(call.name for call in calls))
    primary = names.primary(wanted)
    return () if any(primary in names.counted_as(name) for name in called) else called


_Candidate = tuple[int, str, Callable[[], list[Difference]]]


class Misses:
    """Candidates that failed a test, to find the nearest among when somebody asks.

    The first 8 and the last 8 are kept, whatever their number.
    """

    __slots__ = ("_first", "_last")

    def __init__(self) -> None:
        self._first: list[_Candidate] = []
        self._last: deque[_Candidate] = deque(maxlen=_KEPT_MISSES)

    def add(self, position: int, tool: str, differences: Callable[[], list[Difference]]) -> None:
        """Add a candidate.

        Arguments:
            position, tool: of the candidate, as in `NearMiss`.
            differences: finds where it differs from what was asked for.
        """
        kept = self._first if len(self._first) < _KEPT_MISSES else self._last
        kept.append((position, tool, differences))

    def nearest(self) -> NearMiss | None:
        """Return the candidate of which the fewest leaves differ; of those that tie, the earliest."""
        found = [(position, tool, tuple(differences())) for position, tool, differences in (*self._first, *self._last)]
        nearest = min(found, key=lambda candidate: _distance(candidate[2]), default=None)
        return None if nearest is None else NearMiss(*nearest)

"""Tests of a call's arguments and of a result's payload, and the nearest miss among what failed them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET

from tracewitness.matching import Difference, Matcher, compile_expected, json_value
from tracewitness.trace import MalformedArguments, MalformedResult, ToolCall, ToolResult
from tracewitness.verdict import NearMiss

__all__ = ["ArgumentsTest", "Misses", "PayloadTest", "arguments_test"]

#: So many failed candidates are kept to find the nearest among; more would cost memory in a long trace.
_KEPT_MISSES = 16


class ArgumentsTest:
    """Whether a call's arguments are as expected, by ``subset``. Malformed ones match nothing.

    Attributes:
        matches: whether decoded arguments match; for a caller who knows that they are a mapping.
    """

    __slots__ = ("_compiled", "matches")

    def __init__(self, expected: Any) -> None:
        self._compiled = compile_expected(expected, "subset")
        self.matches: Callable[[Any], bool] = self._compiled.matches

    def holds(self, call: ToolCall) -> bool:
        """Whether the call's arguments match."""
        return call.args.__class__ is not MalformedArguments and self.matches(call.args)

    def differences(self, call: ToolCall) -> list[Difference]:
        """Return where the call's arguments differ."""
        if isinstance(call.args, MalformedArguments):
            reason = f"the arguments could not be read: {call.args.reason}"
            return [Difference(("args",), self._compiled.expected, call.args.raw, reason)]
        return self.mapping_differences(call.args)

    def mapping_differences(self, args: Any) -> list[Difference]:
        """Return where decoded arguments differ."""
        return self._compiled.differences(args, ("args",))


def arguments_test(expected: Any) -> ArgumentsTest | None:
    """Make the test of a field ``args``; None where it is not given, since any arguments will do."""
    return None if expected is UNSET else ArgumentsTest(expected)


class PayloadTest:
    """Whether a result is as expected, by ``subset``.

    The payload counts, and where it is an envelope, a mapping with the one key ``result`` (also as JSON text), what is
    inside counts as well, once. A matcher at the top sees only what is inside.

    Arguments:
        expected: what the payload must match.
        is_error: whether the recording must mark the result as an error.
        empty_is_any: whether an expected ``{}`` stands for any payload, as in ``before`` and ``next``.
    """

    __slots__ = ("_any", "_compiled", "_matches", "_only_inside", "is_error")

    def __init__(self, expected: Any, *, is_error: bool = False, empty_is_any: bool = True) -> None:
        self._compiled = compile_expected(expected, "subset")
        self._matches = self._compiled.matches
        self._only_inside = isinstance(expected, Matcher)
        self._any = empty_is_any and isinstance(expected, dict) and not expected
        self.is_error = is_error

    def holds(self, result: ToolResult) -> bool:
        """Whether the result matches."""
        if (result.is_error is True) is not self.is_error or result.payload.__class__ is MalformedResult:
            return False
        if self._any:
            return True
        return self._payload_holds(result.payload)

    def _payload_holds(self, payload: Any) -> bool:
        if self._only_inside:
            return self._matches(opened(payload))
        if self._matches(payload):
            return True
        inside = opened(payload)
        return inside is not payload and self._matches(inside)

    def differences(self, result: ToolResult) -> list[Difference]:
        """Return where the result differs."""
        if isinstance(result.payload, MalformedResult):
            reason = f"the result could not be read: {result.payload.reason}"
            return [Difference(("result",), self._compiled.expected, result.payload.raw, reason)]
        if (result.is_error is True) is not self.is_error:
            reason = "the recording marks the result as an error" if result.is_error else "the result is no error"
            return [Difference(("is_error",), self.is_error, result.is_error is True, reason)]
        return self._compiled.differences(opened(result.payload), ("result",))


def opened(payload: Any) -> Any:
    """Return what is inside an envelope, or the payload itself where it is none.

    >>> opened({"result": 5}), opened('{"result": 5}'), opened({"result": 5, "took": 1})
    (5, 5, {'result': 5, 'took': 1})
    """
    candidate = payload
    if isinstance(payload, str):
        # Decoding is dear, so a text that can't spell the key is not decoded. A key may be spelt with escapes.
        if '"result"' not in payload and "\\u" not in payload:
            return payload
        candidate = json_value(payload)
    if isinstance(candidate, Mapping) and len(candidate) == 1 and "result" in candidate:
        return candidate["result"]
    return payload


class Misses:
    """Candidates that failed a test, to find the nearest among when somebody asks.

    Attributes:
        position, tool: of the candidate, as in `NearMiss`.
    """

    __slots__ = ("_candidates",)

    def __init__(self) -> None:
        self._candidates: list[tuple[int, str, Callable[[], list[Difference]]]] = []

    def add(self, position: int, tool: str, differences: Callable[[], list[Difference]]) -> None:
        """Keep a candidate, as long as there is room."""
        if len(self._candidates) < _KEPT_MISSES:
            self._candidates.append((position, tool, differences))

    def nearest(self) -> NearMiss | None:
        """Return the candidate with the fewest differences; of those that tie, the earliest."""
        found = [NearMiss(position, tool, tuple(differences())) for position, tool, differences in self._candidates]
        return min(found, key=lambda miss: len(miss.differences), default=None)

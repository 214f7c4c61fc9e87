"""An expected call and the actual call that stands for it."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, Struct

from tracewitness.matching import MISSING, Difference, compile_expected, sees_envelope
from tracewitness.trace import MalformedArguments, MalformedResult, ToolCall

from .demands import payloads
from .expected import ExpectedCall

__all__ = ["Pair"]

_MOST: Final = 20  # so that a failure can be read, and costs as much as is shown


class Pair(Struct, frozen=True):
    """An expected call and the actual call that stands for it.

    Attributes:
        expected: the expected call.
        actual: the actual call.
        policy: how values are compared, ``lenient`` or ``strict``.
        correct: how many arguments, and a result, came as expected.
        given: how many came where they are checked.
        demanded: how many were expected.
    """

    expected: ExpectedCall
    actual: ToolCall
    policy: str
    correct: int
    given: int
    demanded: int

    @property
    def is_exact(self) -> bool:
        """Whether everything that is checked came as expected, and nothing else came."""
        return self.correct == self.given == self.demanded

    @property
    def differences(self) -> list[Difference]:
        """Where the actual call is not as expected, and why; an empty list where `is_exact`. Made on every call.

        Of the arguments and of the result the first 20 each; one at the end stands for the rest and says how many.
        """
        if self.is_exact:
            return []
        return [*self._argument_differences(), *self._result_differences()]

    def _argument_differences(self) -> list[Difference]:
        expected, args = self.expected.args, self.actual.args
        if expected is UNSET:
            return []
        if isinstance(args, MalformedArguments):
            reason = f"the arguments could not be read: {args.reason}"
            return [Difference(("args",), expected, args.raw, reason)]
        return compile_expected(expected, self.policy).differences(args, ("args",), _MOST)

    def _result_differences(self) -> list[Difference]:
        expected, actual = self.expected.result, self.actual
        if expected is UNSET:
            return []
        if actual.answer is None:
            return [Difference(("result",), expected, MISSING, "nothing answered the call")]
        if isinstance(actual.result, MalformedResult):
            reason = f"the result could not be read: {actual.result.reason}"
            return [Difference(("result",), expected, actual.result.raw, reason)]
        if actual.is_error is True:
            return [Difference(("result",), expected, actual.result, "the recording marks the result as an error")]
        compiled = compile_expected(expected, self.policy)
        results = payloads(actual, only_inside=not sees_envelope(compiled.expected))
        if not results:
            reason = "whether it is an envelope can't be told: its JSON can't be read"
            return [Difference(("result",), expected, actual.result, reason)]
        found = [compiled.differences(result, ("result",), _MOST) for result in results]
        return [] if [] in found else found[-1]

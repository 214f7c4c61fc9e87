"""`Guard`: events come in as they happen, and each call is allowed, warned of or blocked before it is made."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from tracewitness.capture.snapshots import snapshot
from tracewitness.display import nearest_name, printable, show
from tracewitness.errors import UsageError
from tracewitness.expectations import CheckSet, Operator, compile_checks
from tracewitness.expectations.tentative import Offence, TentativeCheck
from tracewitness.guard.decisions import Action, Decision, reason_of
from tracewitness.guard.log import DecisionLog
from tracewitness.readers.frameworks.guard_log import blocked_event
from tracewitness.suites import Suite, load_suite
from tracewitness.trace import Trace
from tracewitness.verdict import Verdict

__all__ = ["Guard", "OnBroken"]

F = TypeVar("F")

OnBroken = Literal["block", "warn"]

_MODES: Final = ("block", "warn")
#: The key of `on_broken` for all checks that it does not name.
_DEFAULT: Final = "default"


class Guard:
    """Answer, before a call is made, whether it may be.

    A call is blocked where making it would break a check for good: a forbidden call, one before what must come first,
    one over a budget, one of an unlisted tool, a duplicate, arguments that the schema or ``every_call`` refuses, a
    value that nothing grounds. What only the end decides (``tool_called``) blocks nothing. A blocked call did not
    happen: in the trace and in the log a system message stands in its place, which says so and keeps the call in its
    metadata. So `verdicts`, and ``tracewitness check`` on the log, speak of what was really done.

    It may be used by threads and tasks at once: what it decides, it decides one after the other.

    Arguments:
        checks: an eval file or its path, a `CheckSet`, or a list of expectations.
        case: of an eval file, the case whose checks count; without it, those that are common to all cases.
        on_broken: ``block`` or ``warn`` for all checks; or a mapping to one of the two from a check's title, name,
            reason or type; ``default`` there stands for all others, and is ``block`` where it is not given.
        fail: what happens where a check can't be evaluated, the log can't be written, or a call can't be understood:
            ``closed`` blocks the call, ``open`` warns.
        log: a new file for the log.
        sync: whether each line of the log is on the disk before the guard answers.

    Raises:
        UsageError: an argument can't be used, such as a name in ``on_broken`` that no check has.
        ExpectationError: a check is malformed.

    >>> guard = Guard([{"type": "tool_not_called", "tool": "refund", "before": {"tool": "verify"}}])
    >>> guard.call("refund", {"order": 7}).action
    'block'
    >>> verify = guard.call("verify", {})
    >>> guard.result(verify, "ok")
    >>> guard.call("refund", {"order": 7}).action
    'allow'
    >>> [verdict.status for verdict in guard.verdicts()]
    ['held', 'held']
    """

    def __init__(
        self,
        checks: Suite | CheckSet | str | os.PathLike[str] | Iterable[Any],
        *,
        case: str | None = None,
        on_broken: OnBroken | Mapping[str, OnBroken] = "block",
        fail: Literal["closed", "open"] = "closed",
        log: str | os.PathLike[str] | None = None,
        sync: bool = False,
    ) -> None:
        if fail not in ("closed", "open"):
            raise UsageError(f"fail is 'closed' or 'open', not {show(fail)}")
        self._checks = _check_set(checks, case)
        self._modes = _modes(self._checks.operators, on_broken)
        self._on_failure: Action = "block" if fail == "closed" else "warn"
        self._live = TentativeCheck(self._checks)
        self._log = None if log is None else DecisionLog(log, sync=sync)
        self._failure = ""
        self._numbers = itertools.count(1)
        self._open: dict[str | int, str] = {}
        self._lock = threading.Lock()

    def call(self, tool: str, args: Any = None, *, call_id: str | int | None = None, by: str | None = None) -> Decision:
        """Decide about a call. One that is allowed stands in the trace from then on: make it.

        Arguments:
            tool: the tool's name.
            args: the arguments; a text is taken for arguments that are not decoded yet.
            call_id: its id, where it has one; one is made where not.
            by: the agent that makes it.
        """
        with self._lock:
            number = call_id if call_id is not None and call_id not in self._open else f"guard-{next(self._numbers)}"
            event: dict[str, Any] = {"call": tool, "id": number, "at": time.time()}
            event["raw_args" if isinstance(args, str) else "args"] = {} if args is None else args
            if by is not None:
                event["by"] = by
            return self._decided(event)

    def result(self, decision: Decision, payload: Any, *, is_error: bool = False) -> None:
        """Tell what a call that was allowed returned; the model gets it whatever the checks say of it.

        Raises:
            UsageError: the call was blocked, or has a result already.
        """
        copied = snapshot(payload)
        event: dict[str, Any] = {"result": copied.value}
        if copied.opaque:
            event = {"raw_result": show(copied.value, 20_000)}
        event |= {"of": decision.tool, "id": decision.call_id, "is_error": is_error, "at": time.time()}
        with self._lock:
            if self._open.pop(decision.call_id, None) is None:
                why = "it has a result already" if decision.allowed else "it was blocked"
                raise UsageError(f"the call {show(decision.call_id)} waits for no result: {why}")
            self._happened("event", event)

    def feed(self, event: Any) -> Decision:
        """Take any event in neutral form; a call is decided about, as by `call`.

        What is no event at all may hide a call: it is kept as a problem of the trace, and ``fail`` says the answer.
        """
        if isinstance(event, Mapping) and "call" in event:
            with self._lock:
                return self._decided({"id": f"guard-{next(self._numbers)}", "at": time.time(), **event})
        with self._lock:
            if isinstance(event, Mapping):
                event = {"at": time.time(), **event}
                if "result" in event or "raw_result" in event:
                    self._open.pop(event.get("id", ""), None)
            problems = len(self._live.trace.problems)
            self._happened("event", event)
            unread = self._live.trace.problems[problems:]
            if not unread:
                return Decision("allow", "", "")
            return Decision(self._on_failure, "", "", tuple(printable(str(each), 300) for each in unread))

    def user(self, text: str) -> None:
        """Tell what the user said."""
        self.feed({"user": text})

    def agent(self, text: str, *, by: str | None = None) -> None:
        """Tell what an agent said."""
        self.feed({"agent": text} if by is None else {"agent": text, "by": by})

    def verdicts(self) -> list[Verdict]:
        """Return what the checks say of what happened so far: at the end of a run, their verdicts."""
        with self._lock:
            return self._live.verdicts()

    @property
    def trace(self) -> Trace:
        """What happened so far, as a trace of its own."""
        with self._lock:
            return Trace.from_events(self._live.trace.to_events())

    def close(self) -> None:
        """Close the log. What is decided after that is a failure of the guard."""
        with self._lock:
            if self._log is not None:
                self._log.close()
                self._log, self._failure = None, "the log is closed"

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def tool(self, function: F | None = None, /, *, name: str | None = None, returns: bool = False) -> Any:
        """Wrap a tool, so that each of its calls is decided about, and each result is told.

        Arguments:
            function: a function, async or not.
            name: the tool's name; by default the function's.
            returns: whether a blocked call returns the message for the model; else it raises `BlockedCallError`.

        Raises:
            UsageError: it is no such function; generators can't be watched.

        >>> guard = Guard([{"type": "tool_not_called", "tool": "drop_table"}])
        >>> @guard.tool(returns=True)
        ... def drop_table(table: str) -> str:
        ...     return "dropped"
        >>> drop_table("orders")
        'The call to drop_table was not made: drop_table was called (event 0), and must not be'
        """
        from tracewitness.guard.functions import guarded  # it needs what is here

        def wrap(given: Callable[..., Any]) -> Callable[..., Any]:
            return guarded(self, given, name, returns=returns)

        return wrap if function is None else wrap(function)  # type: ignore[arg-type]  # checked where it is wrapped

    def _decided(self, given: Mapping[str, Any]) -> Decision:
        """Decide about a call, write it down, and let it happen or not."""
        tool, event = str(given["call"]), dict(given)
        broken: frozenset[int] = frozenset()
        copied = snapshot(event)
        if copied.opaque or self._failure:
            reason = self._failure or f"the call can't be written down: {copied.opaque[0].reason}"
            event = copied.value if not copied.opaque else {"call": tool, "id": given["id"], "raw_args": show(event)}
            decision = Decision(self._on_failure, tool, given["id"], (reason,))
        else:
            event = copied.value
            decision, broken = self._judged(event, tool)
        if not self._written(decision.action, event, decision.reasons) and decision.allowed:
            decision = Decision(self._on_failure, tool, given["id"], (*decision.reasons, self._failure))
        self._live.feed(event if decision.allowed else blocked_event(event, decision.reasons), broken)
        if decision.allowed:
            self._open[decision.call_id] = tool
        return decision

    def _judged(self, event: dict[str, Any], tool: str) -> tuple[Decision, frozenset[int]]:
        try:
            offences = self._live.would_break(event)
        except Exception as error:  # noqa: BLE001 - whatever fails here is decided by `fail`
            reason = f"the call can't be decided about: {printable(str(error), 300)}"
            return Decision(self._on_failure, tool, event["id"], (reason,)), frozenset()
        actions = [self._action(offence) for offence in offences]
        action: Action = "block" if "block" in actions else "warn" if actions else "allow"
        counted = [each.verdict for each, does in zip(offences, actions, strict=True) if does == action]
        reasons = tuple(reason_of(verdict) for verdict in counted)
        decision = Decision(action, tool, event["id"], reasons, tuple(counted))
        return decision, frozenset() if action == "block" else frozenset(each.number for each in offences)

    def _action(self, offence: Offence) -> Action:
        if offence.verdict.status == "error" and self._on_failure == "warn":
            return "warn"
        return "block" if offence.verdict.status == "error" else self._modes[offence.number]

    def _happened(self, action: str, event: Any) -> None:
        self._written(action, event, ())
        self._live.feed(event)

    def _written(self, action: str, event: Any, reasons: tuple[str, ...]) -> bool:
        """Write to the log, and remember where that failed: what happens from then on is not witnessed."""
        if self._log is None:
            return not self._failure
        try:
            self._log.write(action, event, reasons)
        except (OSError, TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
            self._failure = f"the guard's log can't be written: {printable(str(error), 200)}"
            return False
        return True


def _check_set(checks: Any, case: str | None) -> CheckSet:
    if isinstance(checks, (str, Path, os.PathLike)):
        checks = load_suite(checks)
    if isinstance(checks, Suite):
        return _of_suite(checks, case)
    if case is not None:
        raise UsageError(f"only an eval file has cases, so case={show(case)} picks nothing; hand over a suite")
    return checks if isinstance(checks, CheckSet) else compile_checks(checks)


def _of_suite(suite: Suite, case: str | None) -> CheckSet:
    operators = suite.common_tool_expectations
    if case is not None:
        operators = suite.select([case]).cases[0].tool_expectations
    if not operators:
        whose = "common to all cases" if case is None else f"in the case {show(case)}"
        raise UsageError(f"{printable(suite.source)}: no check is {whose}, so there is nothing to guard; name a case")
    return CheckSet(operators, suite.aliases)


def _modes(operators: tuple[Operator, ...], on_broken: Any) -> list[OnBroken]:
    """Return what each check does to a call that breaks it."""
    given = on_broken if isinstance(on_broken, Mapping) else {_DEFAULT: on_broken}
    wrong = next((mode for mode in given.values() if mode not in _MODES), None)
    if wrong is not None:
        raise UsageError(f"on_broken is 'block' or 'warn', or a mapping to one of them, not {show(wrong)}")
    names = [(each.title, each.reason_text, each.type_name) for each in operators]
    known = {name for labels in names for name in labels if name}
    for name in given:
        if name != _DEFAULT and name not in known:
            near = nearest_name(name, known) if isinstance(name, str) else None
            hint = f"{show(near)} was meant" if near else f"they are {', '.join(map(show, sorted(known)))}"
            raise UsageError(f"on_broken: no check is called {show(name)}; {hint}")
    default = given.get(_DEFAULT, "block")
    return [next((given[name] for name in labels if name in given), default) for labels in names]

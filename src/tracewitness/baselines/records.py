"""The calls of a run as a baseline has them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from tracewitness.baselines.encoding import Comparing, expectation, part_of, written
from tracewitness.errors import ExpectationError
from tracewitness.matching import compile_expected, to_file_notation
from tracewitness.path_patterns import PathPattern, PathPatterns, Reach
from tracewitness.redaction import Redaction
from tracewitness.trace import MalformedArguments, MalformedResult, ToolCall, ToolResult, Trace

__all__ = ["CallRecord", "Groups", "Preparation", "records_of"]

_DROPPED: Final = object()
_IGNORED: Final = "[ignored]"


class CallRecord(Struct, frozen=True):
    """One call as it came.

    Attributes:
        call: what is compared in any case: ``call`` (the tool's name), ``by``, ``args`` or ``raw_args``.
        answer: what came back: ``result`` or ``raw_result``, and ``is_error``; empty where nothing did.
        position: of the call in the trace.
        number: of the call among the calls.
        parallel: the number of the group of calls that it was made with.
    """

    call: dict[str, Any]
    answer: dict[str, Any]
    position: int
    number: int
    parallel: int

    @property
    def tool(self) -> str:
        """The tool's name."""
        return str(self.call["call"])

    def seen(self, *, results: bool) -> dict[str, Any]:
        """Return what is compared."""
        return {**self.call, **self.answer} if results else self.call


Groups = list[list[CallRecord]]


class Preparation:
    """What is done to values before they are compared or written.

    Arguments:
        ignore: patterns of paths of what is left out.
        redaction: what is hidden. It comes first.
        matchers: by pattern of paths, what a value has to match.

    Raises:
        UsageError: a pattern is malformed.
        ExpectationError: a matcher is, or can't be written to a file.
    """

    def __init__(
        self,
        ignore: Iterable[str] = (),
        redaction: Redaction | None = None,
        matchers: Mapping[str, Any] | None = None,
    ) -> None:
        self._ignored = PathPatterns(ignore)
        self.redaction = Redaction() if redaction is None else redaction
        self._comparing = Comparing(self.redaction.text)
        self._matchers = [
            (PathPatterns((PathPattern(path),)), to_file_notation(matcher))
            for path, matcher in (matchers or {}).items()
        ]

    def came(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a call as they are compared: hidden, and without what is ignored."""
        prepared: dict[str, Any] = {}
        for field, value in fields.items():
            kept = _without(self.redaction.field(field, value), self._ignored.reach((field,)))
            if kept is not _DROPPED:
                prepared[field] = self._comparing.value(kept, (field,))
        return prepared

    def expected(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a call in the file as they are compared: without what is ignored, matchers put in."""
        prepared: dict[str, Any] = {}
        for field, value in fields.items():
            kept = value if field == "call" else _without(value, self._ignored.reach((field,)))
            if kept is not _DROPPED:
                prepared[field] = self._with_matchers(field, kept)
        return prepared

    def recorded(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a call as the file is to hold them.

        Raises:
            ExpectationError: a value is not matched by the matcher that is meant for it.
        """
        plain = {field: written(value) for field, value in fields.items()}
        matched = self.expected(plain)
        self._check(matched, fields)
        return matched

    def _check(self, matched: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
        if not self._matchers:
            return
        found = compile_expected(expectation(dict(matched)), "strict").differences(dict(fields), limit=5)
        if found:
            raise ExpectationError(f"a value is not matched by its matcher: {'; '.join(map(str, found))}")

    def _with_matchers(self, field: str, value: Any) -> Any:
        if field == "call":
            return value
        for patterns, matcher in self._matchers:
            value = _replaced(value, patterns.reach((field,)), matcher)
        return value


def _without(value: Any, reach: Reach) -> Any:
    """Return a value without what patterns mean. An item of a list leaves a mark, so that others keep their places."""
    if reach.is_over:
        return value
    if reach.is_hit:
        return _DROPPED
    if isinstance(value, str):
        return _text_without(value, reach)
    if isinstance(value, dict):
        within = _inside(value, ("$eq", "$tuple"))
        if within is not None:
            inside: Any = _without(value[within], reach)
            return {within: inside}
        kept = [(key, _without(item, reach.into(part_of(key)))) for key, item in value.items()]
        return {key: item for key, item in kept if item is not _DROPPED}
    if isinstance(value, (list, tuple)):
        items = [_without(item, reach.into(index)) for index, item in enumerate(value)]
        return type(value)(_IGNORED if item is _DROPPED else item for item in items)
    return value


def _text_without(text: str, reach: Reach) -> str:
    """Leave out what patterns mean in a text that is JSON."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        value = json.loads(text)
        kept = _without(value, reach)
        return text if kept == value else json.dumps(kept, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _replaced(value: Any, reach: Reach, matcher: Any) -> Any:
    """Return a value with a matcher wherever a pattern means it."""
    if reach.is_over:
        return value
    if reach.is_hit:
        return matcher
    if isinstance(value, dict):
        within = _inside(value, ("$tuple",))
        if within is not None:
            return {within: _replaced(value[within], reach, matcher)}
        return {key: _replaced(item, reach.into(part_of(key)), matcher) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, reach.into(index), matcher) for index, item in enumerate(value)]
    return value


def _inside(mapping: dict[Any, Any], forms: tuple[str, ...]) -> str | None:
    """Return the form in which a mapping holds another value at the same place, or None."""
    return next((form for form in forms if mapping.keys() == {form}), None)


def records_of(trace: Trace, preparation: Preparation) -> Groups:
    """Return the calls of a trace, those that were made in parallel together.

    Calls were made in parallel where nothing lies between them and a result comes after them: what made the last one
    knew no result of the others. Where a recording has no results at all, nothing tells that.

    Raises:
        UsageError: a value can't be compared with that of another run.
    """
    groups: Groups = []
    for number, run in enumerate(_runs(trace)):
        groups.append([_record(call, number, preparation) for call in run])
    return groups


def _runs(trace: Trace) -> Iterator[list[ToolCall]]:
    """Yield the calls made in parallel together, each other one alone."""
    run: list[ToolCall] = []
    for event in trace.events:
        if isinstance(event, ToolCall):
            run.append(event)
            continue
        yield from _split(run, is_parallel=isinstance(event, ToolResult))
        run = []
    yield from _split(run, is_parallel=False)


def _split(run: list[ToolCall], *, is_parallel: bool) -> Iterator[list[ToolCall]]:
    if is_parallel and run:
        yield run
    else:
        yield from ([call] for call in run)


def _record(call: ToolCall, parallel: int, preparation: Preparation) -> CallRecord:
    fields: dict[str, Any] = {"args": call.args}
    if isinstance(call.args, MalformedArguments):
        fields = {"raw_args": call.args.raw}
    if call.agent is not None:
        fields["by"] = call.agent
    prepared = preparation.came(fields)
    seen: dict[str, Any] = {"call": call.name}
    seen |= {field: prepared[field] for field in ("by", "args", "raw_args") if field in prepared}
    return CallRecord(seen, preparation.came(_answer(call)), call.position, call.number, parallel)


def _answer(call: ToolCall) -> dict[str, Any]:
    if call.answer is None:
        return {}
    result = call.answer.payload
    is_malformed = isinstance(result, MalformedResult)
    answer = {"raw_result": result.raw} if is_malformed else {"result": result}
    return {**answer, "is_error": True} if call.is_error else answer

"""Read the tool calls of a simulation's spans, and compare them with those that its lines of text tell of.

A turn's `root_span` is a tree of spans as the platform's client writes it to plain data: `name`,
`attributes`, `childSpans` (or `child_spans`). A tool's span is named `Tool` (or `Tool: X`); its attributes
hold `name`, and perhaps `args` and `response`. What is assumed beyond that:

- A tree with spans under its root is the whole account of its turn: a call that has no span there was not
  made. A bare root says nothing, and the turn's text stands alone.
- A tool's span under another tool's span or under a callback's was not called by the agent. The text may tell
  of it or not.
- Parallel calls may stand in any order. Results are compared where both accounts have one; JSON text and an
  envelope with one key (`result`, `output`) are opened first. What a span leaves out it does not confirm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET, Struct

from tracewitness.display import plural, printable, show
from tracewitness.errors import ReadError
from tracewitness.readers.literals import parse_literal
from tracewitness.readers.pairing import CallKey, freeze, pair_calls
from tracewitness.trace import MalformedArguments, MalformedResult, Problem, Record, ToolCall

__all__ = ["Comparison", "SpanCall", "TurnSpans", "read_turn_spans"]

_NAME_KEYS = ("name", "tool", "display_name", "displayName", "toolDisplayName")
_ENVELOPE_KEYS = ("result", "output")
_SHOWN_NAMES = 8


class SpanCall(Struct, frozen=True):
    """A tool call as a span has it.

    Attributes:
        name: the tool's name.
        args, response: what the span has of them; UNSET where it has nothing.
        nested: whether another tool or a callback made the call.
    """

    name: str
    args: Any
    response: Any
    nested: bool

    def records(self) -> Iterator[Record]:
        """Yield the events that the span stands for."""
        if self.args is UNSET:
            yield Record(call=self.name, raw_args="(the span has no args)")
        else:
            yield Record(call=self.name, args=self.args)
        if self.response is not UNSET:
            yield Record(result=self.response, of=self.name)


class Comparison(NamedTuple):
    """What the spans say of the calls that a turn's text tells of.

    Attributes:
        disagreement: how the two differ, or None.
        unconfirmed: whether the text tells of arguments or results that the spans leave out. They rest on the
            text alone, though the calls do not.
    """

    disagreement: str | None
    unconfirmed: bool


class TurnSpans(Struct, frozen=True):
    """The tool calls in the spans of one turn, in order.

    Attributes:
        place: where in the result they stand.
    """

    place: str
    calls: tuple[SpanCall, ...]

    def agent_calls(self) -> list[SpanCall]:
        """Return the calls that the agent itself made."""
        return [call for call in self.calls if not call.nested]

    def compare(self, calls: Sequence[ToolCall]) -> Comparison:
        """Compare the calls of the text with those of the spans.

        Arguments:
            calls: those of the same turn, with their results.
        """
        pairs, calls_left, spans_left = _match(list(calls), self.agent_calls())
        nested_pairs, calls_left, _ = _match(calls_left, [span for span in self.calls if span.nested])
        odd = [span for call, span in pairs if not _same_result(call, span)]
        found = (
            (calls_left, "{} only in the text"),
            (spans_left, "{} only in the spans"),
            (odd, "what {} returned"),
        )
        parts = [words.format(_names(some)) for some, words in found if some]
        disagreement = f"the text and the spans ({self.place}) disagree: {'; '.join(parts)}" if parts else None
        unconfirmed = any(_says_more(call, span) for call, span in (*pairs, *nested_pairs))
        return Comparison(disagreement, unconfirmed)


def read_turn_spans(turn_traces: Any) -> tuple[dict[int, TurnSpans], list[Problem]]:
    """Read the spans of all turns.

    Arguments:
        turn_traces: the result's list of ``{"turn_index": …, "root_span": …}``, or None.

    Returns:
        By the turn's index the spans of those turns that have any under their root, and what could not be
        read.
    """
    if turn_traces is None:
        return {}, []
    if not isinstance(turn_traces, list):
        return {}, [Problem(f"turn_traces is a list of turns, not {show(turn_traces)}", place="turn_traces")]
    turns: dict[int, TurnSpans] = {}
    problems: list[Problem] = []
    for number, turn in enumerate(turn_traces):
        place = f"turn_traces[{number}]"
        try:
            index, calls = _read_turn(turn)
            if index in turns:
                raise ReadError(f"turn {index} stands there twice")
        except ReadError as error:
            problems.append(Problem(error.problem, place=place))
            continue
        if calls is not None:
            turns[index] = TurnSpans(place, calls)
    return turns, problems


def _read_turn(turn: Any) -> tuple[int, tuple[SpanCall, ...] | None]:
    """Return the turn's index and its calls; None where its root has no spans under it."""
    if not isinstance(turn, Mapping):
        raise ReadError(f"a turn is a mapping, not {show(turn)}")
    index = turn.get("turn_index")
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise ReadError(f"turn_index is a whole number from 0, not {show(index)}")
    root = turn.get("root_span", turn.get("rootSpan"))
    if root is None or (isinstance(root, Mapping) and not _children(root)):
        return index, None
    return index, tuple(_tool_calls(root))


def _tool_calls(root: Any) -> Iterator[SpanCall]:
    """Yield the tool calls of a tree in order."""
    stack = [(root, False)]  # not by recursion: a tree may be deeper than Python's stack
    while stack:
        span, nested = stack.pop()
        if not isinstance(span, Mapping):
            raise ReadError(f"a span is a mapping, not {show(span)}")
        kind, _, inline_name = str(span.get("name") or "").partition(":")
        kind = kind.strip().lower()
        if kind == "tool":
            yield _span_call(span, inline_name.strip(), nested)
        nested = nested or kind in ("tool", "callback")
        stack.extend((child, nested) for child in reversed(_children(span)))


def _children(span: Mapping[Any, Any]) -> list[Any]:
    children = span.get("childSpans", span.get("child_spans")) or []
    if not isinstance(children, list):
        raise ReadError(f"the spans under a span are a list, not {show(children)}")
    return children


def _span_call(span: Mapping[Any, Any], inline_name: str, nested: bool) -> SpanCall:
    attributes = span.get("attributes") or {}
    if not isinstance(attributes, Mapping):
        raise ReadError(f"the attributes of a span are a mapping, not {show(attributes)}")
    names = (attributes.get(key) for key in _NAME_KEYS)
    name = next((name for name in names if isinstance(name, str) and name), inline_name)
    if not name:
        raise ReadError(f"a tool's span without a name, its attributes are {show(attributes)}")
    return SpanCall(name, _span_args(attributes), attributes.get("response", UNSET), nested)


def _span_args(attributes: Mapping[Any, Any]) -> Any:
    args = attributes.get("args", UNSET)
    if isinstance(args, str):
        args = _decoded(args)
    if args is None:
        return {}
    return dict(args) if isinstance(args, Mapping) else UNSET


def _decoded(text: str) -> Any:
    try:
        return parse_literal(text)
    except ReadError:
        return text


def _match(
    calls: list[ToolCall], spans: list[SpanCall]
) -> tuple[list[tuple[ToolCall, SpanCall]], list[ToolCall], list[SpanCall]]:
    """Pair the calls of text with spans, and return what is left of both.

    A span without arguments takes any call to its tool that no other span has taken.
    """
    pairs: list[tuple[ToolCall, SpanCall]] = []
    for with_args in (True, False):
        offered = [index for index, span in enumerate(spans) if (span.args is not UNSET) is with_args]
        found = pair_calls(
            [CallKey(call.name, _call_args(call) if with_args else None) for call in calls],
            [_span_key(spans[index]) for index in offered],
        )
        taken = {offered[index] for index in found.values()}
        pairs += [(calls[left], spans[offered[right]]) for left, right in found.items()]
        calls = [call for index, call in enumerate(calls) if index not in found]
        spans = [span for index, span in enumerate(spans) if index not in taken]
    return pairs, calls, spans


def _span_key(span: SpanCall) -> CallKey:
    return CallKey(span.name, None if span.args is UNSET else freeze(span.args))


def _call_args(call: ToolCall) -> Any:
    malformed = isinstance(call.args, MalformedArguments)
    return ("malformed", str(call.args.raw)) if malformed else freeze(call.args)  # type: ignore[union-attr]


def _same_result(call: ToolCall, span: SpanCall) -> bool:
    if call.answer is None or span.response is UNSET or isinstance(call.answer.payload, MalformedResult):
        return True
    return not _readings(call.answer.payload).isdisjoint(_readings(span.response))


def _says_more(call: ToolCall, span: SpanCall) -> bool:
    return span.args is UNSET or (span.response is UNSET and call.answer is not None)


def _readings(payload: Any) -> set[Any]:
    """Return what a payload may be taken for: itself, and what is inside JSON text or an envelope."""
    opened = _decoded(payload) if isinstance(payload, str) else payload
    inside = opened
    if isinstance(opened, Mapping) and len(opened) == 1:
        inside = next((opened[key] for key in _ENVELOPE_KEYS if key in opened), opened)
    return {freeze(reading) for reading in (payload, opened, inside)}


def _names(calls: Sequence[ToolCall | SpanCall]) -> str:
    names = ", ".join(printable(call.name, 60) for call in calls[:_SHOWN_NAMES])
    more = len(calls) - _SHOWN_NAMES
    return f"{names} and {plural(more, 'more call')}" if more > 0 else names

"""Read traces that OpenAI's Agents SDK exports: a list of `trace` and `trace.span` objects, of one run or several.

A tool's span is a call and its result, though without an id; the span's own serves. Spans of responses have nothing
but an id, so that what the model said is not there, nor what it called of the provider's tools.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from tracewitness.display import show
from tracewitness.readers.frameworks.agents import attribute
from tracewitness.readers.pairing import freeze
from tracewitness.readers.providers import openai_chat
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "an exported trace of the Agents SDK is a list of objects: trace, and trace.span with span_data"

_SPAN: Final = "trace.span"
# Spans that neither call nor answer.
_SILENT: Final = frozenset(
    {"agent", "custom", "guardrail", "mcp_tools", "speech", "speech_group", "task", "transcription", "turn"}
)
# Tools that the provider runs, by the name that an agent's span has for them: they have no spans of their own.
_HOSTED: Final = frozenset(
    {
        "code_interpreter",
        "file_search",
        "hosted_mcp",
        "image_generation",
        "tool_search",
        "web_search",
        "web_search_preview",
    }
)


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    items, _ = _items(document)
    return any(map(_is_span, items)) or any(map(_is_trace, items))


def read(document: Any, name: str = "") -> Trace:
    """Read one trace.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read([{"object": "trace.span", "id": "s1", "trace_id": "t1", "error": None, "span_data":
    ...     {"type": "function", "name": "search", "input": "{}", "output": "ok"}}]).to_events()
    [{'call': 'search', 'args': {}, 'id': 's1'}, {'result': 'ok', 'of': 'search', 'id': 's1', 'is_error': False}]
    """
    items, path = _items(document)
    if not detects(document):
        raise refuse(document, SHAPE)
    reading = _Reading()
    for item, place in each_mapping(reading.recording, items, path, "a span"):
        reading.enter(item, place)
    reading.read()
    return reading.recording.trace(_trace_id(document) or name)


# ----------------------------------------------------------------------------------------------------------- detection


def _items(document: Any) -> tuple[list[Any], Path]:
    """Return the objects of an export, and where they stand."""
    if isinstance(document, Mapping):
        data = document.get("data")
        return (data, ("data",)) if isinstance(data, list) else ([document], ())
    return (document, ()) if isinstance(document, list) else ([], ())


def _is_span(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("object") == _SPAN and isinstance(item.get("span_data"), Mapping)


def _is_trace(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("object") == "trace" and "workflow_name" in item


def _runs(document: Any) -> Iterator[Any]:
    """Yield the objects of each trace."""
    by_trace: dict[str, list[Any]] = {}
    latest = ""
    for item in _items(document)[0]:
        latest = _id_of_trace(item) or latest
        by_trace.setdefault(latest, []).append(item)
    yield from by_trace.values()


def _id_of_trace(item: Any) -> str:
    if not isinstance(item, Mapping):
        return ""
    return word(item, "id") if item.get("object") == "trace" else word(item, "trace_id")


def _trace_id(document: Any) -> str:
    return next(filter(None, map(_id_of_trace, _items(document)[0])), "")


# ------------------------------------------------------------------------------------------------------------- reading


class _Step(NamedTuple):
    """Something that happened.

    Attributes:
        at: when, in ISO 8601.
        tell: adds it to the trace.
    """

    at: str
    tell: Callable[[], None]


class _Around(NamedTuple):
    """What a span stands in.

    Attributes:
        agent: the agent's name.
        is_in_tool: whether the agent serves another as a tool.
    """

    agent: str | None = None
    is_in_tool: bool = False


_NOWHERE: Final = _Around()


class _Reading:
    """Reads the spans of a trace, which are exported as they end, in the order in which they began.

    Attributes:
        recording: the trace in the making.
    """

    def __init__(self) -> None:
        self.recording = Recording()
        self._spans: dict[str, Mapping[str, Any]] = {}
        self._inside: dict[str, _Around] = {}
        self._steps: list[_Step] = []
        self._made: Counter[Any] = Counter()
        self._questions = 0
        self._has_bare_response = False

    def enter(self, span: Mapping[str, Any], path: Path) -> None:
        """Take note of a span."""
        if span.get("object") == "trace":
            return
        data = span.get("span_data")
        if span.get("object") != _SPAN or not isinstance(data, Mapping):
            self.recording.doubt(f"neither a trace nor a span: {show(list(span))}", path)
            return
        self._spans[word(span, "id")] = span
        kind = word(data, "type")
        begin, end = word(span, "started_at"), word(span, "ended_at")
        if kind == "function":
            self._made[_key(data.get("name"), data.get("input"))] += 1
            self._steps.append(_Step(begin, lambda: self._call(span, data, path)))
            self._steps.append(_Step(end or begin, lambda: self._result(span, data, path)))
        elif kind == "handoff":
            self._steps.append(_Step(begin, lambda: self._handoff(data, path)))
        elif kind == "generation":
            self._steps.append(_Step(begin, lambda: self._question(span, data, path)))
            self._steps.append(_Step(end or begin, lambda: self._answer(span, data, path)))
        elif kind == "response":
            self._has_bare_response = True
        elif kind not in _SILENT:
            self.recording.doubt(f"an unknown span of type {show(data.get('type'))}", path)

    def read(self) -> None:
        """Add what the spans tell."""
        if all(step.at for step in self._steps):
            self._steps.sort(key=lambda step: step.at)
        for step in self._steps:
            step.tell()
        if self._has_bare_response:
            self._doubt_responses()

    def _call(self, span: Mapping[str, Any], data: Mapping[str, Any], path: Path) -> None:
        beside = {"mcp_data": data["mcp_data"]} if data.get("mcp_data") else None
        self.recording.call(
            data.get("name"),
            data.get("input"),
            span.get("id"),
            path,
            by=self._agent(span),
            at=span.get("started_at"),
            until=span.get("ended_at"),
            metadata=beside,
        )

    def _result(self, span: Mapping[str, Any], data: Mapping[str, Any], path: Path) -> None:
        """Read what came back. A tool that has not ended and gave nothing has no result."""
        output, error = data.get("output"), span.get("error")
        if output is None and error is None and not span.get("ended_at"):
            return
        is_error = True if error is not None else False if "error" in span else None
        payload = error if output is None else output
        self.recording.answer(
            payload, span.get("id"), path, of=data.get("name"), is_error=is_error, at=span.get("ended_at")
        )

    def _handoff(self, data: Mapping[str, Any], path: Path) -> None:
        self.recording.transfer(data.get("to_agent"), path, by=data.get("from_agent"))

    def _question(self, span: Mapping[str, Any], data: Mapping[str, Any], path: Path) -> None:
        """Read what the user said since the last time: each span tells the whole conversation again."""
        given = data.get("input")
        if not isinstance(given, list) or self._around(span).is_in_tool:
            return
        asked = [(item, index) for index, item in enumerate(given) if isinstance(item, Mapping) and _is_user(item)]
        for item, index in asked[self._questions :]:
            openai_chat.read_item(self.recording, item, (*path, "span_data", "input", index))
        self._questions = max(self._questions, len(asked))

    def _answer(self, span: Mapping[str, Any], data: Mapping[str, Any], path: Path) -> None:
        """Read what the model said, and those of its calls that no tool's span tells of."""
        begin = len(self.recording)
        for message, place in each_mapping(
            self.recording, data.get("output"), (*path, "span_data", "output"), "a message"
        ):
            calls = message.get("tool_calls")
            left = [call for call in calls if not self._was_made(call)] if isinstance(calls, list) else calls
            if left or not calls or message.get("content"):
                openai_chat.read_item(self.recording, {**message, "tool_calls": left}, place)
        attribute(self.recording, begin, self._agent(span))

    def _was_made(self, call: Any) -> bool:
        """Whether a tool's span tells of a call, too; each span stands for one."""
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            return False
        key = _key(function.get("name"), function.get("arguments"))
        if self._made[key] < 1:
            return False
        self._made[key] -= 1
        return True

    def _agent(self, span: Mapping[str, Any]) -> str | None:
        """Return the name of the agent in whose span a span stands."""
        return self._around(span).agent

    def _around(self, span: Mapping[str, Any]) -> _Around:
        """Return what a span stands in."""
        chain: list[str] = []
        parent = word(span, "parent_id")
        while parent in self._spans and parent not in self._inside:
            self._inside[parent] = _NOWHERE  # should it stand in itself
            chain.append(parent)
            parent = word(self._spans[parent], "parent_id")
        around = self._inside.get(parent, _NOWHERE)
        for span_id in reversed(chain):
            data = self._spans[span_id]["span_data"]
            if data.get("type") == "agent":
                around = around._replace(agent=word(data, "name"))
            elif data.get("type") == "function":
                around = around._replace(is_in_tool=True)
            self._inside[span_id] = around
        return around

    def _doubt_responses(self) -> None:
        """Say that the model's answers are not here, which hides a call where the provider has tools to call."""
        agents = [data for data in self._data() if data.get("type") == "agent"]
        tools = [data.get("tools") for data in agents]
        may_hide = not tools or not all(
            isinstance(names, list) and _HOSTED.isdisjoint(_texts(names)) for names in tools
        )
        self.recording.doubt("responses are told by their ids alone", (), hides_call=may_hide)

    def _data(self) -> Iterator[Mapping[str, Any]]:
        return (span["span_data"] for span in self._spans.values())


def _texts(values: list[Any]) -> set[str]:
    return {value for value in values if isinstance(value, str)}


def _is_user(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "user"


def _key(name: Any, arguments: Any) -> Hashable:
    """Return what a call is known by in two accounts of it."""
    if isinstance(arguments, str):
        with contextlib.suppress(ValueError, RecursionError):
            arguments = json.loads(arguments or "{}")
    return freeze((name, arguments))


READER: Final = Reader(
    "openai-agents-trace",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"object", "data"}),
    runs=_runs,
    is_log=True,
)

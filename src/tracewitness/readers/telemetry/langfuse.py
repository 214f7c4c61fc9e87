"""Read what Langfuse gives out: traces and observations of its API, its exports, and what its SDKs send to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, refuse, word
from tracewitness.readers.telemetry.attributes import flattened, gathered, opened
from tracewitness.readers.telemetry.conventions import kind_of
from tracewitness.readers.telemetry.payloads import hides_call, is_empty, nanoseconds, read_payload, unwrapped
from tracewitness.readers.telemetry.runs import SpanRun, runs_of
from tracewitness.readers.telemetry.span import Span
from tracewitness.readers.telemetry.timeline import trace_of_spans
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "detects", "read", "runs"]

SHAPE: Final = "observations have id, traceId, type and startTime, in a list, in data, or beside or in their trace"

# What a type of an observation says that a step is; other types are of no interest.
_KINDS: Final = {"TOOL": "tool", "AGENT": "agent", "GENERATION": "generation"}
_TYPES: Final = _KINDS.keys() | {"SPAN", "EVENT", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}
_PARENTS: Final = ("parentObservationId", "parent_observation_id")
_STARTS: Final = ("startTime", "start_time")
_ENDS: Final = ("endTime", "end_time")
_TRACE_IDS: Final = ("traceId", "trace_id")
_SESSIONS: Final = ("sessionId", "session_id")
_STATUSES: Final = ("statusMessage", "status_message")
_CALL_NAMES: Final = ("toolCallNames", "tool_call_names")
_PROJECTS: Final = ("projectId", "project_id", "observations")
_MAX_DEPTH: Final = 4
# Langfuse's own instrumentation, whose observations have names that users gave them.
_OWN_SCOPE: Final = "langfuse-sdk"
_AGENTS: Final = ("gen_ai.agent.name", "agent.name", "agent_name", "graph.node.id")
_TOOLS: Final = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
# How OpenLIT writes messages down: each in lines that begin with its role.
_ROLES: Final = ("system: ", "developer: ", "user: ", "assistant: ", "tool: ")
_role_at_line = re.compile(r"^(system|developer|user|assistant|tool): ", re.MULTILINE).split
_SPEAKERS: Final[dict[str, Role]] = {"system": "system", "developer": "system", "user": "user", "assistant": "agent"}
_OPEN_INFERENCE: Final = "llm.input_messages."
# The attribute of a trace's session, and the id of the span that stands for the trace.
_SESSION: Final = "langfuse.session.id"
_TRACE: Final = "(trace)"

_Row = dict[str, Any]


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, list):
        return any(_is_known(item, 1) for item in document)
    return _is_known(document, 0)


def _is_known(item: Any, depth: int) -> bool:
    if not isinstance(item, Mapping) or depth == _MAX_DEPTH:
        return False
    if _is_observation(item) or _is_trace(item) or _is_event(item):
        return True
    inside = [item.get(key) for key in ("trace", "observations", "data", "batch")]
    return any(
        any(_is_known(one, depth + 1) for one in value) if isinstance(value, list) else _is_known(value, depth + 1)
        for value in inside
    )


def _is_observation(item: Mapping[str, Any]) -> bool:
    return (
        word(item, "type").upper() in _TYPES
        and any(key in item for key in _STARTS)
        and any(key in item for key in (*_TRACE_IDS, *_PARENTS))
        and "id" in item
    )


def _is_trace(item: Mapping[str, Any]) -> bool:
    return "id" in item and "timestamp" in item and "type" not in item and any(key in item for key in _PROJECTS)


def _is_event(item: Mapping[str, Any]) -> bool:
    """Whether a mapping is what an SDK sends: that a trace or an observation was made, or became something else."""
    kind, doing = word(item, "type").rpartition("-")[::2]
    known = kind == "trace" or kind == "observation" or kind.upper() in _TYPES
    return known and doing in ("create", "update") and isinstance(item.get("body"), Mapping)


# --------------------------------------------------------------------------------------------------------------- rows


class _Rows:
    """The traces and observations of a document, each once: it may stand in several places, more or less completely."""

    def __init__(self, document: Any) -> None:
        self.problems = Recording()
        self.traces: dict[str, _Row] = {}
        self.observations: dict[tuple[str, str], _Row] = {}
        self.places: dict[tuple[str, str], Path] = {}
        self._collect(document, (), "", 0)

    def _collect(self, item: Any, path: Path, trace_id: str, depth: int) -> None:
        if isinstance(item, list):
            for index, one in enumerate(item):
                self._collect_one(one, (*path, index), trace_id, depth)
        else:
            self._collect_one(item, path, trace_id, depth)

    def _collect_one(self, item: Any, path: Path, trace_id: str, depth: int) -> None:
        if not isinstance(item, Mapping):
            self.problems.doubt(f"an observation is a mapping, not {show(item)}", path)
        elif _is_event(item):
            self._take_event(item, path)
        elif _is_observation(item):
            self._add_observation(item, path, trace_id)
        elif not self._collect_within(item, path, trace_id, depth):
            self.problems.doubt(f"neither an observation nor a trace: {show(list(item))}", path)

    def _collect_within(self, item: Mapping[str, Any], path: Path, trace_id: str, depth: int) -> bool:
        """Collect what a trace or a page of a list holds; False where a mapping is neither."""
        is_trace = _is_trace(item)
        if is_trace:
            trace_id = _text(item["id"])
            _merge(self.traces.setdefault(trace_id, {}), item)
            self.places.setdefault((trace_id, ""), path)
        keys = [key for key in ("trace", "observations", "data", "batch") if isinstance(item.get(key), (list, Mapping))]
        if keys and depth == _MAX_DEPTH:
            self.problems.doubt(f"nested too deeply: {show(keys)}", path)
            return True
        for key in keys:
            inside = item[key]
            if key == "trace" and isinstance(inside, Mapping):
                trace_id = _text(inside.get("id"))
            if not _is_list_of_ids(inside):
                self._collect(inside, (*path, key), trace_id, depth + 1)
        return is_trace or bool(keys)

    def _take_event(self, event: Mapping[str, Any], path: Path) -> None:
        kind = word(event, "type").rpartition("-")[0]
        body = event["body"]
        if kind == "trace":
            own = {"timestamp": event.get("timestamp"), **body}
            _merge(self.traces.setdefault(_text(body.get("id")), {}), own)
            self.places.setdefault((_text(body.get("id")), ""), (*path, "body"))
        else:
            own = body if kind == "observation" else {"type": kind.upper(), **body}
            self._add_observation(own, (*path, "body"), "")

    def _add_observation(self, item: Mapping[str, Any], path: Path, trace_id: str) -> None:
        observation_id = _text(item.get("id"))
        if not observation_id:
            self.problems.doubt(f"an observation without an id: {show(item.get('name'))}", path)
            return
        key = _text(_first(item, _TRACE_IDS)) or trace_id, observation_id
        _merge(self.observations.setdefault(key, {}), item)
        self.places[key] = path


def _is_list_of_ids(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _merge(row: _Row, item: Mapping[str, Any]) -> None:
    """Add what another sighting of a row knows: what is there before what is empty, the later before the earlier."""
    for key, value in item.items():
        if key not in row or not is_empty(value):
            row[key] = value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _first(mapping: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((mapping[key] for key in keys if mapping.get(key) is not None), None)


# -------------------------------------------------------------------------------------------------------------- spans


def _spans_of(rows: _Rows) -> list[Span]:
    spans = [_span(rows, key) for key in rows.observations]
    ends: dict[str, int | None] = {}
    for span in spans:
        times = (ends.get(span.trace_id), span.start, span.end)
        ends[span.trace_id] = max((time for time in times if time is not None), default=None)
    for trace_id, trace in rows.traces.items():
        path = rows.places[trace_id, ""]
        if trace_id not in ends and trace.get("observations") != []:
            rows.problems.doubt("the observations of a trace are not in the document", path)
        spans.append(_span_of_trace(trace_id, trace, path, ends.get(trace_id)))
    return spans


def _span(rows: _Rows, key: tuple[str, str]) -> Span:
    trace_id, observation_id = key
    row, path = rows.observations[key], rows.places[key]
    trace = rows.traces.get(trace_id)
    parent_id = _text(_first(row, _PARENTS))
    parent = rows.observations.get((trace_id, parent_id))
    attributes = _attributes(row, parent, path, rows.problems)
    session = _text(_first(row, _SESSIONS) or _first(trace or {}, _SESSIONS))
    if session:
        attributes[_SESSION] = session
    return Span(
        trace_id=trace_id,
        span_id=observation_id,
        parent_id=_TRACE if parent is None and trace is not None else parent_id,
        name=word(row, "name"),
        start=nanoseconds(_first(row, _STARTS)),
        end=nanoseconds(_first(row, _ENDS)),
        attributes=attributes,
        failed=True if word(row, "level").upper() == "ERROR" else None,
        message=_text(_first(row, _STATUSES)),
        scope=_scope(row),
        path=path,
    )


def _span_of_trace(trace_id: str, trace: _Row, path: Path, latest: int | None) -> Span:
    """Return a span around all of a trace: what went into that and came out of it counts where nothing in it tells.

    Arguments:
        latest: when the last of its observations ended, before the trace's output came out.
    """
    end = None if latest is None else latest + 1
    attributes: dict[str, Any] = {_SESSION: session} if (session := _text(_first(trace, _SESSIONS))) else {}
    _add_messages(attributes, trace, path, speaks=not isinstance(unwrapped(trace.get("input")), Mapping))
    start = nanoseconds(trace.get("timestamp"))
    return Span(trace_id, _TRACE, "", word(trace, "name"), start, end, attributes, path=path)


def _scope(row: _Row) -> str:
    metadata = opened(row.get("metadata"))
    scope = metadata.get("scope") if isinstance(metadata, Mapping) else None
    return word(scope, "name") if isinstance(scope, Mapping) else ""


def _attributes(row: _Row, parent: _Row | None, path: Path, problems: Recording) -> dict[str, Any]:
    """Return what an observation tells as attributes, beside those that it had as a span of OpenTelemetry."""
    metadata = opened(row.get("metadata"))
    metadata = metadata if isinstance(metadata, Mapping) else {}
    own = opened(metadata.get("attributes"))
    attributes = flattened(own) if isinstance(own, Mapping) else {}
    kind = _KINDS.get(word(row, "type").upper(), "")
    if kind:
        attributes.setdefault("langfuse.observation.type", kind)
    kind = _kind(attributes)
    if kind == "tool":
        _add_tool(attributes, row, metadata)
    elif not (kind == "model" and _is_same_call(row, parent)):
        _add_agent(attributes, row, kind)
        _add_messages(attributes, row, path, speaks=bool(kind))
        _doubt_missing_calls(attributes, row, path, problems)
    else:  # what is in it stands in the observation around it, more completely
        attributes = {}
    return attributes


def _kind(attributes: dict[str, Any]) -> str:
    return kind_of(Span("", "", "", "", None, None, attributes))


def _is_same_call(row: _Row, parent: _Row | None) -> bool:
    """Whether a call to a model is the one that its parent tells of, and all that is kept of it here are texts."""
    if parent is None or word(parent, "type").upper() != "GENERATION":
        return False
    mine, parents = unwrapped(row.get("output")), unwrapped(parent.get("output"))
    return isinstance(mine, str) and isinstance(parents, (Mapping, list))


def _add_tool(attributes: dict[str, Any], row: _Row, metadata: Mapping[str, Any]) -> None:
    if not any(attributes.get(key) for key in _TOOLS) and _is_named_by_user(row):
        attributes["gen_ai.tool.name"] = word(row, "name").removeprefix("execute_tool ")
    call_id = unwrapped(metadata.get("tool_call_id"))  # of LangChain
    if isinstance(call_id, str):
        attributes.setdefault("gen_ai.tool.call.id", call_id)
    arguments = _arguments(unwrapped(row.get("input")))
    if arguments is not None:
        attributes["gen_ai.tool.call.arguments"] = arguments
    result = unwrapped(row.get("output"))
    if result is not None:
        attributes["gen_ai.tool.call.result"] = result


def _arguments(given: Any) -> Any:
    """Return a tool's arguments; None where they are not recorded: those by position have no names."""
    if isinstance(given, Mapping) and given.keys() == {"args", "kwargs"}:
        return None if given["args"] else given["kwargs"]
    return given


def _add_agent(attributes: dict[str, Any], row: _Row, kind: str) -> None:
    if kind == "agent" and not any(attributes.get(key) for key in _AGENTS) and _is_named_by_user(row):
        attributes["gen_ai.agent.name"] = row.get("name")


def _is_named_by_user(row: _Row) -> bool:
    """Whether a name is one that a user gave, as far as is known: no instrumentation of others made it up."""
    return _scope(row) in ("", _OWN_SCOPE)


def _add_messages(attributes: dict[str, Any], row: _Row, path: Path, *, speaks: bool) -> None:
    """Add what went in and came out, where it can be read better than in the attributes."""
    for side, role, key in (
        ("input", "user", "gen_ai.input.messages"),
        ("output", "assistant", "gen_ai.output.messages"),
    ):
        is_told = _tells(attributes, side)
        told = _read(row.get(side), (*path, side), role, speaks=speaks and not is_told)
        if told is not None and not (is_told and hides_call(told)):
            attributes[key] = told
        elif is_told and side == "input":
            _drop_lone_results(attributes)


def _read(payload: Any, path: Path, role: str, *, speaks: bool) -> Recording | None:
    payload = unwrapped(payload)
    if speaks and isinstance(payload, str) and payload.startswith(_ROLES):
        return _read_lines(payload, path)
    return read_payload(payload, path, role, speaks=speaks)


def _read_lines(text: str, path: Path) -> Recording:
    """Read messages that OpenLIT wrote down as one text. Calls are left out there, but for their results."""
    told = Recording()
    told.doubt("messages as lines of one text: calls are not in it, and who said what is not certain", path)
    _, *pieces = _role_at_line(text)
    for role, words in zip(pieces[::2], pieces[1::2], strict=True):
        words = words.removesuffix("\n")
        if role == "tool":
            told.answer(words, None, path)
        elif words != "None":
            told.say(_SPEAKERS[role], words, path)
    return told


def _drop_lone_results(attributes: dict[str, Any]) -> None:
    """Leave out results in a history of which Langfuse lost the calls, as of messages with calls and without a text.

    What they answer is not recorded there; the answers that called, and the tools, have observations of their own.
    """
    messages = gathered(attributes, _OPEN_INFERENCE)
    found = [item.get("message") for item in messages if isinstance(item, dict)] if isinstance(messages, list) else []
    history = [message for message in found if isinstance(message, dict)]
    kept = [message for message in history if message.get("role") != "tool" or message.get("tool_call_id")]
    if len(kept) < len(history) and not any("tool_calls" in message for message in history):
        attributes["gen_ai.input.messages"] = kept


def _tells(attributes: dict[str, Any], side: str) -> bool:
    """Whether OpenTelemetry's attributes tell of messages."""
    return any(key.startswith((f"llm.{side}_messages.0.", f"gen_ai.{side}.messages")) for key in attributes)


def _doubt_missing_calls(attributes: dict[str, Any], row: _Row, path: Path, problems: Recording) -> None:
    """Look for calls that Langfuse counted in an answer and that are not in what was read of it."""
    names = opened(_first(row, _CALL_NAMES))
    told = attributes.get("gen_ai.output.messages")
    if not isinstance(names, list) or not (isinstance(told, Recording) or not _tells(attributes, "output")):
        return
    calls = {record.call for record in told.records} if isinstance(told, Recording) else set()
    for name in names:
        if isinstance(name, str) and name not in calls:
            problems.doubt(f"a call to {show(name)} was counted that is not in the output", path)


# ------------------------------------------------------------------------------------------------------------- reading


def runs(document: Any) -> list[SpanRun]:
    """Split a document into its runs: its traces, of which those of one session are one run.

    Raises:
        ReadError: there is neither a trace nor an observation in it.
    """
    rows = _Rows(document)
    spans = _spans_of(rows)
    if not spans:
        raise refuse(document, SHAPE)
    return runs_of(spans, rows.problems)


def read(document: Any, name: str = "") -> Trace:
    """Read observations, or what holds some, as one run.

    Raises:
        ReadError: there is neither a trace nor an observation in it.

    >>> tool = {"id": "o1", "traceId": "t1", "type": "TOOL", "name": "search", "startTime": "2026-01-02T03:04:05Z"}
    >>> read([{**tool, "input": {"query": "lamp"}, "output": "a lamp", "level": "DEFAULT"}]).calls[0].args
    {'query': 'lamp'}
    """
    if isinstance(document, SpanRun):
        return trace_of_spans(document.spans, document.name or name, document.problems)
    rows = _Rows(document)
    spans = _spans_of(rows)
    if not spans:
        raise refuse(document, SHAPE)
    return trace_of_spans(spans, name, rows.problems)


def _plain(value: Any) -> Any:
    """Return data of an object of the API; any other object is returned as it is."""
    dump = getattr(type(value), "model_dump", None) or getattr(type(value), "dict", None)
    return value if dump is None else dump(value)


READER: Final = Reader(
    "langfuse",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"trace", "data", "batch", "body", *_PROJECTS, *_TRACE_IDS, *_PARENTS}),
    runs=runs,
    is_log=True,
    objects={"langfuse": _plain},
)

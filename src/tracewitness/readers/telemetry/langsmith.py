"""Read the runs of LangSmith: as its API and its exports have them, as its SDKs send them, and as live run trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from tracewitness.display import show
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, refuse, word
from tracewitness.readers.telemetry.attributes import arguments_of, opened
from tracewitness.readers.telemetry.payloads import is_empty, nanoseconds, read_payload
from tracewitness.readers.telemetry.runs import SpanRun, runs_of
from tracewitness.readers.telemetry.span import Span
from tracewitness.readers.telemetry.timeline import trace_of_spans
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read", "runs"]

SHAPE: Final = "runs have id, run_type and trace_id or dotted_order, in a list, or with child_runs in each other"

_KINDS: Final = {"tool": "tool", "llm": "llm"}
_TYPES: Final = _KINDS.keys() | {"chain", "retriever", "embedding", "prompt", "parser"}
# What runs stand under: in answers of the API, and in what SDKs send, the new ones and what became of them.
_LISTS: Final = ("runs", "post", "patch")
_PLACES: Final = ("trace_id", "dotted_order", "parent_run_id", "start_time")
# Under which names metadata has the conversation that a trace is a turn of.
_THREADS: Final = ("session_id", "thread_id", "conversation_id")
_AGENTS: Final = ("lc_agent_name", "ls_agent_name")
_MAX_DEPTH: Final = 100
# How a moment is written in a dotted order, before the id of the run that began then.
_STAMP: Final = "YYYYmmddTHHMMSSffffffZ"

_Row = dict[str, Any]
_NOWHERE: Final[Mapping[str, Any]] = {}


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, list):
        return any(map(_is_run, document))
    if not isinstance(document, Mapping):
        return False
    return _is_run(document) or any(_holds_runs(document.get(key)) for key in _LISTS)


def _holds_runs(value: Any) -> bool:
    return isinstance(value, list) and any(map(_is_run, value))


def _is_run(item: Any) -> bool:
    """Whether a mapping is a run, or what became of one: that needs no type."""
    if not isinstance(item, Mapping) or "id" not in item:
        return False
    kind = item.get("run_type")
    if isinstance(kind, str) and kind in _TYPES:
        return any(key in item for key in _PLACES)
    return isinstance(item.get("dotted_order"), str) and kind is None


# --------------------------------------------------------------------------------------------------------------- rows


class _Rows:
    """The runs of a document, each once: SDKs send when one began, and again when it ended."""

    def __init__(self, document: Any) -> None:
        self.problems = Recording()
        self.runs: dict[str, _Row] = {}
        self.places: dict[str, Path] = {}
        self.trace_ids: dict[str, str] = {}  # of runs that don't say theirs, once they are found
        self._seen: set[int] = set()
        if _is_run(document) or not isinstance(document, Mapping):
            self._collect(document, (), 0)
        else:
            for key in _LISTS:
                if key in document:
                    self._collect(document[key], (key,), 0)

    def _collect(self, item: Any, path: Path, depth: int) -> None:
        if isinstance(item, list):
            for index, one in enumerate(item):
                self._collect_one(one, (*path, index), depth)
        else:
            self._collect_one(item, path, depth)

    def _collect_one(self, item: Any, path: Path, depth: int, within: Mapping[str, Any] = _NOWHERE) -> None:
        """Add a run, and those in it.

        Arguments:
            within: what a run in another leaves out since that says it.
        """
        if id(item) in self._seen:  # a live run may be in itself
            return
        self._seen.add(id(item))
        run_id = _id(item.get("id")) if isinstance(item, Mapping) else ""
        if not run_id or not (_is_run(item) or run_id in self.runs):
            self.problems.doubt(f"a run has an id and a run_type, not {show(item)}", path)
            return
        _merge(self.runs.setdefault(run_id, {}), {**within, **item})
        self.places[run_id] = path
        children = item.get("child_runs")
        if not isinstance(children, (list, tuple)):
            return
        if depth == _MAX_DEPTH:
            self.problems.doubt("runs that are nested too deeply", path)
            return
        for index, child in enumerate(children):
            around = {"parent_run_id": item["id"], "trace_id": item.get("trace_id", item["id"])}
            self._collect_one(child, (*path, "child_runs", index), depth + 1, around)


def _merge(row: _Row, item: Mapping[str, Any]) -> None:
    """Add what another sighting of a run knows: what is there before what is empty, the later before the earlier."""
    for key, value in item.items():
        if key not in row or not is_empty(value):
            row[key] = value


def _id(value: Any) -> str:
    """Return an id: a text, or in live runs what Python has for one."""
    return str(value) if isinstance(value, (str, UUID)) else ""


# -------------------------------------------------------------------------------------------------------------- spans


def _spans_of(rows: _Rows) -> list[Span]:
    return [_span(rows, run_id) for run_id in rows.runs]


def _span(rows: _Rows, run_id: str) -> Span:
    row, path = rows.runs[run_id], rows.places[run_id]
    is_known = isinstance(row.get("run_type"), str)
    if not is_known:
        rows.problems.doubt("what became of a run whose beginning is not in the document", path)
    error = row.get("error")
    return Span(
        trace_id=_trace_id(rows, row, run_id),
        span_id=run_id,
        parent_id=_id(row.get("parent_run_id")) or _of_order(row, -2),
        name=word(row, "name"),
        start=nanoseconds(row.get("start_time")) or _begun(row),
        end=nanoseconds(row.get("end_time")),
        attributes=_attributes(row, path),
        failed=_failed(row),
        message=error if isinstance(error, str) else "",
        scope="langsmith",
        path=path,
    )


def _trace_id(rows: _Rows, row: _Row, run_id: str) -> str:
    """Return the id of the trace that a run is of: that of the run which all others are in."""
    own = _id(row.get("trace_id")) or _of_order(row, 0)
    if own:
        return own
    steps = {run_id: None}
    while run_id not in rows.trace_ids:
        parent_id = _id(row.get("parent_run_id"))
        if parent_id not in rows.runs or parent_id in steps:
            rows.trace_ids[run_id] = run_id
        else:
            run_id, row = parent_id, rows.runs[parent_id]
            steps[run_id] = None
    trace_id = rows.trace_ids[run_id]
    rows.trace_ids.update(dict.fromkeys(steps, trace_id))
    return trace_id


def _of_order(row: _Row, position: int) -> str:
    """Return the id of one of the runs that a run is in: its dotted order has them all, from the outermost on."""
    steps = word(row, "dotted_order").split(".")
    return steps[position][len(_STAMP) :] if -len(steps) <= position < len(steps) else ""


def _begun(row: _Row) -> int | None:
    """Return when a run began by its dotted order, in which the date and the time are written without a mark."""
    stamp = word(row, "dotted_order").rpartition(".")[2][: len(_STAMP) - 1]
    return nanoseconds(f"{stamp[:15]}.{stamp[15:]}") if len(stamp) == len(_STAMP) - 1 else None


def _failed(row: _Row) -> bool | None:
    if row.get("error"):
        return True
    is_over = row.get("status") == "success" or ("error" in row and row.get("end_time") is not None)
    return False if is_over else None


def _metadata(row: _Row) -> Mapping[str, Any]:
    extra = opened(row.get("extra"))
    found = extra.get("metadata") if isinstance(extra, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _attributes(row: _Row, path: Path) -> dict[str, Any]:
    """Return what a run tells, as attributes."""
    kind = _KINDS.get(word(row, "run_type"), "")
    attributes: dict[str, Any] = {"openinference.span.kind": kind} if kind else {}
    metadata = _metadata(row)
    for key, names in (("session.id", _THREADS), ("gen_ai.agent.name", _AGENTS)):
        value = next((metadata[name] for name in names if metadata.get(name)), None)
        if isinstance(value, (str, UUID)):
            attributes[key] = str(value)
    if kind == "tool":
        attributes.update(_tool(row))
    else:
        attributes.update(_messages(row, path, speaks=bool(kind)))
    return attributes


def _tool(row: _Row) -> Iterator[tuple[str, Any]]:
    if name := word(row, "name"):
        yield "gen_ai.tool.name", name
    extra = opened(row.get("extra"))
    call_id = extra.get("tool_call_id") if isinstance(extra, Mapping) else None  # LangChain's
    if isinstance(call_id, str):
        yield "gen_ai.tool.call.id", call_id
    yield "gen_ai.tool.call.arguments", _arguments(opened(row.get("inputs")))
    outputs = opened(row.get("outputs"))
    is_over = row.get("end_time") is not None and not row.get("error")
    if not is_empty(outputs) or (is_over and isinstance(outputs, Mapping)):
        yield "tool_response", _only(outputs, "output")


def _arguments(inputs: Any) -> Any:
    """Return a tool's arguments. LangChain wrote them as one text, as Python shows a mapping, where they are several.

    >>> _arguments({"input": "{'q': 'lamp'}"}), _arguments({"input": "lamp"})
    ({'q': 'lamp'}, {'input': 'lamp'})
    """
    text = _only(inputs, "input")
    if not isinstance(text, str) or text is inputs:
        return inputs
    # A text that begins as a mapping and is none that can be read stays a text: what it says is not known.
    return arguments_of(text) if text.lstrip().startswith("{") else inputs


def _only(mapping: Any, key: str) -> Any:
    """Return what a mapping holds where it has one key alone: SDKs put that around what is no mapping."""
    return mapping[key] if isinstance(mapping, Mapping) and mapping.keys() == {key} else mapping


def _messages(row: _Row, path: Path, *, speaks: bool) -> Iterator[tuple[str, Any]]:
    """Yield what a run was given and gave; of several conversations that a model was given at once, the first."""
    inputs = _only(opened(row.get("inputs")), "input")
    told = read_payload(_first_conversation(inputs), (*path, "inputs"), "user", speaks=speaks)
    if told is not None:
        yield "gen_ai.input.messages", told
    outputs = _only(opened(row.get("outputs")), "output")
    told = read_payload(outputs, (*path, "outputs"), "assistant", speaks=speaks)
    if told is not None:
        yield "gen_ai.output.messages", told


def _first_conversation(inputs: Any) -> Any:
    if not isinstance(inputs, Mapping):
        return inputs
    messages, prompts = inputs.get("messages"), inputs.get("prompts")
    if isinstance(messages, list) and messages and isinstance(messages[0], list):
        return messages[0]
    return prompts[0] if isinstance(prompts, list) and prompts else inputs


# ------------------------------------------------------------------------------------------------------------- reading


def runs(document: Any) -> list[SpanRun]:
    """Split a document into its runs of agents: its traces, of which those of one thread are one.

    Raises:
        ReadError: there is no run in it.
    """
    rows = _Rows(document)
    if not rows.runs:
        raise refuse(document, SHAPE)
    return runs_of(_spans_of(rows), rows.problems)


def read(document: Any, name: str = "") -> Trace:
    """Read runs as one run of an agent.

    Raises:
        ReadError: there is no run in it.

    >>> run = {"id": "r1", "trace_id": "r1", "run_type": "tool", "name": "search", "inputs": {"query": "lamp"}}
    >>> read([{**run, "outputs": {"output": "a lamp"}, "start_time": "2026-01-02T03:04:05"}]).calls[0].args
    {'query': 'lamp'}
    """
    if isinstance(document, SpanRun):
        return trace_of_spans(document.spans, document.name or name, document.problems)
    rows = _Rows(document)
    if not rows.runs:
        raise refuse(document, SHAPE)
    return trace_of_spans(_spans_of(rows), name, rows.problems)


def _plain(value: Any) -> Any:
    """Return data of a run, live or of the API, with the runs in it; any other object is returned as it is."""
    fields = getattr(type(value), "model_fields", None) or getattr(type(value), "__fields__", None)
    if not fields or "run_type" not in fields:
        return value
    kept = (*_PLACES, "id", "name", "run_type", "end_time", "inputs", "outputs", "error", "extra", "child_runs")
    return {name: getattr(value, name, None) for name in kept}


READER: Final = Reader(
    "langsmith",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"run_type", "dotted_order", *_LISTS}),
    runs=runs,
    is_log=True,
    objects={"langsmith": _plain},
)

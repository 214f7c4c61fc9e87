"""The formats that are read. A new one is a module in a folder beside this one, and a line in `READERS`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from tracewitness.display import nearest_name, show
from tracewitness.errors import ReadError, UsageError
from tracewitness.readers import http_recordings, named_runs, neutral, text_trace
from tracewitness.readers.frameworks import (
    atif,
    autogen,
    claude_agent_sdk,
    claude_code,
    codex,
    crewai,
    cx_agent_studio,
    google_adk,
    guard_log,
    inspect_logs,
    langchain,
    langgraph_checkpoints,
    llama_index,
    mini_swe_agent,
    openai_agents,
    openai_agents_trace,
    pydantic_ai,
    smolagents,
    strands,
    swe_agent,
    tau2,
    tau_bench,
    vercel_ai,
)
from tracewitness.readers.neutral import refuse_two_accounts
from tracewitness.readers.protocols import mcp
from tracewitness.readers.providers import (
    anthropic_messages,
    anthropic_stream,
    bedrock,
    bedrock_stream,
    cohere,
    cohere_stream,
    gemini,
    gemini_interactions,
    gemini_interactions_stream,
    gemini_stream,
    mistral,
    mistral_stream,
    ollama_stream,
    openai_assistants,
    openai_assistants_stream,
    openai_chat,
    openai_chat_stream,
    openai_responses,
    openai_responses_stream,
)
from tracewitness.readers.reader import CONTENT_LIST, Reader
from tracewitness.readers.telemetry import langfuse, langfuse_messages, langsmith, opentelemetry
from tracewitness.readers.unread import problems_beside, with_problems, with_unread
from tracewitness.trace import Record, Trace

__all__ = [
    "READERS",
    "candidates",
    "converters",
    "detected",
    "is_log",
    "reader_named",
    "register_reader",
    "trace_of",
    "traces_of",
]

# A request and what came back, as programs that log them call the two.
_EXCHANGES: Final = ({"request", "response"}, {"input", "output"}, {"req", "res"}, {"prompt", "completion"})

READERS: list[Reader] = [
    neutral.READER,
    text_trace.READER,
    openai_chat.READER,
    openai_responses.READER,
    anthropic_messages.READER,
    gemini.READER,
    langchain.READER,
    langgraph_checkpoints.READER,
    openai_agents_trace.READER,
    openai_agents.READER,
    pydantic_ai.READER,
    openai_chat_stream.READER,
    openai_responses_stream.READER,
    anthropic_stream.READER,
    tau_bench.READER,
    tau2.READER,
    swe_agent.READER,
    mini_swe_agent.READER,
    mcp.READER,
    atif.READER,
    gemini_stream.READER,
    bedrock.READER,
    cohere.READER,
    mistral.READER,
    gemini_interactions.READER,
    openai_assistants.READER,
    http_recordings.READER,
    bedrock_stream.READER,
    cohere_stream.READER,
    ollama_stream.READER,
    gemini_interactions_stream.READER,
    openai_assistants_stream.READER,
    autogen.READER,
    crewai.READER,
    inspect_logs.READER,
    llama_index.READER,
    smolagents.READER,
    strands.READER,
    vercel_ai.READER,
    google_adk.READER,
    claude_agent_sdk.READER,
    claude_code.READER,
    codex.READER,
    guard_log.READER,
    cx_agent_studio.READER,
    named_runs.READER,
    opentelemetry.READER,
    langfuse.READER,
    langfuse_messages.READER,
    langsmith.READER,
    mistral_stream.READER,
]


def register_reader(reader: Reader) -> Reader:
    """Add a format.

    Raises:
        UsageError: there is one of that name.
    """
    if any(known.name == reader.name for known in READERS):
        raise UsageError(f"there is a reader {show(reader.name)} already; give yours another name")
    READERS.append(reader)
    return reader


def candidates(data: Any) -> Sequence[Reader]:
    """Return the readers whose documents may have the keys that data has: to ask all would cost more than reading."""
    keys = _keys_of(data)
    return _with_keys(keys, len(READERS)) if keys else READERS


@functools.lru_cache(maxsize=4096)
def _with_keys(keys: frozenset[str], count: int) -> tuple[Reader, ...]:
    """Return the first ``count`` readers whose documents may have these keys. What is kept depends on the count too:
    it is out of date when a reader has been added.
    """
    return tuple(reader for reader in READERS[:count] if not reader.keys or not reader.keys.isdisjoint(keys))


def detected(data: Any) -> list[Reader]:
    """Return the readers of the formats that data is in: none, one, or several where that is ambiguous."""
    found = [reader for reader in candidates(data) if reader.detects(data)]
    if len(found) > 1:
        found = [reader for reader in found if not reader.yields(data)] or found[:1]
    return found


def converters() -> dict[str, Callable[[Any], Any]]:
    """Return what makes data of the objects of those SDKs whose objects don't dump themselves well."""
    return {package: convert for reader in READERS for package, convert in reader.objects.items()}


def is_log(lines: list[Any]) -> bool:
    """Whether lines of a file are pieces of one run, in a format that is written so."""
    found = detected(lines)
    return len(found) == 1 and found[0].is_log


def reader_named(name: str) -> Reader:
    """Return the reader of a format.

    Raises:
        ReadError: there is none.
    """
    known = {reader.name: reader for reader in READERS}
    if name in known:
        return known[name]
    near = nearest_name(name, known) if isinstance(name, str) else None
    meant = f"; {near} was meant" if near else ""
    raise ReadError(f"there is no format {show(name)}{meant}; the formats are {', '.join(known)}")


def trace_of(data: Any, name: str = "", reader: Reader | None = None) -> Trace:
    """Read decoded data that is one run.

    Arguments:
        data: a row of a file, decoded.
        name: the run's name where the data has none.
        reader: of the format that data is in; by default it is found.

    Raises:
        ReadError: it is in none of the formats, or in several, or it holds no run or several.

    >>> trace_of({"events": [{"call": "search"}]}, "order-1")
    <Trace order-1: 1 events>
    """
    found = list(islice(traces_of(data, name, reader), 2))
    if len(found) != 1:
        raise ReadError("it holds several runs; read_all reads each" if found else "it holds no run")
    return found[0]


def traces_of(data: Any, name: str = "", reader: Reader | None = None) -> Iterator[Trace]:
    """Read decoded data that is a run, or holds some, one after the other.

    Arguments, errors: as of `trace_of`.
    """
    reader = reader or _reader_of(data)
    runs = [data] if reader.runs is None else list(reader.runs(data))
    if len(runs) == 1 and runs[0] is data:
        yield with_unread(data, reader.read(data, name=name), reader.name, _holds_calls)
        return
    traces = (reader.read(run, name=name) for run in runs)
    beside = problems_beside(data, runs, lambda: (reader.read(run, name=name) for run in runs), _holds_calls)
    for trace in traces:
        yield with_problems(trace, beside) if beside else trace


def _holds_calls(data: Any) -> bool:
    """Whether data is a recording in which a tool is called, or may be called."""
    try:
        found = detected(data)
        if len(found) != 1:
            return len(found) > 1
        return any(trace.calls for run in _runs_of(found[0], data) for trace in [found[0].read(run, name="")])
    except ReadError:
        return False


def _runs_of(reader: Reader, data: Any) -> Iterable[Any]:
    return [data] if reader.runs is None else reader.runs(data)


def _reader_of(data: Any) -> Reader:
    if isinstance(data, Mapping):
        refuse_two_accounts(data)
    found = detected(data)
    if isinstance(data, Mapping) and (not found or found == [named_runs.READER]):
        _refuse_exchange(data)
    if len(found) != 1:
        raise ReadError(_why_several(found) if found else _why_none(data))
    return found[0]


def _refuse_exchange(data: Mapping[Any, Any]) -> None:
    """Refuse a request beside its response: they are one run, and not two that have names."""
    if data.keys() in _EXCHANGES and all(isinstance(side, (Mapping, list)) for side in data.values()):
        request, response = data
        raise ReadError(
            f"{request} and {response} are two sides of one run: write it as one history, the messages of {request} "
            f"with the answer's message after them, or read {response} alone"
        )


def _why_several(found: list[Reader]) -> str:
    names = " and ".join(reader.name for reader in found)
    return f"it is in several formats, {names}; name the one that is meant, or read them apart"


def _why_none(data: Any) -> str:
    """Say why no reader knows data: first what was probably meant, last all that was tried."""
    keys = _keys_of(data) - {CONTENT_LIST}
    if {"version", "tracewitness", "runs", "summary"} <= keys:
        return "a report that `--json` wrote, and no recording; `report` and `compare` read reports"
    shown = show(sorted(keys)) if keys else show(data)
    nearest = max(READERS, key=lambda reader: len(reader.keys & keys))
    shared = sorted(nearest.keys & keys)
    near = f"the nearest is {nearest.name}, by {', '.join(shared)}, but {_why_not(nearest, data)}; " if shared else ""
    names = ", ".join(reader.name for reader in READERS)
    tried = f"is in one of the {len(READERS)} formats that `tracewitness formats` lists: {names}"
    return f"no known format: {near}this has {shown}; a run has events, or {tried}"


def _why_not(reader: Reader, data: Any) -> str:
    """Say what a reader finds odd in data that it does not know for its own."""
    try:
        problems = reader.read(data, name="").problems
    except ReadError as error:
        return str(error)
    return str(problems[0]) if problems else reader.shape


def _keys_of(data: Any) -> frozenset[str]:
    """Return the keys of a mapping, or of the mappings of a list, as `Reader.keys` has them."""
    if isinstance(data, Mapping):
        data = [data]
    elif not isinstance(data, list):
        return frozenset()
    keys: set[Any] = set()
    for item in data:
        if item.__class__ is dict or isinstance(item, Mapping):
            keys.update(item)
            if isinstance(item.get("content"), list):
                keys.add(CONTENT_LIST)
        elif isinstance(item, Record):
            keys.add("call")
    return frozenset(key for key in keys if key.__class__ is str)

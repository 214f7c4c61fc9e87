"""Read logs of Inspect: ``.eval`` archives, logs in JSON, one sample, or its events. Each sample is a run.

Where a sample has a transcript, its events tell what happened: messages leave out what an agent did that a
conversation was handed to, and the call with which an agent submitted its answer.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from datetime import datetime
from heapq import heappop, heappush
from typing import Any, Final

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers.neutral import decode_plainly
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, payload_of, refuse, texts_of, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "detects", "read", "runs"]

SHAPE: Final = "a log of Inspect has eval and samples, or is an archive of them; a sample has an epoch and messages"

_ROLES: Final[dict[str, Role]] = {"user": "user", "system": "system"}
_ATTACHMENT: Final = "attachment://"
_HEADERS: Final = ("header.json", "_journal/start.json")
_is_sample_name: Final = re.compile(r"samples/.+\.json").fullmatch
# Events that neither call nor answer, nor hold events of their own.
_SILENT_EVENTS: Final = frozenset(
    {
        "anchor",
        "approval",
        "branch",
        "checkpoint",
        "compaction",
        "error",
        "info",
        "input",
        "interrupt",
        "logger",
        "review",
        "sample_init",
        "sample_limit",
        "sandbox",
        "score",
        "score_edit",
        "sentinel",
        "state",
        "store",
    }
)
_EVENTS: Final = _SILENT_EVENTS | {"model", "tool", "span_begin", "span_end", "step", "subtask"}
# What runs in these is not the agent: it judges what the agent did.
_JUDGING: Final = frozenset({"scorer", "scorers"})


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, list):
        return any(map(_is_event, document))
    if not isinstance(document, Mapping):
        return False
    events = document.get("events")
    return _is_log(document) or _is_sample(document) or (isinstance(events, list) and any(map(_is_event, events)))


def runs(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the samples of a log, each with what the log says of its task."""
    if not isinstance(document, Mapping) or not _is_log(document):
        yield {"sample": document}
        return
    if any(name in document for name in _HEADERS):
        yield from _archived(document)
        return
    samples = document.get("samples")
    for sample in samples if isinstance(samples, list) else ():
        yield {"eval": document.get("eval"), "sample": sample}


def read(document: Any, name: str = "") -> Trace:
    """Read one sample, or the events of one.

    Raises:
        ReadError: it is nothing of the kind.

    >>> call = {"id": "c1", "function": "search", "arguments": {"q": "lamp"}}
    >>> read({"id": 1, "epoch": 1, "messages": [{"role": "assistant", "content": "", "tool_calls": [call]}]}).calls
    (<ToolCall 0: search({'q': 'lamp'})>,)
    """
    own = document if isinstance(document, Mapping) and "sample" in document else {"sample": document}
    sample, recording = own["sample"], Recording()
    if "problem" in own:
        recording.failure = str(own["problem"])
        recording.doubt(recording.failure, ("sample",))
        return recording.trace(name)
    if isinstance(sample, list):
        sample = {"events": sample}
    if not isinstance(sample, Mapping) or sample.keys().isdisjoint({"messages", "events"}):
        raise refuse(sample, SHAPE)
    try:
        _Sample(recording, sample).read()
    except RecursionError as error:
        raise ReadError("nested too deeply to be read") from error
    return recording.trace(_name_of(own.get("eval"), sample) or name)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_log(document: Mapping[str, Any]) -> bool:
    if any(isinstance(document.get(name), bytes) for name in _HEADERS):
        return True
    return isinstance(document.get("eval"), Mapping) and not document.keys().isdisjoint({"samples", "plan"})


def _is_sample(document: Mapping[str, Any]) -> bool:
    return "epoch" in document and "messages" in document and "id" in document


def _is_event(item: Any) -> bool:
    return isinstance(item, Mapping) and word(item, "event") in _EVENTS and "timestamp" in item


def _archived(members: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the samples of an archive. One that is broken is a run that can't be read."""
    header = next((_decoded(members[name]) for name in _HEADERS if name in members), None)
    about = header.get("eval") if isinstance(header, Mapping) else None
    for name in sorted(filter(_is_sample_name, members)):
        sample = _decoded(members[name])
        if isinstance(sample, ReadError):
            yield {"eval": about, "sample": None, "problem": f"{name}: {sample.problem}"}
        else:
            yield {"eval": about, "sample": sample}


def _decoded(member: Any) -> Any:
    """Decode a member of an archive; return the error where it is none that can be decoded."""
    try:
        return decode_plainly(member) if isinstance(member, bytes) else ReadError("not JSON")
    except ReadError as error:
        return error


def _name_of(about: Any, sample: Mapping[str, Any]) -> str:
    """Return the name of a run: its task's, its own, and which time it was tried."""
    if not isinstance(sample.get("id"), (str, int)):
        return ""
    task = word(about, "task") if isinstance(about, Mapping) else ""
    name = f"{task}/{sample['id']}" if task else str(sample["id"])
    epoch = sample.get("epoch")
    return f"{name} epoch {epoch}" if isinstance(epoch, int) and epoch > 1 else name


# ------------------------------------------------------------------------------------------------------------- reading


class _Span:
    """What encloses an event."""

    __slots__ = ("agent", "is_judging")

    def __init__(self, agent: str | None = None, *, is_judging: bool = False) -> None:
        self.agent = agent
        self.is_judging = is_judging


class _Sample:
    """A sample that is being read."""

    def __init__(self, recording: Recording, sample: Mapping[str, Any]) -> None:
        self._recording = recording
        self._sample = sample
        attachments = sample.get("attachments")
        self._attachments = attachments if isinstance(attachments, Mapping) else {}
        self._pool = _pool_of(sample)
        self._spans: dict[Any, _Span] = {}
        self._steps: list[_Span] = [_Span()]
        # Of each call that ran: when. The event that tells it comes after the one in which the model made the call.
        self._times: dict[Any, deque[tuple[Any, Any]]] = {}
        # Of each call that is known: how often it was made, and how many of these nothing has answered yet.
        self._made: dict[Any, int] = defaultdict(int)
        self._unrun: dict[Any, int] = defaultdict(int)
        self._open: dict[Any, int] = defaultdict(int)
        self._seen: set[Any] = set()
        self._told_of_pool = bytearray(len(self._pool))
        # Results of tools that other events come between, each with when it came.
        self._due: list[tuple[datetime, int, Mapping[str, Any], Path]] = []
        self._numbers = itertools.count()

    def read(self) -> None:
        events = self._sample.get("events")
        if isinstance(events, list) and any(_is_event(event) for event in events):
            self._note_times(events)
            self._read_events(events, ("events",))
            self._release(None)
        else:
            self._read_messages(self._sample.get("messages"), ("messages",))
        error = self._sample.get("error")
        if error:
            reason = error.get("message") if isinstance(error, Mapping) else error
            self._recording.doubt(f"the sample failed: {show(reason, 200)}", ("error",))

    def _note_times(self, events: Any) -> None:
        for event in events if isinstance(events, list) else ():
            if not isinstance(event, Mapping):
                continue
            if event.get("event") == "tool":
                times = _time(event.get("timestamp")), _time(event.get("completed"))
                self._times.setdefault(_key(event), deque()).append(times)
            self._note_times(event.get("events"))

    # -------------------------------------------------------------------------------------------------------- events

    def _read_events(self, events: Any, path: Path) -> None:
        for event, place in each_mapping(self._recording, events, path, "an event"):
            self._release(_moment(event.get("timestamp")))
            self._read_event(event, place)

    def _read_event(self, event: Mapping[str, Any], path: Path) -> None:
        kind = word(event, "event")
        if kind in ("span_begin", "span_end", "step"):
            self._enter(event, kind)
            return
        span = self._span_of(event.get("span_id"))
        if kind in _SILENT_EVENTS or span.is_judging:
            return
        if kind == "model":
            self._read_answer(event, path, span)
        elif kind == "tool":
            self._read_run(event, path, span)
        elif kind == "subtask":
            self._read_events(event.get("events"), (*path, "events"))
        else:
            self._recording.doubt(f"an unknown event {show(event.get('event'))}", path)

    def _enter(self, event: Mapping[str, Any], kind: str) -> None:
        """Follow where spans and steps begin. Steps are how older logs write spans: they have no ids."""
        if kind == "step" and event.get("action") == "end":
            if len(self._steps) > 1:
                self._steps.pop()
        elif kind != "span_end":
            parent = self._span_of(event.get("parent_id")) if kind == "span_begin" else self._steps[-1]
            agent = word(event, "name") if event.get("type") == "agent" else parent.agent
            span = _Span(agent or parent.agent, is_judging=parent.is_judging or word(event, "type") in _JUDGING)
            if kind == "step":
                self._steps.append(span)
            elif isinstance(event.get("id"), str):
                self._spans[event["id"]] = span

    def _span_of(self, span_id: Any) -> _Span:
        return self._spans.get(span_id, self._steps[-1]) if isinstance(span_id, str) else self._steps[-1]

    def _read_answer(self, event: Mapping[str, Any], path: Path, span: _Span) -> None:
        """Read what a model was told that is new, and what it answered."""
        for message, place in self._told(event, path):
            if self._is_new(message):
                self._read_told(message, place, span)
        output = event.get("output")
        choices = output.get("choices") if isinstance(output, Mapping) else None
        for choice, place in each_mapping(self._recording, choices, (*path, "output", "choices"), "a choice"):
            answer = choice.get("message")
            if not isinstance(answer, Mapping):
                self._recording.doubt(f"a choice has a message, this has {show(list(choice))}", place)
                return
            self._is_new(answer)
            self._read_said(answer, (*place, "message"), span)
            if choice.get("stop_reason") == "content_filter":
                self._recording.doubt("the answer was withheld: stop_reason content_filter", place)
            return  # the first is the one that counts

    def _told(self, event: Mapping[str, Any], path: Path) -> Iterator[tuple[Mapping[str, Any], Path]]:
        """Yield the messages that a model was sent, of which newer logs write each but once, in a pool."""
        refs = event.get("input_refs")
        if not isinstance(refs, list):
            yield from each_mapping(self._recording, event.get("input"), (*path, "input"), "a message")
            return
        for ref in refs:
            if not _is_range(ref, len(self._pool)):
                self._recording.doubt(f"input_refs that point nowhere: {show(ref)}", path)
                continue
            index = self._told_of_pool.find(0, *ref)
            while index >= 0:
                self._told_of_pool[index] = 1
                yield from each_mapping(self._recording, [self._pool[index]], ("message_pool", index), "a message")
                index = self._told_of_pool.find(0, index, ref[1])

    def _is_new(self, message: Mapping[str, Any]) -> bool:
        """Whether a message was not read yet: every model event holds the history before it."""
        own_id = message.get("id")
        key = own_id if isinstance(own_id, str) and own_id else repr(sorted(message.items(), key=repr))
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new

    def _read_told(self, message: Mapping[str, Any], path: Path, span: _Span) -> None:
        """Read a message that a model was sent. What it and its tools said stands in events of its own, mostly."""
        role = word(message, "role")
        if role in _ROLES:
            self._recording.say(_ROLES[role], self._text(message, path), path)
        elif role == "assistant":
            for call, place in self._calls(message, path):
                if not self._made[_key(call)]:
                    self._call(call, place, span.agent)
        elif role == "tool":
            key = _key({**message, "id": message.get("tool_call_id")})
            if self._open[key] and key not in self._times:
                self._answer(message, path)
        else:
            self._recording.doubt(f"an unknown role {show(message.get('role'))}", path)

    def _read_said(self, message: Mapping[str, Any], path: Path, span: _Span) -> None:
        """Read an answer: its text, and its calls."""
        text = self._text(message, path)
        calls = list(self._calls(message, path))
        if text or not calls:
            self._recording.say("agent", text, path, span.agent)
        for call, place in calls:
            self._call(call, place, span.agent)
            self._unrun[_key(call)] += 1

    def _calls(self, message: Mapping[str, Any], path: Path) -> Iterator[tuple[Mapping[str, Any], Path]]:
        return each_mapping(self._recording, message.get("tool_calls"), (*path, "tool_calls"), "a tool call")

    def _call(self, call: Mapping[str, Any], path: Path, agent: str | None) -> None:
        key = _key(call)
        self._made[key] += 1
        self._open[key] += 1
        times = self._times.get(key)
        at, until = times.popleft() if times else (None, None)
        arguments = self._resolved(call.get("arguments"), path)
        parse_error = self._resolved(call.get("parse_error"), path)
        # Arguments that could not be parsed are written down as none; how they were stands in the error.
        arguments = str(parse_error) if parse_error else arguments
        self._recording.call(call.get("function"), arguments, call.get("id"), path, by=agent, at=at, until=until)

    def _read_run(self, event: Mapping[str, Any], path: Path, span: _Span) -> None:
        """Read that a tool ran. Its result comes when it had ended: what other agents do meanwhile comes before."""
        key = _key(event)
        if self._unrun[key]:
            self._unrun[key] -= 1
        else:
            self._call(event, path, span.agent)
        if word(event, "agent"):
            self._recording.transfer(event["agent"], path, span.agent)
        self._read_events(event.get("events"), (*path, "events"))
        if event.get("pending"):
            return
        completed = _moment(event.get("completed"))
        if completed is None:
            self._answer(event, path)
        else:
            heappush(self._due, (completed, next(self._numbers), event, path))

    def _release(self, now: datetime | None) -> None:
        """Read the results that came before a moment, or all."""
        while self._due and (now is None or self._due[0][0] <= now):
            _, _, event, path = heappop(self._due)
            self._answer(event, path)

    def _answer(self, answer: Mapping[str, Any], path: Path) -> None:
        """Read what came back: of a tool event, or of a message."""
        is_event = "event" in answer
        call_id = answer.get("id" if is_event else "tool_call_id")
        payload = self._resolved(payload_of(answer.get("result" if is_event else "content")), path)
        error = self._resolved(answer.get("error"), path)
        if error and payload in (None, "", []):
            payload = error.get("message") if isinstance(error, Mapping) else error
        is_error = bool(error) or bool(answer.get("failed"))
        at = _time(answer.get("completed")) if is_event else None
        self._open[_key({**answer, "id": call_id})] -= 1
        self._recording.answer(payload, call_id, path, of=answer.get("function"), is_error=is_error, at=at)

    # ------------------------------------------------------------------------------------------------------ messages

    def _read_messages(self, messages: Any, path: Path) -> None:
        span = _Span()
        for message, place in each_mapping(self._recording, messages, path, "a message"):
            if message.get("role") == "assistant":
                self._read_said(message, place, span)
            elif message.get("role") == "tool":
                self._answer(message, place)
            else:
                self._read_told(message, place, span)

    def _text(self, message: Mapping[str, Any], path: Path) -> str:
        content = message.get("content")
        if isinstance(content, list):
            content = [part for part in content if not (isinstance(part, Mapping) and part.get("type") == "reasoning")]
            self._read_provided(content, (*path, "content"))
        return "\n".join(texts_of(self._resolved(content, path)))

    def _read_provided(self, parts: list[Any], path: Path) -> None:
        """Read the tools that the provider of a model ran: their calls are parts of what the model said."""
        for index, part in enumerate(parts):
            if not isinstance(part, Mapping) or part.get("type") != "tool_use":
                continue
            place = (*path, index)
            if not self._is_new({"id": part.get("id") or repr(place)}):
                continue
            context = {"context": part["context"]} if isinstance(part.get("context"), str) else None
            arguments = self._resolved(part.get("arguments"), place)
            self._recording.call(part.get("name"), arguments, part.get("id"), place, metadata=context)
            error, payload = part.get("error"), self._resolved(part.get("result"), place)
            self._recording.answer(error or payload, part.get("id"), place, is_error=bool(error))

    def _resolved(self, value: Any, path: Path) -> Any:
        """Return a value with the texts in it that are kept apart, at any depth."""
        if isinstance(value, str):
            if not value.startswith(_ATTACHMENT):
                return value
            found = self._attachments.get(value.removeprefix(_ATTACHMENT))
            if found is None:
                self._recording.doubt(f"{show(value)} is not in the log", path, hides_call=False)
            return value if found is None else found
        if isinstance(value, Mapping):
            return {key: self._resolved(item, path) for key, item in value.items()}
        return [self._resolved(item, path) for item in value] if isinstance(value, list) else value


def _pool_of(sample: Mapping[str, Any]) -> list[Any]:
    """Return the messages that model events refer to."""
    data = sample.get("events_data")
    pool = data.get("messages") if isinstance(data, Mapping) else sample.get("message_pool")
    return pool if isinstance(pool, list) else []


def _is_range(ref: Any, end: int) -> bool:
    if not isinstance(ref, list) or len(ref) != 2 or not all(type(index) is int for index in ref):
        return False
    return bool(0 <= ref[0] <= ref[1] <= end)


def _key(call: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return what makes a call in a message and one in an event the same."""
    call_id, function = call.get("id"), call.get("function")
    return call_id if isinstance(call_id, (str, int)) else None, function if isinstance(function, str) else None


def _time(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _moment(value: Any) -> datetime | None:
    """Return a time that can be compared, or None where there is none."""
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo is not None else None


READER: Final = Reader(
    "inspect",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({*_HEADERS, "eval", "epoch", "events", "event"}),
    runs=runs,
)

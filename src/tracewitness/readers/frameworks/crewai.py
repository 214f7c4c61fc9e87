"""Read CrewAI: events of its bus, and what a crew puts out, with the messages of its tasks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping
from datetime import datetime
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.pairing import freeze
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, texts_of, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "an event of CrewAI has a type such as tool_usage_started; what a crew puts out has tasks_output"

_STARTED: Final = "tool_usage_started"
_ENDS: Final = frozenset({"tool_usage_finished", "tool_usage_error"})
# A tool was not run: there is none of that name, or its arguments could not be read.
_NOT_RUN: Final = frozenset({"tool_selection_error", "tool_validate_input_error"})
# What ends of tools tell too.
_TOLD_ELSEWHERE: Final = frozenset({"tool_failure_detected", "tool_execution_error"})
_TOOL_EVENTS: Final = _ENDS | _NOT_RUN | {_STARTED}
_AGENT_STARTS: Final = frozenset({"agent_execution_started", "lite_agent_execution_started"})
_AGENT_ENDS: Final = frozenset({"agent_execution_completed", "lite_agent_execution_completed"})
_MODEL_ANSWERED: Final = "llm_call_completed"
_CREW_EVENTS: Final = frozenset({"crew_kickoff_started", "crew_kickoff_completed", "task_started", "task_completed"})
_OWN_EVENTS: Final = _TOOL_EVENTS | _AGENT_STARTS | _AGENT_ENDS | _CREW_EVENTS
# Where agents write their calls as text; the tools that they name were run, if they were there.
_has_call_in_text: Final = re.compile(r"^\s*Action:.*\n\s*Action Input:", re.MULTILINE).search
_SPEAKERS: Final[dict[str, Role]] = {"user": "user", "system": "system", "assistant": "agent"}


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, list):
        return any(map(_is_event, document))
    return isinstance(document, Mapping) and (_is_event(document) or isinstance(document.get("tasks_output"), list))


def read(document: Any, name: str = "") -> Trace:
    """Read an event, a list of them, or what a crew put out.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read([{"type": "tool_usage_started", "tool_name": "search", "tool_args": {"q": "lamp"}}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}}]
    """
    recording = Recording()
    if isinstance(document, Mapping) and "tasks_output" in document:
        for task, place in each_mapping(recording, document["tasks_output"], ("tasks_output",), "a task's output"):
            _Task(recording, task, place).read()
    elif isinstance(document, list):
        _Events(recording, document).read()
    elif isinstance(document, Mapping) and "type" in document:
        _Events(recording, [document]).read()
    else:
        raise refuse(document, SHAPE)
    return recording.trace(name)


def _is_event(item: Any) -> bool:
    return isinstance(item, Mapping) and word(item, "type") in _OWN_EVENTS


# -------------------------------------------------------------------------------------------------------------- events


class _Events:
    """Events that are being read. An end names the beginning that it belongs to; older ones are told by their tool."""

    def __init__(self, recording: Recording, events: list[Any]) -> None:
        self._recording = recording
        self._events = sorted(each_mapping(recording, events, (), "an event"), key=_order(events))
        self._ends: dict[str, Mapping[str, Any]] = {}
        # How many tools run, by the id of the event that said so, and by tool.
        self._open: Counter[str | None] = Counter()
        self._refused: set[Hashable] = set()

    def read(self) -> None:
        for event, _ in self._events:
            began = event.get("started_event_id")
            if word(event, "type") in _ENDS and isinstance(began, str):
                self._ends[began] = event
        for event, path in self._events:
            self._read_event(event, path)
        if not self._recording.calls:
            self._doubt_answers()

    def _read_event(self, event: Mapping[str, Any], path: Path) -> None:
        kind = word(event, "type")
        if kind == _STARTED:
            self._read_start(event, path)
        elif kind in _ENDS:
            self._read_end(event, path)
        elif kind in _NOT_RUN:
            self._read_refusal(event, kind, path)
        elif kind in _AGENT_STARTS:
            self._read_prompt(event, path)
        elif kind in _AGENT_ENDS and isinstance(event.get("output"), str):
            self._recording.say("agent", event["output"], path, _agent(event))
        elif not kind or (kind.startswith("tool_") and kind not in _TOLD_ELSEWHERE):
            self._recording.doubt(f"an unknown event of type {show(event.get('type'))}", path)

    def _read_start(self, event: Mapping[str, Any], path: Path) -> None:
        """Read that a tool was run. Its arguments may be a text as the model wrote it, of which CrewAI made sense."""
        event_id = event.get("event_id")
        end = self._ends.get(event_id, {}) if isinstance(event_id, str) else {}
        arguments = event.get("tool_args")
        if isinstance(arguments, str) and isinstance(end.get("tool_args"), Mapping):
            arguments = end["tool_args"]
        self._open[event_id if isinstance(event_id, str) else None] += 1
        self._open[word(event, "tool_name") or None] += 1
        attempt = event.get("run_attempts")
        self._recording.call(
            event.get("tool_name"),
            arguments,
            event_id,
            path,
            by=_agent(event),
            at=_time(event.get("timestamp")),
            until=_time(end.get("timestamp")),
            metadata={"run_attempts": attempt} if isinstance(attempt, int) and attempt > 1 else None,
        )

    def _read_end(self, event: Mapping[str, Any], path: Path) -> None:
        began, tool = event.get("started_event_id"), event.get("tool_name")
        began = began if isinstance(began, str) else None
        key = began or (tool if isinstance(tool, str) else None)
        if not self._open[key]:  # only ends were recorded
            self._recording.call(tool, event.get("tool_args"), began, path, by=_agent(event))
        else:
            self._open[key] -= 1
        is_error = event.get("type") == "tool_usage_error" or bool(event.get("failure"))
        payload = event.get("error") if event.get("type") == "tool_usage_error" else event.get("output")
        at = _time(event.get("timestamp"))
        self._recording.answer(payload, began, path, of=tool, is_error=is_error, at=at)

    def _read_refusal(self, event: Mapping[str, Any], kind: str, path: Path) -> None:
        """Read that an agent meant a tool that was not run. It is told as often as CrewAI tried."""
        key = freeze([kind, event.get("tool_name"), event.get("tool_args"), event.get("parent_event_id")])
        if key not in self._refused:
            self._refused.add(key)
            why = f"was not run: {show(event.get('error'), 200)}"
            self._recording.doubt(f"{show(event.get('tool_name'))} with {show(event.get('tool_args'))} {why}", path)

    def _read_prompt(self, event: Mapping[str, Any], path: Path) -> None:
        prompt = event.get("task_prompt", event.get("messages"))
        if isinstance(prompt, str):
            self._recording.say("user", prompt, path)
        elif isinstance(prompt, list):
            for message, place in each_mapping(self._recording, prompt, (*path, "messages"), "a message"):
                role = _SPEAKERS.get(word(message, "role"), "user")
                self._recording.say(role, "\n".join(texts_of(message.get("content"))), place)

    def _doubt_answers(self) -> None:
        """Where events of tools were not recorded, those of models may tell that there were calls."""
        for event, path in self._events:
            if event.get("type") == _MODEL_ANSWERED and event.get("call_type") == "tool_call":
                self._recording.doubt("a model called tools, and no event of a tool was recorded", path)


def _order(events: list[Any]) -> Any:
    """Return what events are sorted by: handlers may get them in another order than they were sent in."""
    numbers = [event.get("emission_sequence") for event in events if isinstance(event, Mapping)]
    is_ordered = all(type(number) is int for number in numbers) and len(set(numbers)) == len(numbers)
    return (lambda found: found[0]["emission_sequence"]) if is_ordered else (lambda _: 0)


def _agent(event: Mapping[str, Any]) -> Any:
    agent, about = event.get("agent"), event.get("agent_info")
    roles = (word(holder, "role") for holder in (agent, about) if isinstance(holder, Mapping))
    return event.get("agent_role") or next(filter(None, roles), None)


def _time(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


# -------------------------------------------------------------------------------------------------------------- output


class _Task:
    """What a task put out."""

    def __init__(self, recording: Recording, task: Mapping[str, Any], path: Path) -> None:
        self._recording = recording
        self._task = task
        self._path = path
        # Calls that failed, by tool and arguments, and the calls that were made, by id.
        self._failures: Counter[Hashable] = Counter()
        self._calls: dict[Any, Hashable] = {}

    def read(self) -> None:
        task, messages = self._task, (*self._path, "messages")
        for failure, _ in each_mapping(
            self._recording, task.get("tool_failures"), (*self._path, "tool_failures"), "one"
        ):
            self._failures[freeze([failure.get("tool_name"), failure.get("tool_args")])] += 1
        events_before = len(self._recording)
        for message, place in each_mapping(self._recording, task.get("messages"), messages, "a message"):
            self._read_message(message, place)
        if len(self._recording) == events_before:
            self._recording.doubt("a task without messages: its calls are recorded in events only", self._path)
            self._recording.say("agent", word(task, "raw"), self._path, task.get("agent"))

    def _read_message(self, message: Mapping[str, Any], path: Path) -> None:
        role, content = word(message, "role"), message.get("content")
        text = "\n".join(texts_of(content))
        if role == "tool":
            self._read_result(message, path)
        elif role not in _SPEAKERS:
            self._recording.doubt(f"an unknown role {show(message.get('role'))}", path)
        else:
            calls = list(each_mapping(self._recording, message.get("tool_calls"), (*path, "tool_calls"), "a tool call"))
            if text or not calls:
                self._recording.say(_SPEAKERS[role], text, path, self._task.get("agent"))
            for call, place in calls:
                self._read_call(call, place)
            if role == "assistant" and _has_call_in_text(text):
                self._recording.doubt("a call that is written as text: what was run is recorded in events only", path)

    def _read_call(self, call: Mapping[str, Any], path: Path) -> None:
        function = call.get("function")
        own = function if isinstance(function, Mapping) else call
        call_id, arguments, calls = call.get("id"), own.get("arguments"), self._recording.calls
        self._recording.call(own.get("name"), arguments, call_id, path, by=self._task.get("agent"))
        if self._recording.calls > calls and isinstance(call_id, (str, int)):
            self._calls[call_id] = freeze([own.get("name"), self._recording.records[-1].args])

    def _read_result(self, message: Mapping[str, Any], path: Path) -> None:
        """Read a result. Messages don't say which failed; the task's list of failures does."""
        call_id = message.get("tool_call_id")
        key = self._calls.get(call_id) if isinstance(call_id, (str, int)) else None
        failed = key is not None and self._failures[key] > 0
        if failed:
            self._failures[key] -= 1
        is_error = True if failed else None
        self._recording.answer(message.get("content"), call_id, path, of=message.get("name"), is_error=is_error)


# ------------------------------------------------------------------------------------------------------------- objects

_FIELDS: Final = (
    "type",
    "timestamp",
    "event_id",
    "started_event_id",
    "parent_event_id",
    "emission_sequence",
    "agent_role",
    "agent_info",
    "tool_name",
    "tool_args",
    "run_attempts",
    "output",
    "error",
    "failure",
    "task_prompt",
    "messages",
    "call_type",
)


def _converted(value: Any) -> Any:
    """Make data of an event; it holds whole agents and crews. Everything else dumps itself."""
    if not hasattr(value, "emission_sequence") or not isinstance(getattr(value, "type", None), str):
        return value
    data = {field: getattr(value, field) for field in _FIELDS if hasattr(value, field)}
    role = getattr(getattr(value, "agent", None), "role", None)
    if not data.get("agent_role") and isinstance(role, str):
        data["agent_role"] = role
    if isinstance(data.get("error"), Exception):
        data["error"] = str(data["error"])
    return data


READER: Final = Reader(
    "crewai",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"type", "tasks_output"}),
    objects={"crewai": _converted},
)

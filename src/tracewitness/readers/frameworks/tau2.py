"""Read results of tau2-bench: simulations of a user and an agent, both of whom may call tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "read"]

SHAPE: Final = "results of tau2-bench have simulations, each with messages and a task_id"

_SPEAKERS: Final[dict[str, Role]] = {"user": "user", "assistant": "agent", "system": "system"}
_BESIDE: Final = frozenset({"reward_info", "termination_reason"})
# Who ended the session, where it was not cut off.
_ENDINGS: Final = frozenset({"user_stop", "agent_stop"})


def read(document: Any, name: str = "") -> Trace:
    """Read one simulation. Its name is the task's, so that all trials of a task are runs of one case.

    A call that the user made is one of an agent ``user``; the calls of the assistant name no agent.

    Raises:
        ReadError: it is nothing of the kind.

    >>> call = {"id": "c1", "name": "toggle_data", "arguments": {}, "requestor": "user"}
    >>> messages = [{"role": "user", "content": None, "tool_calls": [call]}]
    >>> read({"task_id": "7", "messages": messages, "termination_reason": "max_steps"}).calls[0].agent
    'user'
    """
    if not isinstance(document, Mapping) or not _MESSAGES.intersection(document):
        raise refuse(document, SHAPE)
    recording = Recording()
    for message, path in each_mapping(recording, document.get("messages"), ("messages",), "a message"):
        _read_message(recording, message, path)
    if document.get("ticks") and not document.get("messages"):
        recording.doubt("the run was recorded in ticks alone, which are not read", ("ticks",))
    if word(document, "termination_reason") in _ENDINGS:
        recording.end(("termination_reason",))
    return recording.trace(_name_of(document) or name)


def _name_of(simulation: Mapping[str, Any]) -> str:
    task = simulation.get("task_id")
    return str(task) if isinstance(task, (str, int)) else ""


# ----------------------------------------------------------------------------------------------------------- detection

_MESSAGES: Final = frozenset({"messages", "ticks"})


def _detects(document: Any) -> bool:
    """Whether data is a file of results, or one simulation, as newer versions save them."""
    if not isinstance(document, Mapping):
        return False
    simulations = document.get("simulations")
    if isinstance(simulations, list):
        return "tasks" in document or any(map(_is_run, simulations))
    return _is_run(document) and not _BESIDE.isdisjoint(document)


def _is_run(item: Any) -> bool:
    return isinstance(item, Mapping) and "task_id" in item and isinstance(item.get("messages"), list)


def _runs(document: Any) -> list[Any]:
    simulations = document.get("simulations") if isinstance(document, Mapping) else None
    if not isinstance(simulations, list):
        return [document]
    if not document.get("messages"):
        return simulations
    own = {key: value for key, value in document.items() if key != "simulations"}
    return [own, *simulations]  # messages beside the simulations are a run as well


# ------------------------------------------------------------------------------------------------------------- reading


def _read_message(recording: Recording, message: Mapping[str, Any], path: Path) -> None:
    role = word(message, "role")
    if "tool_messages" in message:
        for result, place in each_mapping(recording, message["tool_messages"], (*path, "tool_messages"), "a result"):
            _read_result(recording, result, place)
    elif role == "tool":
        _read_result(recording, message, path)
    elif role in _SPEAKERS:
        _read_words(recording, message, _SPEAKERS[role], path)
        for call, place in each_mapping(recording, message.get("tool_calls"), (*path, "tool_calls"), "a tool call"):
            _read_call(recording, call, role, message.get("timestamp"), place)
    else:
        recording.doubt(f"an unknown role {show(message.get('role'))}", path)


def _read_words(recording: Recording, message: Mapping[str, Any], role: Role, path: Path) -> None:
    """Read what was said: a message that only calls tools says nothing, and a user's begins no turn."""
    content = message.get("content")
    if message.get("is_audio") is True:
        content = message.get("audio_script_gold")  # the content is the sound
    if content is not None and not isinstance(content, str):
        recording.doubt(f"content is a text, not {show(content)}", path, hides_call=False)
    elif content or not message.get("tool_calls"):
        recording.say(role, content or "", path)


def _read_call(recording: Recording, call: Mapping[str, Any], role: str, at: Any, path: Path) -> None:
    requestor = call.get("requestor") or role
    by = "user" if requestor == "user" else None
    recording.call(call.get("name"), call.get("arguments"), call.get("id"), path, by=by, at=at)


def _read_result(recording: Recording, message: Mapping[str, Any], path: Path) -> None:
    """Read a result; its id is that of the call."""
    error = message.get("error")
    recording.answer(
        message.get("content"),
        message.get("id"),
        path,
        is_error=error if isinstance(error, bool) else None,
        at=message.get("timestamp"),
    )


READER: Final = Reader(
    "tau2-bench",
    detects=_detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"simulations", "task_id"}),
    runs=_runs,
)

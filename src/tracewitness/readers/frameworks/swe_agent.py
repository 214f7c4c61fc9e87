"""Read trajectories of SWE-agent (``.traj``): the steps that were taken, and the history that the model was shown."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import plural, show
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, payload_of, refuse, texts_of, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "read"]

SHAPE: Final = "a trajectory of SWE-agent has steps with action and observation, or a history of such messages"

_SPEAKERS: Final[dict[str, Role]] = {"user": "user", "system": "system"}
_STEP_KEYS: Final = frozenset({"response", "thought", "state", "query"})
# What an action is a call to where it is a line of text: SWE-agent has one shell, in which its own commands run too.
_SHELL: Final = "bash"

_Item = tuple[Mapping[str, Any], Path]


def read(document: Any, name: str = "") -> Trace:
    """Read one trajectory.

    Where the model calls functions, the calls are those. Where it writes commands as text, each action is a call to
    ``bash`` with the text as ``command``, whatever commands are in it.

    The steps have every action, also those that were taken back or refused and that the history leaves out, and what
    came of each in full. The history has the prompts and the functions that were called. So both are read together;
    a document may have one of them alone.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"trajectory": [{"thought": "Look.", "action": "ls", "observation": "a.py"}], "info": {}}).calls
    (<ToolCall 1: bash({'command': 'ls'})>,)
    """
    if not isinstance(document, Mapping) or _LISTS.isdisjoint(document):
        raise refuse(document, SHAPE)
    recording = Recording()
    history = list(each_mapping(recording, document.get("history"), ("history",), "a message"))
    history = [item for item in history if not item[0].get("is_demo")]  # an example for the model, not its own doing
    steps = list(each_mapping(recording, document.get("trajectory"), ("trajectory",), "a step"))
    if steps:
        _read_steps(recording, steps, history)
    else:
        _read_history(recording, history)
    return recording.trace(word(document, "instance_id") or name)


# ----------------------------------------------------------------------------------------------------------- detection

_LISTS: Final = frozenset({"trajectory", "history"})


def _detects(document: Any) -> bool:
    if not isinstance(document, Mapping):
        return False
    if any(map(_detects, _attempts(document))):
        return True
    steps, history = document.get("trajectory"), document.get("history")
    return (isinstance(steps, list) and any(map(_is_step, steps))) or (
        isinstance(history, list) and any(map(_is_action, history))
    )


def _attempts(document: Mapping[str, Any]) -> list[Any]:
    attempts = document.get("attempts")
    return attempts if isinstance(attempts, list) else []


def _is_step(item: Any) -> bool:
    return isinstance(item, Mapping) and "action" in item and "observation" in item and not _STEP_KEYS.isdisjoint(item)


def _is_action(item: Any) -> bool:
    """Whether a message of a history is one in which the model acts."""
    return isinstance(item, Mapping) and item.get("role") == "assistant" and "action" in item and "message_type" in item


def _runs(document: Any) -> list[Any]:
    """Return the attempts of an agent that tries several times, one of which stands on top as well."""
    return (_attempts(document) if isinstance(document, Mapping) else None) or [document]


# ------------------------------------------------------------------------------------------------------------- reading


def _read_steps(recording: Recording, steps: list[_Item], history: list[_Item]) -> None:
    """Read the steps, with the functions that the history says they called."""
    _read_prompts(recording, history)
    actions = deque(item for item in history if _is_action(item[0]))
    for step, path in steps:
        is_told = bool(actions) and _action_of(actions[0][0]) == _action_of(step)
        item = actions.popleft()[0] if is_told else {}
        calls_before = recording.calls
        _say(recording, step.get("thought") or step.get("response"), path, item)
        call_ids = _read_calls(recording, {**item, "action": step.get("action")}, path)
        if recording.calls > calls_before:
            _answer(recording, step.get("observation"), call_ids, (*path, "observation"))
    if actions:
        reason = f"the history has {plural(len(actions), 'action')} that no step of the trajectory is"
        recording.doubt(reason, actions[0][1])


def _read_prompts(recording: Recording, history: list[_Item]) -> None:
    """Read what stood in the history before the first action."""
    for item, path in history:
        if _is_action(item):
            break
        _read_message(recording, item, path)


def _read_history(recording: Recording, history: list[_Item]) -> None:
    """Read a history alone: what the model was told of an observation stands for it."""
    call_ids: list[Any] | None = None
    for item, path in history:
        if _is_action(item):
            _say(recording, item.get("thought") or item.get("content"), path, item)
            calls_before = recording.calls
            call_ids = _read_calls(recording, item, path)
            call_ids = call_ids if recording.calls > calls_before else None
        elif call_ids is not None and item.get("message_type") == "observation":
            _answer(recording, payload_of(item.get("content")), item.get("tool_call_ids") or call_ids, path)
            call_ids = None
        else:
            _read_message(recording, item, path)


def _read_message(recording: Recording, item: Mapping[str, Any], path: Path) -> None:
    role, text = word(item, "role"), "\n".join(texts_of(item.get("content")))
    if role in _SPEAKERS:
        recording.say(_SPEAKERS[role], text, path)
    elif role == "assistant":
        recording.say("agent", text, path, by=item.get("agent"))
    else:
        recording.doubt(f"a message of {show(item.get('role'))} where nothing was called", path)


def _say(recording: Recording, text: Any, path: Path, item: Mapping[str, Any]) -> None:
    if isinstance(text, str) and text:
        recording.say("agent", text, path, by=item.get("agent"))


def _action_of(item: Mapping[str, Any]) -> str:
    return word(item, "action").strip()


def _read_calls(recording: Recording, item: Mapping[str, Any], path: Path) -> list[Any]:
    """Read the functions that were called, or the action where it is text, and return the ids of the calls."""
    functions = item.get("tool_calls")
    if functions:
        return [
            _read_function(recording, call, item.get("agent"), place)
            for call, place in each_mapping(recording, functions, (*path, "tool_calls"), "a tool call")
        ]
    action = item.get("action")
    if isinstance(action, str):
        if action.strip():
            recording.call(_SHELL, {"command": action}, None, (*path, "action"), by=item.get("agent"))
    elif action is not None:
        recording.doubt(f"an action is a text, not {show(action)}", (*path, "action"))
    return [None]


def _read_function(recording: Recording, call: Mapping[str, Any], agent: Any, path: Path) -> Any:
    function = call.get("function")
    if isinstance(function, Mapping):
        recording.call(function.get("name"), function.get("arguments"), call.get("id"), path, by=agent)
    else:
        recording.doubt(f"a tool call has a function, this is {show(dict(call))}", path)
    return call.get("id")


def _answer(recording: Recording, observation: Any, call_ids: Any, path: Path) -> None:
    """Read an observation. There is one for each step; which of several calls it came of, nobody says."""
    ids = call_ids if isinstance(call_ids, list) and call_ids else [None]
    recording.answer(observation, ids[0], path)
    if len(ids) > 1:
        recording.doubt(f"one observation of {len(ids)} calls, taken for that of the first", path, hides_call=False)


READER: Final = Reader(
    "swe-agent",
    detects=_detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"trajectory", "history", "attempts"}),
    runs=_runs,
)

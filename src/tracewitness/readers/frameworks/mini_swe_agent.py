"""Read trajectories of mini-swe-agent: the messages that its model was shown, with the actions that were taken.

An action is a command for the shell. Where the model calls functions, the calls are told in its messages, as chat
completions or Responses have them; where it writes commands as text, the actions stand beside its messages alone, and
each is a call to ``bash``. What a command printed is an error where it ended with another status than 0.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.providers import openai_chat
from tracewitness.readers.providers.openai_responses import ItemReader
from tracewitness.readers.providers.shared import actions_of, holds_actions
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "read"]

SHAPE: Final = "a trajectory of mini-swe-agent has messages, each with what was done in its extra"

_SHELL: Final = "bash"
_MESSAGES: Final = "messages"
_DONE: Final = "Submitted"


def read(document: Any, name: str = "") -> Trace:
    """Read a trajectory, or its messages alone.

    Raises:
        ReadError: it is nothing of the kind.

    >>> acted = {"role": "assistant", "content": "Look.", "extra": {"actions": [{"command": "ls"}]}}
    >>> read({"messages": [acted], "trajectory_format": "mini-swe-agent-1.1"}).calls[0].args
    {'command': 'ls'}
    """
    path: Path = (_MESSAGES,) if isinstance(document, Mapping) else ()
    messages = document.get(_MESSAGES) if isinstance(document, Mapping) else document
    if not isinstance(messages, list):
        raise refuse(document, SHAPE)
    trajectory = _Trajectory()
    for message, place in each_mapping(trajectory.recording, messages, path, "a message"):
        trajectory.read(message, place)
    return trajectory.recording.trace(word(document, "instance_id") if path else name)


class _Trajectory:
    """Reads the messages of a trajectory.

    Attributes:
        recording: the trace in the making.
    """

    def __init__(self) -> None:
        self.recording = Recording()
        self._items = ItemReader(self.recording)
        # The calls that nothing answered yet, of commands written as text; they have ids of ours.
        self._open: deque[str] = deque()
        # The call that was the only one of the last answer, until it is answered.
        self._last_id: Any = None

    def read(self, message: Mapping[str, Any], path: Path) -> None:
        """Read a message."""
        told = message.get("extra")
        extra: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
        if message.get("role") == "exit":
            self._exit(message, extra, path)
        elif "returncode" in extra:
            self._observation(message, extra, path)
        elif message.get("object") == "response":
            for item, place in each_mapping(self.recording, message.get("output"), (*path, "output"), "an item"):
                self._items.item(item, place)
            self._actions(message, path)
        elif "type" in message:
            self._items.item(message, path)
        else:
            openai_chat.read_item(self.recording, message, path)
            self._actions(message, path)
        if extra.get("interrupt_type") == "FormatError":
            self.recording.doubt("an answer was refused, and is not recorded", path, hides_call=False)

    def _actions(self, message: Mapping[str, Any], path: Path) -> None:
        """Read the actions of an answer; those of one that calls functions are its calls."""
        found = list(each_mapping(self.recording, actions_of(message), (*path, "extra", "actions"), "an action"))
        if found:
            self._open.clear()
        for action, place in found:
            call_id = action.get("tool_call_id")
            if call_id is None:
                call_id = f"{path[-1]}.{place[-1]}"
                self._open.append(call_id)
                self.recording.call(_SHELL, dict(action), call_id, place)
            self._last_id = call_id if len(found) == 1 else None

    def _observation(self, message: Mapping[str, Any], extra: Mapping[str, Any], path: Path) -> None:
        """Read what came of an action."""
        self._last_id = None
        call_id = message.get("tool_call_id") or message.get("call_id")
        if call_id is None:
            call_id = self._open.popleft() if self._open else None
        payload = message["output"] if "output" in message else message.get("content")
        is_error = extra.get("returncode") != 0 or bool(extra.get("exception_info"))
        if call_id is None:
            self.recording.doubt(f"an observation of no action: {show(payload)}", path, hides_call=False)
        else:
            self.recording.answer(payload, call_id, path, is_error=is_error, at=extra.get("timestamp"))

    def _exit(self, message: Mapping[str, Any], extra: Mapping[str, Any], path: Path) -> None:
        """Read how it ended. The last command submits by what it prints, and has no observation."""
        status = extra.get("exit_status")
        if status == _DONE:
            if self._last_id is not None:
                self.recording.answer(message.get("content"), self._last_id, path, is_error=False)
        else:
            reason = f"the run ended early: {show(status)}: {show(message.get('content'), 200)}"
            self.recording.doubt(reason, path, hides_call=False)
        self.recording.end(path)


READER: Final = Reader(
    "mini-swe-agent", detects=holds_actions, read=read, shape=SHAPE, keys=frozenset({_MESSAGES, "extra"})
)

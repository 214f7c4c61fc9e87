"""Read the events of a run of LangChain or LangGraph, as ``astream_events`` yields them.

What models were given and what they answered, what steps gave, and what tools gave are put together by `Conversation`:
events tell each message many times over. Pieces of answers are passed over, since the whole answer follows; where it
does not, the run broke off, and that may hide calls. A tool that no model asked for has no call in any message: its run
is the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tracewitness.display import show
from tracewitness.readers.conversation import Conversation, recording_of
from tracewitness.readers.frameworks.langchain_messages import message_at
from tracewitness.readers.recording import Path, Recording, each_mapping, read_arguments, word

__all__ = ["are_events", "read"]

_LOOKED_AT: Final = 4
_ANSWERS: Final = frozenset({"on_chat_model_end", "on_llm_end"})
_GIVEN: Final = frozenset({"on_chain_start", "on_chat_model_start", "on_llm_start"})
_TOOLS_ENDED: Final = frozenset({"on_tool_end", "on_tool_error"})
_LONGEST_ERROR: Final = 500
_ASKED: Final = frozenset({"on_chat_model_start", "on_llm_start"})

# Reads the messages in data, and returns how many there are.
ReadMessages = Callable[[Recording, Any], int]


def are_events(document: Any) -> bool:
    """Whether a document is a list of such events."""
    return isinstance(document, list) and any(map(_is_event, document[:_LOOKED_AT]))


def _is_event(item: Any) -> bool:
    is_event = isinstance(item, Mapping) and "run_id" in item and isinstance(item.get("data"), Mapping)
    return is_event and word(item, "event").startswith("on_")


def read(events: list[Any], read_messages: ReadMessages) -> Recording:
    """Read events.

    Arguments:
        read_messages: reads the messages in a part of an event.
    """
    reader = _Events(read_messages)
    for event, path in each_mapping(reader.conversation, events, (), "an event"):
        reader.read(event, path)
    reader.end()
    return reader.conversation


class _Run(NamedTuple):
    """A run of a tool.

    Attributes:
        name, arguments: as the event of its beginning tells them.
        path: of that event.
    """

    name: Any
    arguments: Any
    path: Path


class _Outcome(NamedTuple):
    """What a run of a tool gave, or how it failed, where no message may tell of it."""

    payload: Any
    is_error: bool
    path: Path


class _Events:
    """Reads the events of a run, one after the other.

    Attributes:
        conversation: what they told.
    """

    def __init__(self, read_messages: ReadMessages) -> None:
        self.conversation = Conversation()
        self._read_messages = read_messages
        self._asked: dict[str, Path] = {}
        self._runs: dict[str, _Run] = {}
        # By the position of the call. One that failed may be tried again, and is then told by the last run of it.
        self._outcomes: dict[int, _Outcome] = {}

    def read(self, event: Mapping[str, Any], path: Path) -> None:
        """Read an event."""
        kind, run_id, data = word(event, "event"), str(event.get("run_id")), event.get("data")
        if not isinstance(data, Mapping) or not kind:
            self.conversation.doubt(f"neither an event nor its data: {show(list(event))}", path)
        elif kind in _ANSWERS:
            self._asked.pop(run_id, None)
            self._take(data.get("output"), (*path, "data", "output"), is_answer=True)
        elif kind in _GIVEN:
            if kind in _ASKED:
                self._asked[run_id] = path
            self._take(data.get("input"), (*path, "data", "input"))
        elif kind == "on_chain_end":
            self._take(data.get("output"), (*path, "data", "output"))
        elif kind == "on_tool_start":
            self._runs[run_id] = _Run(event.get("name"), data.get("input"), path)
        elif kind in _TOOLS_ENDED:
            run = self._runs.pop(run_id, None) or _Run(event.get("name"), data.get("input"), path)
            self._tool_ended(run_id, run, data, path)

    def end(self) -> None:
        """Read what only the end shows: what no message told of, and which answers never came."""
        for position, outcome in self._outcomes.items():
            if self.conversation.is_open(position):
                call = self.conversation.records[position]
                self.conversation.answer(
                    outcome.payload, call.id or None, outcome.path, of=call.call, is_error=outcome.is_error
                )
        for run_id, run in self._runs.items():
            if self._open_call(run) is None:
                self.conversation.call(run.name, run.arguments, run_id, run.path)
        for path in self._asked.values():
            self.conversation.doubt("a model was asked, and no event tells what it answered", path)

    def _take(self, data: Any, path: Path, *, is_answer: bool = False) -> bool:
        """Take the messages in a part of an event, and say whether there are any."""
        told = Recording()
        if not self._read_messages(told, data):
            return False
        found = recording_of(told.trace(""), path)
        (self.conversation.add_response if is_answer else self.conversation.add_request)(found)
        return True

    def _tool_ended(self, run_id: str, run: _Run, data: Mapping[str, Any], path: Path) -> None:
        """Read what a tool gave: messages, one of which answers a model's call, or anything else.

        Then a message may still tell it; but where no model made such a call, the tool was called directly.
        """
        output, is_error = data.get("output"), "error" in data
        if not is_error and _may_be_messages(output) and self._take(output, (*path, "data", "output")):
            return
        payload = show(data["error"], _LONGEST_ERROR) if is_error else output
        position = self._open_call(run)
        if position is not None:
            self._outcomes[position] = _Outcome(payload, is_error, path)
            return
        self.conversation.call(run.name, run.arguments, run_id, run.path)
        self.conversation.answer(payload, run_id, path, is_error=is_error)

    def _open_call(self, run: _Run) -> int | None:
        """Return the position of the call that a run may be of: one that nothing answered, nor another run."""
        done = {position for position, outcome in self._outcomes.items() if not outcome.is_error}
        return self.conversation.open_call(run.name, read_arguments(run.arguments)[0], done)


def _may_be_messages(output: Any) -> bool:
    """Whether a tool gave a message, several, or a command that has some."""
    return (
        isinstance(output, list) or message_at(output) is not None or (isinstance(output, Mapping) and "goto" in output)
    )

"""Read AutoGen: messages and events of agents and teams, results with ``messages``, and saved states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.pairing import freeze
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "a message of AutoGen has a type such as ToolCallRequestEvent and a source; a result has messages"

_CODE: Final = "code_execution"
_USER: Final = "user"
_REQUEST: Final = "ToolCallRequestEvent"
_EXECUTION: Final = "ToolCallExecutionEvent"
_SUMMARY: Final = "ToolCallSummaryMessage"
_ASKED_USER: Final = "UserInputRequestedEvent"
_SPOKEN: Final = frozenset({"TextMessage", "MultiModalMessage", "StopMessage", "StructuredMessage", _SUMMARY})
_SILENT: Final = frozenset(
    {
        _ASKED_USER,
        "MemoryQueryEvent",
        "ModelClientStreamingChunkEvent",
        "SelectSpeakerEvent",
        "SelectorEvent",
        "ThoughtEvent",
    }
)
_CODE_EVENTS: Final = frozenset({"CodeGenerationEvent", "CodeExecutionEvent"})
_TYPES: Final = _SPOKEN | _SILENT | _CODE_EVENTS | {_REQUEST, _EXECUTION, "HandoffMessage"}
# What an agent keeps in its memory of the conversation.
_MODEL_TYPES: Final = frozenset({"SystemMessage", "UserMessage", "AssistantMessage", "FunctionExecutionResultMessage"})
_STATES: Final = ("agent_states", "message_thread", "llm_context", "agent_state")


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, list):
        return any(_is_message(item) or (isinstance(item, Mapping) and _is_result(item)) for item in document)
    return isinstance(document, Mapping) and (_is_message(document) or _is_result(document) or _is_state(document))


def read(document: Any, name: str = "") -> Trace:
    """Read a message, a list of them, a result with ``messages``, or what a team or an agent saved.

    Raises:
        ReadError: it is nothing of the kind.

    >>> call = {"id": "c1", "name": "search", "arguments": '{"q": "lamp"}'}
    >>> read([{"type": "ToolCallRequestEvent", "source": "alice", "content": [call]}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 'c1', 'by': 'alice'}]
    """
    run = _Run()
    if isinstance(document, list):
        run.read_messages(document, ())
    elif isinstance(document, Mapping) and _is_state(document):
        _read_state(run, document, ())
    elif isinstance(document, Mapping) and "messages" in document:
        run.read_messages(document["messages"], ("messages",))
    elif isinstance(document, Mapping) and "type" in document:
        run.read_messages([document], ())
    else:
        raise refuse(document, SHAPE)
    return run.recording.trace(name)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_message(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    kind = word(item, "type")
    return (_is_own(kind) or kind in _MODEL_TYPES) and ("source" in item or "content" in item)


def _is_own(kind: str) -> bool:
    """Whether a type is one of AutoGen's. Messages with structure have the name of theirs in it."""
    return kind in _TYPES or kind.startswith("StructuredMessage[")


def _is_result(item: Mapping[str, Any]) -> bool:
    messages = item.get("messages")
    return isinstance(messages, list) and any(map(_is_message, messages))


def _is_state(item: Mapping[str, Any]) -> bool:
    return word(item, "type").endswith("State") and any(isinstance(item.get(key), (Mapping, list)) for key in _STATES)


# ------------------------------------------------------------------------------------------------------------ messages


class _Run:
    """A run that is being read.

    Attributes:
        recording: the trace in the making.
        calls: how often each call was made.
    """

    def __init__(self) -> None:
        self.recording = Recording()
        self.calls: Counter[Hashable] = Counter()
        self._answers: Counter[Hashable] = Counter()
        # Calls and results that a summary will repeat.
        self._to_repeat: Counter[Hashable] = Counter()
        self._seen: set[str] = set()
        self._users = {_USER}
        self._codes = 0

    def read_messages(self, messages: Any, path: Path) -> None:
        self._users |= _who_was_asked(messages)
        for message, place in each_mapping(self.recording, messages, path, "a message"):
            if "type" not in message and _is_result(message):
                # A stream ends with a result that holds all that came before.
                inner = each_mapping(self.recording, message["messages"], (*place, "messages"), "a message")
                self._users |= _who_was_asked(message["messages"])
                self._read_new(inner)
            else:
                self._read_new([(message, place)])

    def _read_new(self, found: Iterable[tuple[Mapping[str, Any], Path]]) -> None:
        for message, place in found:
            if self._is_new(message):
                self._read_message(message, place)

    def _is_new(self, message: Mapping[str, Any]) -> bool:
        own_id = message.get("id")
        if not isinstance(own_id, str) or not own_id:
            return True
        is_new = own_id not in self._seen
        self._seen.add(own_id)
        return is_new

    def _read_message(self, message: Mapping[str, Any], path: Path) -> None:
        kind, source, at = word(message, "type"), word(message, "source"), _time(message.get("created_at"))
        if kind in _MODEL_TYPES:
            self.read_model_message(message, path)
        elif kind == _REQUEST:
            self._read_calls(message.get("content"), (*path, "content"), source, at)
        elif kind == _EXECUTION:
            self._read_results(message.get("content"), (*path, "content"), at)
        elif kind == "HandoffMessage":
            self._read_handoff(message, path, source)
        elif kind in _CODE_EVENTS:
            self._read_code(message, path, source, at)
        elif kind in _SPOKEN or _is_own(kind):
            if kind == _SUMMARY:
                self._read_summary(message, path, source)
            if kind not in _SILENT:
                self._say(message.get("content"), path, source)
        else:
            self.recording.doubt(f"an unknown message of type {show(message.get('type'))}", path)

    def _say(self, content: Any, path: Path, source: str) -> None:
        text = _text_of(content)
        if source in self._users:
            self.recording.say("user", text, path)
        else:
            self.recording.say("agent", text, path, source)

    def _read_calls(self, calls: Any, path: Path, source: Any, at: Any = None) -> None:
        for call, place in each_mapping(self.recording, calls, path, "a call"):
            self._to_repeat[_key(call)] += 1
            self._read_call(call, place, source, at)

    def _read_call(self, call: Mapping[str, Any], path: Path, source: Any, at: Any = None) -> None:
        self.calls[_key(call)] += 1
        self.recording.call(call.get("name"), call.get("arguments"), call.get("id"), path, by=source, at=at)

    def _read_results(self, results: Any, path: Path, at: Any = None) -> None:
        for result, place in each_mapping(self.recording, results, path, "a result"):
            self._to_repeat[_result_key(result)] += 1
            self._read_result(result, place, at)

    def _read_result(self, result: Mapping[str, Any], path: Path, at: Any = None) -> None:
        self._answers[_result_key(result)] += 1
        flag, payload, call_id = result.get("is_error"), result.get("content"), result.get("call_id")
        is_error = flag if isinstance(flag, bool) else None
        self.recording.answer(payload, call_id, path, of=result.get("name"), is_error=is_error, at=at)

    def _read_summary(self, message: Mapping[str, Any], path: Path, source: str) -> None:
        """Read the calls that a summary tells of, where no event told of them before."""
        for call, place in each_mapping(self.recording, message.get("tool_calls"), (*path, "tool_calls"), "a call"):
            if not self._is_repeated(_key(call)):
                self._read_call(call, place, source)
        for result, place in each_mapping(self.recording, message.get("results"), (*path, "results"), "a result"):
            if not self._is_repeated(_result_key(result)):
                self._read_result(result, place)
        self._to_repeat.clear()

    def _is_repeated(self, key: Hashable) -> bool:
        is_repeated = self._to_repeat[key] > 0
        self._to_repeat[key] -= 1
        return is_repeated

    def _read_handoff(self, message: Mapping[str, Any], path: Path, source: str) -> None:
        """Read a handoff. The other agent is told of calls that were made at the same time."""
        for item, place in each_mapping(self.recording, message.get("context"), (*path, "context"), "a message"):
            self.read_if_new(item, place)
        self._say(message.get("content"), path, source)
        self.recording.transfer(message.get("target"), path, source)

    def _read_code(self, message: Mapping[str, Any], path: Path, source: str, at: Any) -> None:
        """Read code of an agent that was run; it is a call with the code as its argument."""
        if message.get("type") == "CodeGenerationEvent":
            self._say(message.get("content"), path, source)
            if message.get("code_blocks"):
                self._codes += 1
                arguments = {"code_blocks": message["code_blocks"]}
                self.recording.call(_CODE, arguments, None, path, by=source, at=at)
            return
        result = message.get("result")
        if not isinstance(result, Mapping):
            self.recording.doubt(f"a result of code is a mapping, not {show(result)}", path, hides_call=False)
        elif self._codes:
            self._codes -= 1
            code = result.get("exit_code")
            is_error = code != 0 if isinstance(code, int) else None
            self.recording.answer(result.get("output"), None, path, of=_CODE, is_error=is_error, at=at)

    # ---------------------------------------------------------------------------------------------- an agent's memory

    def read_if_new(self, message: Mapping[str, Any], path: Path) -> None:
        """Read the calls and results of a message in an agent's memory that were not told before."""
        own = _Run()
        own.read_model_message(message, path)
        if _more(own.calls, self.calls) or _more(own._answers, self._answers):
            self.read_model_message(message, path)

    def read_model_message(self, message: Mapping[str, Any], path: Path, agents: frozenset[str] = frozenset()) -> None:
        """Read a message as an agent keeps it.

        Arguments:
            agents: the names of agents; what they said to each other stands there as messages of users.
        """
        kind, content, source = word(message, "type"), message.get("content"), word(message, "source")
        place = (*path, "content")
        if kind == "SystemMessage":
            self.recording.say("system", _text_of(content), path)
        elif kind == "UserMessage" and source in agents:
            self.recording.say("agent", _text_of(content), path, source)
        elif kind == "UserMessage":
            self.recording.say("user", _text_of(content), path)
        elif kind == "FunctionExecutionResultMessage":
            self._read_results(content, place)
        elif kind != "AssistantMessage":
            self.recording.doubt(f"an unknown message of type {show(message.get('type'))}", path)
        elif isinstance(content, list):
            self._read_calls(content, place, source)
        else:
            self.recording.say("agent", _text_of(content), path, source)


def _who_was_asked(messages: Any) -> set[str]:
    """Return who speaks for a user: agents that asked one for input."""
    items = messages if isinstance(messages, list) else []
    asked = (item for item in items if isinstance(item, Mapping) and item.get("type") == _ASKED_USER)
    return {item["source"] for item in asked if isinstance(item.get("source"), str)}


def _text_of(content: Any) -> str:
    """Return the text of a content: a text, a list of texts and images, or a structure, which has none."""
    if isinstance(content, str):
        return content
    return "\n".join(part for part in content if isinstance(part, str)) if isinstance(content, list) else ""


def _key(call: Mapping[str, Any]) -> Hashable:
    return "call", freeze([call.get("id"), call.get("name"), call.get("arguments")])


def _result_key(result: Mapping[str, Any]) -> Hashable:
    return "result", freeze([result.get("call_id"), result.get("name"), result.get("content")])


def _more(some: Counter[Hashable], others: Counter[Hashable]) -> int:
    """Return how many there are of the one that are not among the others."""
    return sum(max(0, count - others[key]) for key, count in some.items())


def _time(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


# -------------------------------------------------------------------------------------------------------------- states


def _read_state(run: _Run, state: Mapping[str, Any], path: Path) -> None:
    """Read what a team or an agent saved.

    A team's thread tells what happened, in order. What only agents remember has no place in it.
    """
    states = list(_states(state, path))
    agents = frozenset(agent for agent, _, _ in states if agent)
    threads = [(own, place) for _, own, place in states if isinstance(own.get("message_thread"), list)]
    for own, place in threads[:1]:
        run.read_messages(own["message_thread"], (*place, "message_thread"))
    memories = [
        (agent, own["llm_context"].get("messages"), (*place, "llm_context", "messages"))
        for agent, own, place in states
        if isinstance(own.get("llm_context"), Mapping)
    ]
    for agent, messages, where in memories:
        if not threads and len(memories) == 1:
            for message, message_place in each_mapping(run.recording, messages, where, "a message"):
                run.read_model_message(message, message_place, agents)
        else:
            _doubt_unknown(run, agent, messages, where)


def _doubt_unknown(run: _Run, agent: str, messages: Any, path: Path) -> None:
    memory = _Run()
    for message, place in each_mapping(memory.recording, messages, path, "a message"):
        memory.read_model_message(message, place)
    unknown = _more(memory.calls, run.calls)
    if unknown:
        run.recording.doubt(f"{show(agent)} remembers {unknown} calls of which it is not known when", path)


def _states(state: Mapping[str, Any], path: Path) -> Iterator[tuple[str, Mapping[str, Any], Path]]:
    """Yield the states in a state, each with the name of its agent and its place; a team's is in its manager's."""
    found: list[tuple[str, Any, Path]] = [("", state, path)]
    for agent, own, place in found:  # it grows
        if not isinstance(own, Mapping):
            continue
        yield agent, own, place
        inner = own.get("agent_states")
        if isinstance(inner, Mapping):
            found += [(str(name), item, (*place, "agent_states", str(name))) for name, item in inner.items()]
        found.append((agent, own.get("agent_state"), (*place, "agent_state")))


# ------------------------------------------------------------------------------------------------------------- objects


def _converted(value: Any) -> Any:
    """Make data of a response of one agent; everything else dumps itself."""
    if type(value).__name__ == "Response" and hasattr(value, "chat_message"):
        return {"messages": [*(value.inner_messages or ()), value.chat_message]}
    return value


READER: Final = Reader(
    "autogen",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"type", "messages"}),
    objects={"autogen_agentchat": _converted, "autogen_core": _converted},
)

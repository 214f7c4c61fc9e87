"""Read the Claude Agent SDK: its message objects, and what the command line writes as ``stream-json``.

A message is an answer or a user's message of Anthropic in a wrapping that says whose it is. What is decided here:

- A call of a sub-agent stands where it was made, after the call that began the sub-agent. Its agent is the kind of
  sub-agent, and ``parent_tool_use_id`` in its metadata is the call that began it. What a sub-agent is told is no
  user's message, nor is what the program itself says to the model.
- The SDK leaves the user's prompts out unless told otherwise. Where a turn shows that there was one, an empty
  message stands for it, so that turns are counted as they were.
- Fragments of a streamed answer are told over again by the message that ends it. A call that no message tells of is
  a problem.
- A result is that of a call of the same sub-agent. An id of calls of several sub-agents is told with the sub-agent's,
  and stands as it was recorded in the metadata, as ``tool_use_id``.
- A call that was denied has ``permission_denied`` in its metadata.
- A run that ended early is a problem, though one that hides no call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from tracewitness.display import show
from tracewitness.readers.frameworks.stamps import stamp
from tracewitness.readers.providers import anthropic_messages
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, one_text, refuse, word
from tracewitness.trace import Record, Role, Trace

__all__ = [
    "LOOKED_AT",
    "MAIN",
    "READER",
    "SHAPE",
    "Answer",
    "MessageReader",
    "detects",
    "is_message",
    "is_transcript_line",
    "read",
]

SHAPE: Final = "a run of the Claude Agent SDK is a list of messages of types such as system, assistant, user and result"

_MESSAGES: Final = "messages"
#: The owner of what the main agent says and calls. That of a sub-agent's is whatever tells it from the others.
MAIN: Final = ""
#: How many messages show what they are.
LOOKED_AT: Final = 64
#: What each line of a transcript has, and no message of the SDK.
_TRANSCRIPT_KEYS: Final = ("parentUuid", "isSidechain", "sessionId")
_SUBAGENT_TOOLS: Final = frozenset({"Agent", "Task"})


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, Mapping):
        document = document.get(_MESSAGES)
    if not isinstance(document, list):
        return False
    head = document[:LOOKED_AT]
    return any(map(_is_marked, head)) and not any(map(is_transcript_line, head))


def read(document: Any, name: str = "") -> Trace:
    """Read a list of messages, or a mapping with ``messages``.

    Raises:
        ReadError: it is nothing of the kind.

    >>> block = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.txt"}}
    >>> read([{"type": "assistant", "message": {"id": "m1", "content": [block]}}]).calls
    (<ToolCall 0: Read({'path': 'a.txt'})>,)
    """
    path: Path = ()
    if isinstance(document, Mapping) and isinstance(document.get(_MESSAGES), list):
        document, path = document[_MESSAGES], (_MESSAGES,)
    if not isinstance(document, list):
        raise refuse(document, SHAPE)
    recording = Recording()
    items = list(each_mapping(recording, document, path, "a message"))
    _Stream(recording, items).read()
    name = next((word(item, "session_id") for item, _ in items if word(item, "session_id")), name)
    return recording.trace(name)


# ----------------------------------------------------------------------------------------------------------- detection


def is_message(item: Any) -> bool:
    """Whether something wraps a message of Anthropic."""
    if not isinstance(item, Mapping) or item.get("type") not in ("assistant", "user"):
        return False
    return isinstance(item.get("message"), Mapping) and "content" in item["message"]


def is_transcript_line(item: Any) -> bool:
    """Whether something is a line of a transcript, which has more to it than a message."""
    return isinstance(item, Mapping) and any(key in item for key in _TRANSCRIPT_KEYS)


def _is_marked(item: Any) -> bool:
    if is_message(item):
        return True
    if not isinstance(item, Mapping) or not isinstance(item.get("subtype"), str):
        return False
    return (item.get("type") == "result" and "num_turns" in item) or (
        item.get("type") == "system" and "session_id" in item
    )


# ------------------------------------------------------------------------------------------------------------- reading


class Answer(NamedTuple):
    """What the model said and called.

    Attributes:
        owner: the agent, as of `MAIN`.
        message: as it was recorded.
    """

    owner: str
    message: Mapping[str, Any]


class MessageReader:
    """Reads wrapped messages in order, each call once.

    Arguments:
        recording: the trace in the making.
        answers: all answers that will be read: an answer may come in pieces, and its call be complete only later.

    Attributes:
        recording: the trace in the making.
    """

    def __init__(self, recording: Recording, answers: Iterable[Answer]) -> None:
        answers = list(answers)
        self.recording = recording
        self.denied: set[str] = set()
        self._inputs = _last_inputs(answers)
        self._read: dict[Any, dict[str, None]] = {}
        self._agents: dict[Any, str] = {}
        self._shared_ids = _shared_ids(answers, self._inputs)

    def has_call(self, call_id: Any) -> bool:
        """Whether a call of that id was read."""
        return isinstance(call_id, str) and call_id in self._agents

    def agent_of(self, call_id: Any) -> str:
        """Return the agent that a call began, or an empty text."""
        return self._agents.get(call_id, "") if isinstance(call_id, str) else ""

    def answer(self, answer: Answer, path: Path, *, by: Any, at: Any, beside: Mapping[str, Any]) -> None:
        """Read what the model said and called.

        Arguments:
            by, at: the agent and the time, where they are known.
            beside: metadata of its calls.
        """
        begin = len(self.recording)
        content = answer.message.get("content")
        if isinstance(content, str):
            self.recording.say("agent", content, path)
        else:
            for block, place in each_mapping(self.recording, content, (*path, "content"), "a block"):
                self._block(answer, block, place)
        stamp(self.recording, begin, by=by, at=at, metadata=lambda call: {**beside, **self._denial(call)})
        self._tell_apart(begin, answer.owner)

    def _block(self, answer: Answer, block: Mapping[str, Any], path: Path) -> None:
        key = _block_key(answer.message.get("id"), block)
        if key is not None:
            owners = self._read.setdefault(key, {})
            if _is_copy(self._inputs, key, answer.owner, owners):
                return
            owners[answer.owner] = None
            if (key, answer.owner) in self._inputs:
                block = {**block, "input": self._inputs[key, answer.owner]}
        if isinstance(block.get("id"), str):
            self._agents[block["id"]] = _agent_begun(block)
        anthropic_messages.read_item(self.recording, block, path)

    def _denial(self, call: Record) -> dict[str, Any]:
        return {"permission_denied": True} if call.id in self.denied else {}

    def _tell_apart(self, begin: int, owner: str) -> None:
        """Make the ids distinct which calls of several agents have, in all events from ``begin`` on."""
        records = self.recording.records
        for position in range(begin, len(records) if self._shared_ids and owner != MAIN else begin):
            record = records[position]
            if record.id in self._shared_ids:
                beside = {**(record.metadata or {}), "tool_use_id": record.id}
                records[position] = msgspec.structs.replace(record, id=f"{record.id} of {owner}", metadata=beside)

    def question(self, message: Mapping[str, Any], path: Path, role: Role, at: Any, owner: str = MAIN) -> bool:
        """Read what the model was given: results, and words that are the user's or not. Return whether there are any.

        Arguments:
            role: whose words they are.
            at: when it was given.
            owner: the agent to which it was given, as of `MAIN`.
        """
        begin = len(self.recording)
        content = message.get("content")
        texts: list[str] = []
        if isinstance(content, str):
            texts.append(content)
        else:
            for block, place in each_mapping(self.recording, content, (*path, "content"), "a block"):
                text = one_text(block)
                if text is None:
                    anthropic_messages.read_item(self.recording, block, place)
                else:
                    texts.append(text)
            if content and len(self.recording) == begin and not texts:
                texts.append("")  # an image, say, is a message too
        if texts:
            self.recording.say(role, "\n".join(texts), path)
        stamp(self.recording, begin, at=at)
        self._tell_apart(begin, owner)
        return bool(texts)


def _blocks(answers: Iterable[Answer]) -> Iterator[tuple[Answer, Mapping[str, Any]]]:
    for answer in answers:
        content = answer.message.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, Mapping):
                yield answer, block


def _last_inputs(answers: Iterable[Answer]) -> dict[Any, Any]:
    """Return the arguments of each call of each agent as they are told last."""
    inputs: dict[Any, Any] = {}
    for answer, block in _blocks(answers):
        key = _block_key(answer.message.get("id"), block)
        if key is not None and "input" in block:
            inputs[key, answer.owner] = block["input"]
    return inputs


def _is_copy(inputs: dict[Any, Any], key: Any, owner: str, owners: Mapping[str, None]) -> bool:
    """Whether a block was told before: by the same agent, or by the first, whose history another begins with."""
    if not owners or owner in owners:
        return bool(owners)
    return inputs.get((key, next(iter(owners)))) == inputs.get((key, owner))


def _shared_ids(answers: Iterable[Answer], inputs: dict[Any, Any]) -> set[str]:
    """Return the ids that calls of several agents have."""
    owners_of: dict[str, set[str]] = {}
    told: dict[Any, dict[str, None]] = {}
    for answer, block in _blocks(answers):
        key = _block_key(answer.message.get("id"), block)
        owners = {} if key is None else told.setdefault(key, {})
        if not isinstance(block.get("id"), str) or _is_copy(inputs, key, answer.owner, owners):
            continue
        owners[answer.owner] = None
        owners_of.setdefault(block["id"], set()).add(answer.owner)
    return {call_id for call_id, owners in owners_of.items() if len(owners) > 1}


def _block_key(message_id: Any, block: Mapping[str, Any]) -> Any:
    """Return what makes two blocks of an answer the same, or None where nothing does."""
    if not isinstance(message_id, str) or not message_id:
        return None
    block_id = block.get("id") or block.get("tool_use_id")
    if isinstance(block_id, str):
        return message_id, word(block, "type"), word(block, "name"), block_id
    text = block.get("text")
    return (message_id, "text", text) if isinstance(text, str) else None


def _agent_begun(block: Mapping[str, Any]) -> str:
    given = block.get("input")
    if word(block, "name") not in _SUBAGENT_TOOLS or not isinstance(given, Mapping):
        return ""
    return word(given, "subagent_type") or word(block, "name")


class _Stream:
    """Reads the messages of a run."""

    def __init__(self, recording: Recording, items: list[tuple[Mapping[str, Any], Path]]) -> None:
        self._recording = recording
        self._items = items
        answers = (Answer(_owner(item), item["message"]) for item, _ in items if is_message(item))
        self._reader = MessageReader(recording, answers)
        self._reader.denied.update(_denied_ids(items))
        self._streamed: dict[str, Path] = {}
        self._turns = _turns_of_users(items)
        self._prompted = False

    def read(self) -> None:
        """Read all messages."""
        for index, (item, path) in enumerate(self._items):
            self._item(index, item, path)
        for call_id, path in self._streamed.items():
            if not self._reader.has_call(call_id):
                self._recording.doubt("a streamed call that no message tells of", path)

    def _item(self, index: int, item: Mapping[str, Any], path: Path) -> None:
        kind = word(item, "type")
        if kind in ("assistant", "user"):
            message = item.get("message")
            if isinstance(message, Mapping):
                self._message(index, kind, item, message, path)
            else:
                self._recording.doubt(f"a message is a mapping, not {show(message)}", path)
        elif kind == "result":
            self._result(item, path)
        elif kind == "stream_event":
            self._stream_event(item.get("event"), path)
        elif not kind or _holds_message(item):
            self._recording.doubt(f"an unknown message of type {show(item.get('type'))}", path)

    def _message(self, index: int, kind: str, item: Mapping[str, Any], message: Mapping[str, Any], path: Path) -> None:
        parent = item.get("parent_tool_use_id")
        place = (*path, "message")
        at = item.get("timestamp")
        if kind == "user":
            role: Role = "user" if parent is None and _is_from_user(item) else "system"
            said = self._reader.question(message, place, role, at, _owner(item))
            self._prompted = self._prompted or (said and role == "user")
            return
        if parent is None and not self._prompted:
            self._prompted = True
            if index in self._turns:
                self._recording.say("user", "", path)
        beside = {} if parent is None else {"parent_tool_use_id": parent}
        answer = Answer(_owner(item), message)
        self._reader.answer(answer, place, by=self._reader.agent_of(parent), at=at, beside=beside)
        if item.get("error"):
            self._recording.doubt(f"the model's answer failed: {show(item['error'])}", path, hides_call=False)

    def _result(self, item: Mapping[str, Any], path: Path) -> None:
        """Read how a turn ended, and the calls that only its end tells of."""
        self._prompted = False
        deferred = item.get("deferred_tool_use")
        if isinstance(deferred, Mapping) and not self._reader.has_call(deferred.get("id")):
            place = (*path, "deferred_tool_use")
            self._recording.call(deferred.get("name"), deferred.get("input"), deferred.get("id"), place)
        denials = (*path, "permission_denials")
        for denial, place in each_mapping(self._recording, item.get("permission_denials"), denials, "a denial"):
            call_id = denial.get("tool_use_id")
            if not self._reader.has_call(call_id):
                beside = {"permission_denied": True}
                self._recording.call(denial.get("tool_name"), denial.get("tool_input"), call_id, place, metadata=beside)
        subtype = item.get("subtype")
        if subtype != "success" or item.get("is_error") is True:
            why = item.get("errors") or item.get("result") or item.get("api_error_status")
            reason = f"the run ended early: {show(subtype)}" + (f": {show(why, 200)}" if why else "")
            self._recording.failure = reason
            self._recording.doubt(reason, path, hides_call=False)

    def _stream_event(self, event: Any, path: Path) -> None:
        block = event.get("content_block") if isinstance(event, Mapping) else None
        if isinstance(block, Mapping) and word(block, "type").endswith("tool_use"):
            self._streamed.setdefault(str(block.get("id")), path)


def _owner(item: Mapping[str, Any]) -> str:
    """Return what tells a sub-agent from the others: the call that began it."""
    parent = item.get("parent_tool_use_id")
    return MAIN if parent is None else parent if isinstance(parent, str) else show(parent)


def _is_from_user(item: Mapping[str, Any]) -> bool:
    """Whether words are the user's: not the program's, nor those of something that it was told of."""
    origin = item.get("origin")
    if isinstance(origin, Mapping) and origin.get("kind") not in (None, "human"):
        return False
    return not (item.get("isSynthetic") or item.get("isMeta"))


def _holds_message(item: Mapping[str, Any]) -> bool:
    message = item.get("message")
    return isinstance(message, Mapping) and "content" in message


def _denied_ids(items: list[tuple[Mapping[str, Any], Path]]) -> Iterator[str]:
    """Yield the ids of the calls that were denied."""
    for item, _ in items:
        denials = item.get("permission_denials")
        told = [item] if item.get("subtype") == "permission_denied" else denials if isinstance(denials, list) else []
        for denial in told:
            if isinstance(denial, Mapping) and isinstance(denial.get("tool_use_id"), str):
                yield denial["tool_use_id"]


def _turns_of_users(items: list[tuple[Mapping[str, Any], Path]]) -> set[int]:
    """Return the places of all items in turns that a user began, as far as the turns tell."""
    found: set[int] = set()
    begin = 0
    is_known = False
    for index, (item, _) in enumerate(items):
        is_known = is_known or item.get("subtype") == "init"
        if item.get("type") == "result":
            if _is_from_user(item):
                found.update(range(begin, index))
            begin, is_known = index + 1, False
    if is_known:  # the last turn was cut off
        found.update(range(begin, len(items)))
    return found


# ------------------------------------------------------------------------------------------------------------- objects

_BLOCKS: Final = {
    "TextBlock": "text",
    "ThinkingBlock": "thinking",
    "ToolUseBlock": "tool_use",
    "ToolResultBlock": "tool_result",
    "ServerToolUseBlock": "server_tool_use",
    "ServerToolResultBlock": "server_tool_result",
}
_KINDS: Final = {
    "ResultMessage": "result",
    "StreamEvent": "stream_event",
    "RateLimitEvent": "rate_limit_event",
    "ConversationResetMessage": "conversation_reset",
}


def _converted(value: Any) -> Any:
    """Make data of an object of the SDK, as the command line writes it: the objects don't say their types."""
    fields = getattr(value, "__dict__", None)
    if isinstance(value, Mapping) or not isinstance(fields, dict):
        return value
    names = [kind.__name__ for kind in type(value).__mro__]
    for name in names:
        if name in _BLOCKS:
            return {"type": _BLOCKS[name], **fields}
        if name in _KINDS:
            return {"type": _KINDS[name], **fields}
        if name in ("AssistantMessage", "UserMessage"):
            return _wrapped(name, fields)
        if name == "SystemMessage":
            data = fields.get("data")
            return {**(data if isinstance(data, Mapping) else {}), "type": "system", "subtype": fields.get("subtype")}
    return dict(fields)


def _wrapped(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    role = "assistant" if name == "AssistantMessage" else "user"
    beside = {key: value for key, value in fields.items() if key != "content"}
    message = {"role": role, "content": fields.get("content"), "id": fields.get("message_id")}
    return {**beside, "type": role, "message": message}


READER: Final = Reader(
    "claude-agent-sdk",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"message", "subtype", _MESSAGES}),
    is_log=True,
    objects={"claude_agent_sdk": _converted},
)

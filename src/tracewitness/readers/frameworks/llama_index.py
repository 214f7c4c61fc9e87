"""Read LlamaIndex: events of agents and their workflows, what they put out, chat messages, and stores of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.pairing import freeze
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, texts_of, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "detects", "read", "runs"]

SHAPE: Final = "an event of LlamaIndex has tool_name and tool_kwargs, a message of it has blocks or additional_kwargs"

_ROLES: Final[dict[str, Role]] = {
    "user": "user",
    "system": "system",
    "developer": "system",
    "assistant": "agent",
    "model": "agent",
    "chatbot": "agent",
}
_ANSWERERS: Final = frozenset({"tool", "function"})
_SILENT_BLOCKS: Final = frozenset(
    {"audio", "cache", "citable", "citation", "document", "image", "text", "thinking", "video"}
)
# What only events have that neither call nor answer: how a workflow starts and ends, and answers on their way.
_SILENT_KEYS: Final = frozenset({"delta", "user_msg", "result", "output"})
_HANDOFF: Final = "handoff"
# Where messages of integrations keep their calls, and which call an answer belongs to.
_KEYS_BESIDE: Final = ("tool_calls", "tool_call_id", "function_call")


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, list):
        return any(map(_is_marked, document))
    return isinstance(document, Mapping) and (_is_marked(document) or bool(_stored(document)))


def runs(document: Any) -> Iterator[Any]:
    """Yield the conversations of a store, or the document itself where it is none."""
    stored = _stored(document) if isinstance(document, Mapping) else {}
    if stored:
        yield from ({"name": key, "messages": messages} for key, messages in stored.items())
    else:
        yield document


def read(document: Any, name: str = "") -> Trace:
    """Read an event, an agent's output, a chat message, or a list of them.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read([{"tool_name": "search", "tool_kwargs": {"q": "lamp"}, "tool_id": "c1"}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 'c1'}]
    """
    run = _Run()
    if isinstance(document, list):
        run.read(document, ())
    elif isinstance(document, Mapping) and isinstance(document.get("messages"), list):
        run.read(document["messages"], ("messages",))
        name = str(document.get("name") or name)
    elif isinstance(document, Mapping) and _is_marked(document):
        run.read([document], ())
    else:
        raise refuse(document, SHAPE)
    return run.recording.trace(name)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_marked(item: Any) -> bool:
    """Whether an item is of this format and of no other."""
    if not isinstance(item, Mapping):
        return False
    event = _unwrapped(item)
    if "tool_kwargs" in event:
        return "tool_name" in event
    if "current_agent_name" in event:
        return any(isinstance(event.get(key), (Mapping, list, str)) for key in ("input", "response"))
    if "role" not in item:
        return False
    blocks, beside = item.get("blocks"), item.get("additional_kwargs")
    if isinstance(blocks, list):
        return "additional_kwargs" in item or any(
            isinstance(block, Mapping) and "block_type" in block for block in blocks
        )
    return isinstance(beside, Mapping) and "type" not in item and any(beside.get(key) for key in _KEYS_BESIDE)


def _unwrapped(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event. Workflows that are saved wrap each with the name of its class."""
    value = item.get("value")
    return value if item.get("__is_pydantic") is True and isinstance(value, Mapping) else item


def _stored(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conversations that a store has, by their keys."""
    inner = document.get("chat_store")
    store = (inner if isinstance(inner, Mapping) else document).get("store")
    if not isinstance(store, Mapping):
        return {}
    return {str(key): items for key, items in store.items() if isinstance(items, list) and any(map(_is_marked, items))}


# ------------------------------------------------------------------------------------------------------------- reading


class _Run:
    """A run that is being read.

    A call is told several times: by the model's output, when the tool begins and when it has ended, in what each
    agent is given, and once more at the end. Only the beginning of a tool is surely a call of its own.
    """

    def __init__(self) -> None:
        self.recording = Recording()
        self._agent: str | None = None
        self._made: Counter[Hashable] = Counter()
        self._not_begun: Counter[Hashable] = Counter()
        self._open: Counter[Hashable] = Counter()
        self._has_begun = False
        self._is_answered = False
        self._hands_off = False

    def read(self, items: Any, path: Path) -> None:
        for item, place in each_mapping(self.recording, items, path, "an event"):
            event = _unwrapped(item)
            if event is not item:
                place = (*place, "value")
            self._read_item(event, place)

    def _read_item(self, event: Mapping[str, Any], path: Path) -> None:
        if "role" in event:
            self._read_message(event, path)
        elif "tool_output" in event:
            self._read_result(event, path)
        elif "tool_kwargs" in event:
            self._read_begin(event, path)
        elif "current_agent_name" in event and "delta" not in event:
            self._enter(event.get("current_agent_name"), path)
            if "input" in event:
                self._read_input(event.get("input"), (*path, "input"))
            else:
                self._read_output(event, path)
        elif isinstance(event.get("result"), Mapping) and "response" in event["result"]:
            self._read_output(event["result"], (*path, "result"))  # the end of a workflow
        elif _SILENT_KEYS.isdisjoint(event):
            self.recording.doubt(f"neither an event nor a message: {show(list(event))}", path)

    def _enter(self, agent: Any, path: Path) -> None:
        """Follow which agent it is. Where another one goes on after a handoff, it was handed over to that."""
        if isinstance(agent, str) and agent:
            if self._hands_off and agent != self._agent:
                self.recording.transfer(agent, path, self._agent)
                self._hands_off = False
            self._agent = agent

    def _read_input(self, messages: Any, path: Path) -> None:
        """Read what an agent is given: the first time all of it, later what a user says anew."""
        if not self._has_begun:
            self._has_begun = True
            for message, place in each_mapping(self.recording, messages, path, "a message"):
                self._read_message(message, place)
            return
        last = messages[-1] if isinstance(messages, list) and messages else None
        if isinstance(last, Mapping) and last.get("role") == "user" and self._is_answered:
            self._is_answered = False
            self._read_message(last, (*path, len(messages) - 1))

    def _read_output(self, event: Mapping[str, Any], path: Path) -> None:
        """Read what an agent put out. The last output lists all calls of the run again."""
        response, calls = event.get("response"), event.get("tool_calls")
        if isinstance(response, Mapping):
            texts = texts_of([_as_part(block) for block in _blocks(response)])
            own = list(_calls_of(response))
            self._is_answered = not own
            if texts or not (own or calls):
                self.recording.say("agent", "\n".join(texts), (*path, "response"), self._agent)
        told: Counter[Hashable] = Counter()
        for call, place in each_mapping(self.recording, calls, (*path, "tool_calls"), "a tool call"):
            told[_key(call)] += 1
            if told[_key(call)] > self._made[_key(call)]:
                self._call(call, place)
                self._not_begun[_key(call)] += 1

    def _read_begin(self, event: Mapping[str, Any], path: Path) -> None:
        key = _key(event)
        if self._not_begun[key]:
            self._not_begun[key] -= 1
        else:
            self._call(event, path)

    def _call(self, call: Mapping[str, Any], path: Path) -> None:
        key = _key(call)
        self._made[key] += 1
        self._open[key] += 1
        self.recording.call(call.get("tool_name"), call.get("tool_kwargs"), call.get("tool_id"), path, by=self._agent)

    def _read_result(self, event: Mapping[str, Any], path: Path) -> None:
        key, output = _key(event), event.get("tool_output")
        if not self._open[key]:
            self._call(event, path)
        self._open[key] -= 1
        self._is_answered = False
        name, payload, is_error = event.get("tool_name"), output, None
        if isinstance(output, Mapping):
            flag = output.get("is_error")
            is_error = flag if isinstance(flag, bool) else None
            payload = output.get("raw_output")
            if payload is None and output.get("blocks"):
                payload = "\n".join(texts_of([_as_part(block) for block in _blocks(output)]))
        self._hands_off = self._hands_off or (name == _HANDOFF and not is_error)
        self.recording.answer(payload, event.get("tool_id"), path, of=name, is_error=is_error)

    # ------------------------------------------------------------------------------------------------------- messages

    def _read_message(self, message: Mapping[str, Any], path: Path) -> None:
        role = word(message, "role")
        texts = texts_of([_as_part(block) for block in _blocks(message)])
        if role in _ANSWERERS:
            self._read_answer(message, "\n".join(texts), path)
        elif role not in _ROLES:
            self.recording.doubt(f"an unknown role {show(message.get('role'))}", path)
        else:
            calls = list(_calls_of(message))
            if texts or not calls:
                self.recording.say(_ROLES[role], "\n".join(texts), path)
            for call, place in calls:
                self._call(call, (*path, *place))
            self._doubt_blocks(message, path)

    def _read_answer(self, message: Mapping[str, Any], text: str, path: Path) -> None:
        beside = message.get("additional_kwargs")
        beside = beside if isinstance(beside, Mapping) else {}
        self.recording.answer(text, beside.get("tool_call_id"), path, of=beside.get("name"))

    def _doubt_blocks(self, message: Mapping[str, Any], path: Path) -> None:
        for index, block in enumerate(_blocks(message)):
            kind = word(block, "block_type") if isinstance(block, Mapping) else "text"
            if kind not in _SILENT_BLOCKS and kind != "tool_call":
                may_call = _ROLES.get(word(message, "role")) == "agent"
                self.recording.doubt(f"an unknown block {show(block)}", (*path, "blocks", index), hides_call=may_call)


def _blocks(holder: Mapping[str, Any]) -> list[Any]:
    """Return the blocks of a message. Older ones have a text in their place."""
    blocks = holder.get("blocks")
    if isinstance(blocks, list):
        return blocks
    content = holder.get("content")
    return [content] if isinstance(content, str) else content if isinstance(content, list) else []


def _as_part(block: Any) -> Any:
    """Return a block with its type where parts of other formats have it."""
    return {**block, "type": block.get("block_type")} if isinstance(block, Mapping) and "block_type" in block else block


def _calls_of(message: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Path]]:
    """Yield the calls of a message as events write them, each with its place: they are blocks, or stand beside."""
    has_blocks = False
    for index, block in enumerate(_blocks(message)):
        if isinstance(block, Mapping) and block.get("block_type") == "tool_call":
            has_blocks = True
            yield {**block, "tool_id": block.get("tool_call_id")}, ("blocks", index)
    beside = message.get("additional_kwargs")
    if has_blocks or not isinstance(beside, Mapping):
        return
    calls = beside.get("tool_calls")
    for index, call in enumerate(calls if isinstance(calls, list) else [calls] if calls else []):
        yield _call_beside(call), ("additional_kwargs", "tool_calls", index)
    if beside.get("function_call"):
        yield _call_beside({"function": beside["function_call"]}), ("additional_kwargs", "function_call")


def _call_beside(call: Any) -> dict[str, Any]:
    """Return a call as events write it. It stands beside a message as the provider wrote it."""
    if not isinstance(call, Mapping):
        return {}
    function = call.get("function")
    own = function if isinstance(function, Mapping) else call
    arguments = next((own[key] for key in ("arguments", "input", "args") if key in own), None)
    call_id = next((call[key] for key in ("id", "call_id", "toolUseId") if key in call), None)
    return {"tool_name": own.get("name"), "tool_kwargs": arguments, "tool_id": call_id}


def _key(call: Mapping[str, Any]) -> Hashable:
    """Return what makes two sightings of a call the same."""
    return freeze([call.get("tool_id"), call.get("tool_name"), call.get("tool_kwargs")])


def _as_it_is(value: Any) -> Any:
    return value


READER: Final = Reader(
    "llama-index",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset(
        {"tool_kwargs", "current_agent_name", "__is_pydantic", "blocks", "additional_kwargs", "store", "chat_store"}
    ),
    runs=runs,
    objects={"llama_index": _as_it_is, "workflows": _as_it_is},
)

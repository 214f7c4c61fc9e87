"""Read transcripts of Claude Code: JSON Lines, one line for each block that the model wrote and for much else.

What is decided here:

- What a file tells is read in the order of its lines, which is the order in which it happened. Lines refer to the line
  before them by ``parentUuid`` and form a tree: results of parallel calls branch off, and so does what comes after
  a user went back. A call on a branch that was left was made all the same, so no branch is left out.
- A line with the ``uuid`` and the message of one before it is no second one, nor is a block that an earlier line of
  the same answer told of.
- A sub-agent's calls (``isSidechain``, or in lines of progress) stand where they were made, with the sub-agent as
  their agent. What a sub-agent is told is no user's message.
- A sub-agent's own transcript is read with that of its session, where it is found beside it, each line by its time
  between the call that began the sub-agent and its result. Alone it is a run of its own. Where a sub-agent called tools
  and its transcript is not there, that is a problem.
- Lines of several sessions are several runs, unless one session goes on from a line of the other.
- What the program adds to the conversation, such as reminders and summaries, is no user's message either.
- Lines of other kinds tell of no call. One of an unknown kind that wraps a message is a problem.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, NamedTuple

from tracewitness.display import show
from tracewitness.readers.frameworks.claude_agent_sdk import (
    LOOKED_AT,
    MAIN,
    Answer,
    MessageReader,
    is_message,
    is_transcript_line,
)
from tracewitness.readers.frameworks.claude_code_files import MESSAGES, SUB_AGENTS, TOOL_USE_ID, with_sub_agents
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, refuse, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "detects", "read", "runs"]

SHAPE: Final = "a transcript of Claude Code has lines with a uuid, a parentUuid, isSidechain and a message"

# Kinds of lines that wrap a message which another line tells.
_REPEATING: Final = ("api-request",)
# How what a user's own commands gave begins, which nothing else marks.
_OUTPUTS: Final = ("<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>", "<bash-stderr>")
# What refers to an earlier line, also where a conversation was compacted.
_LINKS: Final = ("parentUuid", "logicalParentUuid")


class _Session(NamedTuple):
    """The lines of one of several sessions, with their places."""

    lines: list[tuple[Any, Path]]


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, Mapping):
        document = document.get(MESSAGES)
    return isinstance(document, list) and any(map(_is_line, document[:LOOKED_AT]))


def runs(document: Any) -> Iterator[Any]:
    """Yield the lines of each session, or the document itself where it is one run."""
    lines = _placed(document) or []
    names = [_session_of(line) for line, _ in lines if _session_of(line)]
    if len(set(names)) < 2:
        yield document
        return
    joined = _Joined()
    joined.add([line for line, _ in lines])
    sessions: dict[str, list[tuple[Any, Path]]] = {}
    name = names[0]
    for line, path in lines:
        name = _session_of(line) or name  # a line that names none is of the session of the line before it
        sessions.setdefault(joined.first(name), []).append((line, path))
    yield from map(_Session, sessions.values()) if len(sessions) > 1 else [document]


class _Joined:
    """Sessions of which one goes on from a line of the other, and which are one conversation."""

    def __init__(self) -> None:
        self._earlier: dict[str, str] = {}
        self._session_of: dict[str, str] = {}

    def first(self, name: str) -> str:
        """Return the first of the sessions that a session is one conversation with."""
        while self._earlier[name] != name:
            self._earlier[name] = name = self._earlier[self._earlier[name]]
        return name

    def add(self, lines: list[Any]) -> None:
        """Join the sessions of lines."""
        for line in lines:
            name = _session_of(line)
            if not name:
                continue
            self._earlier.setdefault(name, name)
            for key in _LINKS:
                other = self._session_of.get(word(line, key))
                if other is not None:
                    self._earlier[self.first(name)] = self.first(other)
            if word(line, "uuid"):
                self._session_of.setdefault(word(line, "uuid"), name)


def _session_of(line: Any) -> str:
    return word(line, "sessionId") if isinstance(line, Mapping) else ""


def _placed(document: Any) -> list[tuple[Any, Path]] | None:
    """Return the lines of a transcript, and of those of its sub-agents, with their places; None where it has none."""
    path: Path = ()
    sub_agents = None
    if isinstance(document, Mapping) and isinstance(document.get(MESSAGES), list):
        document, path, sub_agents = document[MESSAGES], (MESSAGES,), document.get(SUB_AGENTS)
    if not isinstance(document, list):
        return None
    lines = [(line, (*path, index)) for index, line in enumerate(document)]
    return _Merged(lines).with_sub_agents(sub_agents) if isinstance(sub_agents, Mapping) else lines


class _Merged:
    """The lines of a session, into which those of its sub-agents are put where they were written."""

    def __init__(self, lines: list[tuple[Any, Path]]) -> None:
        self._lines = lines
        self._times = list(accumulate((_time_of(line) for line, _ in lines), max))

    def with_sub_agents(self, sub_agents: Mapping[Any, Any]) -> list[tuple[Any, Path]]:
        """Return all lines. A sub-agent of a sub-agent stands between the lines of that one."""
        merged = self._lines
        waiting = [(name, *_own_lines(name, told)) for name, told in sub_agents.items()]
        while waiting:
            known = _call_ids(merged)
            ready = [item for item in waiting if item[1] in known] or waiting
            for item in ready:
                merged = _Merged(merged)._with(*item[1:])
            waiting = [item for item in waiting if item not in ready]
        return merged

    def _with(self, began_by: str | None, own: list[tuple[Any, Path]]) -> list[tuple[Any, Path]]:
        begin, end = self._bounds(began_by, {word(line, "agentId") for line, _ in own if isinstance(line, Mapping)})
        merged: list[tuple[Any, Path]] = []
        at = 0
        for (line, path), time in zip(own, accumulate((_time_of(line) for line, _ in own), max), strict=True):
            slot = end if not time else min(max(begin, bisect_right(self._times, time)), end)
            merged += self._lines[at:slot]
            merged.append((line, path))
            at = max(at, slot)
        return [*merged, *self._lines[at:]]

    def _bounds(self, began_by: str | None, agents: set[str]) -> tuple[int, int]:
        """Return behind which lines those of a sub-agent stand, and before which: its call's and its result's."""
        begin, end = 0, len(self._lines)
        for index, (line, _) in enumerate(self._lines):
            if not isinstance(line, Mapping):
                continue
            told = line.get("toolUseResult")
            if began_by is not None and began_by in _call_ids([self._lines[index]]):
                begin = index + 1
            if (
                isinstance(told, Mapping)
                and word(told, "agentId") in agents - {""}
                and told.get("status") == "completed"
            ):
                end = index
                break
        return min(begin, end), end


def _own_lines(name: Any, told: Any) -> tuple[str | None, list[tuple[Any, Path]]]:
    """Return the call that began a sub-agent, and the sub-agent's lines. What is none stands there as it is."""
    path: Path = (SUB_AGENTS, str(name), MESSAGES)
    if not isinstance(told, Mapping) or not isinstance(told.get(MESSAGES), list):
        return None, [(told, path[:-1])]
    lines = [(line, (*path, index)) for index, line in enumerate(told[MESSAGES])]
    return word(told, TOOL_USE_ID) or None, lines


def _call_ids(lines: list[tuple[Any, Path]]) -> set[str]:
    """Return the ids of the calls that lines tell of."""
    messages = (line["message"] for line, _ in lines if is_message(line))
    blocks = (block for message in messages if isinstance(message["content"], list) for block in message["content"])
    return {block["id"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("id"), str)}


def _time_of(line: Any) -> str:
    """Return the time of a line. All are written in one way, and in UTC, so that they sort as texts."""
    return word(line, "timestamp") if isinstance(line, Mapping) else ""


def read(document: Any, name: str = "") -> Trace:
    """Read the lines of a transcript, or a mapping with them as ``messages``, and with its ``sub_agents`` by file.

    Raises:
        ReadError: it is nothing of the kind.

    >>> block = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.txt"}}
    >>> line = {"type": "assistant", "uuid": "u1", "parentUuid": None, "isSidechain": False, "sessionId": "s1"}
    >>> read([{**line, "message": {"id": "m1", "role": "assistant", "content": [block]}}])
    <Trace s1: 1 events>
    """
    recording = Recording()
    lines = list(_mappings(recording, document))
    transcript = _Transcript(recording, lines)
    transcript.read()
    return recording.trace(transcript.name or name)


def _mappings(recording: Recording, document: Any) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """Yield the lines with their places."""
    if isinstance(document, _Session):
        yield from _only_mappings(recording, document.lines)
        return
    items = _placed(document)
    if items is None:
        raise refuse(document, SHAPE)
    yield from _only_mappings(recording, items)


def _only_mappings(recording: Recording, lines: list[tuple[Any, Path]]) -> Iterator[tuple[Mapping[str, Any], Path]]:
    for line, path in lines:
        if isinstance(line, Mapping):
            yield line, path
        else:
            recording.doubt(f"a line is a mapping, not {show(line)}", path)


def _is_line(item: Any) -> bool:
    if not is_transcript_line(item):
        return False
    kind = item.get("type")
    is_other = "sessionId" in item and "message" not in item and "traceId" not in item  # Langfuse has sessions too
    return isinstance(kind, str) and (is_message(item) or is_other)


class _Transcript:
    """Reads the lines of a file.

    Attributes:
        name: of the session, or of the sub-agent where it is its own transcript.
    """

    def __init__(self, recording: Recording, lines: list[tuple[Mapping[str, Any], Path]]) -> None:
        self._recording = recording
        self._lines = lines
        self._roots: dict[str, str] = {}
        messages = list(_messages(lines))
        self._reader = MessageReader(recording, [Answer(self._owner(line), line["message"]) for line in messages])
        self._told: dict[str, Mapping[str, Any]] = {}
        self._agents = dict(_agents_by_id(lines))
        self._is_subagent = bool(messages) and all(line.get("isSidechain") is True for line in messages)
        key = "agentId" if self._is_subagent else "sessionId"
        self.name = next((word(line, key) for line, _ in lines if word(line, key)), "")
        self._reader.denied.update(_denied_ids(lines))

    def read(self) -> None:
        """Read all lines."""
        for line, path in self._lines:
            kind = word(line, "type")
            if kind in ("assistant", "user"):
                self._message(line, path, line.get("timestamp"))
            elif kind == "progress":
                self._progress(line, path)
            elif kind == "attachment":
                self._attachment(line, path)
            elif not kind or (isinstance(line.get("message"), Mapping) and not kind.startswith(_REPEATING)):
                self._recording.doubt(f"an unknown line of type {show(line.get('type'))}", path)
        self._doubt_missing()

    def _doubt_missing(self) -> None:
        """Look for the sub-agents that called tools and of which no line tells."""
        told = {word(message, "agentId") for message in _messages(self._lines)}
        for line, path in self._lines:
            result = line.get("toolUseResult")
            if not isinstance(result, Mapping) or not word(result, "agentId") or word(result, "agentId") in told:
                continue
            if result.get("totalToolUseCount", result.get("toolsUsed", True)):
                told.add(word(result, "agentId"))
                reason = f"what the sub-agent {show(result['agentId'])} did is told in a file of its own, not read here"
                self._recording.doubt(reason, (*path, "toolUseResult"))

    def _message(self, line: Mapping[str, Any], path: Path, at: Any, parent: Any = None) -> None:
        """Read a message, unless it was read.

        Arguments:
            parent: the call that began the sub-agent, where it is known.
        """
        message, uuid = line.get("message"), line.get("uuid")
        if not isinstance(message, Mapping):
            self._recording.doubt(f"a message is a mapping, not {show(message)}", path)
            return
        if isinstance(uuid, str):
            if self._told.get(uuid) == message:
                return
            self._told[uuid] = message
        is_aside = parent is not None or (line.get("isSidechain") is True and not self._is_subagent)
        parent = parent or self._agents.get(word(line, "agentId"))
        place = (*path, "message")
        if line.get("type") == "user":
            is_added = _is_added(line) or word(message, "content").startswith(_OUTPUTS)
            role: Role = "system" if is_aside or is_added else "user"
            self._reader.question(message, place, role, at, self._owner(line))
            return
        answer = Answer(self._owner(line), message)
        self._reader.answer(answer, place, by=self._agent(line, parent), at=at, beside=_beside(is_aside, parent))
        if line.get("isApiErrorMessage"):
            self._recording.doubt("the model's answer failed", path, hides_call=False)

    def _owner(self, line: Mapping[str, Any]) -> str:
        """Return what tells a sub-agent from the others: its id, or else the line with which it began."""
        uuid, parent = word(line, "uuid"), word(line, "parentUuid")
        root = self._roots.setdefault(uuid, self._roots.get(parent, uuid)) if uuid else parent
        known = word(line, "agentId") or word(line, "parentToolUseID")
        if known:
            return known
        return f"the sub-agent of {root}" if line.get("isSidechain") is True else MAIN

    def _agent(self, line: Mapping[str, Any], parent: Any) -> str:
        """Return the sub-agent that wrote a line, or an empty text for the main agent."""
        return word(line, "attributionAgent") or self._reader.agent_of(parent) or word(line, "agentId")

    def _progress(self, line: Mapping[str, Any], path: Path) -> None:
        """Read what a sub-agent did, which older versions tell in lines of progress."""
        data = line.get("data")
        inner = data.get("message") if isinstance(data, Mapping) else None
        if isinstance(inner, Mapping) and word(inner, "type") in ("assistant", "user"):
            at = inner.get("timestamp") or line.get("timestamp")
            self._message(_with_agent(inner, line), (*path, "data", "message"), at, line.get("parentToolUseID") or "")

    def _attachment(self, line: Mapping[str, Any], path: Path) -> None:
        """Read what a user said while the agent was at work. Other attachments are the program's."""
        attached = line.get("attachment")
        if not isinstance(attached, Mapping) or attached.get("type") != "queued_command":
            return
        message = {"content": attached.get("prompt")}
        is_users = attached.get("commandMode") in (None, "prompt") and not _is_added(attached)
        role: Role = "user" if is_users and line.get("isSidechain") is not True else "system"
        self._reader.question(message, (*path, "attachment"), role, line.get("timestamp"))


def _messages(lines: list[tuple[Mapping[str, Any], Path]]) -> Iterator[Mapping[str, Any]]:
    """Yield the lines that wrap messages, also those in lines of progress."""
    for line, _ in lines:
        data = line.get("data")
        inner = data.get("message") if isinstance(data, Mapping) else None
        if is_message(line):
            yield line
        if isinstance(inner, Mapping) and is_message(inner):
            yield _with_agent(inner, line)


def _with_agent(inner: Mapping[str, Any], line: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a line of progress wraps, with the sub-agent that it tells of: by its id, or by the call to it."""
    data = line.get("data")
    agent = data.get("agentId") if isinstance(data, Mapping) else None
    return {"agentId": agent, "parentToolUseID": line.get("parentToolUseID"), **inner}


def _is_added(line: Mapping[str, Any]) -> bool:
    """Whether words are not the user's but what the program, or something that it was told of, adds to them."""
    origin = line.get("origin")
    is_others = isinstance(origin, Mapping) and origin.get("kind") not in (None, "human")
    return is_others or bool(line.get("isMeta") or line.get("isCompactSummary") or line.get("isSynthetic"))


def _beside(is_aside: bool, parent: Any) -> dict[str, Any]:
    """Return the metadata of a call."""
    if not is_aside:
        return {}
    return {"parent_tool_use_id": parent} if parent else {"sidechain": True}


def _agents_by_id(lines: list[tuple[Mapping[str, Any], Path]]) -> Iterator[tuple[str, str]]:
    """Yield the id of each sub-agent whose result is told, with the id of the call that began it."""
    for line, _ in lines:
        told = line.get("toolUseResult")
        message = line.get("message")
        content = message.get("content") if isinstance(message, Mapping) else None
        if not isinstance(told, Mapping) or not isinstance(content, list):
            continue
        for block in content:
            if isinstance(block, Mapping) and word(told, "agentId") and isinstance(block.get("tool_use_id"), str):
                yield word(told, "agentId"), block["tool_use_id"]


def _denied_ids(lines: list[tuple[Mapping[str, Any], Path]]) -> Iterator[str]:
    """Yield the ids of the calls that were denied."""
    for line, _ in lines:
        message = line.get("message")
        content = message.get("content") if isinstance(message, Mapping) else None
        for block in content if line.get("toolDenialKind") and isinstance(content, list) else ():
            if isinstance(block, Mapping) and isinstance(block.get("tool_use_id"), str):
                yield block["tool_use_id"]


READER: Final = Reader(
    "claude-code",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"parentUuid", "isSidechain", "sessionId", MESSAGES}),
    runs=runs,
    is_log=True,
    beside=with_sub_agents,
)

"""Read Strands: agents, their results, and what sessions save. Their messages are those of Bedrock Converse.

A result holds but the last message: what came before it stands in the traces of its metrics, which a saved one lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from tracewitness.errors import ReadError
from tracewitness.readers.frameworks.agents import attribute
from tracewitness.readers.providers import bedrock
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read", "runs"]

SHAPE: Final = "an agent of Strands has a system_prompt and messages, a result of one has a type, a message and traces"

_RESULT: Final = "agent_result"
_TEAM_RESULT: Final = "multiagent_result"
_HANDOFF: Final = "handoff_to_agent"
_ROLES: Final = frozenset({"user", "assistant"})


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, list):
        return bool(document) and all(map(_is_saved_message, document))
    return isinstance(document, Mapping) and (_is_run(document) or _is_several(document))


def runs(document: Any) -> Iterator[Any]:
    """Yield the agents of a mapping of several, or the document itself where it is one."""
    if isinstance(document, Mapping) and not _is_run(document) and _is_several(document):
        yield from ({**agent, "name": agent.get("name") or name} for name, agent in document.items())
    else:
        yield document


def read(document: Any, name: str = "") -> Trace:
    """Read an agent, a snapshot of one, a result, or the messages that a session saved.

    Raises:
        ReadError: it is nothing of the kind.

    >>> use = {"toolUse": {"toolUseId": "t1", "name": "search", "input": {"q": "lamp"}}}
    >>> read({"system_prompt": None, "messages": [{"role": "assistant", "content": [use]}]}).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 't1'}]
    """
    run = _Run()
    if isinstance(document, list):
        run.read_saved(document, ())
    elif not isinstance(document, Mapping) or not _is_run(document):
        raise refuse(document, SHAPE)
    elif _is_saved_message(document):
        run.read_saved([document], ())
    elif document.get("type") in (_RESULT, _TEAM_RESULT):
        try:
            run.read_result(document)
        except RecursionError as error:  # teams of teams
            raise ReadError("nested too deeply to be read") from error
    else:
        path: Path = ("data",) if _is_snapshot(document) else ()
        agent = document["data"] if path else document
        run.read_agent(agent, path)
        name = word(agent, "name") or name
    return run.recording.trace(name)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_run(document: Mapping[str, Any]) -> bool:
    kind = document.get("type")
    return (
        _is_agent(document)
        or _is_snapshot(document)
        or _is_saved_message(document)
        or (kind == _RESULT and isinstance(document.get("message"), Mapping))
        or (kind == _TEAM_RESULT and isinstance(document.get("results"), Mapping))
    )


def _is_agent(item: Any) -> bool:
    if not isinstance(item, Mapping) or "system_prompt" not in item:
        return False
    messages = item.get("messages")
    return isinstance(messages, list) and any(map(_is_message, messages))


def _is_message(item: Any) -> bool:
    """Whether an item is a message with blocks. Those of other formats say their type."""
    if not isinstance(item, Mapping) or word(item, "role") not in _ROLES:
        return False
    content = item.get("content")
    return isinstance(content, list) and all(isinstance(block, Mapping) and "type" not in block for block in content)


def _is_snapshot(document: Mapping[str, Any]) -> bool:
    data = document.get("data")
    return "schema_version" in document and isinstance(data, Mapping) and isinstance(data.get("messages"), list)


def _is_saved_message(item: Any) -> bool:
    return isinstance(item, Mapping) and "message_id" in item and _is_message(item.get("message"))


def _is_several(document: Mapping[str, Any]) -> bool:
    """Whether a mapping has nothing but agents."""
    return bool(document) and all(map(_is_agent, document.values()))


# ------------------------------------------------------------------------------------------------------------- reading


class _Run:
    """A run that is being read.

    Attributes:
        recording: the trace in the making.
    """

    def __init__(self) -> None:
        self.recording = Recording()
        # To whom each handoff that was asked for goes, by the call's id.
        self._handoffs: dict[str, Any] = {}

    def read_agent(self, agent: Mapping[str, Any], path: Path) -> None:
        prompt = agent.get("system_prompt")
        texts = prompt if isinstance(prompt, str) else "\n".join(_texts(prompt))
        if texts:
            self.recording.say("system", texts, (*path, "system_prompt"))
        times = _times_of(_flat(agent.get("traces"), (*path, "traces")))
        for message, place in each_mapping(self.recording, agent.get("messages"), (*path, "messages"), "a message"):
            self._read_message(message, place, word(agent, "agent_name"), times)

    def read_saved(self, items: list[Any], path: Path) -> None:
        """Read messages as a session saves them, in the order of their numbers."""
        found = list(each_mapping(self.recording, items, path, "a message"))
        if all(type(item.get("message_id")) is int for item, _ in found):
            found.sort(key=lambda item: item[0]["message_id"])
        for item, place in found:
            key = "redact_message" if isinstance(item.get("redact_message"), Mapping) else "message"
            message = item.get(key)
            if isinstance(message, Mapping):
                self._read_message(message, (*place, key), "", {})
            else:
                self.recording.doubt("a saved message without a message", place)

    def read_result(self, result: Mapping[str, Any]) -> None:
        """Read the result of an agent, or of a team of agents, of which what each did is put in order of time."""
        steps: list[tuple[float, str, Mapping[str, Any], Path]] = []
        for agent, own, path in self._results(result, (), ""):
            found = [step for step in _flat(own.get("traces"), (*path, "traces")) if "message" in step[0]]
            if found:
                steps += [(_end(step), agent, step, place) for step, place in found]
            else:
                self.recording.doubt("of a result that was saved, all but the last message is lost", path)
                self._read_message(own.get("message"), (*path, "message"), agent, {})
        steps.sort(key=lambda step: step[0])
        times = _times_of((step, place) for _, _, step, place in steps)
        for _, agent, step, place in steps:
            if step.get("message") is not None:
                self._read_message(step["message"], (*place, "message"), agent, times)

    def _results(self, result: Any, path: Path, agent: str) -> Iterator[tuple[str, Mapping[str, Any], Path]]:
        """Yield the results of agents in a result, each with the agent's name."""
        if not isinstance(result, Mapping):
            self.recording.doubt("an agent's result that is none", path)
        elif result.get("type") == _TEAM_RESULT:
            nodes = result.get("results")
            for name, node in nodes.items() if isinstance(nodes, Mapping) else ():
                inner = node.get("result") if isinstance(node, Mapping) else None
                yield from self._results(inner, (*path, "results", str(name), "result"), str(name))
        elif result.get("type") == _RESULT:
            yield agent, result, path
        else:
            self.recording.doubt("an agent that failed: what it did is lost", path)

    def _read_message(self, message: Any, path: Path, agent: str, times: Mapping[str, tuple[Any, Any]]) -> None:
        if not isinstance(message, Mapping):
            self.recording.doubt("a message is a mapping", path)
            return
        begin = len(self.recording)
        bedrock.read_item(self.recording, {"role": "", **message}, path)
        attribute(self.recording, begin, agent)
        self._set_times(begin, times)
        self._read_handoffs(message, path, agent)

    def _set_times(self, begin: int, times: Mapping[str, tuple[Any, Any]]) -> None:
        records = self.recording.records
        for position in range(begin, len(records)):
            record = records[position]
            if isinstance(record.call, str) and isinstance(record.id, str) and record.id in times:
                at, until = times[record.id]
                records[position] = msgspec.structs.replace(record, at=at, until=until)

    def _read_handoffs(self, message: Mapping[str, Any], path: Path, agent: str) -> None:
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            use, result = (
                (block.get("toolUse"), block.get("toolResult")) if isinstance(block, Mapping) else (None, None)
            )
            if isinstance(use, Mapping) and use.get("name") == _HANDOFF and isinstance(use.get("input"), Mapping):
                self._handoffs[word(use, "toolUseId")] = use["input"].get("agent_name")
            if isinstance(result, Mapping) and word(result, "toolUseId") in self._handoffs:
                target = self._handoffs.pop(word(result, "toolUseId"))
                if result.get("status") != "error":
                    self.recording.transfer(target, path, agent)


def _texts(blocks: Any) -> list[str]:
    items = blocks if isinstance(blocks, list) else []
    return [block["text"] for block in items if isinstance(block, Mapping) and isinstance(block.get("text"), str)]


def _flat(traces: Any, path: Path) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """Yield traces and those under them, each with its place."""
    found = [(traces, path)]
    for items, place in found:  # it grows
        for index, trace in enumerate(items if isinstance(items, list) else ()):
            if isinstance(trace, Mapping):
                yield trace, (*place, index)
                found.append((trace.get("children"), (*place, index, "children")))


def _end(trace: Mapping[str, Any]) -> float:
    """Return when a step ended: a model's with its message, a tool's with its result."""
    times = [trace.get(key) for key in ("end_time", "start_time")]
    return next((float(time) for time in times if isinstance(time, (int, float))), 0.0)


def _times_of(traces: Any) -> dict[str, tuple[Any, Any]]:
    """Return when each tool ran, by the call's id."""
    times = {}
    for trace, _ in traces:
        about = trace.get("metadata")
        call_id = about.get("toolUseId") if isinstance(about, Mapping) else None
        if isinstance(call_id, str) and all(isinstance(trace.get(key), float) for key in ("start_time", "end_time")):
            times[call_id] = (trace["start_time"], trace["end_time"])
    return times


# ------------------------------------------------------------------------------------------------------------- objects


def _converted(value: Any) -> Any:
    """Make data of an agent, a result, or a saved message; everything else dumps itself or is left as it is."""
    name = type(value).__name__
    if name == "Agent" and hasattr(value, "messages"):
        metrics = getattr(value, "event_loop_metrics", None)
        return {
            "agent_name": getattr(value, "name", None),
            "system_prompt": getattr(value, "system_prompt", None),
            "messages": value.messages,
            "traces": _dumped_traces(metrics),
        }
    if name == "AgentResult":
        dumped = {"type": _RESULT, "message": value.message, "stop_reason": value.stop_reason}
        return {**dumped, "traces": _dumped_traces(getattr(value, "metrics", None))}
    if name in ("MultiAgentResult", "SwarmResult", "GraphResult"):
        nodes = {node: {"result": _result_of(own)} for node, own in value.results.items()}
        return {"type": _TEAM_RESULT, "results": nodes}
    return value.to_dict() if name in ("SessionMessage", "Snapshot") else value


def _result_of(node: Any) -> Any:
    result = node.result
    return {"type": "exception", "message": str(result)} if isinstance(result, Exception) else result


def _dumped_traces(metrics: Any) -> list[Any]:
    return [trace.to_dict() for trace in getattr(metrics, "traces", ())]


READER: Final = Reader(
    "strands",
    detects=detects,
    read=read,
    shape=SHAPE,
    runs=runs,
    objects={"strands": _converted},
)

"""Read the Agent Trajectory Interchange Format (ATIF), versions 1.x; `atif_writing` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tracewitness.display import plural, show
from tracewitness.errors import ReadError
from tracewitness.readers.json_text import decode_text
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, payload_of, refuse, texts_of, word
from tracewitness.trace import Record, Role, Trace

__all__ = ["OWN", "READER", "UNKNOWN", "read"]

SHAPE: Final = "a trajectory of ATIF has a schema_version such as ATIF-v1.7, and steps with a source and a message"
#: The key in ``extra`` under which `atif_writing` keeps what the format has no place for.
OWN: Final = "tracewitness"
#: The agent's name where it is not known: the format demands one.
UNKNOWN: Final = "unknown"

_VERSION: Final = "ATIF-v"
_SOURCES: Final[dict[str, Role]] = {"user": "user", "system": "system", "agent": "agent"}
_NO_RECORD: Final = (msgspec.ValidationError, RecursionError, UnicodeEncodeError)


def read(document: Any, name: str = "") -> Trace:
    """Read a trajectory. What sub-agents did stands before the result of the call that it was done for.

    Raises:
        ReadError: it is nothing of the kind, or of a major version that is not known.

    >>> step = {"step_id": 1, "source": "user", "message": "hi"}
    >>> read({"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": [step]}).to_events()
    [{'user': 'hi'}]
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("steps"), list):
        raise refuse(document, SHAPE)
    _refuse_unknown_version(document.get("schema_version"))
    recording = _Events()
    try:
        _Trajectory(recording, document, ()).read()
    except RecursionError as error:
        raise ReadError("sub-agents nested too deeply to be read") from error
    own = _own(document) or {}
    trace = recording.trace(word(own, "name") or name or word(document, "session_id"))
    return _as_it_was(trace, own) if own else trace


def _refuse_unknown_version(version: Any) -> None:
    major = version.removeprefix(_VERSION).partition(".")[0] if isinstance(version, str) else "1"
    if major != "1":
        raise ReadError(f"ATIF in version {show(version)}; versions 1.x are read")


def _as_it_was(trace: Trace, own: Mapping[str, Any]) -> Trace:
    """Return a trace that was written as ATIF with what was known of the whole of it."""
    return Trace(
        trace.records,
        name=trace.name,
        problems=trace.problems[: len(trace.reader_problems)],
        no_evidence=word(own, "no_evidence") or trace.no_evidence,
        text_alone=own.get("text_alone") is True,
        place_of=trace._place_of,
    )


class _Events(Recording):
    """A recording that also takes events as they were written."""

    __slots__ = ()

    def add(self, event: Mapping[str, Any], path: Path) -> None:
        """Add an event in neutral form; one that is none is a problem."""
        try:
            record = msgspec.convert(event, Record)
        except _NO_RECORD:
            self.doubt(f"not an event: {show(dict(event))}", path)
            return
        self.calls += "call" in event
        self._add(record, path)


# ----------------------------------------------------------------------------------------------------------- detection


def _detects(document: Any) -> bool:
    if not isinstance(document, Mapping) or not isinstance(document.get("steps"), list):
        return False
    return word(document, "schema_version").startswith(_VERSION) or any(map(_is_step, document["steps"]))


def _is_step(item: Any) -> bool:
    return isinstance(item, Mapping) and "step_id" in item and "message" in item and word(item, "source") in _SOURCES


# ------------------------------------------------------------------------------------------------------------- reading


def _own(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what `atif_writing` kept of something beside what the format has a place for."""
    extra = item.get("extra")
    own = extra.get(OWN) if isinstance(extra, Mapping) else None
    return own if isinstance(own, Mapping) else None


class _Trajectory:
    """Reads a trajectory, and those of sub-agents inside it, into one recording.

    Arguments:
        path: where it stands in the document.
        is_root: whether it is the document; in others the user is the agent that called.
    """

    def __init__(self, recording: _Events, data: Mapping[str, Any], path: Path, *, is_root: bool = True) -> None:
        self._recording = recording
        self._data = data
        self._path = path
        self._is_root = is_root
        self._is_own = is_root and _own(data) is not None
        agent = data.get("agent")
        agent_name = word(agent, "name") if isinstance(agent, Mapping) else ""
        self._agent = None if self._is_own or agent_name == UNKNOWN else agent_name
        self._subagents: dict[str, tuple[Mapping[str, Any], Path]] = {}

    def read(self) -> None:
        self._find_subagents()
        for step, path in each_mapping(self._recording, self._data.get("steps"), (*self._path, "steps"), "a step"):
            self._read_step(step, path)
        for trajectory_id in list(self._subagents):
            self._read_subagent(trajectory_id)
        if self._data.get("continued_trajectory_ref"):
            self._doubt_elsewhere(self._data["continued_trajectory_ref"], (*self._path, "continued_trajectory_ref"))
        if self._is_own:
            self._read_problems()

    def _find_subagents(self) -> None:
        path = (*self._path, "subagent_trajectories")
        found = self._data.get("subagent_trajectories")
        for number, (data, place) in enumerate(each_mapping(self._recording, found, path, "a trajectory")):
            trajectory_id = word(data, "trajectory_id")
            if not trajectory_id or trajectory_id in self._subagents:
                trajectory_id = f"{trajectory_id} ({number})"  # nothing can refer to it
            self._subagents[trajectory_id] = (data, place)

    def _read_subagent(self, trajectory_id: str) -> None:
        data, path = self._subagents.pop(trajectory_id)
        _Trajectory(self._recording, data, path, is_root=False).read()

    def _read_problems(self) -> None:
        path: Path = ("extra", OWN, "problems")
        for problem, place in each_mapping(
            self._recording, (_own(self._data) or {}).get("problems"), path, "a problem"
        ):
            hides_call = problem.get("hides_call") is not False
            where = f"{problem['place']}: " if word(problem, "place") else ""
            reason, cut = f"{where}{word(problem, 'reason')}", problem.get("cut") is True
            self._recording.doubt(reason, place, hides_call=hides_call, cut=cut)

    def _doubt_elsewhere(self, what: Any, path: Path) -> None:
        self._recording.doubt(f"part of the run is recorded elsewhere: {show(what)}", path)

    # ------------------------------------------------------------------------------------------------------- one step

    def _read_step(self, step: Mapping[str, Any], path: Path) -> None:
        own = _own(step) if self._is_own else None
        if own is not None and "event" in own:
            self._recording.add(own["event"] if isinstance(own["event"], Mapping) else {}, path)
            return
        role = _SOURCES.get(word(step, "source"))
        if role is None:
            self._recording.doubt(f"an unknown source {show(step.get('source'))}", path)
            return
        self._read_message(step, role, own or {}, path)
        calls = list(each_mapping(self._recording, step.get("tool_calls"), (*path, "tool_calls"), "a tool call"))
        for call, place in calls:
            self._read_call(call, step.get("timestamp"), place)
        observation = step.get("observation")
        if isinstance(observation, Mapping):
            self._read_results(observation, [call for call, _ in calls], role, (*path, "observation", "results"))
        elif observation is not None:
            self._recording.doubt(f"an observation is a mapping, not {show(observation)}", path)

    def _read_message(self, step: Mapping[str, Any], role: Role, own: Mapping[str, Any], path: Path) -> None:
        """Read what was said; an empty message stands where something else is told."""
        message = step.get("message")
        text = "\n".join(texts_of(message))
        if message is not None and not isinstance(message, (str, list)):
            self._recording.doubt(f"a message is a text or a list, not {show(message)}", path)
        if not text and (step.get("tool_calls") or step.get("observation")):
            return
        if not self._is_root and role == "user":
            role = "system"  # a sub-agent's user is the agent that called it, and begins no turn
        if own:
            self._recording.add({role: text, **own}, path)
        else:
            self._recording.say(role, text, path, by=self._agent)

    def _read_call(self, call: Mapping[str, Any], at: Any, path: Path) -> None:
        name, arguments, call_id = call.get("function_name"), call.get("arguments"), call.get("tool_call_id")
        own = _own(call) if self._is_own else None
        if own is not None:
            event = {"call": name, "args": arguments, "id": call_id, **own}
            if "raw_args" in own and "args" not in own:
                del event["args"]
            self._recording.add({key: value for key, value in event.items() if key != "id" or value is not None}, path)
            return
        extra = call.get("extra")
        metadata = dict(extra) if isinstance(extra, Mapping) and extra else None
        at = None if self._is_own else at
        self._recording.call(name, arguments, call_id, path, by=self._agent, at=at, metadata=metadata)

    # --------------------------------------------------------------------------------------------------- what came back

    def _read_results(
        self, observation: Mapping[str, Any], calls: list[Mapping[str, Any]], role: Role, path: Path
    ) -> None:
        results = list(each_mapping(self._recording, observation.get("results"), path, "a result"))
        is_in_order = len(results) == len(calls) and not any(result.get("source_call_id") for result, _ in results)
        for number, (result, place) in enumerate(results):
            self._read_references(result, place)
            call_id = result.get("source_call_id") or (calls[number].get("tool_call_id") if is_in_order else None)
            if self._is_own and _own(result) is not None:
                self._read_own_result(result, call_id, place)
            elif call_id:
                self._recording.answer(payload_of(result.get("content")), call_id, place, is_error=_is_error(result))
            else:
                self._read_feedback(result, calls, role, place)

    def _read_own_result(self, result: Mapping[str, Any], call_id: Any, path: Path) -> None:
        own = dict(_own(result) or {})
        kind, payload = "result", result.get("content")
        if own.pop("raw", None):
            kind = "raw_result"
        elif own.pop("json", None) and isinstance(payload, str):
            kind, payload = _decoded(payload)
        event = {kind: payload, "id": call_id, **own}
        self._recording.add({key: value for key, value in event.items() if key != "id" or value is not None}, path)

    def _read_feedback(self, result: Mapping[str, Any], calls: list[Mapping[str, Any]], role: Role, path: Path) -> None:
        """Read what came back of something that is no call, or of one that isn't named."""
        text = "\n".join(texts_of(result.get("content")))
        if calls:
            reason = f"a result that names no call, in a step with {plural(len(calls), 'call')}: {show(text)}"
            self._recording.doubt(reason, path, hides_call=False)
        elif role == "agent" and not result.get("subagent_trajectory_ref"):
            self._recording.doubt(f"what came of an action that is not told: {show(text)}", path)
        elif text:
            self._recording.say("system", text, path)

    def _read_references(self, result: Mapping[str, Any], path: Path) -> None:
        """Read the sub-agents that a result refers to."""
        references = result.get("subagent_trajectory_ref")
        references = [references] if isinstance(references, Mapping) else references
        path = (*path, "subagent_trajectory_ref")
        for reference, place in each_mapping(self._recording, references, path, "a reference"):
            trajectory_id = word(reference, "trajectory_id") or word(reference, "session_id")
            if trajectory_id in self._subagents:
                self._read_subagent(trajectory_id)
            else:
                self._doubt_elsewhere(dict(reference), place)


def _is_error(result: Mapping[str, Any]) -> bool | None:
    """Return what a result says of itself. The format has no word for it; some that write it have."""
    extra = result.get("extra")
    flag = extra.get("is_error") if isinstance(extra, Mapping) else None
    return flag if isinstance(flag, bool) else None


def _decoded(text: str) -> tuple[str, Any]:
    """Return the payload that was written as JSON, and what kind of result it is."""
    try:
        decoded = decode_text(text)
    except (ValueError, RecursionError):
        return "raw_result", text
    is_clear = decoded.repeated_key is None and not decoded.has_raw
    return ("result", decoded.value) if is_clear else ("raw_result", text)


def _as_it_is(value: Any) -> Any:
    return value


READER: Final = Reader(
    "atif",
    detects=_detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"steps"}),
    objects=dict.fromkeys(("atif", "harbor"), _as_it_is),  # they dump themselves well
)

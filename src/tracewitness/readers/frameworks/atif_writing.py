"""Write a trace in the Agent Trajectory Interchange Format (ATIF).

A step has a message, calls and results, in this order; where the trace has another, a new step begins. What the
format has no place for stands under ``extra.tracewitness`` of the trajectory, step, call or result that it is
about, and `atif.read` puts it back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.frameworks.atif import OWN, UNKNOWN
from tracewitness.trace import MalformedResult, Message, Problem, ToolCall, ToolResult, Trace, Transfer

__all__ = ["ATIF_VERSION", "atif_of"]

#: The version that is written: the first one in which calls and results have an ``extra``.
ATIF_VERSION: Final = "ATIF-v1.7"

_SPOKEN: Final = ("user", "agent", "system")


def atif_of(trace: Trace) -> dict[str, Any]:
    """Return a trace as a trajectory of ATIF, as plain data.

    Its calls, arguments, results, messages and their order can be read by whoever reads ATIF. Read back by
    tracewitness it is the same trace, but for its events that could not be read: they are problems.

    >>> from tracewitness.testing import call, result, trace
    >>> step = atif_of(trace(call("search", q="lamp").with_(id="c1"), result("none")))["steps"][0]
    >>> step["tool_calls"], step["observation"]["results"][0]["content"]
    ([{'tool_call_id': 'c1', 'function_name': 'search', 'arguments': {'q': 'lamp'}}], 'none')
    """
    agents = (record.by for record in trace.records if isinstance(record.by, str) and record.by)
    document: dict[str, Any] = {
        "schema_version": ATIF_VERSION,
        "agent": {"name": next(agents, UNKNOWN), "version": UNKNOWN},
        "steps": _Steps(trace).written(),
        "extra": {OWN: _about(trace)},
    }
    if trace.name:
        document["session_id"] = trace.name
    return document


def _about(trace: Trace) -> dict[str, Any]:
    about: dict[str, Any] = {"name": trace.name}
    if trace.no_evidence is not None:
        about["no_evidence"] = trace.no_evidence
    if trace.text_alone:
        about["text_alone"] = True
    problems = trace.problems[: len(trace.reader_problems)]
    if problems:
        about["problems"] = list(map(_problem, problems))
    return about


def _problem(problem: Problem) -> dict[str, Any]:
    place = problem.place or (f"event {problem.position}" if problem.position is not None else "")
    told = {"reason": problem.reason, "place": place, "hides_call": problem.hides_call}
    return {**told, "cut": True} if problem.cut else told


class _Steps:
    """The steps of a trace in the making."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._steps: list[dict[str, Any]] = []
        # The ids of calls by their positions: unique, as the format wants them.
        self._ids: dict[int, str] = {}
        self._taken: set[str] = set()
        # The calls of the last step, and whether it may have more of them.
        self._open_ids: set[str] = set()
        self._takes_calls = False

    def written(self) -> list[dict[str, Any]]:
        for event, written in zip(self._trace.events, self._trace.to_events(), strict=True):
            if isinstance(event, ToolCall):
                self._add_call(event, written)
            elif isinstance(event, ToolResult):
                self._add_result(event, written)
            elif isinstance(event, Message):
                self._add_message(event, written)
            else:
                text = f"Transferred to {event.agent}" if isinstance(event, Transfer) else ""
                self._begin("system", text)["extra"] = {OWN: {"event": _plain(written)}}
        return self._steps

    def _begin(self, source: str, message: str) -> dict[str, Any]:
        step: dict[str, Any] = {"step_id": len(self._steps) + 1, "source": source, "message": message}
        self._steps.append(step)
        self._open_ids = set()
        self._takes_calls = False
        return step

    def _add_message(self, event: Message, written: Mapping[str, Any]) -> None:
        step = self._begin(event.role, event.text)
        _keep(step, {key: value for key, value in written.items() if key not in _SPOKEN})
        _stamp(step, written)
        # An empty message with calls would read as none.
        self._takes_calls = event.role == "agent" and event.text != ""

    def _add_call(self, call: ToolCall, written: Mapping[str, Any]) -> None:
        if not self._takes_calls:
            self._begin("agent", "")
            self._takes_calls = True
        call_id = self._unique_id(call)
        self._open_ids.add(call_id)
        made: dict[str, Any] = {
            "tool_call_id": call_id,
            "function_name": call.name,
            "arguments": _plain(call.args) if isinstance(call.args, Mapping) else {},
        }
        own = {key: value for key, value in written.items() if key not in ("call", "id", "args")}
        if "args" in written and not isinstance(written["args"], Mapping):
            own["args"] = written["args"]
        if call.id != call_id:
            own["id"] = call.id
        _keep(made, own)
        step = self._steps[-1]
        _stamp(step, written)
        step.setdefault("tool_calls", []).append(made)

    def _add_result(self, result: ToolResult, written: Mapping[str, Any]) -> None:
        call_id = None if result.call_position is None else self._ids[result.call_position]
        if call_id not in self._open_ids:
            self._begin("agent", "")
        self._takes_calls = False
        content, form = _content(result.payload)
        made = {"source_call_id": call_id, "content": content}
        own = {key: value for key, value in written.items() if key not in ("result", "raw_result", "id")}
        own.update(form)
        if written.get("id") != call_id:
            own["id"] = written.get("id")
        if call_id is None:
            own.setdefault("id", None)  # else it would read as what came of something else
        _keep(made, own)
        step = self._steps[-1]
        step.setdefault("observation", {"results": []})["results"].append(made)

    def _unique_id(self, call: ToolCall) -> str:
        wanted = call.id if isinstance(call.id, str) and call.id else f"call-{call.position}"
        made = wanted
        while made in self._taken:
            made = f"{made}-{call.position}"
        self._taken.add(made)
        self._ids[call.position] = made
        return made


def _keep(item: dict[str, Any], own: Mapping[str, Any]) -> None:
    if own:
        item["extra"] = {OWN: _plain(dict(own))}


def _stamp(step: dict[str, Any], written: Mapping[str, Any]) -> None:
    """Say when a step was, where it is known and not said yet."""
    at = written.get("at")
    try:
        if isinstance(at, str):
            datetime.fromisoformat(at)
        elif isinstance(at, (int, float)) and not isinstance(at, bool):
            at = datetime.fromtimestamp(at, UTC).isoformat()
        else:
            return
    except (ValueError, OverflowError, OSError):
        return
    step.setdefault("timestamp", at)


def _content(payload: Any) -> tuple[str, dict[str, Any]]:
    """Return a payload as text, and how it is to be read back."""
    if isinstance(payload, MalformedResult):
        return payload.raw, {"raw": True}
    if isinstance(payload, str):
        return payload, {}
    return json.dumps(_plain(payload)), {"json": True}


def _plain(value: Any) -> Any:
    """Return a value as JSON can have it; an object that is no data is shown."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    return show(value)

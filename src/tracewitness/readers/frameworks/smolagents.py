"""Read smolagents: agents, their memory and its steps, results of runs, and what runs yield.

A step that failed does not list its calls; they are in what the model answered. Results of parallel calls are one
text, which can't be told apart: what a run yields as it goes has each result by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, texts_of, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "a step of smolagents has a step_number, tool_calls and observations; a run has steps"

_CODE: Final = "python_interpreter"
_STEP_KEYS: Final = frozenset(
    {"model_output_message", "model_output", "observations", "code_action", "action_output", "tool_calls"}
)
# What a run yields that neither calls nor answers: pieces of answers, and once more what a step or the run gave.
_YIELDED: Final = "yielded"
# Errors of steps that no tool made: the model did not answer, or it is not clear what it called.
_UNREADABLE: Final = frozenset({"AgentGenerationError", "AgentParsingError"})
_NO_MORE_STEPS: Final = "AgentMaxStepsError"
_failed_tool: Final = re.compile(
    r"(?:Error executing tool |Error executing request to team member |Unknown tool )'?([\w.-]*\w)"
).match

_Found = list[tuple[Mapping[str, Any], Path]]


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, list):
        return any(map(_is_step, document))
    if not isinstance(document, Mapping):
        return False
    steps = document.get("steps")
    return _is_step(document) or (
        isinstance(steps, list) and ("managed_agents" in document or any(map(_is_step, steps)))
    )


def read(document: Any, name: str = "") -> Trace:
    """Read a step, a list of steps or of what a run yielded, or an agent or a run with ``steps``.

    Raises:
        ReadError: it is nothing of the kind.

    >>> call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": {"q": "lamp"}}}
    >>> read([{"step_number": 1, "tool_calls": [call], "observations": "a lamp"}]).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}, 'id': 'c1'}, {'result': 'a lamp', 'id': 'c1', 'is_error': False}]
    """
    recording = Recording()
    if isinstance(document, list):
        _Run(recording, {}).read(document, ())
    elif isinstance(document, Mapping) and isinstance(document.get("steps"), list):
        _read_run(recording, document)
    elif isinstance(document, Mapping) and _is_step(document):
        _Run(recording, {}).read([document], ())
    else:
        raise refuse(document, SHAPE)
    return recording.trace(name)


def _read_run(recording: Recording, run: Mapping[str, Any]) -> None:
    if word(run, "system_prompt"):
        recording.say("system", word(run, "system_prompt"), ("system_prompt",))
    try:
        _Run(recording, run).read(run["steps"], ("steps",))
        if run.get("messages") and run["messages"] != run["steps"]:  # results had the steps under that name as well
            recording.doubt("messages beside the steps: which came first is not recorded", ("messages",))
    except RecursionError as error:  # agents that manage agents
        raise ReadError("nested too deeply to be read") from error


def _is_step(item: Any) -> bool:
    return isinstance(item, Mapping) and "step_number" in item and not _STEP_KEYS.isdisjoint(item)


class _Run:
    """A run of an agent that is being read.

    Arguments:
        about: what is known of the agent: its name, and the agents that it manages.
        is_managed: whether another agent called it; then its task stands in that call.
    """

    def __init__(self, recording: Recording, about: Mapping[str, Any], *, is_managed: bool = False) -> None:
        self._recording = recording
        self._agent = about.get("agent_name")
        managed = about.get("managed_agents")
        self._managed: Mapping[str, Any] = managed if isinstance(managed, Mapping) else {}
        self._is_managed = is_managed
        # How many calls to each managed agent are still to come: each keeps its last run only.
        self._to_come: Counter[str] = Counter()
        # What the run yielded since the last step.
        self._yielded: _Found = []

    def read(self, items: Any, path: Path) -> None:
        found = list(each_mapping(self._recording, items, path, "a step"))
        for item, place in found if self._managed else ():
            self._to_come.update(_name(call) for call, _ in _calls(Recording(), item, place))
        for item, place in found:
            self._read_item(item, place)
        self._read_yielded()

    def _read_item(self, item: Mapping[str, Any], path: Path) -> None:
        if "step_number" in item:
            self._read_step(item, path)
        elif "task" in item:
            if not self._is_managed:
                self._recording.say("user", word(item, "task"), path)
        elif "system_prompt" in item:
            self._recording.say("system", word(item, "system_prompt"), path)
        elif "plan" in item:
            self._recording.say("agent", word(item, "plan"), path, self._agent)
        elif "yielded_call" in item or "yielded_output" in item:
            self._yielded.append((item, path))
        elif _YIELDED not in item:
            self._recording.doubt(f"neither a step nor what a run yields: {show(list(item))}", path)

    def _read_step(self, step: Mapping[str, Any], path: Path) -> None:
        """Read what the model said and called, and what came of it."""
        message = step.get("model_output_message")
        content = message.get("content") if isinstance(message, Mapping) else step.get("model_output")
        text = "\n".join(texts_of(content))
        if text:
            self._recording.say("agent", text, (*path, "model_output"), self._agent)
        if self._yielded:
            calls, answered = self._read_yielded()
        else:
            calls, answered = list(_calls(self._recording, step, path)), 0
            for call, place in calls:
                self._read_call(call, place)
        if step.get("error"):
            self._read_error(step["error"], calls, (*path, "error"))
        elif not answered:
            self._read_observations(step.get("observations"), calls, (*path, "observations"))
        if step.get("is_final_answer") and isinstance(step.get("action_output"), str):
            self._recording.say("agent", step["action_output"], (*path, "action_output"), self._agent)

    def _read_call(self, call: Mapping[str, Any], path: Path) -> None:
        function = call.get("function")
        own = function if isinstance(function, Mapping) else {}
        name, arguments = own.get("name"), own.get("arguments")
        is_code = name == _CODE and isinstance(arguments, str)
        arguments = {"code": arguments} if is_code else arguments
        self._recording.call(name, arguments, call.get("id"), path, by=self._agent)
        if is_code:
            self._recording.doubt("the tools that code calls are recorded nowhere", path)
        if isinstance(name, str) and name in self._managed:
            self._read_managed(name, path)

    def _read_managed(self, name: str, path: Path) -> None:
        """Read what a managed agent did, behind the last call to it."""
        self._to_come[name] -= 1
        if self._to_come[name] > 0:
            self._recording.doubt(f"what {show(name)} did is lost: it was called again", path)
            return
        about = self._managed[name]
        steps = about.get("steps") if isinstance(about, Mapping) else None
        own = about if isinstance(about, Mapping) else {}
        _Run(self._recording, own, is_managed=True).read(steps, ("managed_agents", name, "steps"))

    def _read_yielded(self) -> tuple[_Found, int]:
        """Read what the run yielded; return the calls that nothing answered, and how many were answered."""
        yielded, self._yielded = self._yielded, []
        calls: _Found = []
        for item, place in yielded:
            call = item.get("yielded_call")
            if isinstance(call, Mapping):
                calls.append((call, (*place, "yielded_call")))
                self._read_call(*calls[-1])
            elif "yielded_output" not in item:
                self._recording.doubt(f"a tool call is a mapping, not {show(call)}", place)
        outputs = [found for found in yielded if "yielded_output" in found[0]]
        for output, place in outputs:
            self._recording.answer(output["yielded_output"], output.get("id"), place, is_error=False)
        answered = {word(output, "id") for output, _ in outputs}
        return [found for found in calls if word(found[0], "id") not in answered], len(outputs)

    def _read_observations(self, observations: Any, calls: _Found, path: Path) -> None:
        if len(calls) == 1:
            if observations is not None:
                self._recording.answer(observations, calls[0][0].get("id"), path, is_error=False)
        elif calls:
            reason = f"the results of {len(calls)} calls are one text, which can't be told apart"
            self._recording.doubt(reason, path, hides_call=False)

    def _read_error(self, error: Any, calls: _Found, path: Path) -> None:
        """Read why a step failed. A call that failed is told by its tool where there are several."""
        kind = word(error, "type") if isinstance(error, Mapping) else ""
        reason = error.get("message") if isinstance(error, Mapping) else error
        if len(calls) > 1 and isinstance(reason, str):
            failed = _failed_tool(reason)
            calls = [found for found in calls if failed is not None and _name(found[0]) == failed[1]]
        if kind in _UNREADABLE:
            self._recording.doubt(f"the step failed: {show(reason, 200)}", path)
        elif len(calls) == 1:
            self._recording.answer(reason, calls[0][0].get("id"), path, is_error=True)
        elif kind != _NO_MORE_STEPS:
            self._recording.doubt(f"it is not known which call failed: {show(reason, 200)}", path, hides_call=False)


def _calls(recording: Recording, step: Mapping[str, Any], path: Path) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """Yield the calls that the model made. A step lists those that were run, sorted by their ids, if none failed.

    Of calls with the same id only the last is run and listed.
    """
    answer, listed = step.get("model_output_message"), step.get("tool_calls")
    meant = answer.get("tool_calls") if isinstance(answer, Mapping) else None
    is_whole = isinstance(meant, list) and not (isinstance(listed, list) and len(listed) > len(meant))
    place = ("model_output_message", "tool_calls") if is_whole else ("tool_calls",)
    yield from each_mapping(recording, meant if is_whole else listed, (*path, *place), "a tool call")


def _name(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    return word(function, "name") if isinstance(function, Mapping) else ""


# ------------------------------------------------------------------------------------------------------------- objects


def _converted(value: Any) -> Any:
    """Make data of an agent, its memory, its steps, or what its run yields."""
    kind = type(value).__name__
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "memory") and hasattr(value, "managed_agents"):
        managed = {name: _converted(agent) for name, agent in (value.managed_agents or {}).items()}
        return {"agent_name": value.name, "managed_agents": managed, **_converted(value.memory)}
    if kind == "AgentMemory":
        return {"system_prompt": value.system_prompt.system_prompt, "steps": value.steps}
    if kind == "ActionStep":
        return {key: item for key, item in value.dict().items() if key != "model_input_messages"}
    if kind in _PLAIN_STEPS:
        return {_PLAIN_STEPS[kind]: getattr(value, _PLAIN_STEPS[kind])}
    if kind == "ToolOutput":
        return {"id": value.id, "yielded_output": value.output}
    if kind == "RunResult":
        return {"steps": value.steps}
    return {"yielded_call": value.dict()} if kind == "ToolCall" else {_YIELDED: kind}


_PLAIN_STEPS: Final = {"TaskStep": "task", "SystemPromptStep": "system_prompt", "PlanningStep": "plan"}


READER: Final = Reader(
    "smolagents",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"steps", "step_number"}),
    objects={"smolagents": _converted},
)

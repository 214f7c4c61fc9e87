"""Read smolagents: agents, their memory and its steps, results of runs, and what runs yield.

A step that failed does not list its calls; they are in what the model answered. Results of parallel calls are one
text, which can mostly not be told apart: what a run yields as it goes has each result by itself. Of an agent that acts
by code the code is a call of ``python_interpreter``, and the calls that the code is known to have made follow it; see
`smolagents_code`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers.frameworks.smolagents_code import FINAL_ANSWER, CodeCall, CodeReader
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

# Types of what a tool gives back of which the text is never empty.
_NEVER_EMPTY: Final = frozenset({"array", "boolean", "integer", "number", "object"})
# What stands at the end of the observations of code: its output, which is kept by itself where it is not None.
_NO_OUTPUT: Final = "Last output from code snippet:\nNone"

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
        tools = about.get("tools")
        self._tools: Mapping[str, Any] | None = tools if isinstance(tools, Mapping) else None
        self._code = CodeReader(self._names_of_arguments())
        # The calls in the code of steps, by the place of the step's own call.
        self._code_calls: dict[Path, tuple[list[CodeCall], bool]] = {}
        self._is_managed = is_managed
        # How many calls to each managed agent are still to come: each keeps its last run only.
        self._to_come: Counter[str] = Counter()
        # What the run yielded since the last step.
        self._yielded: _Found = []

    def read(self, items: Any, path: Path) -> None:
        found = list(each_mapping(self._recording, items, path, "a step"))
        for item, place in found:
            for call, where in _calls(Recording(), item, place):
                self._to_come[_name(call)] += 1
                self._read_code(item, call, where)
        for item, place in found:
            self._read_item(item, place)
        for call, place in self._read_yielded()[0]:
            if _name(call) == _CODE:
                self._recording.doubt("the run broke off in code, which may have called tools", place)

    def _names_of_arguments(self) -> Mapping[str, Sequence[str]] | None:
        """Return the names of the arguments of all tools, of which agents are some; None where they are not known."""
        if self._tools is None:
            return None
        names = {name: _texts(_at(tool, "inputs")) for name, tool in self._tools.items()}
        return {**dict.fromkeys(self._managed, ("task",)), **names}

    def _read_code(self, step: Mapping[str, Any], call: Mapping[str, Any], path: Path) -> None:
        """Find out which calls the code of a step made."""
        code = _at(call.get("function"), "arguments")
        if _name(call) != _CODE or not isinstance(code, str):
            return
        error = step.get("error")
        why = None if not error else word(error, "message") if isinstance(error, Mapping) else str(error)
        self._code_calls[path] = self._code.calls(code, why)
        self._to_come.update(made.name for made in self._code_calls[path][0])

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
        self._read_code_calls(step, path)
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
        if isinstance(name, str) and name in self._managed:
            self._read_managed(name, path)

    def _read_code_calls(self, step: Mapping[str, Any], path: Path) -> None:
        """Read the calls in the code of a step, with the results of which it tells."""
        for call, place in _calls(Recording(), step, path):
            if place in self._code_calls:
                made, are_all = self._code_calls.pop(place)
                for number, inner in enumerate(made):
                    self._read_code_call(step, path, inner, f"{call.get('id')}.{number}", place)
                if not are_all:
                    self._recording.doubt("the code may have called tools, of which nothing is recorded", place)

    def _read_code_call(
        self, step: Mapping[str, Any], step_path: Path, call: CodeCall, call_id: str, path: Path
    ) -> None:
        output, arguments = step.get("action_output"), call.arguments
        is_answer = call.name == FINAL_ANSWER and step.get("is_final_answer") is True
        if is_answer and not isinstance(arguments, Mapping):
            arguments = {"answer": output}  # which the tool gives back as it is
        self._recording.call(call.name, arguments, call_id, path, by=self._agent, metadata={"in_code": True})
        if call.name in self._managed:
            self._read_managed(call.name, path)
        if call.failed:
            error = step.get("error")
            reason = error.get("message") if isinstance(error, Mapping) else error
            self._recording.answer(reason, call_id, (*step_path, "error"), is_error=True)
        elif is_answer or (call.gives_output and _has_output(step)):
            self._recording.answer(output, call_id, (*step_path, "action_output"), is_error=False)

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
        elif calls and (results := self._told_apart(observations, calls)) is not None:
            for (call, _), result in zip(calls, results, strict=True):
                self._recording.answer(result, call.get("id"), path, is_error=False)
        elif calls:
            reason = f"the results of {len(calls)} calls are one text, which can't be told apart"
            self._recording.doubt(reason, path, hides_call=False)

    def _told_apart(self, observations: Any, calls: _Found) -> list[str] | None:
        """Return the results of calls that are one text, in the order of the calls; None where they can't be known.

        They stand in it in the order of the calls' ids, each with a newline behind it, and those at the end are taken
        away. Hence there is a line for each where there are as many lines as calls, and the last one can't be empty.
        """
        lines = observations.split("\n") if isinstance(observations, str) else []
        ids = [call.get("id") for call, _ in calls]
        if len(lines) != len(calls) or len(set(map(str, ids))) < len(ids) or not all(isinstance(i, str) for i in ids):
            return None
        ordered = sorted(range(len(calls)), key=lambda number: str(ids[number]))
        last = (self._tools or {}).get(_name(calls[ordered[-1]][0]))
        if word(last, "output_type") not in _NEVER_EMPTY if isinstance(last, Mapping) else True:
            return None
        return [lines[ordered.index(number)] for number in range(len(calls))]

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


def _has_output(step: Mapping[str, Any]) -> bool:
    """Whether the output of code is recorded, which may be None."""
    return step.get("action_output") is not None or word(step, "observations").endswith(_NO_OUTPUT)


def _at(mapping: Any, key: str) -> Any:
    return mapping.get(key) if isinstance(mapping, Mapping) else None


def _texts(items: Any) -> tuple[str, ...]:
    return tuple(item for item in items if isinstance(item, str)) if isinstance(items, (list, Mapping)) else ()


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
        tools = {name: _described(tool) for name, tool in (getattr(value, "tools", None) or {}).items()}
        return {"agent_name": value.name, "managed_agents": managed, "tools": tools, **_converted(value.memory)}
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


def _described(tool: Any) -> dict[str, Any]:
    """Return the names of a tool's arguments, and of what type its result is."""
    return {"inputs": list(getattr(tool, "inputs", None) or {}), "output_type": getattr(tool, "output_type", None)}


_PLAIN_STEPS: Final = {"TaskStep": "task", "SystemPromptStep": "system_prompt", "PlanningStep": "plan"}


READER: Final = Reader(
    "smolagents",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"steps", "step_number"}),
    objects={"smolagents": _converted},
)

"""smolagents: steps, runs, what runs yield, managed agents, and what real agents make."""

from __future__ import annotations

import json
from typing import Any

import pytest
from framework_mutations import assert_known_alone, assert_mutants_are_read_or_refused
from framework_support import FIRST_TURN, SECOND_TURN, WHEEL, Tools, assert_witnessed

from tracewitness.readers import read
from tracewitness.readers.registry import detected
from tracewitness.trace import UNANSWERED, MalformedArguments


def _call(call_id: str = "1", name: str = "search", arguments: Any = None) -> dict[str, Any]:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": {} if arguments is None else arguments},
    }


def _step(*calls: Any, observations: Any = None, meant: Any = None, text: str = "", **more: Any) -> dict[str, Any]:
    answer = {"role": "assistant", "content": text, "tool_calls": list(calls) if meant is None else list(meant)}
    step = {"step_number": 1, "timing": {}, "tool_calls": list(calls), "error": None, "model_output_message": answer}
    return {**step, "observations": observations, "action_output": None, "is_final_answer": False, **more}


def _error(message: str, kind: str = "AgentToolExecutionError") -> dict[str, Any]:
    return {"type": kind, "message": message}


TASK = {"task": "Find both.", "task_images": None}


def test_steps() -> None:
    """A step's text, its call and what came of it; the last step is the agent's answer."""
    steps = [
        {"system_prompt": "Help."},
        TASK,
        {"plan": "I look.", "model_output_message": {}},
        _step(_call("1", arguments={"n": 1}), observations="one", text="Hm."),
        _step(
            _call("2", "final_answer", {"answer": "Done."}),
            observations="Done.",
            is_final_answer=True,
            action_output="Done.",
        ),
    ]
    trace = read({"output": "Done.", "state": "success", "steps": steps})
    assert trace.to_events() == [
        {"system": "Help."},
        {"user": "Find both."},
        {"agent": "I look."},
        {"agent": "Hm."},
        {"call": "search", "args": {"n": 1}, "id": "1"},
        {"result": "one", "id": "1", "is_error": False},
        {"call": "final_answer", "args": {"answer": "Done."}, "id": "2"},
        {"result": "Done.", "id": "2", "is_error": False},
        {"agent": "Done."},
    ]
    assert trace.problems == ()


def test_a_step_that_failed() -> None:
    """It lists no calls; they are in the model's answer, and of several the error names the tool."""
    single = _step(meant=[_call("1", "steer")], error=_error("Error executing tool 'steer' with arguments {}: stuck"))
    assert [(call.name, call.is_error) for call in read([single]).calls] == [("steer", True)]
    for message in ("Error executing tool 'b' with arguments {}: x", "Unknown tool b, should be one of: a."):
        trace = read([_step(meant=[_call("1", "a"), _call("2", "b")], error=_error(message))])
        assert [(call.name, call.result, call.is_error) for call in trace.calls] == [
            ("a", UNANSWERED, None),
            ("b", message, True),
        ]
    trace = read([_step(meant=[_call("1", "a"), _call("2", "a")], error=_error("Error executing tool 'a': x"))])
    assert [(len(trace.calls), problem.hides_call) for problem in trace.problems] == [(2, False)]


@pytest.mark.parametrize(
    ("kind", "hides_call"),
    [
        ("AgentParsingError", [True]),
        ("AgentGenerationError", [True]),
        ("AgentMaxStepsError", []),
        ("AgentError", [False]),
    ],
)
def test_errors_without_a_call(kind: str, hides_call: list[bool]) -> None:
    """An answer that was not understood may have been a call; that there were no more steps hides none."""
    trace = read([_step(error=_error("x", kind), text="Action: {")])
    assert [problem.hides_call for problem in trace.problems] == hides_call


def test_parallel_results_are_one_text() -> None:
    """Which line is whose is not recorded: a result may have several lines, or none."""
    trace = read([_step(_call("1"), _call("2"), observations="a\nb")])
    assert [call.result for call in trace.calls] == [UNANSWERED] * 2
    assert [str(problem) for problem in trace.problems] == [
        "$[0].observations: the results of 2 calls are one text, which can't be told apart"
    ]
    assert not trace.problems[0].hides_call


def test_what_a_run_yields() -> None:
    """Each result by itself, before the step that holds the calls again; a run that broke off has no step."""
    calls = [_call("1", "a"), _call("2", "b")]
    made = [{"yielded_call": call} for call in calls]
    outputs = [{"id": "2", "yielded_output": [2]}, {"id": "1", "yielded_output": "one"}]
    step = _step(*calls, observations="one\n[2]", text="Hm.")
    trace = read([{"yielded": "ChatMessageStreamDelta"}, *made, *outputs, {"yielded": "ActionOutput"}, step])
    assert [next(iter(event)) for event in trace.to_events()] == ["agent", "call", "call", "result", "result"]
    assert [call.result for call in trace.calls] == ["one", [2]]
    assert trace.problems == ()
    failed = _step(meant=calls, error=_error("Error executing tool 'b': x"))
    trace = read([*made, outputs[1], failed, {"yielded_call": _call("3", "c")}])
    assert [(call.name, call.is_error) for call in trace.calls] == [("a", False), ("b", True), ("c", None)]


def test_code() -> None:
    """It is a call with the code as its argument, and may have called tools that are recorded nowhere."""
    trace = read(
        [_step(_call("1", "python_interpreter", "search('x')"), meant=[], observations="logs", code_action="x")]
    )
    (call,) = trace.calls
    assert (call.args, call.result) == ({"code": "search('x')"}, "logs")
    assert [problem.hides_call for problem in trace.problems] == [True]


def test_managed_agents() -> None:
    """What they did stands behind the call to them; each keeps its last run only."""
    inner = {"agent_name": "bob", "managed_agents": {}, "steps": [TASK, _step(_call("9", "inner"), observations="x")]}
    step = _step(_call("1", "bob", {"task": "t"}), observations="Here.")
    agent = {"agent_name": "alice", "managed_agents": {"bob": inner}, "system_prompt": "Help.", "steps": [TASK, step]}
    trace = read(agent)
    assert [next(iter(event)) for event in trace.to_events()] == ["system", "user", "call", "call", "result", "result"]
    assert [(call.name, call.agent, call.result) for call in trace.calls] == [
        ("bob", "alice", "Here."),
        ("inner", "bob", "x"),
    ]
    trace = read({**agent, "steps": [step, step]})
    assert [call.name for call in trace.calls] == ["bob", "bob", "inner"]
    assert [problem.hides_call for problem in trace.problems] == [True]


def test_ids_and_arguments() -> None:
    """Of calls with the same id only the last was run; the model made both."""
    same = [_call("", "a"), _call("", "b")]
    assert [call.name for call in read([_step(same[1], meant=same)]).calls] == ["a", "b"]
    for arguments, args in (("", {}), ("null", {}), ('"{\\"n\\": 1}"', {"n": 1}), ([], {})):
        assert read([_step(_call(arguments=arguments))]).calls[0].args == args
    for arguments in ("{bad", '{"a":1}{"a":2}', [1]):
        assert isinstance(read([_step(_call(arguments=arguments))]).calls[0].args, MalformedArguments)
    reused = [
        _step(_call("1", "a"), observations="a"),
        _step(_call("1", "b"), observations="b"),
        _step(_call("1", "c")),
    ]
    assert [call.result for call in read(reused).calls] == ["a", "b", UNANSWERED]


@pytest.mark.parametrize("item", [{"other": 1}, "x", _step("x"), _step({"id": "1"}), _step(_call(name=""))])
def test_what_can_not_be_understood_may_hide_a_call(item: Any) -> None:
    """It is a problem with its place; the steps beside it are read."""
    trace = read([_step(_call("7"), observations="x"), item])
    assert trace.calls[0].result == "x"
    assert [problem.hides_call for problem in trace.problems] == [True]
    assert trace.problems[0].place.startswith("$[1]")


@pytest.mark.parametrize("step", [_step(_call()), {"step_number": 1, "tool_calls": [_call()]}])
def test_messages_beside_the_steps(step: Any) -> None:
    """They are not passed over, but where they are the steps once more, as some versions have it."""
    beside = read({"messages": [{"role": "user", "content": "hi"}], "steps": [step]})
    assert [call.name for call in beside.calls] == ["search"]
    assert [(problem.place, problem.hides_call) for problem in beside.problems] == [("$.messages", True)]
    for messages in ([], [step]):
        assert read({"messages": messages, "steps": [step]}).problems == ()


def test_detection() -> None:
    """Each kind of document is known, and others are not taken for it."""
    step = _step(_call())
    assert_known_alone("smolagents", step, [TASK, step], {"steps": [TASK, step]}, {"steps": [], "managed_agents": {}})
    for document in ([TASK], {"steps": [{"step_id": 1, "tool_calls": []}]}, {"steps": []}, [{"step_number": 1}]):
        assert "smolagents" not in {reader.name for reader in detected(document)}


def test_mutants() -> None:
    """They raise nothing else."""
    inner = {"agent_name": "bob", "steps": [TASK, _step(_call("9", "inner"), observations="x")]}
    steps = [TASK, _step(_call("1", "bob"), observations="x"), _step(meant=[_call()], error=_error("x"))]
    agent = {"agent_name": "alice", "managed_agents": {"bob": inner}, "steps": steps}
    assert_mutants_are_read_or_refused("smolagents", agent)
    output = {"id": "1", "yielded_output": 1}
    assert_mutants_are_read_or_refused("smolagents", [{"yielded_call": _call()}, output, *steps])


# ------------------------------------------------------------------------------------------------------------ the real


def _model(*answers: Any) -> Any:
    """Return a model that answers from a list: texts, and lists of calls as pairs of a name and arguments."""
    from smolagents import models

    class Scripted(models.Model):
        def generate(self, *_: Any, **__: Any) -> Any:
            answer = left.pop(0)
            if isinstance(answer, str):
                return models.ChatMessage(role=models.MessageRole.ASSISTANT, content=answer)
            calls = [
                models.ChatMessageToolCall(
                    id=f"{number}-{name}",
                    type="function",
                    function=models.ChatMessageToolCallFunction(name=name, arguments=args),
                )
                for number, (name, args) in enumerate(answer)
            ]
            return models.ChatMessage(role=models.MessageRole.ASSISTANT, content="I act.", tool_calls=calls)

    left = list(answers)
    return Scripted(model_id="m")


def _own_tools(tools: Tools) -> list[Any]:
    """Return the tools as smolagents wants them: its own decorator reads their source, in which methods have a self."""
    from smolagents import Tool

    numbers = {"limit": "integer", "angle": "number"}

    def own(name: str, *names: str) -> Any:
        described = {key: {"type": numbers.get(key, "string"), "description": "-"} for key in names}

        class Own(Tool):
            inputs = described
            output_type = "any"
            description = "Does it."
            skip_forward_signature_validation = True

            def forward(self, **arguments: Any) -> Any:
                return getattr(tools, name)(**arguments)

        Own.name = name
        return Own()

    return [own("search", "query", "limit"), own("steer", "angle"), own("weather", "city")]


@pytest.mark.filterwarnings("ignore")
def test_what_a_real_agent_makes() -> None:
    """Two turns, a tool that fails, and a managed agent: the agent, its memory, its results, and what it yields."""
    smolagents = pytest.importorskip("smolagents", reason="smolagents is not installed")
    tools = Tools()
    search, steer, weather = _own_tools(tools)
    final = [("final_answer", {"answer": "Done."})]
    bob = smolagents.ToolCallingAgent(
        [weather], _model([SECOND_TURN[1]], final), name="bob", description="Knows the weather.", verbosity_level=0
    )
    asked = [("bob", {"task": "The weather, please."})]
    first = ([FIRST_TURN[0]], [FIRST_TURN[1]], final)
    model = _model(*first, [SECOND_TURN[0]], asked, final)
    alice = smolagents.ToolCallingAgent([search, steer], model, managed_agents=[bob], name="alice", verbosity_level=0)
    one = alice.run("Find both.", return_full_result=True)
    alice.run("Turn the wheel.", reset=False)
    trace = read(alice)
    assert_witnessed(trace, tools, decode=_decoded)
    assert [(call.name, call.agent, call.turn) for call in trace.calls] == [
        ("search", "alice", 1),
        ("search", "alice", 1),
        ("final_answer", "alice", 1),
        ("steer", "alice", 2),
        ("bob", "alice", 2),
        ("weather", "bob", 2),
        ("final_answer", "bob", 2),
        ("final_answer", "alice", 2),
    ]
    full = alice.memory.get_full_steps()
    for source in (alice.memory, alice.memory.steps, full, json.loads(json.dumps(full)), {"steps": full}):
        assert [call.args for call in read(source).calls] == [
            call.args for call in trace.calls if call.agent == "alice"
        ]
        assert read(source).problems == ()
    assert [call.name for call in read(one).calls] == ["search", "search", "final_answer"]


@pytest.mark.filterwarnings("ignore")
def test_parallel_calls_of_a_real_agent() -> None:
    """Their results can be told apart in what a run yields, and not in the memory that it leaves."""
    smolagents = pytest.importorskip("smolagents", reason="smolagents is not installed")
    tools = Tools()
    model = _model(FIRST_TURN, SECOND_TURN, [("final_answer", {"answer": "Done."})])
    agent = smolagents.ToolCallingAgent(_own_tools(tools), model, verbosity_level=0)
    yielded = list(agent.run("Find both.", stream=True))
    trace = read(yielded)
    assert trace.problems == ()
    calls = [(call.name, call.args) for call in trace.calls]
    assert calls == [*FIRST_TURN, *SECOND_TURN, ("final_answer", {"answer": "Done."})]
    assert [call.result for call in trace.calls[:2]] == [note.result for note in sorted(tools.made[:2], key=_limit)]
    assert (trace.calls[2].is_error, WHEEL in str(trace.calls[2].result)) == (True, True)
    memory = read(agent)
    assert [(call.name, call.args) for call in memory.calls] == calls
    assert [problem.hides_call for problem in memory.problems] == [False]


def _limit(note: Any) -> int:
    return -int(note.args["limit"])


@pytest.mark.filterwarnings("ignore")
def test_code_of_a_real_agent() -> None:
    """The code is there, and that it may have called tools."""
    smolagents = pytest.importorskip("smolagents", reason="smolagents is not installed")
    tools = Tools()
    model = _model("<code>\nprint(search(query='lamp', limit=1))\n</code>", "<code>\nfinal_answer('Done.')\n</code>")
    agent = smolagents.CodeAgent(_own_tools(tools)[:1], model, verbosity_level=0)
    agent.run("Find a lamp.")
    trace = read(agent)
    assert [call.name for call in trace.calls] == ["python_interpreter"] * 2
    assert "search(query='lamp', limit=1)" in trace.calls[0].args["code"]
    assert "lamp-0" in trace.calls[0].result
    assert [problem.hides_call for problem in trace.problems] == [True, True]


def _decoded(payload: Any) -> Any:
    """What a tool returned is written as Python does."""
    return json.loads(payload.replace("'", '"')) if payload.startswith("{") else payload

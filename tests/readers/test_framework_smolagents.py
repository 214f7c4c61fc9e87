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


def _code(code: str, number: int = 1, **more: Any) -> dict[str, Any]:
    return _step(_call(f"call_{number}", "python_interpreter", code), meant=[], code_action=code, **more)


def _in_code(trace: Any) -> list[tuple[str, Any]]:
    return [(call.name, call.args) for call in trace.calls if call.name != "python_interpreter"]


LAMP = ("search", {"q": "lamp"})
KNOWN_CODE: dict[str, tuple[list[str], list[Any]]] = {
    "a call": (["search(q='lamp')"], [LAMP]),
    "none at all": (["import json\nx = [len(y) for y in 'ab']\nprint(json.dumps(x))"], []),
    "in an argument": (["print(len(search(q='lamp')))"], [LAMP]),
    "arguments first": (
        ["steer(angle=-1, by=search(q='lamp'))"],
        [LAMP, ("steer", "steer(angle=-1, by=search(q='lamp'))")],
    ),
    "the value first": (["x = {}\nx[search(q='b')] = search(q='a')"], [("search", {"q": "a"}), ("search", {"q": "b"})]),
    "literals": (
        ["search(q=[1, -2.5, (None, True)], w={'a': {'b': ''}})"],
        [("search", {"q": [1, -2.5, [None, True]], "w": {"a": {"b": ""}}})],
    ),
    "a constant": (["q = 'lamp'\nsearch(q=q)"], [LAMP]),
    "a constant of a step before": (["q = 'lamp'", "search(q=q)"], [LAMP]),
    "what is no constant any more": (
        ["q = 'lamp'\nfor q in x: pass\nsearch(q=q)".replace("x", "[1]")],
        [("search", "search(q=q)")],
    ),
    "a name that a function changes": (
        ["q = 'lamp'\ndef f():\n  global q\n  q = 1\nf()\nsearch(q=q)"],
        [("search", "search(q=q)")],
    ),
    "a mutable value": (["q = []\nq.append(1)\nsearch(q=q)"], [("search", "search(q=q)")]),
    "once in a loop's head": (["for x in search(q='lamp'):\n  print(x)"], [LAMP]),
    "once in a condition": (["if search(q='lamp'):\n  print(1)"], [LAMP]),
    "first of several conditions": (["search(q='lamp') or print(1)"], [LAMP]),
    "own functions": (["def f(x):\n  return x\ny = f(search(q='lamp'))", "f(1)"], [LAMP]),
    "without names": (["search('lamp')"], [("search", "search('lamp')")]),
    "an answer": (["final_answer('Done.')"], [("final_answer", {"answer": "Done."})]),
}


@pytest.mark.parametrize("name", KNOWN_CODE)
def test_code_that_shows_its_calls(name: str) -> None:
    """They follow the call of the code, each once; where an argument's value is not in the code, none is known."""
    pieces, calls = KNOWN_CODE[name]
    trace = read([_code(code, number, observations="logs") for number, code in enumerate(pieces)])
    found = [(tool, args.raw if isinstance(args, MalformedArguments) else args) for tool, args in _in_code(trace)]
    assert found == calls
    assert not any(problem.hides_call for problem in trace.problems)
    assert [call.args for call in trace.calls if call.name == "python_interpreter"] == [
        {"code": code} for code in pieces
    ]
    assert [call.result for call in trace.calls if call.name == "python_interpreter"] == ["logs"] * len(pieces)


@pytest.mark.parametrize(
    "code",
    [
        "for x in [1, 2]:\n  search(q=x)",
        "if x:\n  search(q='lamp')",
        "while search(q='lamp'): pass",
        "y = [search(q=x) for x in 'ab']",
        "print(1) or search(q='lamp')",
        "1 < 2 < search(q='lamp')",
        "print(1 if x else search(q='lamp'))",
        "def f():\n  return search(q='lamp')",
        "f = lambda: search(q='lamp')",
        "f = search",
        "print(list(map(search, 'ab')))",
        "search.forward(q='lamp')",
        "eval('sea' + 'rch')(q='lamp')",
        "print(().__class__.__base__)",
        "import sys",
        "from inspect import currentframe",
        "from tools import *",
        "try:\n  search(q='lamp')\nexcept ValueError: pass",
        "final_answer(1)\nsearch(q='lamp')",
        "search(q=",
        "\0",
        "(" * 500 + ")" * 500,
        " + ".join(["1"] * 20000),
        "x = 1  # " + "x" * 200_000,
    ],
)
def test_code_that_may_have_called_tools(code: str) -> None:
    """How often, with what or whether at all: nothing that says so is recorded."""
    trace = read([_code("x = 1", 0), _code(code, observations="logs")])
    assert [name for name, _ in _in_code(trace)] in ([], ["final_answer"])
    assert True in [problem.hides_call for problem in trace.problems]


def test_what_code_gave() -> None:
    """Its output is the result of the call that it ends with; of other calls no result is recorded."""
    calls = read([_code("search(q='a')\nx = search(q='b')", action_output=[1])]).calls
    assert [call.result for call in calls] == [UNANSWERED, UNANSWERED, [1]]
    nothing = _code("search(q='a')", observations="Execution logs:\nLast output from code snippet:\nNone")
    assert [call.result for call in read([nothing]).calls][1] is None
    assert [call.result for call in read([_code("search(q='a')")]).calls][1] is UNANSWERED
    answer = _code("final_answer(x)", is_final_answer=True, action_output={"n": 1})
    assert [(call.args, call.result) for call in read([answer]).calls][1] == ({"answer": {"n": 1}}, {"n": 1})


FAILED = "Code execution failed at line '{}' due to: RuntimeError: stuck"


@pytest.mark.parametrize(
    ("code", "line", "calls", "hides_call"),
    [
        ("search(q='a')\nsteer(angle=1)\nsearch(q='c')", "steer(angle=1)", [("search", None), ("steer", True)], False),
        ("search(q='a')\nx = 1 / 0\nsearch(q='c')", "x = 1 / 0", [("search", None)], False),
        ("search(q='a')\nsteer(angle=1 / 0)", "steer(angle=1 / 0)", [("search", None)], True),
        ("search(q='a')\nsteer(angle=1)\nsteer(angle=1)", "steer(angle=1)", [], True),
        ("search(q='a')", "something else", [], True),
        ("x = 1 / 0", "something else", [], False),
    ],
)
def test_code_that_failed(code: str, line: str, calls: list[Any], hides_call: bool) -> None:
    """What stands before the statement that failed was run. That one may have failed before it called anything."""
    trace = read([_code(code, error=_error(FAILED.format(line), "AgentExecutionError"))])
    assert trace.calls[0].is_error is True
    assert [(call.name, call.is_error) for call in trace.calls[1:]] == calls
    assert [problem.hides_call for problem in trace.problems] == [True] * hides_call
    timed_out = read([_code("search(q='a')", error=_error("Code execution exceeded 30 seconds"))])
    assert [problem.hides_call for problem in timed_out.problems] == [True]


def test_code_of_an_agent_whose_tools_are_known() -> None:
    """Other names are no tools of its; arguments without names have those of the tool."""
    agent = {"agent_name": "alice", "managed_agents": {}, "tools": {"search": {"inputs": ["q"], "output_type": "any"}}}
    trace = read({**agent, "steps": [_code("print(given(1))\nx = other\nsearch('lamp')")]})
    assert _in_code(trace) == [LAMP]
    assert trace.problems == ()


def test_code_that_calls_managed_agents() -> None:
    """What they did stands behind the call in the code."""
    inner = {"agent_name": "bob", "managed_agents": {}, "steps": [TASK, _step(_call("9", "inner"), observations="x")]}
    agent = {"agent_name": "alice", "managed_agents": {"bob": inner}, "tools": {}, "steps": [_code("x = bob('t')")]}
    trace = read(agent)
    assert [(call.name, call.agent) for call in trace.calls] == [
        ("python_interpreter", "alice"),
        ("bob", "alice"),
        ("inner", "bob"),
    ]
    assert (trace.calls[1].args, trace.problems) == ({"task": "t"}, ())


def test_a_run_that_broke_off_in_code() -> None:
    """What it called before is not known."""
    trace = read([TASK, _code("x = 1"), {"yielded_call": _call("2", "python_interpreter", "search(q='x')")}])
    assert [problem.hides_call for problem in trace.problems] == [True]


@pytest.mark.parametrize(
    ("kind", "observations", "results"),
    [
        ("integer", "1\n2", ["1", "2"]),
        ("object", "\n{}", ["", "{}"]),
        ("integer", "a\nb\n2", None),
        ("integer", "12", None),
        ("string", "a\nb", None),
        (None, "a\nb", None),
        ("integer", None, None),
    ],
)
def test_parallel_results_that_can_be_told_apart(kind: Any, observations: Any, results: Any) -> None:
    """As many lines as calls are a line for each, where the last can't be empty. They are sorted by the calls' ids."""
    tools = {"a": {"inputs": [], "output_type": "string"}, "b": {"inputs": [], "output_type": kind}}
    step = _step(_call("y", "b"), _call("x", "a"), observations=observations)
    trace = read({"agent_name": None, "managed_agents": {}, "tools": tools, "steps": [step]})
    found = {call.name: call.result for call in trace.calls}
    if results is None:
        assert set(found.values()) == {UNANSWERED}
        assert [problem.hides_call for problem in trace.problems] == [False]
    else:
        assert (found, trace.problems) == (dict(zip("ab", results, strict=True)), ())


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
    failed = _code("search('x')\nbob('t')", error=_error(FAILED.format("bob('t')")))
    code = [_code("x = search(q='a', n=[1])\nprint(x)", action_output=1), failed]
    tools = {"search": {"inputs": ["q"], "output_type": "object"}}
    assert_mutants_are_read_or_refused("smolagents", {**agent, "tools": tools, "steps": [*code, *steps]})


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

            def forward(self, *values: Any, **arguments: Any) -> Any:
                return getattr(tools, name)(*values, **arguments)

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
    """Two turns, a tool that fails, a managed agent: the calls that the tools noted, in order, from the code alone."""
    smolagents = pytest.importorskip("smolagents", reason="smolagents is not installed")
    tools = Tools()
    bob = smolagents.ToolCallingAgent(
        _own_tools(tools)[2:],
        _model([SECOND_TURN[1]], [("final_answer", {"answer": "Sunny."})]),
        name="bob",
        description="Knows the weather.",
        verbosity_level=0,
    )
    pieces = [
        "found = search('lamp', limit=2)\nprint(search(query='desk', limit=1)['found'])",
        "answer = f'{len(found)} found'\nfinal_answer(answer)",
        "angle = 12.5\nsteer(angle=angle)\nsearch(query='never', limit=1)",
        "said = bob(task='The weather, please.')\nfinal_answer('Done.')",
    ]
    model = _model(*(f"I act.\n<code>\n{code}\n</code>" for code in pieces))
    agent = smolagents.CodeAgent(_own_tools(tools)[:2], model, managed_agents=[bob], name="alice", verbosity_level=0)
    agent.run("Find both.")
    agent.run("Turn the wheel.", reset=False)
    trace = read(agent)
    assert trace.problems == ()
    noted = [(note.name, note.args) for note in tools.made]
    assert [(call.name, call.args) for call in trace.calls if call.name in ("search", "steer", "weather")] == noted
    assert [(call.name, call.agent, call.turn) for call in trace.calls if call.name != "python_interpreter"] == [
        ("search", "alice", 1),
        ("search", "alice", 1),
        ("final_answer", "alice", 1),
        ("steer", "alice", 2),
        ("bob", "alice", 2),
        ("weather", "bob", 2),
        ("final_answer", "bob", 2),
        ("final_answer", "alice", 2),
    ]
    (steer,) = (call for call in trace.calls if call.name == "steer")
    assert (steer.is_error, WHEEL in steer.result) == (True, True)
    answers = [call.result for call in trace.calls if call.name == "final_answer"]
    assert answers == ["1 found", "Sunny.", "Done."]
    dumped = json.loads(json.dumps(agent.memory.get_full_steps()))
    calls = [(call.name, call.args) for call in read(dumped).calls if call.name == "search"]
    assert calls[1] == noted[1]
    assert isinstance(calls[0][1], MalformedArguments)  # whose name of 'lamp' only the tool knows


@pytest.mark.filterwarnings("ignore")
def test_code_of_a_real_agent_in_what_it_yields() -> None:
    """The calls in the code stand behind it."""
    smolagents = pytest.importorskip("smolagents", reason="smolagents is not installed")
    tools = Tools()
    model = _model("<code>\nsearch(query='lamp', limit=1)\n</code>", "<code>\nfinal_answer('Done.')\n</code>")
    agent = smolagents.CodeAgent(_own_tools(tools)[:1], model, verbosity_level=0)
    trace = read(list(agent.run("Find a lamp.", stream=True)))
    names = ["python_interpreter", "search", "python_interpreter", "final_answer"]
    assert [call.name for call in trace.calls] == names
    assert (trace.calls[1].args, trace.calls[1].result) == (tools.made[0].args, tools.made[0].result)
    assert trace.problems == ()


@pytest.mark.filterwarnings("ignore")
def test_spans_of_a_real_agent_that_acts_by_code() -> None:
    """They tell every call in the code, in a loop too, with what came back: the memory can't."""
    smolagents = pytest.importorskip("smolagents", reason="smolagents is not installed")
    instrumentation = pytest.importorskip("openinference.instrumentation.smolagents")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider, tools = InMemorySpanExporter(), TracerProvider(), Tools()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    pieces = ("for q in ['lamp', 'desk']:\n    search(query=q, limit=1)", "steer(angle=1.5)", "final_answer('Done.')")
    model = _model(*(f"<code>\n{code}\n</code>" for code in pieces))
    instrumentor = instrumentation.SmolagentsInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        agent = smolagents.CodeAgent(_own_tools(tools)[:2], model, verbosity_level=0)
        agent.run("Find both.")
    finally:
        instrumentor.uninstrument()
    trace = read([json.loads(span.to_json()) for span in exporter.get_finished_spans()])
    assert [call.name for call in trace.calls] == ["search", "search", "steer", "final_answer"]
    assert_witnessed(trace, tools)
    assert [problem.hides_call for problem in read(agent).problems] == [True]


@pytest.mark.filterwarnings("ignore")
def test_parallel_results_of_a_real_agent_that_can_be_told_apart() -> None:
    """A tool that says what it gives back lets its results be known in the memory."""
    smolagents = pytest.importorskip("smolagents", reason="smolagents is not installed")

    @smolagents.tool
    def double(number: int) -> int:
        """Double a number.

        Args:
            number: the number.
        """
        return 2 * number

    calls = [("double", {"number": number}) for number in (3, 1, 2)]
    agent = smolagents.ToolCallingAgent(
        [double], _model(calls, [("final_answer", {"answer": "Done."})]), verbosity_level=0
    )
    agent.run("Double them.")
    trace = read(agent)
    assert [(call.args, call.result) for call in trace.calls if call.name == "double"] == [
        ({"number": number}, str(2 * number)) for number in (3, 1, 2)
    ]
    assert trace.problems == ()


def _decoded(payload: Any) -> Any:
    """What a tool returned is written as Python does."""
    return json.loads(payload.replace("'", '"')) if payload.startswith("{") else payload

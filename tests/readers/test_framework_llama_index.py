"""LlamaIndex: events of workflows, outputs, chat messages and stores, and what real agents make."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from framework_mutations import assert_known_alone, assert_mutants_are_read_or_refused
from framework_support import FIRST_TURN, SECOND_TURN, Tools, assert_witnessed

from tracewitness.readers import read, read_all
from tracewitness.readers.registry import detected
from tracewitness.trace import UNANSWERED, MalformedArguments


def _call(tool_id: str = "c1", name: str = "search", kwargs: Any = None) -> dict[str, Any]:
    return {"tool_id": tool_id, "tool_name": name, "tool_kwargs": {} if kwargs is None else kwargs}


def _result(call: dict[str, Any], output: Any = "x", **more: Any) -> dict[str, Any]:
    told = {
        "tool_name": call["tool_name"],
        "raw_output": output,
        "blocks": [_text(str(output))],
        "is_error": False,
        **more,
    }
    return {**call, "tool_output": told, "return_direct": False}


def _text(text: str) -> dict[str, Any]:
    return {"block_type": "text", "text": text}


def _message(role: str, *blocks: Any, **beside: Any) -> dict[str, Any]:
    return {"role": role, "blocks": list(blocks), "additional_kwargs": beside}


def _block(call: dict[str, Any]) -> dict[str, Any]:
    return {
        "block_type": "tool_call",
        "tool_call_id": call["tool_id"],
        **{k: call[k] for k in ("tool_name", "tool_kwargs")},
    }


def _input(*messages: Any, agent: str = "alice") -> dict[str, Any]:
    return {"input": list(messages), "current_agent_name": agent}


def _output(text: str = "", *calls: Any, blocks: Any = (), agent: str = "alice") -> dict[str, Any]:
    response = _message("assistant", *([_text(text)] if text else ()), *blocks)
    return {"response": response, "current_agent_name": agent, "tool_calls": list(calls), "retry_messages": []}


USER = _message("user", _text("Find both."))


def test_events() -> None:
    """A call is told by the output, by the tool's begin and end, in each input, and once more by the last output."""
    one, two = _call("1", kwargs={"n": 1}), _call("2", kwargs={"n": 2})
    handoff = _call("3", "handoff", {"to_agent": "bob"})
    history = [USER, _message("assistant", _block(one)), _message("tool", _text("one"), tool_call_id="1")]
    events = [
        _input(_message("system", _text("Help.")), USER),
        {"delta": "I", "response": "I", "current_agent_name": "alice", "tool_calls": [one]},
        _output("I look.", one, two, blocks=[_block(one), _block(two)]),
        one,
        _result(one, {"found": 1}),
        two,
        _result(two, "stuck", is_error=True),
        _input(*history),
        _output("", handoff, blocks=[_block(handoff)]),
        handoff,
        _result(handoff, "Over."),
        _input(*history, agent="bob"),
        _output("Done.", one, two, handoff, agent="bob"),
        {"result": _output("Done.", one, two, handoff, agent="bob")},
        _input(*history, _message("user", _text("More?")), agent="bob"),
        _output("No.", agent="bob"),
    ]
    trace = read(events[:13] + events[14:])
    assert trace.to_events() == [
        {"system": "Help."},
        {"user": "Find both."},
        {"agent": "I look.", "by": "alice"},
        {"call": "search", "args": {"n": 1}, "id": "1", "by": "alice"},
        {"call": "search", "args": {"n": 2}, "id": "2", "by": "alice"},
        {"result": {"found": 1}, "of": "search", "id": "1", "is_error": False},
        {"result": "stuck", "of": "search", "id": "2", "is_error": True},
        {"call": "handoff", "args": {"to_agent": "bob"}, "id": "3", "by": "alice"},
        {"result": "Over.", "of": "handoff", "id": "3", "is_error": False},
        {"transfer": "bob", "by": "alice"},
        {"agent": "Done.", "by": "bob"},
        {"user": "More?"},
        {"agent": "No.", "by": "bob"},
    ]
    assert trace.problems == ()
    assert read(events[:13]).calls == trace.calls


def test_events_in_part() -> None:
    """Begins alone, ends alone, or the last output alone; the same call twice is two calls."""
    call = _call("", kwargs={"n": 1})
    assert [found.result for found in read([call, _result(call), call, _result(call)]).calls] == ["x", "x"]
    assert [found.result for found in read([_result(call), _result(call)]).calls] == ["x", "x"]
    assert [found.result for found in read([call, call]).calls] == [UNANSWERED] * 2
    assert [found.result for found in read(_output("Done.", call, call)).calls] == [UNANSWERED] * 2
    assert read({"__is_pydantic": True, "value": call}).to_events() == read(call).to_events()


def test_what_a_tool_gave() -> None:
    """The value, or the text where there is none."""
    call = _call()
    for told, expected in (({"raw_output": [1]}, [1]), ({"raw_output": None, "blocks": [_text("x")]}, "x"), ({}, None)):
        trace = read([{**call, "tool_output": told}])
        assert (trace.calls[0].result, trace.calls[0].is_error) == (expected, None)


@pytest.mark.parametrize(
    "beside",
    [
        {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"n": 1}'}}]},
        {"tool_calls": [{"id": "c1", "type": "tool_use", "name": "search", "input": {"n": 1}}]},
        {"tool_calls": [{"toolUseId": "c1", "name": "search", "input": {"n": 1}}]},
        {"function_call": {"name": "search", "arguments": '"{\\"n\\": 1}"'}},
    ],
)
def test_calls_beside_a_message(beside: Any) -> None:
    """Integrations keep them as the provider wrote them; where they are blocks too, the blocks count."""
    answer = {"role": "tool", "content": "x", "additional_kwargs": {"tool_call_id": "c1", "name": "search"}}
    if "function_call" in beside:
        answer["additional_kwargs"] = {"name": "search", "tool_call_id": ""}
    for message in (
        {"role": "assistant", "content": None, "additional_kwargs": beside},
        _message("assistant", **beside),
    ):
        trace = read([{"role": "user", "content": "Find.", "additional_kwargs": {}}, message, answer])
        assert [(call.name, call.args, call.result) for call in trace.calls] == [("search", {"n": 1}, "x")]
        assert trace.problems == ()
    assert len(read([_message("assistant", _block(_call()), **beside)]).calls) == 1


def test_stores() -> None:
    """Each conversation is a run."""
    store = {
        "store": {"a": [USER, _message("assistant", _block(_call()))], "b": [USER]},
        "class_name": "SimpleChatStore",
    }
    for document in (store, {"chat_store": store, "chat_store_key": "a"}):
        assert [(trace.name, len(trace.calls)) for trace in read_all(document)] == [("a", 1), ("b", 0)]
        assert_known_alone("llama-index", document)


def test_ids() -> None:
    """Reused and empty ones, and a result that answers nothing."""
    messages = [
        _message("assistant", _block(_call("1", "a")), _block(_call("", "b")), _block(_call("", "b"))),
        _message("tool", _text("a"), tool_call_id="1"),
        _message("tool", _text("b1"), name="b"),
        _message("assistant", _block(_call("1", "c"))),
        _message("tool", _text("c"), tool_call_id="1"),
        _message("tool", _text("again"), tool_call_id="1"),
    ]
    trace = read(messages)
    assert [(call.name, call.result) for call in trace.calls] == [
        ("a", "a"),
        ("b", "b1"),
        ("b", UNANSWERED),
        ("c", "c"),
    ]
    assert [call.is_error for call in trace.calls] == [None] * 4
    assert len(trace.problems) == 1


@pytest.mark.parametrize("text", ["{bad", '{"a":1}{"a":2}', "[1]"])
def test_arguments_that_are_none(text: str) -> None:
    """They stay as they were."""
    trace = read([_message("assistant", _block(_call(kwargs=text)))])
    assert isinstance(trace.calls[0].args, MalformedArguments)


@pytest.mark.parametrize("nothing", [None, "", "null", "{}", [], '{}""'])
def test_no_arguments(nothing: Any) -> None:
    """However they are written."""
    call = {"block_type": "tool_call", "tool_call_id": "1", "tool_name": "a", "tool_kwargs": nothing}
    assert read([_message("assistant", call)]).calls[0].args == {}


@pytest.mark.parametrize(
    ("item", "hides_call"),
    [
        (_message("assistant", {"block_type": "teleport"}), True),
        (_message("user", {"block_type": "teleport"}), False),
        (_message("robot"), True),
        ({"other": 1}, True),
        (_message("assistant", tool_calls=["x"]), True),
        (_output("x", "x"), True),
        (_call(name=""), True),
        ("x", True),
    ],
)
def test_what_can_not_be_understood(item: Any, hides_call: bool) -> None:
    """It is a problem with its place; what is beside it is read."""
    trace = read([_call("7"), item, _result(_call("7"))])
    assert trace.calls[0].result == "x"
    assert [problem.hides_call for problem in trace.problems] == [hides_call]
    assert trace.problems[0].place.startswith("$[1]")


def test_detection() -> None:
    """Each kind of document is known, and others are not taken for it."""
    events = [_input(USER), _output("x", _call()), _call(), _result(_call())]
    assert_known_alone("llama-index", events, *events, [USER], USER)
    others = (
        [{"role": "user", "content": "x"}],
        [{"type": "ai", "content": "", "additional_kwargs": {"tool_calls": []}}],
        {"store": {"a": [1]}},
        {"tool_name": "x"},
    )
    for document in others:
        assert "llama-index" not in {reader.name for reader in detected(document)}


def test_mutants() -> None:
    """They raise nothing else."""
    call = _call("1", kwargs={"n": 1})
    beside = {"tool_calls": [{"id": "c1", "function": {"name": "search", "arguments": "{}"}}]}
    events = [
        _input(USER, _message("assistant", **beside)),
        _output("x", call, blocks=[_block(call)]),
        call,
        _result(call),
    ]
    assert_mutants_are_read_or_refused("llama-index", events)
    assert_mutants_are_read_or_refused("llama-index", {"store": {"a": [USER, _message("assistant", _block(call))]}})


# ------------------------------------------------------------------------------------------------------------ the real


def _workflow(tools: Tools, is_async: bool) -> Any:
    """Return a workflow of two agents, of which one hands over to the other, with models that answer from a list."""
    pytest.importorskip("llama_index.core", reason="LlamaIndex is not installed")
    from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
    from llama_index.core.base.llms.types import ToolCallBlock
    from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata, TextBlock
    from llama_index.core.llms.function_calling import FunctionCallingLLM
    from llama_index.core.llms.llm import ToolSelection

    class Scripted(FunctionCallingLLM):
        answers: list[Any] = []

        @property
        def metadata(self) -> Any:
            return LLMMetadata(is_function_calling_model=True, is_chat_model=True)

        def _prepare_chat_with_tools(self, *_: Any, **__: Any) -> Any:
            return {"messages": []}

        def get_tool_calls_from_response(self, response: Any, *_: Any, **__: Any) -> Any:
            blocks = [block for block in response.message.blocks if isinstance(block, ToolCallBlock)]
            return [
                ToolSelection(tool_id=block.tool_call_id, tool_name=block.tool_name, tool_kwargs=block.tool_kwargs)
                for block in blocks
            ]

        def chat(self, *_: Any, **__: Any) -> Any:
            return ChatResponse(message=ChatMessage(role="assistant", blocks=self.answers.pop(0)), delta="")

        async def achat(self, *_: Any, **__: Any) -> Any:
            return self.chat()

        async def astream_chat(self, *_: Any, **__: Any) -> Any:
            async def stream() -> Any:
                yield self.chat()

            return stream()

        def stream_chat(self, *_: Any, **__: Any) -> Any:
            yield self.chat()

        complete = acomplete = stream_complete = astream_complete = chat  # type: ignore[assignment]

    def calling(*calls: tuple[str, dict[str, Any]]) -> Any:
        return [ToolCallBlock(tool_call_id=f"{name}-{args}", tool_name=name, tool_kwargs=args) for name, args in calls]

    handoff = ("handoff", {"to_agent": "bob", "reason": "He knows the weather."})
    first = Scripted(
        answers=[calling(*FIRST_TURN), [TextBlock(text="Found.")], calling(SECOND_TURN[0]), calling(handoff)]
    )
    second = Scripted(answers=[calling(SECOND_TURN[1]), [TextBlock(text="Sunny.")]])
    own = [tools.search_async, tools.steer_async] if is_async else [tools.search, tools.steer]
    alice = FunctionAgent(
        name="alice", description="Finds.", tools=own, llm=first, can_handoff_to=["bob"], system_prompt="You help."
    )
    bob = FunctionAgent(name="bob", description="Knows the weather.", tools=[tools.weather], llm=second)
    return AgentWorkflow(agents=[alice, bob], root_agent="alice")


async def _run(workflow: Any) -> tuple[list[Any], list[Any], Any]:
    """Run two turns; return the events, the results, and the memory."""
    from llama_index.core.memory import ChatMemoryBuffer

    memory = ChatMemoryBuffer.from_defaults(token_limit=4000)
    events: list[Any] = []
    results = []
    for question in ("Find both.", "Turn the wheel."):
        handler = workflow.run(user_msg=question, memory=memory)
        events += [event async for event in handler.stream_events()]
        results.append(await handler)
    return events, results, memory


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_async", [False, True])
def test_what_real_agents_make(is_async: bool) -> None:
    """Events as objects and as JSON, results, and what the memory holds."""
    tools = Tools()
    workflow = _workflow(tools, is_async)
    if is_async:  # the names of these tools are their own
        pytest.importorskip("llama_index.core.tools")
        from llama_index.core.tools import FunctionTool

        workflow.agents["alice"].tools = [
            FunctionTool.from_defaults(async_fn=tools.search_async, name="search"),
            FunctionTool.from_defaults(async_fn=tools.steer_async, name="steer"),
        ]
    events, results, memory = asyncio.run(_run(workflow))
    dumped = json.loads(json.dumps([event.model_dump(mode="json") for event in events]))
    for source in (events, dumped):
        trace = read(source)
        assert_witnessed(trace, tools)
        assert [(call.name, call.agent, call.turn) for call in trace.calls] == [
            ("search", "alice", 1),
            ("search", "alice", 1),
            ("steer", "alice", 2),
            ("handoff", "alice", 2),
            ("weather", "bob", 2),
        ]
        assert [event for event in trace.to_events() if "transfer" in event] == [{"transfer": "bob", "by": "alice"}]
    messages = memory.get_all()
    for source in (messages, [message.model_dump(mode="json") for message in messages]):
        assert_witnessed(read(source), tools, errors_told=False, decode=_decoded)
    assert [call.name for call in read(results[1]).calls] == ["steer", "handoff", "weather"]


def _decoded(payload: Any) -> Any:
    """LlamaIndex tells the model what a tool returned as Python writes it."""
    return json.loads(payload.replace("'", '"')) if payload.startswith("{") else payload

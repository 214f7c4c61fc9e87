"""Agents of frameworks: each is run for real, with a model in this process that goes by simple rules."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import pytest

from tracewitness.errors import UsageError
from tracewitness.evals.simulation.agents import agent_of
from tracewitness.evals.simulation.agents.callables import FactoryAgent
from tracewitness.evals.simulation.conversation import Agent, AgentTurn, Conversation, UserTurn
from tracewitness.trace import Record, Trace

PARAMETERS = {"shop": "Bern", "level": "gold"}
FOUND = {"found": ["lamp-1"]}


class Deed(NamedTuple):
    """What a model does when it is asked: it says something, or calls tools, or both."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


def deed(last: str, *, is_result: bool, history: int) -> Deed:
    """Return what the model does.

    Arguments:
        last: the text of the last message.
        is_result: whether that is what a tool returned.
        history: how many messages of the user there are.
    """
    if is_result:
        return Deed(f"That is {last}.")
    verb, _, rest = last.partition(" ")
    if verb == "find":
        return Deed("Looking.", (("search", {"query": rest}),))
    if verb == "both":
        return Deed(calls=(("search", {"query": rest}), ("where", {})))
    if verb == "where":
        return Deed(calls=(("where", {}),))
    if verb == "bye":
        return Deed("Bye.", (("end_session", {}),))
    return Deed(f"You said {history} things.")


def search(query: str) -> dict[str, Any]:
    """Find things."""
    return {"found": [f"{query}-1"]}


def end_session() -> str:
    """End the session."""
    return "ended"


# ------------------------------------------------------------------------------------------------------- the frameworks


def made_by_langgraph(**options: Any) -> Any:
    """Return a graph, with a checkpointer unless it is told otherwise."""
    agents = pytest.importorskip("langchain.agents", reason="LangChain is not installed")
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.memory import InMemorySaver

    def where(config: RunnableConfig) -> str:
        """Say where the shop is."""
        return str(config["configurable"]["shop"])

    # The annotation of a nested function is a name that nothing outside can resolve.
    where.__annotations__["config"] = RunnableConfig
    return agents.create_agent(
        langchain_model(), [search, where, end_session], **{"checkpointer": InMemorySaver(), "name": "shop", **options}
    )


def langchain_model() -> Any:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Model(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "rules"

        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
            last = messages[-1]
            users = [message for message in messages if message.type == "human"]
            done = deed(str(last.content), is_result=isinstance(last, ToolMessage), history=len(users))
            calls = [
                {"name": name, "args": args, "id": f"c{len(messages)}-{number}"}
                for number, (name, args) in enumerate(done.calls)
            ]
            usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
            message = AIMessage(content=done.text, tool_calls=calls, usage_metadata=usage)  # type: ignore[arg-type]
            return ChatResult(generations=[ChatGeneration(message=message)])

    return Model()


def made_by_langgraph_without_checkpoints() -> Any:
    return made_by_langgraph(checkpointer=None)


def made_by_pydantic_ai(**options: Any) -> Any:
    ai = pytest.importorskip("pydantic_ai", reason="Pydantic AI is not installed")
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models.function import FunctionModel

    def model(messages: Any, info: Any) -> Any:
        parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
        last = next(part for part in reversed(parts) if isinstance(part, (UserPromptPart, ToolReturnPart)))
        users = [part for part in parts if isinstance(part, UserPromptPart)]
        is_result = isinstance(last, ToolReturnPart)
        text = last.model_response_str() if isinstance(last, ToolReturnPart) else str(last.content)
        done = deed(text, is_result=is_result, history=len(users))
        if not done.calls and info.output_tools:
            return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {"words": done.text})])
        said = [TextPart(done.text)] if done.text else []
        return ModelResponse(parts=[*said, *(ToolCallPart(name, args) for name, args in done.calls)])

    def where(context: Any) -> str:
        """Say where the shop is."""
        return str(context.deps["shop"] if isinstance(context.deps, dict) else context.deps.shop)

    where.__annotations__["context"] = ai.RunContext
    return ai.Agent(FunctionModel(model), name="shop", tools=[search, where, end_session], **options)


def made_by_openai_agents() -> Any:
    sdk = pytest.importorskip("agents", reason="openai-agents is not installed")
    sdk.set_trace_processors([])

    def where(context: Any) -> str:
        """Say where the shop is."""
        return str(context.context["shop"])

    where.__annotations__["context"] = sdk.RunContextWrapper
    tools = [sdk.function_tool(tool) for tool in (search, where, end_session)]
    return sdk.Agent(name="shop", model=openai_agents_model(sdk), tools=tools)


def openai_agents_model(sdk: Any) -> Any:
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    class Model(sdk.Model):  # type: ignore[misc]
        async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:  # noqa: A002, ARG002
            last = input[-1]
            users = [item for item in input if item.get("role") == "user"]
            is_result = last.get("type") == "function_call_output"
            done = deed(str(last["output"] if is_result else last["content"]), is_result=is_result, history=len(users))
            output: list[Any] = []
            if done.text:
                content = [ResponseOutputText(type="output_text", text=done.text, annotations=[])]
                output.append(
                    ResponseOutputMessage(
                        id="m",
                        type="message",
                        role="assistant",
                        status="completed",
                        content=content,  # type: ignore[arg-type]
                    )
                )
            for number, (name, args) in enumerate(done.calls):
                call_id = f"c{len(input)}-{number}"
                output.append(
                    ResponseFunctionToolCall(
                        type="function_call", call_id=call_id, name=name, arguments=json.dumps(args)
                    )
                )
            usage = sdk.Usage(requests=1, input_tokens=10, output_tokens=2)
            return sdk.ModelResponse(output=output, usage=usage, response_id="r")

        async def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    return Model()


def made_by_google_adk() -> Any:
    adk = pytest.importorskip("google.adk.agents", reason="google-adk is not installed")
    from google.adk.tools import ToolContext

    def where(tool_context: Any) -> str:
        """Say where the shop is."""
        return str(tool_context.state["shop"])

    where.__annotations__["tool_context"] = ToolContext
    return adk.LlmAgent(name="shop", model=google_adk_model(), tools=[search, where, end_session])


def google_adk_model() -> Any:
    from google.adk.models import BaseLlm, LlmResponse
    from google.genai import types

    class Model(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:  # noqa: ARG002
            last = llm_request.contents[-1].parts[-1]
            texts = [part.text for item in llm_request.contents if item.role == "user" for part in item.parts]
            result = last.function_response
            text = last.text if result is None else json.dumps(result.response.get("result", result.response))
            done = deed(text, is_result=result is not None, history=sum(text is not None for text in texts))
            said = [types.Part(text=done.text)] if done.text else []
            calls = [types.Part(function_call=types.FunctionCall(name=name, args=args)) for name, args in done.calls]
            usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=10, candidates_token_count=2)
            content = types.Content(role="model", parts=[*said, *calls])
            yield LlmResponse(content=content, usage_metadata=usage)

    return Model(model="rules")


FRAMEWORKS = {
    "langgraph": made_by_langgraph,
    "langgraph without checkpoints": made_by_langgraph_without_checkpoints,
    "pydantic-ai": made_by_pydantic_ai,
    "openai-agents": made_by_openai_agents,
    "google-adk": made_by_google_adk,
}

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")


@pytest.fixture(params=list(FRAMEWORKS))
def made(request: pytest.FixtureRequest) -> Any:
    """An agent of each framework."""
    return FRAMEWORKS[request.param]()


async def talk(
    agent: Agent, said: list[str | UserTurn], parameters: Any = PARAMETERS, name: str = "s1"
) -> Conversation:
    """Have one session, and return what was said and done in it."""
    session = await agent.open(parameters, name)
    conversation = Conversation()
    try:
        for each in said:
            turn = UserTurn(each) if isinstance(each, str) else each
            conversation.add_user(turn)
            conversation.add_agent(await session.send(turn))
    finally:
        await session.close()
    return conversation


def converse(made: Any, *said: str | UserTurn, parameters: Any = PARAMETERS) -> Conversation:
    async def run() -> Conversation:
        agent = agent_of(made, "shop")
        await agent.prepare()
        try:
            return await talk(agent, list(said), parameters)
        finally:
            await agent.close()

    return asyncio.run(run())


def plain(payload: Any) -> Any:
    """Return what a tool returned: some frameworks write it as text, and some put it into a mapping."""
    if isinstance(payload, str):
        for read in (json.loads, lambda text: json.loads(text.replace("'", '"'))):
            try:
                return read(payload)
            except ValueError:
                continue
    return payload["result"] if isinstance(payload, dict) and set(payload) == {"result"} else payload


# ------------------------------------------------------------------------------------------------------- what all share


def test_three_turns(made: Any) -> None:
    """Each turn has its own events and none of the turns before it; each call has its result."""
    conversation = converse(made, "find lamp", "hm", "both lamp")
    trace = conversation.trace("run")
    assert trace.problems == ()
    assert [next(iter(event)) for event in trace.to_events()] == [
        *("user", "agent", "call", "result", "agent"),
        *("user", "agent"),
        *("user", "call", "call", "result", "result", "agent"),
    ]
    assert [(call.name, call.args, plain(call.result), call.turn) for call in trace.calls] == [
        ("search", {"query": "lamp"}, FOUND, 1),
        ("search", {"query": "lamp"}, FOUND, 3),
        ("where", {}, "Bern", 3),
    ]
    said = [text for who, text in conversation.heard() if who == "agent"]
    assert said[0] == "Looking."
    assert said[2] == "You said 2 things."
    assert not conversation.ended


def test_the_agent_remembers_only_its_own_session(made: Any) -> None:
    """Many at once: each has what its user said, and its own parameters."""

    async def run() -> list[Conversation]:
        agent = agent_of(made, "shop")
        await agent.prepare()
        try:
            sessions = (
                talk(agent, ["hm"] * (number % 3) + ["where is it"], {"shop": f"shop {number}"}, f"s{number}")
                for number in range(20)
            )
            return await asyncio.gather(*sessions)
        finally:
            await agent.close()

    for number, conversation in enumerate(asyncio.run(run())):
        trace = conversation.trace("run")
        assert [plain(call.result) for call in trace.calls] == [f"shop {number}"]
        assert [text for _, text in conversation.heard() if text.startswith("You")] == [
            f"You said {said} things." for said in range(1, number % 3 + 1)
        ]


def test_a_session_is_ended_by_a_tool(made: Any) -> None:
    conversation = converse(made, "hm", "bye now")
    assert conversation.ended
    assert conversation.trace("run").calls[-1].name == "end_session"


def test_usage(made: Any) -> None:
    """What its models were used for; what that cost is not known."""
    usage = converse(made, "find lamp", "hm").usage
    assert usage.requests == 3
    assert usage.input_tokens > 0
    assert usage.cost is None


@pytest.mark.parametrize("made", ["pydantic-ai", "openai-agents", "google-adk"], indirect=True)
def test_variables_reach_the_agent(made: Any) -> None:
    """They change what was a parameter. A graph has variables in its state and context, which is tested apart."""
    conversation = converse(made, UserTurn("where", {"shop": "Bern"}), UserTurn("where", {"shop": "Basel"}), "where")
    assert [plain(call.result) for call in conversation.trace("run").calls] == ["Bern", "Basel", "Basel"]


def test_what_it_raises_passes_through(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Deed:
        raise ZeroDivisionError("no model")

    monkeypatch.setitem(globals(), "deed", fail)
    with pytest.raises(ZeroDivisionError):
        converse(made, "hi")


# ------------------------------------------------------------------------------------------------------------ LangGraph


@pytest.fixture
def langgraph() -> Any:
    return pytest.importorskip("langgraph.graph", reason="LangGraph is not installed")


def test_langgraph_state_and_context(langgraph: Any) -> None:
    """Parameters and variables stand in the state and in the context, where these have keys of their names."""
    from langchain_core.messages import AIMessage
    from langgraph.runtime import Runtime

    @dataclasses.dataclass
    class Context:
        level: str

    def reply(state: Any, runtime: Any) -> Any:
        text = f"{state['shop']} {runtime.context.level} {state.get('other')}"
        return {"messages": [AIMessage(text)], "other": "kept"}

    class State(langgraph.MessagesState):  # type: ignore[misc]
        shop: str
        other: str

    reply.__annotations__["runtime"] = Runtime
    builder = langgraph.StateGraph(State, context_schema=Context)
    builder.add_node("reply", reply)
    builder.set_entry_point("reply")
    conversation = converse(builder.compile(), "a", UserTurn("b", {"shop": "Basel", "level": "tin", "more": 1}))
    assert [text for who, text in conversation.heard() if who == "agent"] == ["Bern gold None", "Basel tin kept"]


def test_langgraph_subgraphs(langgraph: Any) -> None:
    """What is called there is called; what is said there is heard only where the graph itself says it."""
    from langchain_core.messages import AIMessage

    worker = made_by_langgraph(checkpointer=None)

    def ask(state: Any) -> Any:
        result = worker.invoke({"messages": [("user", "find lamp")]}, {"configurable": {"shop": "Bern"}})
        return {"messages": [AIMessage(f"The worker says: {result['messages'][-1].content}")]}

    builder = langgraph.StateGraph(langgraph.MessagesState)
    builder.add_node("ask", ask)
    builder.set_entry_point("ask")
    conversation = converse(builder.compile(), "please")
    trace = conversation.trace("run")
    assert [(call.name, plain(call.result)) for call in trace.calls] == [("search", FOUND)]
    (said,) = [text for who, text in conversation.heard() if who == "agent"]
    assert said.startswith("The worker says: That is ")
    assert trace.problems == ()


def test_langgraph_agents_as_nodes(langgraph: Any) -> None:
    """A message that comes into the graph from one below it is told once."""
    builder = langgraph.StateGraph(langgraph.MessagesState)
    builder.add_node("worker", made_by_langgraph(checkpointer=None))
    builder.set_entry_point("worker")
    conversation = converse(builder.compile(), "find lamp", "find desk")
    assert [next(iter(event)) for event in conversation.trace("run").to_events()] == [
        *("user", "agent", "call", "result", "agent") * 2
    ]


def test_langgraph_forgets_what_it_removes(langgraph: Any) -> None:
    """A call that was made is told, also where the graph drops its messages before the turn is over."""
    from langchain_core.messages import AIMessage, RemoveMessage
    from langgraph.graph.message import REMOVE_ALL_MESSAGES

    def forget(state: Any) -> Any:
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), AIMessage("Done.")]}

    builder = langgraph.StateGraph(langgraph.MessagesState)
    builder.add_node("worker", made_by_langgraph(checkpointer=None))
    builder.add_node("forget", forget)
    builder.set_entry_point("worker")
    builder.add_edge("worker", "forget")
    conversation = converse(builder.compile(), "find lamp", "find lamp")
    assert [plain(call.result) for call in conversation.trace("run").calls] == [FOUND, FOUND]


def test_langgraph_messages_without_ids(langgraph: Any) -> None:
    """A state that adds lists up, whose messages nobody gives an id."""
    import operator
    from typing import Annotated, TypedDict

    from langchain_core.messages import AIMessage

    class State(TypedDict):
        messages: Annotated[list[Any], operator.add]

    State.__annotations__["messages"] = Annotated[list[Any], operator.add]

    def reply(state: Any) -> Any:
        return {"messages": [AIMessage("Yes."), AIMessage("Yes.")]}

    from langgraph.checkpoint.memory import InMemorySaver

    builder = langgraph.StateGraph(State)
    builder.add_node("reply", reply)
    builder.set_entry_point("reply")
    for saver in (None, InMemorySaver()):
        conversation = converse(builder.compile(checkpointer=saver), "a", "b")
        assert [next(iter(event)) for event in conversation.trace("run").to_events()] == ["user", "agent", "agent"] * 2


def test_langgraph_interrupts(langgraph: Any) -> None:
    """What it asks is said, and what the user says then is the answer."""
    from langchain_core.messages import AIMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import interrupt

    def ask(state: Any) -> Any:
        answer = interrupt("Shall I order it?")
        again = interrupt({"really": answer})
        return {"messages": [AIMessage(f"You said {answer} and {again}.")]}

    builder = langgraph.StateGraph(langgraph.MessagesState)
    builder.add_node("ask", ask)
    builder.set_entry_point("ask")
    conversation = converse(builder.compile(checkpointer=InMemorySaver()), "a lamp", "yes", "sure", "a lamp")
    assert [text for who, text in conversation.heard() if who == "agent"] == [
        "Shall I order it?",
        '{"really": "yes"}',
        "You said yes and sure.",
        "Shall I order it?",
    ]


def test_langgraph_graphs_that_can_not_be_talked_to(langgraph: Any) -> None:
    from typing import TypedDict

    class State(TypedDict):
        words: str

    State.__annotations__["words"] = str
    builder = langgraph.StateGraph(State)
    builder.add_node("reply", lambda _: {"words": "x"})
    builder.set_entry_point("reply")
    with pytest.raises(
        UsageError, match=r"the state of the graph shop has no messages \(it has words\); name a function"
    ):
        agent_of(builder.compile(), "shop")
    with pytest.raises(UsageError, match="which is not compiled: name what its compile"):
        agent_of(builder, "shop")
    from langchain_core.runnables import RunnableLambda

    with pytest.raises(UsageError, match="which is no graph: name a function"):
        agent_of(RunnableLambda(lambda text: text), "shop")


# ---------------------------------------------------------------------------------------------------------- Pydantic AI


@dataclasses.dataclass(frozen=True)
class Frozen:
    shop: str
    level: str = "tin"


@dataclasses.dataclass
class Deps:
    shop: str
    level: str = "tin"


def test_pydantic_ai_dependencies() -> None:
    """They are made of the session parameters, where that can be."""
    for kind in (dict, dict[str, Any], Deps, Frozen):
        conversation = converse(made_by_pydantic_ai(deps_type=kind), UserTurn("where", PARAMETERS))
        assert [call.result for call in conversation.trace("run").calls] == ["Bern"]
    conversation = converse(made_by_pydantic_ai(deps_type=Deps), UserTurn("where", {"shop": "Basel"}))
    assert [call.result for call in conversation.trace("run").calls] == ["Basel"]


def test_pydantic_ai_dependencies_that_parameters_can_not_make() -> None:
    class Database:
        pass

    with pytest.raises(
        UsageError, match=r"needs deps of the type .*, which session parameters can't make; name a function"
    ):
        agent_of(made_by_pydantic_ai(deps_type=Database), "shop")
    with pytest.raises(UsageError, match="the session parameters don't fit the deps of the agent shop: shop: "):
        converse(made_by_pydantic_ai(deps_type=Deps), "hi", parameters={})


def test_pydantic_ai_output_that_is_no_text() -> None:
    """It is heard as JSON."""

    @dataclasses.dataclass
    class Answer:
        words: str

    conversation = converse(made_by_pydantic_ai(output_type=Answer), "hm")
    assert conversation.heard()[-1] == ("agent", '{"words":"You said 1 things."}')


# -------------------------------------------------------------------------------------------------------- the other two


def test_openai_agents_hand_over() -> None:
    """The other agent goes on with the conversation, in this turn and in the next."""
    sdk = pytest.importorskip("agents", reason="openai-agents is not installed")
    helper = made_by_openai_agents()
    helper.name = "helper"

    class Model(sdk.Model):  # type: ignore[misc]
        async def get_response(self, *_: Any, **__: Any) -> Any:
            from openai.types.responses import ResponseFunctionToolCall

            call = ResponseFunctionToolCall(
                type="function_call", call_id="h1", name="transfer_to_helper", arguments="{}"
            )
            return sdk.ModelResponse(output=[call], usage=sdk.Usage(), response_id="r")

        async def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    agent = sdk.Agent(name="front", model=Model(), handoffs=[helper])
    trace = converse(agent, "hm", "find lamp").trace("run")
    assert [(call.name, call.agent, call.turn) for call in trace.calls] == [
        ("transfer_to_helper", "front", 1),
        ("search", "helper", 2),
    ]
    assert sum("transfer" in event for event in trace.to_events()) == 1


def test_google_adk_apps_and_runners() -> None:
    """An app runs in memory; a runner that is given keeps its sessions."""
    made = made_by_google_adk()
    from google.adk.apps import App
    from google.adk.runners import InMemoryRunner

    assert len(converse(App(name="desk", root_agent=made), "find lamp").trace("run").calls) == 1
    runner = InMemoryRunner(agent=made_by_google_adk(), app_name="desk")
    assert len(converse(runner, "find lamp").trace("run").calls) == 1
    kept = asyncio.run(runner.session_service.list_sessions(app_name="desk"))
    assert [session.id for session in kept.sessions] == ["s1"]


def test_an_object_of_a_framework_made_for_each_session() -> None:
    """By a factory, as any agent."""

    async def run() -> AgentTurn:
        session = await FactoryAgent(made_by_pydantic_ai, "shop", agent_of).open(PARAMETERS, "s1")
        try:
            return await session.send(UserTurn("where"))
        finally:
            await session.close()

    turn = asyncio.run(run())
    assert [call.result for call in Trace(turn.records).calls] == ["Bern"]
    assert all(isinstance(record, Record) for record in turn.records)


# ------------------------------------------------------------------------------- what a function of the user's returns


def returning_states() -> Callable[[], Any]:
    """Return what makes functions that return the state of a graph."""
    graph = made_by_langgraph()

    def make(session_id: str) -> Callable[[str], Any]:
        config = {"configurable": {"thread_id": session_id, "shop": "Bern"}}
        return lambda text: graph.invoke({"messages": [("user", text)]}, config)

    return make


def returning_results_of_pydantic_ai() -> Callable[[], Any]:
    agent = made_by_pydantic_ai()

    def make() -> Callable[[str], Any]:
        messages: list[Any] = []

        async def reply(text: str) -> Any:
            result = await agent.run(text, message_history=messages, deps={"shop": "Bern"})
            messages[:] = result.all_messages()
            return result

        return reply

    return make


def returning_results_of_openai_agents() -> Callable[[], Any]:
    agent = made_by_openai_agents()
    import agents

    def make() -> Callable[[str], Any]:
        items: list[Any] = []

        async def reply(text: str) -> Any:
            given = [*items, {"role": "user", "content": text}]
            result = await agents.Runner.run(agent, given, context={"shop": "Bern"})
            items[:] = result.to_input_list()
            return result

        return reply

    return make


def returning_sessions_of_google_adk() -> Callable[[], Any]:
    """Return what makes functions that return the whole session of Google ADK."""
    agent = made_by_google_adk()
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    runner = InMemoryRunner(agent=agent, app_name="desk")
    place = {"app_name": "desk", "user_id": "u"}

    async def make(session_id: str) -> Callable[[str], Any]:
        await runner.session_service.create_session(**place, session_id=session_id, state={"shop": "Bern"})

        async def reply(text: str) -> Any:
            message = types.Content(role="user", parts=[types.Part(text=text)])
            async for _ in runner.run_async(user_id="u", session_id=session_id, new_message=message):
                pass
            return await runner.session_service.get_session(**place, session_id=session_id)

        return reply

    return make


@pytest.mark.parametrize(
    "making",
    [
        returning_states,
        returning_results_of_pydantic_ai,
        returning_results_of_openai_agents,
        returning_sessions_of_google_adk,
    ],
)
def test_of_a_framework_s_whole_history_only_the_turn_is_taken(making: Callable[[], Any]) -> None:
    """Also where the user says the same again and again."""

    async def run() -> Conversation:
        return await talk(FactoryAgent(making(), "shop", agent_of), ["find lamp", "hm", "find lamp", "find lamp"])

    conversation = asyncio.run(run())
    trace = conversation.trace("run")
    assert [(call.name, plain(call.result), call.turn) for call in trace.calls] == [
        ("search", FOUND, 1),
        ("search", FOUND, 3),
        ("search", FOUND, 4),
    ]
    assert [text for who, text in conversation.heard() if text.startswith("You")] == ["You said 2 things."]
    assert trace.problems == ()

"""Frameworks take wrapped tools as they take plain ones, and what they put in themselves is not recorded."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tracewitness import record

ARGUMENTS = {"item": "lamp", "count": 2}
RECORDED = {"call": "order", "args": ARGUMENTS, "id": "c1"}


def assert_recorded(recording: Any) -> None:
    """One call, with the model's arguments alone, and no problem."""
    call, answer = recording.to_events()
    assert {key: call[key] for key in RECORDED} == RECORDED
    assert (answer["result"], answer["is_error"]) == ("2 lamp", False)
    assert not recording.problems


def test_pydantic_ai() -> None:
    """The context of a run is put in by the framework; a tool without one is taken as well."""
    pydantic_ai = pytest.importorskip("pydantic_ai")
    messages = pytest.importorskip("pydantic_ai.messages")
    function = pytest.importorskip("pydantic_ai.models.function")

    @record.tool
    async def order(ctx: Any, item: str, count: int) -> str:
        return f"{count} {item}"

    order.__annotations__["ctx"] = pydantic_ai.RunContext[None]

    def answer(said: list[Any], info: Any) -> Any:
        is_first = not any(isinstance(each, messages.ModelResponse) for each in said)
        part = messages.ToolCallPart("order", ARGUMENTS) if is_first else messages.TextPart("Done.")
        return messages.ModelResponse(parts=[part])

    agent = pydantic_ai.Agent(function.FunctionModel(answer), tools=[pydantic_ai.Tool(order, takes_ctx=True)])
    with record() as trace:
        asyncio.run(agent.run("Order two lamps"))
    assert_recorded(trace)


def test_openai_agents() -> None:
    """The wrapper of the run's context is left out, and so is nothing else."""
    agents = pytest.importorskip("agents")
    tool_context = pytest.importorskip("agents.tool_context")

    @record.tool
    def order(ctx: Any, item: str, count: int) -> str:
        return f"{count} {item}"

    order.__annotations__["ctx"] = agents.RunContextWrapper[None]
    tool = agents.function_tool(order)
    assert set(tool.params_json_schema["properties"]) == {"item", "count"}
    text = json.dumps(ARGUMENTS)
    context = tool_context.ToolContext(context=None, tool_name="order", tool_call_id="call_1", tool_arguments=text)
    with record() as trace:
        assert asyncio.run(tool.on_invoke_tool(context, text)) == "2 lamp"
    assert_recorded(trace)


@pytest.mark.parametrize("is_async", [False, True])
def test_langchain(is_async: bool) -> None:
    """A tool that is not async runs in a thread where it is awaited."""
    tools = pytest.importorskip("langchain_core.tools")

    @record.tool
    def order(item: str, count: int) -> str:
        """Order an item."""
        return f"{count} {item}"

    tool = tools.tool(order)
    assert set(tool.args) == {"item", "count"}
    with record() as trace:
        assert (asyncio.run(tool.ainvoke(ARGUMENTS)) if is_async else tool.invoke(ARGUMENTS)) == "2 lamp"
    assert_recorded(trace)

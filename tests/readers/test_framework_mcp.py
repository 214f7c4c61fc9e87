"""A session between a real client and a real server of the Model Context Protocol, logged message by message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from framework_support import FIRST_TURN, SECOND_TURN, Tools, assert_witnessed

from tracewitness.readers import read

mcp = pytest.importorskip("mcp", reason="mcp is not installed")
mcpserver = pytest.importorskip("mcp.server.mcpserver")
exceptions = pytest.importorskip("mcp.server.mcpserver.exceptions")
memory = pytest.importorskip("mcp.client._memory")


class _Logged:
    """A stream of which all messages are noted."""

    def __init__(self, stream: Any, note: Any) -> None:
        self._stream = stream
        self._note = note

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Any:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return await self._stream.__aexit__(*error)

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        item = await self._stream.__anext__()
        self._note(item)
        return item

    async def receive(self) -> Any:
        item = await self._stream.receive()
        self._note(item)
        return item

    async def send(self, item: Any) -> None:
        self._note(item)
        await self._stream.send(item)


def _real_log(tools: Tools) -> list[dict[str, Any]]:
    """Run a server and a client that calls its tools, and return what went between them, both ways."""
    log: list[dict[str, Any]] = []

    def noting(direction: str) -> Any:
        def note(item: Any) -> None:
            message = item.message.model_dump(by_alias=True, mode="json", exclude_none=True)
            log.append({"direction": direction, "message": message})

        return note

    def steer(angle: float) -> str:
        try:
            return tools.steer(angle)
        except RuntimeError as error:  # of other errors the server tells nobody what they say
            raise exceptions.ToolError(str(error)) from error

    server = mcpserver.MCPServer("desk")
    for tool in (tools.search, steer, tools.weather):
        server.add_tool(tool)

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        async with memory.InMemoryTransport(server) as (receiving, sending):
            yield _Logged(receiving, noting("received")), _Logged(sending, noting("sent"))

    async def session() -> None:
        async with mcp.Client(transport()) as client:
            await client.list_tools()
            await asyncio.gather(*(client.call_tool(name, args) for name, args in FIRST_TURN))
            for name, args in SECOND_TURN:
                await client.call_tool(name, args)

    asyncio.run(session())
    return log


def test_a_real_session() -> None:
    """Parallel calls, one that fails and one after it, as the tools noted them."""
    tools = Tools()
    log = _real_log(tools)
    for document in (log, "\n".join(map(json.dumps, log)), [entry["message"] for entry in log]):
        trace = read(document)
        assert [(call.name, call.args) for call in trace.calls] == [*FIRST_TURN, *SECOND_TURN]
        assert_witnessed(trace, tools, decode=_opened)


def _opened(payload: Any) -> Any:
    """Return what a tool returned: the server wraps what is no mapping."""
    return payload["result"] if isinstance(payload, dict) and payload.keys() == {"result"} else payload

"""What an agent's name stands for, and what is said of a name that stands for none."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracewitness.errors import UsageError
from tracewitness.evals.simulation.agents import agent_from, agent_of
from tracewitness.evals.simulation.agents.callables import CallableAgent, FactoryAgent
from tracewitness.evals.simulation.agents.command import CommandAgent
from tracewitness.evals.simulation.agents.http import ChatAgent
from tracewitness.evals.simulation.conversation import AgentTurn, UserTurn

SHOP = """
import json

def reply(text):
    return f"you said {text}"

class Desk:
    def send(self, text):
        return text.upper()

class Stock:
    pass

class Counter:
    def __call__(self, text):
        return "one"

def make_desk():
    return Desk()

def nothing():
    return None

def lookup(text, database):
    return text

def two(text, history, *, variables, extra=1, **more):
    return text

rules = {"a": 1}
later = reply("x")
desk = Desk()
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with modules, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    (tmp_path / "shop_desk.py").write_text(SHOP)
    (tmp_path / "shop_broken.py").write_text("x = 1\nraise RuntimeError('no\\n database')\n")
    (tmp_path / "shop_syntax.py").write_text("def reply(text):\n    return (\n")
    (tmp_path / "shop_needs.py").write_text("import shop_missing_library\n")
    (tmp_path / "shop_quits.py").write_text("import sys\nsys.exit(3)\n")
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def said(agent: Any, text: str = "hi") -> AgentTurn:
    """Return what an agent does in the first turn of a session."""

    async def talk() -> AgentTurn:
        await agent.prepare()
        session = await agent.open({}, "s1")
        try:
            turn: AgentTurn = await session.send(UserTurn(text))
            return turn
        finally:
            await session.close()
            await agent.close()

    return asyncio.run(talk())


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("shop_desk:reply", "you said hi"),
        ("shop_desk:Desk", "HI"),
        ("shop_desk:Counter", "one"),
        ("shop_desk:desk", "HI"),
        ("shop_desk:desk.send", "HI"),
        ("factory:shop_desk:make_desk", "HI"),
    ],
)
def test_code_is_imported_from_the_working_directory(shop: Path, spec: str, text: str) -> None:
    agent = agent_from(spec)
    assert said(agent).text == text
    assert agent.name == spec.removeprefix("factory:")


def test_each_kind_of_name(shop: Path) -> None:
    assert isinstance(agent_from("http://localhost:9/v1"), ChatAgent)
    assert isinstance(agent_from("https://localhost/v1", model="m", headers={"a": "b"}), ChatAgent)
    assert isinstance(agent_from(f"cmd: {sys.executable} agent.py"), CommandAgent)
    assert isinstance(agent_from(f"command:{sys.executable} agent.py"), CommandAgent)
    assert isinstance(agent_from("shop_desk:reply"), CallableAgent)
    assert isinstance(agent_from("shop_desk:Desk"), FactoryAgent)
    agent = agent_from("shop_desk:reply")
    assert agent_of(agent) is agent


WRONG = {
    "reply": "an agent is named module:attribute, factory:module:attribute, http://… or 'cmd: …', not 'reply'",
    "": "an agent is named module:attribute, factory:module:attribute, http://… or 'cmd: …', not ''",
    "shop_desk.py:reply": (
        "an agent is named module:attribute, such as shop.agent:reply, not 'shop_desk.py:reply'; "
        "shop_desk:reply was meant"
    ),
    ":good": "an agent is named module:attribute, such as shop.agent:reply, not ':good'",
    ".py:good": "an agent is named module:attribute, such as shop.agent:reply, not '.py:good'",
    "..py:good": "an agent is named module:attribute, such as shop.agent:reply, not '..py:good'",
    "shop_desk:": "an agent is named module:attribute, such as shop.agent:reply, not 'shop_desk:'",
    "shop_dusk:reply": (
        "an agent can't be imported: there is no module shop_dusk, neither in the working directory nor installed"
    ),
    "shop_desk:replay": "an agent shop_desk:replay: shop_desk has no replay; reply was meant",
    "shop_desk:desk.sent": "an agent shop_desk:desk.sent: Desk has no sent; send was meant",
    "shop_broken:reply": (
        "an agent can't be imported: the module shop_broken raised RuntimeError: no\\n database "
        "(shop_broken.py, line 2)"
    ),
    "shop_syntax:reply": (
        "an agent can't be imported: the module shop_syntax raised SyntaxError: '(' was never closed "
        "(shop_syntax.py, line 2)"
    ),
    "shop_needs:reply": (
        "an agent can't be imported: the module shop_needs raised ModuleNotFoundError: "
        "No module named 'shop_missing_library' (shop_needs.py, line 1)"
    ),
    "shop_quits:reply": (
        "an agent can't be imported: the module shop_quits raised SystemExit: 3 (shop_quits.py, line 2)"
    ),
    "shop_desk:json": "shop_desk:json is a module; name what is in it: json:…; ",
    "shop_desk:rules": "shop_desk:rules is {'a': 1}; an agent is a function that takes what the user says, ",
    "shop_desk:later": "shop_desk:later is 'you said x'; ",
    "shop_desk:Stock": "objects of the class shop_desk:Stock are no agents: they have no method send; ",
    "shop_desk:nothing": (
        "the agent shop_desk:nothing takes nothing; its first parameter is what the user says; "
        "a function that makes an agent is named factory:shop_desk:nothing"
    ),
    "shop_desk:lookup": (
        "the agent shop_desk:lookup needs database, which nobody gives; "
        "it can have history, trace, variables, session_id, parameters"
    ),
    "factory:shop_desk:lookup": (
        "the agent shop_desk:lookup needs text, which nobody gives; it can have session_id, parameters"
    ),
    "factory:shop_desk:desk": "shop_desk:desk is <shop_desk.Desk object at ",
    "http://": "the address of the agent has no host: http://; it is such as http://localhost:8000/v1",
    "http://[": "the address of the agent has no host: http://[; it is such as http://localhost:8000/v1",
    "http://localhost:80000/v1": (
        "the address of the agent has a port that is none: one is between 1 and 65535: http://localhost:80000/v1; "
    ),
    "http://me:secret@localhost:0": (
        "the address of the agent has a port that is none: one is between 1 and 65535: http://localhost:0; "
    ),
    "http://localhost:http/v1": "the address of the agent has a port that is none: ",
    "cmd:": "the command of the agent is empty; it is such as 'cmd: python agent.py'",
    "cmd: 'x": "the command \"'x\" can't be split into words: No closing quotation",
    "cmd: no-such-program-at-all x": (
        "there is no program 'no-such-program-at-all' to run for the agent no-such-program-at-all x"
    ),
}


@pytest.mark.parametrize("spec", WRONG)
def test_a_name_that_stands_for_no_agent(shop: Path, spec: str) -> None:
    """It is found out before anything runs, and said in one line."""
    with pytest.raises(UsageError) as caught:
        agent_from(spec)
    assert str(caught.value).startswith(WRONG[spec])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("option", [{"tools": "a:b"}, {"model": "m"}, {"headers": {}}, {"instructions": ""}])
def test_options_that_go_with_an_endpoint(shop: Path, option: Any) -> None:
    with pytest.raises(UsageError, match=r"given for an endpoint \(http://…\), and the agent is shop_desk:reply"):
        agent_from("shop_desk:reply", **option)


def test_what_a_factory_makes_may_be_no_agent(shop: Path) -> None:
    """That can't be known before it has made one."""
    with pytest.raises(UsageError, match="shop_desk:nothing is None; an agent is a function"):
        said(agent_from("factory:shop_desk:nothing"))


@pytest.mark.parametrize(
    ("missing", "options"), [("openai", {}), ("pydantic_ai", {"tools": "shop_desk:tools"})], ids=["client", "tools"]
)
def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch, missing: str, options: Any) -> None:
    """What to install is said."""
    for module in ("http", "tools"):
        monkeypatch.delitem(sys.modules, f"tracewitness.evals.simulation.agents.{module}", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match=r"install it: pip install 'tracewitness\[simulate\]'"):
        agent_from("http://localhost/v1", **options)

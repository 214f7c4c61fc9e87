"""The simulation of the order desk: its shop, its model server, and a liar with whom the judge is content."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("openai")
pytest.importorskip("pydantic_ai")

from openai import BadRequestError, NotFoundError, OpenAI

ROOT = Path(__file__).parent.parent
ORDERS = ROOT / "examples" / "orders"
SHOP = runpy.run_path(str(ORDERS / "shop.py"))
SERVER = runpy.run_path(str(ORDERS / "model_server.py"))
CASES = ["order-in-stock", "out-of-stock", "cancel-order"]


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder of the example."""
    # Neither a key nor the flags of a `make` that runs these tests bear on what is run.
    others = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "MAKE", "MFLAGS"))}
    return subprocess.run(
        command, cwd=ORDERS, env=others | variables, capture_output=True, text=True, timeout=120, check=False
    )


def simulate(agent: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Simulate the conversations with an agent, with the model server at its side."""
    simulating = [sys.executable, "-m", "tracewitness", "simulate", "simulation.evals.yaml", "--agent", agent]
    models = '--user-model user --judge-model judge --base-url "$OPENAI_BASE_URL"'
    command = f"{shlex.join(simulating)} {models} {shlex.join(options)}"
    return run(sys.executable, "model_server.py", "sh", "-c", command)


# ----------------------------------------------------------------------------------------------------------- the shop


@pytest.fixture
def shop() -> Iterator[Any]:
    opened = SHOP["Shop"]()
    yield opened
    opened.close()


def call(shop: Any, tool: str, **arguments: Any) -> Any:
    return shop.call(tool, json.dumps(arguments))


def test_the_shop_takes_orders_out_of_its_stock(shop: Any) -> None:
    """An order takes its items, until there are too few; a cancelled one puts them back."""
    order = {"item_id": "ITEM-7", "quantity": 2, "customer_id": "c"}
    assert call(shop, "create_order", **order) == {"order_id": "O-1004", "status": "confirmed"}
    assert call(shop, "check_availability", item_id="ITEM-7")["in_stock"] == 1
    assert "error" in call(shop, "create_order", **order)
    assert call(shop, "cancel_order", order_id="O-1004", reason="") == {"order_id": "O-1004", "status": "cancelled"}
    assert "error" in call(shop, "cancel_order", order_id="O-1004", reason="")
    assert call(shop, "check_availability", item_id="ITEM-7")["in_stock"] == 3
    assert shop.orders() == [("O-1003", "ITEM-7", 1, "confirmed"), ("O-1004", "ITEM-7", 2, "cancelled")]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_orders", "{}"),
        ("orders", "{}"),
        ("close", "{}"),
        ("create_order", '{"item_id": "ITEM-7", "quantity": 0, "customer_id": "c"}'),
        ("create_order", '{"item_id": "ITEM-7", "quantity": "2", "customer_id": "c"}'),
        ("create_order", '{"item_id": "ITEM-1", "quantity": 1, "customer_id": "c"}'),
        ("check_availability", '{"item_id": "ITEM-1"}'),
        ("check_availability", '{"item": "ITEM-7"}'),
        ("check_availability", "[1]"),
        ("check_availability", "{"),
    ],
)
def test_the_shop_refuses_what_it_can_not_do(shop: Any, tool: str, arguments: str) -> None:
    """A call that can't work tells the model why, and changes nothing."""
    assert list(shop.call(tool, arguments)) == ["error"]
    assert shop.orders() == [("O-1003", "ITEM-7", 1, "confirmed")]


# --------------------------------------------------------------------------------------------------- the model server


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with SERVER["serving"]() as base_url:
        yield base_url


def client(url: str) -> OpenAI:
    return OpenAI(base_url=url, api_key="none", max_retries=0)


USER = {
    "conversation": [{"agent": "ITEM-42 is in stock. Shall I order it for you?"}],
    "goal": "Order two pieces of ITEM-42",
    "success_criteria": "The agent says that the order is placed, and tells its number",
    "response_guide": "",
    "over": False,
}
FORM = {
    "type": "json_schema",
    "json_schema": {
        "name": "decision",
        "schema": {
            "type": "object",
            "properties": {
                "justification": {"type": "string"},
                "completed": {"type": "boolean"},
                "words": {"type": "string"},
            },
        },
    },
}


def ask(url: str, document: Any, model: str = "user", **fields: Any) -> Any:
    with client(url) as models:
        return models.chat.completions.create(
            model=model, messages=[{"role": "user", "content": json.dumps(document)}], **fields
        )


def test_an_answer_comes_in_the_form_that_is_asked_for(url: str) -> None:
    """With a response format the answer is the content, with one tool it is a call of that."""
    answer = {"justification": "The agent did not say so yet.", "completed": False, "words": "Yes, please."}
    completion = ask(url, USER, response_format=FORM)
    assert json.loads(completion.choices[0].message.content) == answer
    assert completion.usage.total_tokens > 0
    tool = {"type": "function", "function": {"name": "answer", "parameters": FORM["json_schema"]["schema"]}}
    (called,) = ask(url, USER, tools=[tool]).choices[0].message.tool_calls
    assert (called.function.name, json.loads(called.function.arguments)) == ("answer", answer)


def test_the_server_is_deterministic(url: str) -> None:
    """The same request gets the same answer."""
    first, second = (ask(url, USER, response_format=FORM).to_json() for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("document", "fields", "reason"),
    [
        (USER | {"success_criteria": "All is well"}, {"response_format": FORM}, "success_criteria mention one of"),
        (USER | {"conversation": "hi"}, {"response_format": FORM}, "a list 'conversation'"),
        ("hi", {"response_format": FORM}, "a list 'conversation'"),
        (USER, {}, "the request has one tool"),
        (USER, {"response_format": FORM, "stream": True}, "does not stream"),
        (USER, {"response_format": FORM, "model": "judge"}, "judge answers with verdicts"),
        (USER, {"model": "careful"}, "needs the tools"),
        (USER, {"tools": [{"type": "function"}]}, "a field is missing"),
    ],
)
def test_what_the_rules_do_not_know_is_refused(url: str, document: Any, fields: dict[str, Any], reason: str) -> None:
    """A request that isn't understood is a bad request, with the reason, and no made-up answer."""
    with pytest.raises(BadRequestError) as caught:
        ask(url, document, **fields)
    assert reason in str(caught.value)


def test_unknown_models_and_addresses_are_not_found(url: str) -> None:
    """A model that isn't there is told from one that is, by look-up and by request."""
    with client(url) as models:
        assert models.models.retrieve("judge").id == "judge"
        with pytest.raises(NotFoundError, match="the models are user, judge, careful, hasty"):
            models.models.retrieve("gpt")
    with pytest.raises(NotFoundError, match="there is no model 'gpt'"):
        ask(url, USER, model="gpt")


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        ("/chat/completions", b"{", 400, "the body is JSON"),
        ("/chat/completions", b"[]", 400, "a list 'messages'"),
        ("/chat/completions", b'{"messages": []}', 400, "at least one object"),
        ("/chat/completions", b'{"messages": [1]}', 400, "at least one object"),
        ("/completions", b"{}", 404, "there is no /v1/completions"),
    ],
)
def test_garbage_is_refused(url: str, path: str, body: Any, status: int, reason: str) -> None:
    """What is no request of the protocol gets an error of the protocol."""
    request = urllib.request.Request(f"{url}{path}", body, {"Content-Type": "application/json"})  # noqa: S310 - ours
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)  # noqa: S310 - the server is ours
    with caught.value as response:
        assert (response.status, reason in json.load(response)["error"]["message"]) == (status, True)


def test_a_body_of_unknown_length_is_refused(url: str) -> None:
    """A request that does not say how long its body is gets an error, and the connection is closed."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    connection.putrequest("POST", "/v1/chat/completions")
    connection.endheaders()
    with connection.getresponse() as response:
        assert (response.status, json.load(response)["error"]["code"]) == (411, "length_required")
    connection.close()


def test_the_server_gives_back_the_exit_status_of_its_command() -> None:
    """The command finds the server in its environment, and what comes of it is what comes of the whole."""
    script = "import os, sys; print(os.environ['OPENAI_BASE_URL']); sys.exit(3)"
    done = run(sys.executable, "model_server.py", sys.executable, "-c", script)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1\n", done.stdout)
    assert done.returncode == 3


# ----------------------------------------------------------------------------------------------------- the simulation


Simulated = tuple[int, list[dict[str, Any]], Path]


def simulated(agent: str, folder: Path, *options: str) -> Simulated:
    """Simulate, and return the exit status, the rows, and their file."""
    path = folder / "results.json"
    done = simulate(agent, "--output", str(path), *options)
    assert done.stderr == ""
    return done.returncode, json.loads(path.read_text("utf-8")), path


@pytest.fixture(scope="module")
def liar(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    return simulated("agents:HastyDesk", tmp_path_factory.mktemp("liar"))


def test_the_liar_is_caught_while_the_judge_is_content(liar: Simulated) -> None:
    """The judge is content with every run; the tool checks fail the one with the order that was not placed."""
    status, rows, _ = liar
    assert status == 1
    assert [(row["name"], row["passed"], row["judge_passed"]) for row in rows] == [
        ("order-in-stock", False, True),
        ("out-of-stock", True, True),
        ("cancel-order", True, True),
    ]
    claimed = [event["agent"] for event in rows[0]["trace"] if "placed your order" in event.get("agent", "")]
    assert claimed == ["I have placed your order. Its number is O-1004. Is there anything else?"]
    missed = [entry["operator"] for entry in rows[0]["expectation_details"] if entry["status"] == "Not Met"]
    assert missed == ["claim", "tool_called", "tool_output"]


def test_the_rows_can_be_checked_again(liar: Simulated) -> None:
    """`tracewitness check` comes to the same verdicts on the rows."""
    again = run(sys.executable, "-m", "tracewitness", "check", "simulation.evals.yaml", str(liar[2]))
    assert again.returncode == 1
    assert [line.split()[:2] for line in again.stdout.splitlines() if line.startswith(("HELD", "BROKEN"))] == [
        ["BROKEN", "order-in-stock"],
        ["HELD", "out-of-stock"],
        ["HELD", "cancel-order"],
    ]


def test_the_careful_agent_passes_many_times_at_once(tmp_path: Path) -> None:
    """Each conversation has a shop of its own, so every one of many gets its two pieces of seventeen."""
    status, rows, _ = simulated("agents:CarefulDesk", tmp_path, "--runs", "12", "--parallel", "12")
    assert status == 0
    assert Counter(row["name"] for row in rows) == dict.fromkeys(CASES, 12)
    assert all(row["passed"] and row["judge_passed"] for row in rows)
    assert all("O-1004" in row["transcript"] for row in rows if row["name"] == "order-in-stock")


def test_the_agent_as_a_command_does_the_same(tmp_path: Path) -> None:
    """It is spoken to in JSON Lines, and comes to the same calls and verdicts as the class."""
    command = f"cmd: {shlex.quote(sys.executable)} command_agent.py"
    status, rows, _ = simulated(command, tmp_path, "--parallel", "3")
    (tmp_path / "class").mkdir()
    _, others, _ = simulated("agents:CarefulDesk", tmp_path / "class", "--parallel", "3")
    assert status == 0
    told = [[(row["name"], row["transcript"], row["tool_checks"]) for row in each] for each in (rows, others)]
    assert sorted(told[0]) == sorted(told[1])
    assert not any("close_error" in row for row in rows)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_on_a_terminal_the_libraries_are_silent() -> None:
    """What talks to models shows a banner on terminals, which would stand among the lines of the runs."""
    import pty

    terminal, end = pty.openpty()
    simulating = [sys.executable, "-m", "tracewitness", "simulate", "simulation.evals.yaml"]
    options = ["--agent", "agents:CarefulDesk", "--user-model", "user", "--judge-model", "judge"]
    command = f'{shlex.join([*simulating, *options])} --name out-of-stock --base-url "$OPENAI_BASE_URL"'
    # In a run of tests, and where a change is judged, it is not shown anyway.
    hidden = ("CI", "OPENAI_", "PYDANTIC_", "PYTEST_")
    others = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    process = subprocess.Popen(
        [sys.executable, "model_server.py", "sh", "-c", command], cwd=ORDERS, stdout=end, stderr=end, env=others
    )
    os.close(end)
    shown = b""
    with contextlib.suppress(OSError):  # its other end was closed
        while chunk := os.read(terminal, 65536):
            shown += chunk
    os.close(terminal)
    assert process.wait(timeout=60) == 0
    assert b"1 run passed, 0 failed" in shown
    assert b"ydantic" not in shown


def without_measures(text: str) -> str:
    """Return a text without times, and without tokens, which follow every change of a prompt."""
    return re.sub(r"\b[\d.,]+( s\)| tokens)", r"…\1", text)


def test_the_demo_prints_what_the_readme_shows() -> None:
    """`make demo-simulate` succeeds, and prints what the example's README shows, but for times and tokens."""
    readme = (ORDERS / "README.md").read_text("utf-8")
    block = re.search(r"^```console\n\$ (.*?)\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert block
    command, shown = block.groups()
    folder = Path(sys.executable).parent  # where all is installed, so that `make` has nothing to install
    making = f"make --silent --no-print-directory -C {ROOT} -o ready/.simulate VENV=ready BIN={folder} demo-simulate"
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = run(*shlex.split(making if shutil.which("make") else command), PATH=path)
    assert (done.returncode, done.stderr) == (0, "")
    assert without_measures(done.stdout) == without_measures(shown)


def test_a_wrong_exit_status_fails_the_demo(tmp_path: Path) -> None:
    """The script does not hide it where a simulation ends in another way than it should."""
    fake = tmp_path / "tracewitness"
    fake.write_text("#!/bin/sh\nexit 3\n", "utf-8")
    fake.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = run(sys.executable, "model_server.py", "sh", "simulate.sh", PATH=path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "exit status 3 (0: it did what it said)")

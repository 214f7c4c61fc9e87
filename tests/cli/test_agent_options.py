"""Headers and instructions of an agent behind an address: what they may be, and that no value of a header is shown."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracewitness.cli.agent_options import headers_from, instructions_from
from tracewitness.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "evals" / "simulation"))

SECRET = "sesame-opens-9f8e7d"  # noqa: S105 - it is nobody's


@pytest.mark.parametrize(
    ("given", "headers"),
    [
        ([], None),
        (["X-Shop=Bern"], {"X-Shop": "Bern"}),
        (["X-Query=a=b"], {"X-Query": "a=b"}),
        (["Authorization=Bearer $DESK_TOKEN"], {"Authorization": f"Bearer {SECRET}"}),
        (["A=${DESK_TOKEN}x", "B=$$5"], {"A": f"{SECRET}x", "B": "$5"}),
    ],
)
def test_headers(given: list[str], headers: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_TOKEN", SECRET)
    assert headers_from(given) == headers


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([f"Bearer {SECRET}"], "a header is NAME=VALUE, such as 'Authorization=Bearer $TOKEN'; the one given is not"),
        (["A=1", f"B {SECRET}=1"], "number 2 of 2 is not"),
        ([f"={SECRET}"], "a header is NAME=VALUE"),
        ([f"A\n={SECRET}"], "a header is NAME=VALUE"),
        (["A="], "the value of the header A is empty"),
        ([f"A={SECRET}\nX: y"], "has characters that a header can't have"),
        ([f"A={SECRET}ü"], "has characters that a header can't have"),
        ([f"A= {SECRET}"], "has characters that a header can't have"),
        ([f"A={SECRET}$"], "the header A has a $ that begins no name of a variable; a dollar is $$"),
        (["A=$NOT_THERE"], "the header A needs the variable NOT_THERE, which is not in the environment"),
        (["A=$LINES_OF"], "has characters that a header can't have"),
        ([f"X-Key={SECRET}", f"x-key={SECRET}"], "the header x-key is given twice"),
    ],
)
def test_headers_that_are_none(given: list[str], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what is wrong and shows no value."""
    monkeypatch.delenv("NOT_THERE", raising=False)
    monkeypatch.setenv("LINES_OF", f"{SECRET}\n")
    with pytest.raises(UsageError) as caught:
        headers_from(given)
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)


def test_instructions(tmp_path: Path) -> None:
    """A text, or what stands in a file; the text is never taken for the name of a file."""
    (tmp_path / "desk.txt").write_text("Be brief.\nÜ\n", "utf-8")
    assert instructions_from(None) is None
    assert instructions_from("desk.txt") == "desk.txt"
    assert instructions_from(f"@{tmp_path / 'desk.txt'}") == "Be brief.\nÜ\n"
    (tmp_path / "odd.txt").write_bytes(b"a\xff")
    (tmp_path / "empty.txt").write_bytes(b"\n")
    for given, words in (
        (f"@{tmp_path / 'none.txt'}", "can't be read: No such file or directory"),
        (f"@{tmp_path}", "can't be read: Is a directory"),
        (f"@{tmp_path / 'odd.txt'}", "are no UTF-8 at byte 1 of 2 bytes"),
        (f"@{tmp_path / 'empty.txt'}", "empty.txt has no instructions in it"),
        ("", "--agent-instructions has no instructions in it"),
        ("@", "can't be read"),
    ):
        with pytest.raises(UsageError) as caught:
            instructions_from(given)
        assert words in str(caught.value)


def simulate(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "suite.yaml").write_text("evals: [{name: a, steps: [{static_utterance: hi}]}]", "utf-8")
    files = ["-o", "results.json", "--json", "report.json", "--journal", "journal", "--record", "traffic"]
    others = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return subprocess.run(
        [sys.executable, "-m", "tracewitness", "simulate", "suite.yaml", *options, *files, "--retries", "0"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=others | {"PYTHONPATH": str(ROOT / "src"), "DESK_TOKEN": SECRET},
    )


def everything(folder: Path, done: subprocess.CompletedProcess[str]) -> str:
    """Return all that was printed and written."""
    files = [path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()]
    return "\n".join([done.stdout, done.stderr, *files])


def test_they_reach_the_agent_and_no_report(tmp_path: Path) -> None:
    """The values of headers are in no file and no line; of instructions only a hash is in the journal."""
    pytest.importorskip("openai")
    from endpoints import Endpoint

    endpoint = Endpoint()
    (tmp_path / "desk.txt").write_text("Be discreet about the plan.", "utf-8")
    options = ["--agent-header", "Authorization=Bearer $DESK_TOKEN", "--agent-header", "X-Shop=Bern"]
    try:
        done = simulate(tmp_path, "--agent", endpoint.url, *options, "--agent-instructions", "@desk.txt")
    finally:
        endpoint.close()
    (tmp_path / "desk.txt").unlink()
    assert done.returncode == 0, done.stderr
    assert endpoint.headers[0]["authorization"] == f"Bearer {SECRET}"
    assert endpoint.headers[0]["x-shop"] == "Bern"
    assert endpoint.asked[0]["messages"][0] == {"role": "system", "content": "Be discreet about the plan."}
    written = everything(tmp_path, done)
    assert '"agent_headers":["Authorization","X-Shop"]' in written
    assert not any(secret in written for secret in (SECRET, "discreet", "Bern"))


@pytest.mark.parametrize("status", [200, 404, 503])
def test_a_password_in_an_address_is_sent_and_not_shown(tmp_path: Path, status: int) -> None:
    pytest.importorskip("openai")
    from endpoints import Endpoint, completion

    endpoint = Endpoint()
    endpoint.answer = lambda _: (status, completion("Hello."))
    try:
        done = simulate(tmp_path, "--agent", endpoint.url.replace("//", "//me:pass-word-17@"))
    finally:
        endpoint.close()
    assert endpoint.headers[0]["authorization"].startswith("Basic ")
    assert (done.returncode, done.stderr == "") == ((0, True) if status == 200 else (3, False))
    assert "pass-word-17" not in everything(tmp_path, done)


@pytest.mark.parametrize("status", [401, 500, 200])
def test_a_server_that_quotes_a_header_is_not_quoted(tmp_path: Path, status: int) -> None:
    pytest.importorskip("openai")
    from endpoints import Endpoint

    endpoint = Endpoint()
    endpoint.answer = lambda _: (status, {"error": {"message": f"who is {SECRET}?"}})
    try:
        header = ["--agent-header", "Authorization=Bearer $DESK_TOKEN"]
        done = simulate(tmp_path, "--agent", endpoint.url, *header)
    finally:
        endpoint.close()
    assert done.returncode == 3, done.stderr
    written = everything(tmp_path, done)
    assert "who is ***?" in written
    assert SECRET not in written
    (row,) = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert row["error_kind"] == "infrastructure"


def test_another_header_or_instruction_is_another_simulation(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    from endpoints import Endpoint

    endpoint = Endpoint()
    try:
        simulate(tmp_path, "--agent", endpoint.url, "--agent-instructions", "a")
        for options, words in (
            (["--agent-instructions", "b"], "agent_instructions was '"),
            (["--agent-instructions", "a", "--agent-header", "X=1"], "agent_headers was [] and is ['X']"),
        ):
            refused = simulate(tmp_path, "--agent", endpoint.url, *options, "--resume")
            assert refused.returncode == 2
            assert words in refused.stderr
        assert simulate(tmp_path, "--agent", endpoint.url, "--agent-instructions", "a", "--resume").returncode == 0
    finally:
        endpoint.close()

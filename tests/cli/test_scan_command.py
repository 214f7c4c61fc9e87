"""``tracewitness scan`` and ``query`` from the outside."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracewitness.cli.scan_progress import progress_text

SUITE = """
common_tool_expectations:
- {type: tool_called, tool: pay}
evals:
- name: refund
  tool_expectations:
  - {type: tool_not_called, tool: delete}
"""


def row(number: int, tool: str, name: str | None = None) -> dict[str, object]:
    events = [{"user": "hi"}, {"call": tool, "args": {"n": number}}]
    return {"name": name or f"run-{number}", "model": f"m-{number % 2}", "events": events}


GOOD = [row(number, "pay") for number in range(6)] + [row(6, "pay", "refund")]
BROKEN = [*GOOD, row(7, "wait"), row(8, "delete", "refund"), row(9, "wait")]


def lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(each) + "\n" for each in rows)


def run(folder: Path, *arguments: str, given: str | None = None, code: str = "") -> tuple[int, str, str]:
    """Run the command line in a folder; ``code`` runs before it."""
    program = f"{code}\nfrom tracewitness.cli import main\nif __name__ == '__main__': main()"
    (folder / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py", *arguments],
        cwd=folder,
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pay.evals.yaml").write_text(SUITE)
    (tmp_path / "good.jsonl").write_text(lines(GOOD))
    (tmp_path / "broken.jsonl").write_text(lines(BROKEN))
    return tmp_path


def test_all_held(folder: Path) -> None:
    status, said, errors = run(folder, "scan", "pay.evals.yaml", "good.jsonl", "-o", "v.parquet", "--workers", "1")
    assert (status, errors) == (0, "")
    assert said.startswith("7 runs: 7 held, 0 broken; ")
    assert said.endswith(", read as neutral; v.parquet\n")


def test_the_summary(folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "a.jsonl").write_text(lines(BROKEN) + "oh\n")
    status, said, _ = run(
        folder, "scan", "pay.evals.yaml", "in", "-o", "v.parquet", "--by", "model", "--sample", "2", "--workers", "1"
    )
    assert status == 2
    sections = {part.splitlines()[0]: part.splitlines()[1:] for part in said.split("\n\n")}
    assert sections["checks by how often they are not held:"] == [
        "   50.0 % (95 %: 9.5 to 90.5)  1 of 2  tool_called pay  (refund)  e.g. in/a.jsonl#9",
        "   50.0 % (95 %: 9.5 to 90.5)  1 of 2  tool_not_called delete  (refund)  e.g. in/a.jsonl#9",
        "   25.0 % (95 %: 7.1 to 59.1)  2 of 8  tool_called pay  (common to all)  e.g. in/a.jsonl#8, in/a.jsonl#10",
    ]
    assert sections["tools by checks that are not held:"] == ["          3  pay", "          1  delete"]
    assert sections["reasons:"][0] == "          2  tool_called pay: pay was never called; called were wait"
    assert sections["records that can't be read, for example:"][0].startswith("  in/a.jsonl#11: not JSON")
    assert [" ".join(line.split()) for line in sections["broken by model:"]] == [
        "20.0 % (95 %: 3.6 to 62.4) 1 of 5 m-0",
        "40.0 % (95 %: 11.8 to 76.9) 2 of 5 m-1",
        "no run could be read (none), 1 could not be read",
    ]
    last = said.splitlines()[-2:]
    assert last[0].startswith("11 runs: 7 held, 3 broken, 1 could not be read; ")
    assert last[1] == "2 broken runs saved in v.parquet.sample; tracewitness check reads that folder"
    assert all(line.isprintable() for line in said.splitlines())


def test_the_sample_is_checked_as_the_whole_was(folder: Path) -> None:
    arguments = ("scan", "pay.evals.yaml", "broken.jsonl", "-o", "v.parquet", "-q", "--sample", "9", "--workers", "1")
    assert run(folder, *arguments, "--sample-to", "kept")[0] == 1
    status, said, _ = run(folder, "check", "pay.evals.yaml", "kept")
    assert status == 1
    assert said.splitlines()[-1].startswith("0 runs held, 3 broken")
    saved = sorted(path.read_text() for path in (folder / "kept").rglob("*.json"))
    assert saved == sorted(map(json.dumps, BROKEN[7:]))
    again = run(folder, *arguments, "--sample-to", "kept")
    assert again[0] == 2
    assert "kept is not empty" in again[2]


def test_a_sample_depends_on_its_seed_alone(folder: Path) -> None:
    (folder / "many.jsonl").write_text(lines([row(number, "wait") for number in range(300)]))
    arguments = ("scan", "pay.evals.yaml", "many.jsonl", "-q", "--sample", "5", "--allow-missing")

    def saved(name: str, *more: str) -> list[str]:
        run(folder, *arguments, "-o", f"{name}.parquet", *more)
        return sorted(path.read_text() for path in (folder / f"{name}.parquet.sample").rglob("*.json"))

    one = saved("a", "--workers", "1")
    assert len(one) == 5
    assert one == saved("b", "--workers", "2")
    assert one != saved("c", "--workers", "1", "--seed", "1")


def test_the_standard_input(folder: Path) -> None:
    arguments = ("scan", "pay.evals.yaml", "-", "-o", "v.parquet", "--workers", "1")
    assert run(folder, *arguments, given=lines(GOOD))[0] == 0
    assert set(pq.read_table(folder / "v.parquet").column("source").to_pylist()) == {"<stdin>"}
    status, _, errors = run(folder, *arguments, "--resume", given=lines(GOOD))
    assert (status, errors) == (
        2,
        "error: a scan of the standard input or of a pipe can't be resumed: what was read of it is gone\n",
    )
    status, said, _ = run(folder, *arguments, given="\n")
    assert status == 2
    assert "<stdin>#0: the file is empty" in said
    status, _, errors = run(folder, *arguments, "--max-errors", "0", given="oh")
    assert status == 2
    assert "1 record can't be read, more than the 0 that are allowed" in errors
    assert not (folder / "v.parquet.parts").exists()


def test_a_table_with_its_columns(folder: Path) -> None:
    messages = '[{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "pay", "arguments": "{}"}}]}]'
    table = pa.table({"said": [messages, messages], "model": ["m-1", None], "name": ["refund", "x"]})
    pq.write_table(table, folder / "t.parquet")
    arguments = ("--column", "said", "--by", "model", "--workers", "1", "-o", "v.parquet")
    assert run(folder, "scan", "pay.evals.yaml", "t.parquet", *arguments)[0] == 0
    found = pq.read_table(folder / "v.parquet").to_pylist()
    assert [(each["case"], each["by_model"]) for each in found] == [("refund", "m-1")] * 3 + [(None, None)] * 2


@pytest.mark.parametrize(
    ("allowed", "status"),
    [((), 1), (("--allow-missing",), 0)],
)
def test_a_case_without_a_run(allowed: tuple[str, ...], status: int, folder: Path) -> None:
    (folder / "some.jsonl").write_text(lines(GOOD[:3]))
    arguments = ("scan", "pay.evals.yaml", "some.jsonl", "-o", "v.parquet", "--workers", "1", *allowed)
    found, said, _ = run(folder, *arguments)
    assert found == status
    assert "1 case without a run:\n  refund\n" in said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("none.yaml", "good.jsonl", "-o", "v.parquet"), "none.yaml: there is no such file"),
        (("pay.evals.yaml", "none", "-o", "v.parquet"), "none: it can't be read: No such file"),
        (("pay.evals.yaml", "good.jsonl", "-o", "v.txt"), "ends in .parquet"),
        (("pay.evals.yaml", "good.jsonl", "-o", "v.parquet", "--case", "refun"), "refund was meant"),
        (("pay.evals.yaml", "good.jsonl", "-o", "v.parquet", "--format", "neutrl"), "neutral was meant"),
        (("pay.evals.yaml", "good.jsonl", "-o", "v.parquet", "--workers", "0"), "from 1 to 10000"),
    ],
)
def test_what_cannot_be_used_is_one_line(arguments: tuple[str, ...], why: str, folder: Path) -> None:
    status, said, errors = run(folder, "scan", *arguments)
    assert (status, said) == (2, "")
    assert why in errors
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert not list(folder.glob("v.*"))


@pytest.mark.parametrize(
    ("missing", "arguments"),
    [
        ("pyarrow", ("scan", "pay.evals.yaml", "good.jsonl", "-o", "v.parquet")),
        ("duckdb", ("query", "v.parquet", "select 1")),
        ("fsspec", ("scan", "pay.evals.yaml", "memory://x", "-o", "w.parquet")),
    ],
)
def test_a_missing_extra_says_what_to_install(missing: str, arguments: tuple[str, ...], folder: Path) -> None:
    if arguments[0] == "query":
        run(folder, "scan", "pay.evals.yaml", "good.jsonl", "-o", "v.parquet", "--workers", "1")
    status, _, errors = run(folder, *arguments, code=f"import sys; sys.modules[{missing!r}] = None")
    assert status == 2
    assert f"needs {missing}: pip install 'tracewitness[batch]'" in errors
    assert errors.count("\n") == 1


def test_progress_goes_to_a_terminal_alone(folder: Path) -> None:
    first, second = pty.openpty()
    command = [sys.executable, "-m", "tracewitness", "scan", "pay.evals.yaml", "good.jsonl", "-o", "v.parquet", "-q"]
    with subprocess.Popen([*command, "--workers", "1"], cwd=folder, stdout=subprocess.PIPE, stderr=second) as process:
        os.close(second)
        shown = b""
        with suppress(OSError):  # which is how the end of a terminal is told
            while piece := os.read(first, 10_000):
                shown += piece
        said = process.stdout.read() if process.stdout else b""
    os.close(first)
    assert b"7 runs" in shown
    assert said.count(b"\n") == 1


def test_progress_in_words() -> None:
    from tracewitness.batch.scanning import Progress

    assert progress_text(Progress(500, 25, 100, 2.0)) == "500 runs, 250 a second, 6 s left"
    assert progress_text(Progress(500, 1, 1000, 4.0)) == "500 runs, 125 a second, 1 h 6 min left"
    assert progress_text(Progress(500, 25, None, 2.0)) == "500 runs, 250 a second"
    assert progress_text(Progress(0, 0, 100, 0.0)) == "0 runs, 0 a second"


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scanned")
    (folder / "pay.evals.yaml").write_text(SUITE)
    (folder / "broken.jsonl").write_text(lines([*BROKEN, row(1, "wa\u202eit")]))
    for name in ("v.parquet", "v.jsonl"):
        run(folder, "scan", "pay.evals.yaml", "broken.jsonl", "-o", name, "--by", "model", "--workers", "1")
    return folder


QUERY = """select label, status, count(*) as n from verdicts where status = 'broken' and "case" is null group by all"""


@pytest.mark.parametrize("name", ["v.parquet", "v.jsonl"])
def test_a_query(name: str, scanned: Path) -> None:
    status, said, errors = run(scanned, "query", name, QUERY)
    assert (status, errors) == (0, "")
    assert said == "label            status  n\n---------------  ------  -\ntool_called pay  broken  3\n"
    _, said, _ = run(scanned, "query", name, QUERY, "--json")
    assert json.loads(said) == {"label": "tool_called pay", "status": "broken", "n": 3}
    _, said, _ = run(scanned, "query", name, "select trace_id, evidence, by_model from verdicts limit 1", "--csv")
    assert list(csv.reader(io.StringIO(said))) == [
        ["trace_id", "evidence", "by_model"],
        ["broken.jsonl#1", "[1]", "m-0"],
    ]
    _, said, _ = run(scanned, "query", name, "select justification from verdicts where record = 11")
    assert all(line.isprintable() for line in said.splitlines())


@pytest.mark.parametrize(
    "sql",
    [
        "select * from 'program.py'",
        "select * from read_csv('/etc/hostname')",
        "select * from read_parquet('v.parquet')",
        "select * from glob('*')",
        "copy verdicts to 'out.csv'",
        "attach 'out.db' as other",
        "set enable_external_access = true",
        "install httpfs",
        "load httpfs",
        "export database 'out'",
        "selec 1",
        "select none from verdicts",
        "delete from verdicts",
    ],
)
def test_a_query_sees_the_verdicts_alone_and_changes_nothing(sql: str, scanned: Path) -> None:
    before = sorted(path.name for path in scanned.iterdir())
    verdicts = (scanned / "v.parquet").read_bytes()
    status, said, errors = run(scanned, "query", "v.parquet", sql)
    assert (status, said) == (2, "")
    assert errors.startswith("error: the query can't be run: ")
    assert errors.count("\n") == 1
    assert sorted(path.name for path in scanned.iterdir()) == before
    assert (scanned / "v.parquet").read_bytes() == verdicts


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("none.parquet", None, "there is no such file"),
        ("bad.parquet", b"oh", "it can't be read"),
        ("bad.jsonl", b"oh", "it can't be read"),
        ("empty.jsonl", b"", "it can't be read"),
        ("other.jsonl", b'{"a": 1}\n', "its first line is no verdict"),
    ],
)
def test_files_without_verdicts(name: str, data: bytes | None, why: str, tmp_path: Path) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    status, _, errors = run(tmp_path, "query", name, "select 1")
    assert status == 2
    assert why in errors
    assert errors.count("\n") == 1


def test_a_parquet_file_of_something_else(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    status, _, errors = run(tmp_path, "query", "a.parquet", "select 1")
    assert (status, errors) == (2, "error: a.parquet: it holds no verdicts of a scan: it has no column trace_id\n")

"""The journal: nothing that was finished is lost, and nobody else writes into it."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scripted_agents import CREATED, case, suite

from tracewitness.errors import UsageError
from tracewitness.evals.simulation.journal import Identity, Journal, write_results
from tracewitness.evals.simulation.results import Row

IDENTITY = Identity.of(suite(), {"agent": "shop:reply", "runs": 2})


def row(run: int, outcome: str = "passed", name: str = "order") -> Row:
    return Row({"name": name, "run": run, "passed": outcome == "passed", "outcome": outcome, "words": "ü\u2028\n"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def written(path: Path, *rows: Row) -> Path:
    with Journal(path, IDENTITY) as journal:
        for each in rows:
            journal.append(each)
    return path


def test_rows_are_found_again(path: Path) -> None:
    """Rows come back in the order that is asked for; a later row of a run stands in the place of an earlier."""
    written(path, row(1), row(2, "infrastructure"), row(3, "inconclusive"))
    with Journal(path, IDENTITY, resume=True) as journal:
        assert journal.finished == {("order", 1)}
        journal.append(row(2, "failed"))
        assert journal.finished == {("order", 1), ("order", 2)}
        assert [each.outcome for each in journal.rows([("order", 2), ("order", 9), ("order", 1)])] == [
            "failed",
            "passed",
        ]
    with Journal(path, IDENTITY, resume=True) as journal:
        assert [each.key[1] for each in journal.rows()] == [1, 2, 3]
        assert journal.notices == []


@pytest.mark.parametrize("cut", range(1, 88, 8))
def test_a_torn_last_line_is_dropped_and_named(path: Path, cut: int) -> None:
    """Wherever a process was killed while it wrote, the rows before are there, and writing goes on."""
    written(path, row(1))
    whole = path.stat().st_size
    with Journal(path, IDENTITY, resume=True) as journal:
        begun = path.stat().st_size
        journal.append(row(2))
    path.write_bytes(path.read_bytes()[: begun + cut])
    with Journal(path, IDENTITY, resume=True) as journal:
        assert journal.finished == {("order", 1)}
        assert journal.notices == [f"{path}, line 5: the last line was torn, so its run is not in the journal"]
        journal.append(row(3))
    with Journal(path, IDENTITY, resume=True) as journal:
        assert journal.finished == {("order", 1), ("order", 3)}
        assert journal.notices == []
    assert whole < begun


def test_a_tail_of_zeros_is_dropped(path: Path) -> None:
    """So a file can end after the power went."""
    written(path, row(1))
    with path.open("ab") as file:
        file.write(b"\0" * 100 + b"\n")
    with Journal(path, IDENTITY, resume=True) as journal:
        assert journal.finished == {("order", 1)}
        assert len(journal.notices) == 1


@pytest.mark.parametrize("length", [0, 1, 10, 30, 60])
def test_a_torn_first_line_begins_anew(path: Path, length: int) -> None:
    """A process that was killed at once leaves nothing to go on with, and nothing in the way."""
    written(path)
    path.write_bytes(path.read_bytes()[:length])
    with Journal(path, IDENTITY, resume=True) as journal:
        journal.append(row(1))
    with Journal(path, IDENTITY, resume=True) as journal:
        assert journal.finished == {("order", 1)}


def test_without_resume_rows_are_not_touched(path: Path) -> None:
    """A journal with rows is refused; one without is begun anew, for whatever simulation."""
    written(path)
    with Journal(path, Identity.of(suite(case("other")), {})) as journal:
        journal.append(row(1))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="has 1 row of a simulation already; --resume goes on with it"):
        Journal(path, IDENTITY)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("identity", "named"),
    [
        (
            Identity.of(suite(case("order", CREATED)), {"agent": "shop:reply", "runs": 2}),
            "the cases of 'suite.yaml' were",
        ),
        (Identity.of(suite(), {"agent": "shop:lie", "runs": 2}), "agent was 'shop:reply' and is 'shop:lie'"),
        (Identity.of(suite(), {"agent": "shop:reply"}), "runs was 2 and is None"),
    ],
)
def test_another_simulation_is_refused(path: Path, identity: Identity, named: str) -> None:
    """What differs is named, and the file stays as it was."""
    before = written(path, row(1)).read_bytes()
    with pytest.raises(UsageError, match=named):
        Journal(path, identity, resume=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [b"evals:\n", b"evals", b'{"a":1}\n', b'[{"name":"a"}]\n', b"\n", b'{"journal":"other"}\n', b"\xff\xfe\n"],
)
def test_a_file_that_is_no_journal_stays_as_it_is(path: Path, content: bytes) -> None:
    """A wrong name destroys nothing."""
    path.write_bytes(content)
    for resume in (False, True):
        with pytest.raises(UsageError, match="is no journal of a simulation"):
            Journal(path, IDENTITY, resume=resume)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda lines: [lines[0].replace(b'"version":1', b'"version":2'), *lines[1:]], "a journal of version 2, not 1"),
        (lambda lines: [*lines[:2], b"torn\n", *lines[2:]], "line 3: this is no JSON"),
        (lambda lines: [*lines, b'{"row":{"name":"a"}}\n'], "line 5: no row"),
    ],
)
def test_a_file_that_was_edited_is_refused(path: Path, change: Any, named: str) -> None:
    """Only the last line may be torn; the rest of a journal can't be wrong by accident."""
    written(path, row(1), row(2))
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(UsageError, match=named):
        Journal(path, IDENTITY, resume=True)


def test_two_processes_never_have_one_journal(path: Path) -> None:
    """The second is refused and told who has it; when that process is gone, however it went, the file is free."""
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[2])\n"
        "from test_journal import *\n"
        "journal = Journal(sys.argv[1], IDENTITY); journal.append(row(1)); print('open', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path), str(Path(__file__).parent)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        for resume in (False, True):
            with pytest.raises(UsageError, match=f"is in use by process {holder.pid} on .*, since 20"):
                Journal(path, IDENTITY, resume=resume)
    finally:
        holder.kill()
        holder.communicate()
    with Journal(path, IDENTITY, resume=True) as journal:
        assert journal.finished == {("order", 1)}


def test_the_lock_holds_within_a_process_too(path: Path) -> None:
    """And it is free again when the journal is closed."""
    with Journal(path, IDENTITY), pytest.raises(UsageError, match=f"in use by process {os.getpid()}"):
        Journal(path, IDENTITY)
    with Journal(path, IDENTITY):
        pass


def test_a_deleted_journal_keeps_nobody_out(path: Path) -> None:
    """Who opened the file before it was deleted does not write into nowhere."""
    with Journal(path, IDENTITY) as journal:
        journal.remove()
    assert not path.exists()
    with Journal(path, IDENTITY) as journal:
        journal.append(row(1))
    assert path.exists()


def test_a_full_disk_leaves_whole_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written wholly is taken back, and the error says what to do."""
    with Journal(path, IDENTITY) as journal:
        journal.append(row(1))

        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(UsageError, match="can't be written: No space left on device; make room"):
            journal.append(row(2))
    monkeypatch.undo()
    with Journal(path, IDENTITY, resume=True) as journal:
        assert journal.finished == {("order", 1)}
        assert journal.notices == []


def test_what_can_be_no_journal(tmp_path: Path) -> None:
    """A folder, a place without a folder, a device: each is an error of one line."""
    for bad in (tmp_path, tmp_path / "none" / "journal", Path(os.devnull)):
        with pytest.raises(UsageError, match="name another with --journal"):
            Journal(bad, IDENTITY)


def test_results_are_written_whole(tmp_path: Path) -> None:
    """A results file is a JSON array; one that can't be completed leaves the old one."""
    path = tmp_path / "results.json"
    write_results(path, [row(1), row(2)])
    assert [each["run"] for each in json.loads(path.read_bytes())] == [1, 2]

    def failing() -> Any:
        yield row(3)
        raise OSError(errno.EIO, "broken")

    with pytest.raises(UsageError, match=r"results\.json can't be written: broken"):
        write_results(path, failing())
    assert [each["run"] for each in json.loads(path.read_bytes())] == [1, 2]
    assert [each.name for each in tmp_path.iterdir()] == ["results.json"]
    write_results(path, [])
    assert json.loads(path.read_bytes()) == []


@pytest.mark.parametrize("name", [os.devnull, "/dev/full", ".", "none/results.json", "/proc/results"])
def test_what_can_be_no_results(name: str) -> None:
    """What is no regular file is never put in another file's place, nor written over."""
    if not Path(name).parent.exists() and name.startswith("/"):
        pytest.skip(f"there is no {name} here")
    with pytest.raises(UsageError, match=re.escape(name)):
        write_results(name, [row(1)])
    assert not Path(os.devnull).is_file()


def test_a_completed_journal_is_begun_anew(path: Path) -> None:
    """It holds nothing that is not in the results; a row after that is something again."""
    with Journal(path, IDENTITY) as journal:
        journal.append(row(1))
        journal.complete()
        journal.complete()
    with Journal(path, IDENTITY, resume=True) as journal:
        assert journal.finished == journal.keys == {("order", 1)}
        journal.complete()
    assert path.read_text("utf-8").count("completed") == 1
    with Journal(path, Identity.of(suite(case("other")), {})) as journal:
        assert journal.is_empty
        journal.append(row(1, name="other"))
    with pytest.raises(UsageError, match="has 1 row of a simulation already"):
        Journal(path, IDENTITY)
    with Journal(path, Identity.of(suite(case("other")), {}), resume=True) as journal:
        journal.complete()
        journal.append(row(2, name="other"))
    with pytest.raises(UsageError, match="has 2 rows of a simulation already"):
        Journal(path, IDENTITY)


def test_a_journal_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where somebody goes to another folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with Journal("j", IDENTITY) as journal:
        monkeypatch.chdir(tmp_path / "elsewhere")
        journal.append(row(1))
        assert [each.key for each in journal.rows()] == [("order", 1)]
        journal.remove()
    assert list(tmp_path.rglob("*")) == [tmp_path / "elsewhere"]

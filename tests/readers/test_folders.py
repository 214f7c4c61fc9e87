"""Folders, links and pipes: every file that may hold a run is read, or named with the reason why it is not."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tracewitness.errors import ReadError
from tracewitness.readers import Run, iter_rows, iter_runs, rows

_ROW = json.dumps({"name": "n", "events": [{"call": "a"}]})
_LINES = f"{_ROW}\n\n{_ROW}\n"


def _write(path: Path, text: str = _ROW) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _found(folder: Path) -> dict[str, str]:
    """Return for each run under a folder where it was, and what was wrong with it."""
    return {Path(run.source).relative_to(folder).as_posix(): _problem(run) for run in iter_runs([folder])}


def _problem(run: Run) -> str:
    return run.error.problem if run.error else ""


@pytest.mark.parametrize("name", ["BAD.JSON", "b.Json", "b.JSONL", "b.NDJSON"])
def test_endings_in_capitals_count(tmp_path: Path, name: str) -> None:
    """A file is what its ending says in any case of letters."""
    _write(tmp_path / name, "oops\n" + _ROW)
    _write(tmp_path / "a.json")
    runs = [run for run in iter_runs([tmp_path]) if run.source.endswith(name)]
    is_lines = name.lower() != "bad.json" and not name.lower().endswith(".json")
    assert [run.error is None for run in runs] == ([False, True] if is_lines else [False])


def test_links_are_followed(tmp_path: Path) -> None:
    """Runs behind links to files and to folders are read as if they stood there."""
    folder, elsewhere = tmp_path / "runs", tmp_path / "elsewhere"
    _write(folder / "a.json")
    _write(elsewhere / "deep" / "b.json")
    _write(tmp_path / "plain")
    (folder / "linked").symlink_to(elsewhere)
    (folder / "c.json").symlink_to(tmp_path / "plain")
    assert _found(folder) == {"a.json": "", "c.json": "", "linked/deep/b.json": ""}
    assert [_problem(run) for run in iter_runs([folder / "linked"])] == [""]


def test_loops_of_links_end(tmp_path: Path) -> None:
    """A folder is read once, however many links lead back to it."""
    for name in ("x", "y", "x/z"):
        _write(tmp_path / name / "a.json")
        for number in range(3):
            (tmp_path / name / f"loop{number}").symlink_to(tmp_path)
            (tmp_path / name / f"other{number}").symlink_to(tmp_path / "y")
    runs = list(iter_runs([tmp_path]))
    assert sorted(os.path.realpath(run.source) for run in runs) == sorted(
        str((tmp_path / name / "a.json").resolve()) for name in ("x", "y", "x/z")
    )


def test_links_that_lead_nowhere_are_named(tmp_path: Path) -> None:
    """They may have led to runs: to a result file by their ending, to a folder where they have none."""
    _write(tmp_path / "a.json")
    for name in ("gone.json", "GONE.JSONL", "folder", "notes.txt"):
        (tmp_path / name).symlink_to(tmp_path / "nowhere" / name)
    (tmp_path / "self.json").symlink_to(tmp_path / "self.json")
    what = "a link that leads nowhere"
    names = ("gone.json", "GONE.JSONL", "folder", "self.json")
    assert _found(tmp_path) == {"a.json": "", **dict.fromkeys(names, what)}
    with pytest.raises(ReadError, match=what):
        next(iter_runs([tmp_path / "gone.json"]))


def test_a_folder_of_nothing_but_dead_links_is_no_empty_folder(tmp_path: Path) -> None:
    """What is wrong is said, not that there is no file."""
    (tmp_path / "a.json").symlink_to("nowhere")
    assert _found(tmp_path) == {"a.json": "a link that leads nowhere"}


def _refuse(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, refused: Path) -> None:
    """Let a function of the system refuse one path. The tests may run as root, whom nothing is refused."""
    real = getattr(owner, name)

    def refuse(path: Any = ".", *args: Any, **options: Any) -> Any:
        if Path(path) == refused:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **options)

    monkeypatch.setattr(owner, name, refuse)


@pytest.mark.parametrize("at", ["closed", "open/closed", "."])
def test_folders_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """A folder that may not be looked into may hold runs, also where it is the one that was given."""
    _write(tmp_path / at / "a.json")
    _write(tmp_path / "b.json")
    _refuse(monkeypatch, os, "scandir", tmp_path / at)
    problem = "a folder that can't be read: Permission denied"
    assert _found(tmp_path) == ({".": problem} if at == "." else {"b.json": "", at: problem})


def test_files_that_cannot_be_looked_at_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's reason is passed on, in a folder and for a path that was given."""
    closed = _write(tmp_path / "a.json")
    _write(tmp_path / "b.json")
    _refuse(monkeypatch, Path, "stat", closed)
    assert _found(tmp_path) == {"a.json": "it can't be read: Permission denied", "b.json": ""}
    with pytest.raises(ReadError, match="Permission denied"):
        next(iter_runs([closed]))


def test_a_path_that_cannot_be_one_is_an_error() -> None:
    """Whatever the system says to it, it is this library's error."""
    for path in ("a\0b", "x" * 5000):
        with pytest.raises(ReadError):
            next(iter_runs([path]))


# ---------------------------------------------------------------------------------------------------------------- pipes


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """Return a named pipe."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def _feed(pipe: Path, text: str) -> threading.Thread:
    writer = threading.Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    return writer


_SHAPES = {
    "a trace": (_ROW, 1),
    "an array": (f"[{_ROW}, {_ROW}]", 2),
    "results": (f'{{"results": [{_ROW}, {_ROW}]}}', 2),
    "lines": (_LINES, 2),
    "marked lines": ("\ufeff" + _LINES, 2),
    "many lines": (_LINES * 50_000, 100_000),
    "a large array": ("[" + ",\n".join([_ROW] * 100_000) + "]", 100_000),
    "one line of results": ('{"results": [' + ",".join([_ROW] * 50_000) + "]}", 50_000),
}


@pytest.mark.parametrize(("text", "count"), _SHAPES.values(), ids=_SHAPES.keys())
def test_a_pipe_is_read(pipe: Path, text: str, count: int) -> None:
    """Every shape of file is told apart without going back, and each row is read once."""
    writer = _feed(pipe, text)
    assert [run.error for run in iter_runs([pipe])] == [None] * count
    writer.join(timeout=10)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("chunk", [1, 5, 64])
def test_a_pipe_is_read_wherever_the_buffer_ends(pipe: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    """What was read ahead comes first, and the rest after it."""
    monkeypatch.setattr(rows, "_CHUNK", chunk)
    _feed(pipe, _LINES)
    assert [row.place for row in iter_rows(pipe)] == ["line 1", "line 3"]


def test_an_empty_pipe_is_an_error(pipe: Path) -> None:
    """Nothing to check must not look like success."""
    _feed(pipe, "")
    (run,) = iter_runs([pipe])
    assert "empty" in _problem(run)


def test_a_pipe_inside_a_folder_is_named_and_not_waited_for(tmp_path: Path) -> None:
    """Nobody may ever write to it."""
    os.mkfifo(tmp_path / "a.json")
    os.mkfifo(tmp_path / "other")
    assert "its own path" in _found(tmp_path)["a.json"]
    assert len(_found(tmp_path)) == 1


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="this system has no /dev/stdin")
@pytest.mark.parametrize("from_file", [False, True], ids=["pipe", "file"])
def test_standard_input_is_read(tmp_path: Path, from_file: bool) -> None:
    """``/dev/stdin`` is a pipe or a file, as the shell has it."""
    code = "from tracewitness.readers import iter_runs; print([r.name for r in iter_runs(['/dev/stdin'])])"
    command = [sys.executable, "-c", code]
    if from_file:
        with _write(tmp_path / "x", _LINES).open() as stream:
            done = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=True)
    else:
        done = subprocess.run(command, input=_LINES, capture_output=True, text=True, check=True)
    assert done.stdout == "['n', 'n']\n"

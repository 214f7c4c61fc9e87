"""`read` and `read_all`: what they take beside decoded data, and how many runs they find in it."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from recording_seeds import SEEDS

import tracewitness
from tracewitness.errors import ReadError
from tracewitness.readers import READERS, Reader, documents, iter_runs, read, read_all, register_reader
from tracewitness.readers.registry import traces_of
from tracewitness.trace import Trace


def _trace(name: str, *tools: str) -> dict[str, Any]:
    return {"name": name, "events": [{"call": tool} for tool in tools]}


RUNS = [_trace("one", "a", "b"), _trace("two"), _trace("three", "c")]
LINES = "\n".join(map(json.dumps, RUNS)).encode()
CHAT = {"choices": [{"message": {"role": "assistant", "content": "Hello."}}]}


def _told(traces: Any) -> list[tuple[str, list[str]]]:
    return [(trace.name, [call.name for call in trace.calls]) for trace in traces]


TOLD = [("one", ["a", "b"]), ("two", []), ("three", ["c"])]

#: What a file or a text of several runs may look like.
SEVERAL = {
    "lines": LINES,
    "lines that end": LINES + b"\r\n\n",
    "marked lines": b"\xef\xbb\xbf" + LINES,
    "an array": json.dumps(RUNS).encode(),
    "results": json.dumps({"results": RUNS}).encode(),
    "gzip": gzip.compress(LINES),
    "gzip twice": gzip.compress(gzip.compress(json.dumps(RUNS).encode())),
    "gzip in members": gzip.compress(LINES[:20]) + gzip.compress(LINES[20:]),
}


@pytest.mark.parametrize("data", SEVERAL.values(), ids=SEVERAL)
def test_several_runs(data: bytes, tmp_path: Path) -> None:
    """As bytes and in a file, whatever it is called, the same runs come in order; `read` takes none of them."""
    for name in ("runs.json", "runs.jsonl", "runs"):
        path = tmp_path / name
        path.write_bytes(data)
        assert _told(read_all(path)) == TOLD
        with pytest.raises(ReadError, match="read_all reads each"):
            read(path)
    assert _told(read_all(data)) == TOLD
    with pytest.raises(ReadError):
        read(data)


@pytest.mark.parametrize(
    "source",
    [RUNS, tuple(RUNS), {"results": RUNS}, iter(RUNS), (run for run in RUNS), iter([LINES])],
    ids=["list", "tuple", "results", "iterator", "generator", "texts"],
)
def test_several_runs_as_data(source: Any) -> None:
    """Whatever lists them."""
    assert _told(read_all(source)) == TOLD


@pytest.mark.parametrize(
    "data",
    [json.dumps(RUNS[0]).encode(), gzip.compress(json.dumps(RUNS[0], indent=1).encode())],
    ids=["plain", "gzip"],
)
def test_one_run(data: bytes, tmp_path: Path) -> None:
    """Its name is its own, else its file's without the endings."""
    path = tmp_path / "run.json.gz"
    path.write_bytes(data)
    assert _told([read(path), read(data), *read_all(path), *read_all(data)]) == TOLD[:1] * 4
    path.write_bytes(gzip.compress(json.dumps(CHAT).encode()))
    assert read(path).name == "run"


def test_a_trace_is_its_own_run() -> None:
    """And so is each of an iterator."""
    trace = Trace.from_events([{"call": "a"}])
    assert list(read_all(trace)) == [trace]
    assert list(read_all(iter([trace, trace]))) == [trace, trace]


def test_both_are_public() -> None:
    """They are of the front door."""
    assert (tracewitness.read, tracewitness.read_all) == (read, read_all)


def test_a_folder(tmp_path: Path) -> None:
    """All of its files; packed ones by the ending before."""
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(LINES))
    (tmp_path / "b.json").write_text(json.dumps(RUNS[2]))
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"nothing"))
    assert _told(read_all(tmp_path)) == [*TOLD, TOLD[2]]
    with pytest.raises(ReadError, match="holds several runs"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (gzip.compress(LINES)[:-9], "broken gzip"),
        (b"\x1f\x8b\x08rubbish", "broken gzip"),
        (gzip.compress(gzip.compress(gzip.compress(LINES))), "gzip in gzip in gzip"),
        (b"PK\x03\x04rubbish", "broken archive"),
        (gzip.compress(b""), "not JSON|empty"),
        (b"", "not JSON|empty"),
    ],
    ids=["torn", "rubbish", "thrice", "archive", "nothing packed", "nothing"],
)
def test_what_is_broken_is_named(data: bytes, reason: str, tmp_path: Path) -> None:
    """As bytes and in a file, of which the error tells the name."""
    with pytest.raises(ReadError, match=reason):
        list(read_all(data))
    path = tmp_path / "runs.json"
    path.write_bytes(data)
    with pytest.raises(ReadError, match=f"runs.json.*({reason})"):
        list(read_all(path))


def test_runs_before_a_torn_end_are_not_lost(tmp_path: Path) -> None:
    """Of packed lines those come that could be unpacked, then why the rest did not."""
    lines = b"\n".join(json.dumps(_trace(f"run {number}", "a")).encode() for number in range(50_000))
    path = tmp_path / "runs.jsonl.gz"
    path.write_bytes(gzip.compress(lines)[:-2000])
    *runs, last = iter_runs([path])
    assert len(runs) > 1000
    assert all(run.error is None for run in runs)
    assert "broken gzip" in str(last.error)


def test_what_unpacks_to_too_much_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither gzip nor an archive fills the memory."""
    monkeypatch.setattr(documents, "MAX_DOCUMENT", 1000)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.json", b" " * 600)
        file.writestr("b.json", b" " * 600)
    for data in (gzip.compress(b" " * 1001), archive.getvalue()):
        with pytest.raises(ReadError, match="unpacks to more than"):
            read(data)


def test_an_archive_is_unpacked_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a member that unpacks to more than it may, little more than that is ever there."""
    name = "zipfile" if hasattr(zipfile, "ZIP_ZSTANDARD") else "backports.zstd.zipfile"
    file, archives = io.BytesIO(), pytest.importorskip(name, reason="backports.zstd is not installed")
    with archives.ZipFile(file, "w", archives.ZIP_ZSTANDARD) as archive, archive.open("a.json", "w") as member:
        for _ in range(500):
            member.write(bytes(1_000_000))
    monkeypatch.setattr(documents, "MAX_DOCUMENT", 1000)
    tracemalloc.start()
    try:
        with pytest.raises(ReadError, match="unpacks to more than"):
            read(file.getvalue())
        assert tracemalloc.get_traced_memory()[1] < 300_000_000
    finally:
        tracemalloc.stop()


# ---------------------------------------------------------------------------------------- formats of several runs, logs


def _log(lines: Any) -> bool:
    return isinstance(lines, list) and any(isinstance(line, dict) and "beat" in line for line in lines)


def _read_log(lines: Any, name: str) -> Trace:
    events = [{"call": line["beat"]} if isinstance(line, dict) else {"system": line} for line in lines]
    return Trace.from_events(events, name=name)


def _parts(document: Any) -> Iterator[Any]:
    yield from document["parts"]


@pytest.fixture
def _formats() -> Iterator[None]:
    log = Reader("log", _log, _read_log, keys=frozenset({"beat"}), is_log=True)
    parts = Reader(
        "parts",
        lambda document: isinstance(document, dict) and "parts_of" in document,
        lambda part, name: Trace.from_events(part["calls"], name=part.get("name", name)),
        keys=frozenset({"parts_of"}),
        runs=_parts,
    )
    for reader in (log, parts):
        register_reader(reader)
    yield
    for reader in (log, parts):
        READERS.remove(reader)


@pytest.mark.usefixtures("_formats")
def test_the_lines_of_a_log_are_one_run(tmp_path: Path) -> None:
    """Each line is a piece of it; one that is torn is there too."""
    text = b'{"beat": "a"}\n\n{"beat": "b"}\n{"beat": "c'
    path = tmp_path / "log.jsonl"
    path.write_bytes(text)
    for trace in (read(text), read(path), *read_all(text), *read_all(path)):
        assert [call.name for call in trace.calls] == ["a", "b"]
        assert trace.to_events()[-1] == {"system": '{"beat": "c'}


@pytest.mark.usefixtures("_formats")
@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_document_of_several_runs(count: int, tmp_path: Path) -> None:
    """Each has its own name, else the file's; a document with none is no run."""
    parts = [{"calls": [{"call": "a"}]}, {"calls": [], "name": "second"}][:count]
    document = {"parts_of": "x", "parts": parts}
    path = tmp_path / "file.json"
    path.write_text(json.dumps([document, RUNS[0]]))
    names = ["file", "second"][:count]
    runs = list(iter_runs([path]))
    assert [run.name for run in runs if run.trace is not None] == [*names, "one"]
    assert [run.place for run in runs if run.trace is not None] == [*["row 1", "row 1, run 2"][:count], "row 2"]
    assert len(list(read_all(document))) == count
    if count == 1:
        assert read(document).calls[0].name == "a"
        return
    with pytest.raises(ReadError, match="no run" if count == 0 else "several runs; read_all"):
        read(document)
    assert sum("no run" in str(run.error) for run in runs) == (count == 0)


@pytest.mark.usefixtures("_formats")
def test_a_named_format_is_not_looked_for(tmp_path: Path) -> None:
    """All rows are read in it; lines are one run where the format is a log."""
    path = tmp_path / "log.json"
    path.write_text('{"beat": "a"}\n{"beat": "b"}')
    assert _told(read_all(path, "log")) == [("log", ["a", "b"])]
    assert [run.error is None for run in iter_runs([path], next(r for r in READERS if r.name == "neutral"))] == [
        False
    ] * 2
    with pytest.raises(ReadError, match="no format 'logs'; log was meant"):
        read(path, "logs")


# ------------------------------------------------------------------------------------------------------- every format


@pytest.mark.parametrize("name", [name for name, seed in SEEDS.items() if isinstance(seed, (dict, list))])
def test_every_format_reads_alike_as_data_as_text_and_as_a_file(name: str, tmp_path: Path) -> None:
    """An array of pieces is one run wherever it stands, and an array of runs is not."""
    told = [trace.to_events() for trace in traces_of(SEEDS[name])]
    text = json.dumps(SEEDS[name])
    path = tmp_path / "recording.json"
    path.write_text(text)
    assert [trace.to_events() for trace in read_all(SEEDS[name])] == told
    assert [trace.to_events() for trace in read_all(text)] == told
    assert [trace.to_events() for trace in read_all(path)] == told
    path.write_text(json.dumps(SEEDS[name], indent=2))
    assert [trace.to_events() for trace in read_all(path)] == told

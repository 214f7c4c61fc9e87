"""Inputs: the same records come out of every kind of file, and what is broken is named where it breaks."""

from __future__ import annotations

import gzip
import json
import os
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracewitness.batch.inputs import Columns, RawRecord, batches_of_records, locate, segments_of
from tracewitness.batch.inputs.segments import MAX_RECORD
from tracewitness.batch.pieces import pieces_of
from tracewitness.errors import ReadError, UsageError

RUNS: list[dict[str, Any]] = [
    {"name": f"run-{number}", "events": [{"user": "hi ✓\u2028"}, {"call": "pay", "args": {"n": number}}]}
    for number in range(5)
]
LINES = b"".join(json.dumps(run).encode() + b"\n" for run in RUNS)
NESTED = pa.array([run["events"] for run in RUNS])


def records_of(*arguments: str, column: str | None = None, by: tuple[str, ...] = ()) -> list[RawRecord]:
    columns = Columns(column, by)
    return [record for found in locate(arguments) for part in segments_of(found, columns) for record in part.records()]


def table() -> pa.Table:
    return pa.table({"trace": [json.dumps(run) for run in RUNS], "model": ["a", "b", None, "a", "b"]})


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)  # type: ignore[no-any-return]


def write_parquet(path: Path) -> None:
    pq.write_table(table(), path, row_group_size=2)


def write_arrow(path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table().schema) as writer:
        writer.write_table(table(), max_chunksize=2)


def write_arrow_stream(path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table().schema) as writer:
        writer.write_table(table(), max_chunksize=2)


FILES: dict[str, Callable[[Path], object]] = {
    "plain.jsonl": lambda path: path.write_bytes(LINES),
    "no-newline-at-the-end.jsonl": lambda path: path.write_bytes(LINES.rstrip()),
    "windows.jsonl": lambda path: path.write_bytes(b"\xef\xbb\xbf" + LINES.replace(b"\n", b"\r\n")),
    "lines.json": lambda path: path.write_bytes(LINES),
    "no-ending": lambda path: path.write_bytes(LINES),
    "lines.jsonl.gz": lambda path: path.write_bytes(gzip.compress(LINES)),
    "members.jsonl.gz": lambda path: path.write_bytes(b"".join(map(gzip.compress, LINES.splitlines(keepends=True)))),
    "twice.jsonl.gz": lambda path: path.write_bytes(gzip.compress(gzip.compress(LINES))),
    "lines.jsonl.zst": lambda path: path.write_bytes(zstd(LINES)),
    "frames.jsonl.zst": lambda path: path.write_bytes(b"".join(map(zstd, LINES.splitlines(keepends=True)))),
    "called-plain-but-packed.jsonl": lambda path: path.write_bytes(gzip.compress(LINES)),
    "array.json": lambda path: path.write_text(json.dumps(RUNS), "utf-8"),
    "indented.json": lambda path: path.write_text(json.dumps(RUNS, indent=2, ensure_ascii=False), "utf-8"),
    "results.json": lambda path: path.write_text(json.dumps({"of": [1], "results": RUNS, "z": {}}), "utf-8"),
    "array.json.gz": lambda path: path.write_bytes(gzip.compress(json.dumps(RUNS).encode())),
    "table.parquet": write_parquet,
    "table.arrow": write_arrow,
    "table.feather": write_arrow,
    "stream.arrows": write_arrow_stream,
}


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_has_the_same_records(name: str, tmp_path: Path) -> None:
    FILES[name](tmp_path / name)
    found = records_of(str(tmp_path / name))
    assert [json.loads(record.raw or b"") for record in found] == RUNS
    assert [(record.number, record.problem) for record in found][:4] == [(number, None) for number in range(1, 5)]
    assert {record.source for record in found} == {str(tmp_path / name)}


def test_a_folder_a_glob_and_a_url_are_their_files(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.json", "c/d.jsonl.gz", "c/e.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        FILES[{"a.json": "array.json", "c/e.parquet": "table.parquet"}.get(name, "plain.jsonl")](tmp_path / name)
    (tmp_path / "c/notes.txt").write_text("no recording")
    (tmp_path / "loop").symlink_to(tmp_path)

    def sources(argument: str) -> list[str]:
        return [found.source.removeprefix("file://").removeprefix(f"{tmp_path}/") for found in locate([argument])]

    every = ["a.json", "b.jsonl", "c/d.jsonl.gz", "c/e.parquet"]
    assert sources(str(tmp_path)) == every
    assert sources(f"{tmp_path}/**/*.jsonl*") == ["b.jsonl", "c/d.jsonl.gz"]
    assert sources(f"file://{tmp_path}/*.json*") == every[:2]
    assert len(records_of(str(tmp_path))) == 20
    assert len(records_of(f"file://{tmp_path}/c")) == 10


def test_an_object_store(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    write_parquet(tmp_path / "table.parquet")
    memory.pipe("/bucket/day=1/a.jsonl", LINES)
    memory.pipe("/bucket/day=1/b.json.gz", gzip.compress(json.dumps(RUNS).encode()))
    memory.pipe("/bucket/day=2/c.parquet", (tmp_path / "table.parquet").read_bytes())
    try:
        assert len(records_of("memory://bucket")) == 15
        assert [json.loads(each.raw or b"") for each in records_of("memory://bucket/day=2/c.parquet")] == RUNS
        assert len(records_of("memory://bucket/day=1/*")) == 10
        with pytest.raises(ReadError) as raised:
            records_of("memory://bucket/day=3/none.jsonl")
        assert "there is no such file" in str(raised.value)
    finally:
        memory.rm("/bucket", recursive=True)


def fill(connection: Any, kind: str) -> None:
    connection.execute(f'create table "the runs" (id integer, messages {kind}, model text)')
    rows = [(number, json.dumps(run), "m%ad") for number, run in enumerate(RUNS)]
    connection.executemany('insert into "the runs" values (?, ?, ?)', rows)


@pytest.mark.parametrize(
    "asked",
    [
        "table=the runs",
        "table=the%20runs",
        'query=select messages, model from "the runs" order by id',
        "query=select%20messages%20from%20%22the%20runs%22",
        "query=select messages from \"the runs\" where model like '%ad' and id + 1 > 0 order by id",
    ],
)
@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_tables_of_databases(kind: str, asked: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    if kind == "duckdb":
        with duckdb.connect(str(path)) as connection:
            fill(connection, "json")
    else:
        with sqlite3.connect(path) as database:
            fill(database, "text")
        database.close()
    found = records_of(f"{kind}://{path}?{asked}")
    assert [json.loads(record.raw or b"") for record in found] == RUNS
    assert [record.number for record in found] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
@pytest.mark.parametrize("asked", ["query=delete from runs", "query=drop table runs", "query=select * from none"])
def test_a_query_changes_nothing_and_its_errors_are_ours(kind: str, asked: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    connection: Any = duckdb.connect(str(path)) if kind == "duckdb" else sqlite3.connect(path)
    connection.execute("create table runs as select 1 as trace")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(UsageError) as raised:
        records_of(f"{kind}://{path}?{asked}")
    assert str(path) in str(raised.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("argument", "error", "why"),
    [
        ("none.jsonl", ReadError, "it can't be read: No such file"),
        ("none/*.jsonl", ReadError, "no file fits"),
        (".", ReadError, "a folder without any file that ends in .jsonl"),
        ("sqlite://none.db?table=t", ReadError, "No such file"),
        ("sqlite://none.db", UsageError, "?table=NAME"),
        ("duckdb://x?limit=3", UsageError, "?query=SELECT"),
        ("nosuch://x", UsageError, "can't be opened"),
    ],
)
def test_there_is_no_such_input(
    argument: str, error: type[Exception], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as raised:
        list(locate([argument]))
    assert why in str(raised.value)


NOISE = random.Random(1).randbytes(300_000).hex().encode()
LONG = LINES + b'{"name": "long", "events": [{"user": "' + NOISE + b'"}]}\n' + LINES

#: Broken files: how many good records come before it breaks (-1: some), the number of the one that breaks, and why.
BROKEN: dict[str, tuple[bytes, int, int, str]] = {
    "torn-line.jsonl": (LINES + b'{"name": "run-6", "ev', 6, 0, ""),
    "torn.jsonl.gz": (gzip.compress(LONG * 4)[:-500_000], -1, -1, "broken gzip"),
    "flipped.jsonl.gz": (gzip.compress(LINES)[:-8] + b"abcdefgh", 5, 6, "broken gzip: CRC"),
    "garbage-behind.jsonl.gz": (gzip.compress(LINES) + b"garbage", 5, 6, "broken gzip"),
    "torn.jsonl.zst": (zstd(LONG * 4)[:-500_000], -1, -1, "broken zstd"),
    "empty.jsonl": (b"", 0, 0, "the file is empty"),
    "empty.json.gz": (gzip.compress(b""), 0, 0, "the file is empty"),
    "blank.json": (b" \n ", 0, 0, "the file is empty"),
    "no-rows.json": (b"[]", 0, 0, "the file holds no record"),
    "torn.json": (json.dumps(RUNS).encode()[:-20], 4, 5, "not JSON"),
    "torn-number.json": (b'[{"events": []}, 12', 2, 3, "',' was expected, the end of the file came"),
    "two-documents.json": (json.dumps(RUNS).encode() + b"{}", 5, 6, "after the end of the document"),
    "no-utf-8.json": (b'[{"events": []}, "\xff"]', 0, 0, "not UTF-8"),
    "utf-16.json": (json.dumps(RUNS).encode("utf-16"), 0, 0, "UTF-16"),
    "no-footer.parquet": (b"PAR1" + bytes(100), 0, 0, "broken Parquet"),
    "torn.arrow": (b"ARROW1\0\0" + bytes(100), 0, 0, "broken Arrow"),
    "results-twice.json": (b'{"results": [{"events": []}], "results": []}', 1, 2, "the key 'results' stands twice"),
    "two-accounts.json": (b'{"events": [], "results": []}', 0, 0, "both events and results"),
    "no-key.json": (b'{"a": 1, 2: 3}', 0, 0, "a key was expected"),
    "deep.json": (b"[[" + b"[" * 100_000, 0, 0, "nested too deeply"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_named_where_it_breaks(name: str, tmp_path: Path) -> None:
    data, good, number, why = BROKEN[name]
    (tmp_path / name).write_bytes(data)
    found = records_of(str(tmp_path / name))
    sound = [record for record in found if record.raw is not None]
    broken = [record for record in found if record.raw is None]
    assert [record.number for record in sound] == list(range(1, len(sound) + 1))
    if good < 0:
        assert len(sound) > 10
        assert broken[0].number == len(sound) + 1
    else:
        assert len(sound) == good
    if why:
        assert len(broken) == 1
        assert why in (broken[0].problem or "")
        assert broken[0] is found[-1]
        assert number < 0 or broken[0].number == number
    else:
        assert sound[-1].problem == "the file ends in the middle of this line"


def test_a_parquet_file_of_another_schema_is_named(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet")
    pq.write_table(pa.table({"trase": ["x"], "id": [1]}), tmp_path / "b.parquet")
    found = records_of(str(tmp_path), column="trace")
    assert [record.number for record in found] == [1, 2, 3, 4, 5, 0]
    assert found[-1].problem == "it has no column trace; trase was meant; it has trase, id"


def test_the_column_with_the_record(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    texts = [json.dumps(run["events"]) for run in RUNS]
    columns = {"id": [1, 2, 3, 4, None], "name": [run["name"] for run in RUNS], "said": texts, "events": NESTED}
    pq.write_table(pa.table(columns), path)
    said = records_of(str(path), column="said", by=("id", "none"))
    assert [record.raw for record in said] == [text.encode() for text in texts]
    assert [record.name for record in said] == [run["name"] for run in RUNS]
    assert [record.by for record in said] == [("1", None), ("2", None), ("3", None), ("4", None), (None, None)]
    nested = records_of(str(path), column="events")
    assert [json.loads(record.raw or b"") for record in nested] == [run["events"] for run in RUNS]
    whole = json.loads(records_of(str(path))[0].raw or b"")
    assert whole["events"] == RUNS[0]["events"]
    assert whole["name"] == "run-0"


def test_a_value_that_is_null_is_a_record_that_cannot_be_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"trace": pa.array(["{}", None], pa.string())}), tmp_path / "t.parquet")
    found = records_of(str(tmp_path / "t.parquet"))
    assert [(record.number, record.problem) for record in found] == [(1, None), (2, "the column trace is null")]


def test_an_array_of_messages_is_one_record(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}] * 40
    (tmp_path / "chat.json").write_text(json.dumps(messages))
    (tmp_path / "events.json").write_text(json.dumps(RUNS[0]["events"]))
    found = records_of(str(tmp_path))
    assert [(record.name, record.number) for record in found] == [("chat", 1), ("events", 1)]
    assert [json.loads(record.raw or b"") for record in found] == [messages, RUNS[0]["events"]]


def test_a_message_alone_in_a_file_is_a_history_of_one(tmp_path: Path) -> None:
    message = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "pay", "input": {}}]}
    (tmp_path / "answer.json").write_text(json.dumps(message))
    (tmp_path / "lines.jsonl").write_text(json.dumps(message) + "\n")
    found = records_of(str(tmp_path))
    assert [json.loads(record.raw or b"") for record in found] == [[message], message]


def test_a_log_is_one_record(tmp_path: Path) -> None:
    lines = [
        {"type": "user", "uuid": "1", "sessionId": "s", "message": {"role": "user", "content": "hi"}},
        {"type": "assistant", "uuid": "2", "sessionId": "s", "message": {"role": "assistant", "content": []}},
    ]
    (tmp_path / "session.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = records_of(str(tmp_path / "session.jsonl"))
    assert [(record.number, record.raw) for record in found] == [(1, (tmp_path / "session.jsonl").read_bytes())]


def test_blank_lines_count_as_lines_and_are_no_records(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\n" + LINES.replace(b"\n", b"\n \n"))
    assert [record.number for record in records_of(str(tmp_path / "a.jsonl"))] == [2, 4, 6, 8, 10]


@pytest.mark.parametrize("size", [MAX_RECORD + 1, MAX_RECORD + 10_000_000, 3 * MAX_RECORD])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_line_that_is_too_long_is_passed_over(name: str, size: int, tmp_path: Path) -> None:
    path = tmp_path / name
    data = LINES + b"x" * size + b"\n" + LINES
    path.write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
    found = records_of(str(path))
    assert [record.number for record in found] == list(range(1, 12))
    assert [record.problem for record in found if record.raw is None] == ["the line is longer than 32 MiB"]
    assert [json.loads(record.raw or b"") for record in found if record.raw] == RUNS * 2


def test_lines_are_cut_anywhere_and_none_is_lost(tmp_path: Path) -> None:
    random_ = random.Random(7)
    lines = [json.dumps({"n": number, "x": "é" * random_.randrange(60_000)}).encode() for number in range(200)]
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines) + b"\n", 1))
    for name in ("a.jsonl", "b.jsonl.gz"):
        found = records_of(str(tmp_path / name))
        assert [(record.number, record.raw) for record in found] == list(enumerate(lines, 1))


def test_pieces_hold_every_record_once_and_are_the_same_each_time(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}.jsonl").write_bytes(LINES * (1 + 20_000 * (number == 7)))

    def pieces() -> list[list[tuple[str, int]]]:
        found = pieces_of(locate([str(tmp_path)]), Columns())
        return [[(record.source, record.number) for record in piece.records()] for piece in found]

    once = pieces()
    assert once == pieces()
    assert len(once) > 1
    every = [place for piece in once for place in piece]
    assert len(every) == len(set(every)) == 29 * 5 + 5 * 20_001


def test_batches_are_bounded() -> None:
    records = [RawRecord("a", number, b"x" * 100) for number in range(3000)]
    batches = list(batches_of_records(records))
    assert max(batch.num_rows for batch in batches) <= 512
    assert sum(batch.num_rows for batch in batches) == 3000


def test_a_name_of_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.jsonl"
    Path(os.fsdecode(path)).write_bytes(LINES)
    found = records_of(str(tmp_path))
    assert len(found) == 5
    assert next(batches_of_records(found)).column("source")[0].as_py().endswith("\\udcff.jsonl")

"""Scans: every record exactly one set of verdicts, whatever happens to the processes, the disk or the input."""

from __future__ import annotations

import json
import os
import resource
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs
from scan_cases import lines_of, run, run_of, start, suite_in, verdicts_in

from tracewitness.batch import scanning
from tracewitness.batch.checking import Job
from tracewitness.batch.inputs import Columns, locate
from tracewitness.batch.kernel import Kernel
from tracewitness.batch.local import Pool
from tracewitness.batch.parts import Parts, Plan
from tracewitness.batch.pieces import pieces_of
from tracewitness.batch.sampling import save
from tracewitness.batch.scanning import Options, scan
from tracewitness.batch.tally import Tally
from tracewitness.errors import ReadError, UsageError
from tracewitness.evals import SuiteCheck
from tracewitness.readers import iter_runs
from tracewitness.suites import load_suite, parse_suite


def checked(suite: str, path: Path) -> set[tuple[object, ...]]:
    """Return the verdicts that a check of the same file comes to."""
    return {
        (f"{path}#{report.number}", report.case, number, verdict.operator, verdict.status)
        for report in SuiteCheck(load_suite(suite)).reports(iter_runs([path]))
        for number, verdict in enumerate(report.verdicts)
    }


def test_a_scan_comes_to_what_a_check_comes_to(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(lines_of(3000, 2000))
    suite, output = suite_in(tmp_path), tmp_path / "verdicts.parquet"
    seen: list[int] = []
    options = Options(workers=2, by=("model",))
    result = scan(suite, [str(path)], str(output), options, progress=lambda progress: seen.append(progress.runs))
    assert {row[:5] for row in verdicts_in(output)} == checked(suite, path)
    tally = result.tally
    assert (tally.held, tally.broken, tally.unreadable) == (2000, 1000, 0)
    assert tally.verdicts == pq.read_metadata(output).num_rows
    assert {value: counts.broken for value, counts in tally.by["model"].items()} == {"m-0": 500, "m-1": 500}
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert seen[-1] == 3000
    assert result.format_name == "neutral"
    assert result.exit_status() == 1
    assert not (tmp_path / "verdicts.parquet.parts").exists()
    # Verdicts stand in the order of the records, whoever was ready first.
    records = pq.read_table(output, columns=["record"]).column("record").to_pylist()
    assert records == sorted(records)


def test_json_lines_hold_the_same_as_parquet(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_bytes(lines_of(20) + b"oh\n")
    suite = suite_in(tmp_path)
    for name in ("a.parquet", "a.jsonl"):
        scan(suite, [str(tmp_path / "runs.jsonl")], str(tmp_path / name), Options(workers=1))
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_bytes().splitlines()]
    assert lines == pq.read_table(tmp_path / "a.parquet").to_pylist()


def test_the_format_of_the_first_records_is_that_of_all(tmp_path: Path) -> None:
    chat = '[{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "pay", "arguments": "{}"}}]}]'
    (tmp_path / "runs.jsonl").write_text(lines_of(70).decode() + chat + "\n")
    suite, inputs = suite_in(tmp_path), [str(tmp_path / "runs.jsonl")]
    fixed = scan(suite, inputs, str(tmp_path / "fixed.parquet"), Options(workers=1))
    assert (fixed.format_name, fixed.tally.unreadable) == ("neutral", 1)
    assert "in the format openai-chat, and not in that of the first records" in fixed.tally.unreadable_examples[0].why
    free = scan(suite, inputs, str(tmp_path / "free.parquet"), Options(workers=1, format_name="any"))
    assert (free.format_name, free.tally.unreadable) == (None, 0)
    named = scan(suite, inputs, str(tmp_path / "named.parquet"), Options(workers=1, format_name="openai-chat"))
    assert named.tally.unreadable == 70


@pytest.mark.parametrize("most", [0, 2])
def test_too_many_errors_end_a_scan_and_it_can_go_on(most: int, tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_bytes(lines_of(10) + b"oh\nno\nhm\n" + lines_of(10))
    suite, inputs, output = suite_in(tmp_path), [str(tmp_path / "runs.jsonl")], str(tmp_path / "v.parquet")
    with pytest.raises(ReadError) as raised:
        scan(suite, inputs, output, Options(workers=1, max_errors=most))
    assert f"3 records can't be read, more than the {most} that are allowed" in str(raised.value)
    assert "runs.jsonl#11: not JSON" in str(raised.value)
    assert not Path(output).exists()
    result = scan(suite, inputs, output, Options(workers=1, max_errors=3, resume=True))
    assert (result.resumed, result.tally.unreadable, result.exit_status()) == (1, 3, 2)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("suite", "the suite is not the one that the scan began with"),
        ("options", "the options are not those that the scan began with"),
        ("version", "or the version is not"),
        ("input", "runs.jsonl has changed since the scan began"),
        ("another input", "more.jsonl has changed since the scan began"),
        ("no resume", "go on with it by --resume, or remove it"),
    ],
)
def test_parts_of_another_scan_are_refused(
    change: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "in" / "runs.jsonl"
    runs.parent.mkdir()
    runs.write_bytes(lines_of(10) + b"oh\n")
    suite, output = suite_in(tmp_path), str(tmp_path / "v.parquet")
    with pytest.raises(ReadError):
        scan(suite, [str(runs.parent)], output, Options(workers=1, max_errors=0))
    if change == "suite":
        Path(suite).write_text(Path(suite).read_text().replace("tool: pay", "tool: wait"))
    elif change == "input":
        runs.write_bytes(lines_of(9) + b"oh\n")
    elif change == "version":  # another version may cut other pieces
        monkeypatch.setattr(scanning, "__version__", "0.0.1")
    elif change == "another input":
        (tmp_path / "in" / "more.jsonl").write_bytes(lines_of(1))
    by = ("model",) if change == "options" else ()
    with pytest.raises(UsageError) as raised:
        scan(suite, [str(runs.parent)], output, Options(workers=1, by=by, resume=change != "no resume"))
    assert why in str(raised.value)


def test_a_scan_that_was_killed_goes_on_and_repeats_and_loses_nothing(tmp_path: Path) -> None:
    path, output = tmp_path / "runs.jsonl", tmp_path / "v.parquet"
    path.write_bytes(lines_of(12_000, 2000))
    suite = suite_in(tmp_path)
    arguments = ("scan", suite, str(path), "-o", str(output), "--workers", "2", "-q")
    process = start(*arguments)
    parts = tmp_path / "v.parquet.parts"
    deadline = time.monotonic() + 60
    while len(list(parts.glob("part-*.parquet"))) < 2 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert not output.exists()
    (parts / ".part-99999999.parquet.1.unfinished").write_bytes(b"half")
    status, said, errors = run(*arguments, "--resume")
    assert (status, errors) == (1, "")
    assert "from before" in said
    assert {row[:5] for row in verdicts_in(output)} == checked(suite, path)
    assert not parts.exists()


def is_there(group: int) -> bool:
    """Whether there is a process of a group."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_all_processes_and_keeps_the_parts(number: signal.Signals, tmp_path: Path) -> None:
    path, output = tmp_path / "runs.jsonl", tmp_path / "v.parquet"
    path.write_bytes(lines_of(12_000, 2000))
    suite = suite_in(tmp_path)
    process = start("scan", suite, str(path), "-o", str(output), "--workers", "2", start_new_session=True)
    parts = tmp_path / "v.parquet.parts"
    while not list(parts.glob("part-*.parquet")) and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    deadline = time.monotonic() + 30
    while is_there(process.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_there(process.pid)
    assert list(parts.glob("part-*.parquet"))
    assert run("scan", suite, str(path), "-o", str(output), "--workers", "2", "--resume", "-q")[0] == 1
    assert {row[:5] for row in verdicts_in(output)} == checked(suite, path)


def job_in(folder: Path) -> Job:
    parts = Parts(str(folder / "v.parquet"))
    parts.begin(Plan("", "", ""), resume=False)
    return Job(Kernel(load_suite(suite_in(folder))), parts)


def test_a_process_that_dies_is_replaced_and_its_batch_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_bytes(lines_of(12_000, 2000))
    pieces = list(pieces_of(locate([str(tmp_path / "runs.jsonl")]), Columns()))
    job = job_in(tmp_path)
    done = []
    with Pool(job, 2) as pool:
        for part in pool.parts(pieces):
            done.append(part.number)
            if len(done) in (1, 3):
                os.kill(pool.process_ids[0], signal.SIGKILL)
    assert sorted(done) == [piece.number for piece in pieces]
    assert pool.deaths == 2
    job.parts.join(len(pieces), job.kernel.schema)
    assert {row[:5] for row in verdicts_in(tmp_path / "v.parquet")} == checked(
        str(tmp_path / "pay.evals.yaml"), tmp_path / "runs.jsonl"
    )


def test_a_batch_that_kills_twice_is_reported(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_bytes(lines_of(10) + b"oh\n" + lines_of(10))
    pieces = list(pieces_of(locate([str(tmp_path / "runs.jsonl")]), Columns()))
    job = job_in(tmp_path)
    ended = threading.Event()

    def kill_whoever_comes(pool: Pool) -> None:
        killed: set[int] = set()
        while not ended.is_set() and len(killed) < 2:
            for pid in set(pool.process_ids) - killed:
                killed.add(pid)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.001)

    with Pool(job, 1) as pool:
        killer = threading.Thread(target=kill_whoever_comes, args=(pool,))
        killer.start()
        (part,) = pool.parts(pieces)
        ended.set()
        killer.join()
    assert pool.deaths == 2
    assert (part.tally.runs, part.tally.unreadable) == (21, 21)
    job.parts.join(1, job.kernel.schema)
    whys = {row[5] for row in verdicts_in(tmp_path / "v.parquet")}
    assert whys == {"it was not checked: the process that checked its batch died 2 times, by SIGKILL"}


def test_a_full_disk_is_a_clean_error_and_the_scan_can_go_on(tmp_path: Path) -> None:
    path, output = tmp_path / "runs.jsonl", tmp_path / "v.parquet"
    path.write_bytes(lines_of(6000, 2000))
    suite = suite_in(tmp_path)
    arguments = ("scan", suite, str(path), "-o", str(output), "--workers", "1", "-q")

    def allow_little() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))

    status, said, errors = run(*arguments, preexec_fn=allow_little)
    assert (status, said) == (2, "")
    assert errors.startswith("error: ")
    assert "can't be written: File too large; what is complete is kept, and --resume goes on from there" in errors
    assert errors.count("\n") == 1
    assert not output.exists()
    assert not list((tmp_path / "v.parquet.parts").glob(".*unfinished"))
    assert run(*arguments, "--resume")[0] == 1
    assert {row[:5] for row in verdicts_in(output)} == checked(suite, path)


def test_two_scans_do_not_write_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_bytes(lines_of(3))
    output = str(tmp_path / "v.parquet")
    for resume in (True, False):
        with Parts(output).locked(), pytest.raises(UsageError) as raised:
            scan(suite_in(tmp_path), [str(tmp_path / "runs.jsonl")], output, Options(workers=1, resume=resume))
        assert "another scan is writing" in str(raised.value)
    assert scan(suite_in(tmp_path), [str(tmp_path / "runs.jsonl")], output, Options(workers=1)).tally.runs == 3


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_bytes(lines_of(3))
    path = str(tmp_path / "runs.jsonl")
    with pytest.raises(UsageError) as raised:
        scan(suite_in(tmp_path), [path], path)
    assert "is being read" in str(raised.value)
    assert (tmp_path / "runs.jsonl").read_bytes() == lines_of(3)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("v.csv", "ends in .parquet, .jsonl, .ndjson"),
        ("none/v.parquet", "does not exist"),
        ("folder.parquet", "is a folder"),
    ],
)
def test_outputs_that_cannot_be_written(output: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "runs.jsonl").write_bytes(lines_of(3))
    with pytest.raises(UsageError) as raised:
        scan(suite_in(tmp_path), [str(tmp_path / "runs.jsonl")], str(tmp_path / output))
    assert why in str(raised.value)


def test_a_record_of_a_folder_of_many_small_files(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(1200):
        (folder / f"{number:05}.json").write_text(json.dumps(run_of(number)))
    (folder / "00500.json").write_text("{")
    (folder / "00501.json").unlink()
    (folder / "00501.json").symlink_to(tmp_path / "nowhere")
    result = scan(suite_in(tmp_path), [str(folder)], str(tmp_path / "v.parquet"), Options(workers=2))
    assert result.tally.runs == 1200
    assert result.tally.unreadable == 2
    assert len({row[0] for row in verdicts_in(tmp_path / "v.parquet")}) == 1200


@pytest.mark.parametrize("argument", ["in", "in/*", "in/**"])
def test_what_a_scan_writes_is_none_of_its_input(argument: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "runs.jsonl").write_bytes(lines_of(6000, 2000) + b"oh\n")
    suite, output = suite_in(tmp_path), folder / "v.jsonl"
    options = Options(workers=1, sample=2, sample_to=str(folder / "v.jsonl.sample"), max_errors=0)
    with pytest.raises(ReadError):
        scan(suite, [str(tmp_path / argument)], str(output), options)
    assert (folder / "v.jsonl.parts" / "plan.json").exists()
    again = structs.replace(options, max_errors=None, resume=True)
    result = scan(suite, [str(tmp_path / argument)], str(output), again)
    assert (result.tally.runs, result.tally.unreadable) == (6001, 1)
    save(result.drawn, str(folder / "v.jsonl.sample"))
    with pytest.raises(UsageError, match="is not empty; name another folder for the sample"):
        scan(suite, [str(tmp_path / argument)], str(output), options)
    elsewhere = structs.replace(again, resume=False, sample_to=None)
    output.with_name("v.jsonl.sample").rename(tmp_path / "sample")
    assert scan(suite, [str(tmp_path / argument)], str(output), elsewhere).tally.runs == 6001
    assert scan(suite, [str(tmp_path / "sample")], str(output), elsewhere).tally.broken == 2


def test_examples_are_the_first_records_whoever_is_ready_first() -> None:
    tally = Tally()
    parts = [part_of(numbers) for numbers in ([7, 9], [30, 2], [1], [8, 40])]
    for other in parts:
        tally.include(other)
    reverse = Tally()
    for other in reversed(parts):
        reverse.include(other)
    assert tally == reverse
    (check,) = tally.checks.values()
    assert [each.record for each in check.examples] == [1, 2, 7]


def part_of(numbers: list[int]) -> Tally:
    """Return the counts of records that are all broken."""
    suite = parse_suite("{common_tool_expectations: [{type: tool_called, tool: pay}, {type: trace_parsed}], evals: []}")
    raw = [b'{"events": [{"user": "hi"}]}'] * len(numbers)
    tally = Tally()
    tally.add(Kernel(suite)(pa.RecordBatch.from_pydict({"raw": raw, "record": numbers, "source": ["a"] * len(raw)})))
    tally.checks = {key: check for key, check in tally.checks.items() if check.broken}
    return tally


def test_nothing_to_check_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_bytes(b"\n\n")
    with pytest.raises(ReadError) as raised:
        scan(suite_in(tmp_path), [str(tmp_path / "runs.jsonl")], str(tmp_path / "v.parquet"), Options(workers=1))
    assert "there is no record in" in str(raised.value)

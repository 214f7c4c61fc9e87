"""How long reading takes, against the cost of decoding the same bytes."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import anthropic
from tracewitness.expectations import compile_checks
from tracewitness.readers import read, read_all

#: What is done with the bytes of a conversation, and with those of one decoded already.
READINGS: dict[str, Callable[[bytes], object]] = {
    "bytes": read,
    "bytes, calls asked for": lambda line: read(line).calls,
    "bytes, repeated keys not looked for": lambda line: read(line, test_keys=False),
    "bytes, repeated keys not looked for, calls asked for": lambda line: read(line, test_keys=False).calls,
}


def _seconds(work: Callable[[Any], object], items: list[Any]) -> float:
    begun = time.perf_counter()
    for item in items:
        work(item)
    return time.perf_counter() - begun


def _say(say: Callable[[str], None], what: str, ratios: list[float]) -> None:
    say(
        f"reading tau-bench conversations ({what}): {statistics.median(ratios):.2f} times decoding the bytes (median "
        f"of {len(ratios)} pairs, {min(ratios):.2f} to {max(ratios):.2f}); the goal is 1.5"
    )


@pytest.mark.parametrize("spaced", [True, False], ids=["spaced", "compact"])
@pytest.mark.parametrize("what", READINGS)
def test_reading(
    what: str, spaced: bool, recorded_rows: list[dict[str, Any]], benchmark: Any, say: Callable[[str], None]
) -> None:
    """The messages of a conversation, as Python's json writes them and as most servers do."""
    separators = None if spaced else (",", ":")
    lines = [json.dumps(row["traj"], separators=separators).encode() for row in recorded_rows]
    decode = msgspec.json.Decoder().decode
    ratios = [_seconds(READINGS[what], lines) / _seconds(decode, lines) for _ in range(15)]
    _say(say, f"{what}, {'spaced' if spaced else 'compact'} JSON", ratios)
    benchmark.pedantic(_seconds, (READINGS[what], lines), rounds=5)


def test_reading_what_is_decoded(
    recorded_rows: list[dict[str, Any]], benchmark: Any, say: Callable[[str], None]
) -> None:
    """Messages that are data already: detection and reading, beside decoding."""
    lines = [json.dumps(row["traj"]).encode() for row in recorded_rows]
    histories = [row["traj"] for row in recorded_rows]
    decode = msgspec.json.Decoder().decode
    ratios = [_seconds(read, histories) / _seconds(decode, lines) for _ in range(15)]
    _say(say, "messages that are data already, beside decoding", ratios)
    benchmark.pedantic(_seconds, (read, histories), rounds=5)


@pytest.mark.parametrize("format_name", ["chat completions", "Anthropic", "tau2-bench"])
def test_reading_files(
    format_name: str, histories: dict[str, list[Any]], tmp_path: Path, say: Callable[[str], None]
) -> None:
    """A file of JSON Lines, as Python's json writes them, beside decoding its lines."""
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(history) + "\n" for history in histories[format_name]), "utf-8")
    lines = path.read_bytes().splitlines()
    decode = msgspec.json.Decoder().decode
    ratios = [_seconds(lambda file: list(read_all(file)), [path]) / _seconds(decode, lines) for _ in range(15)]
    say(
        f"{format_name}: reading a file of {len(lines)} lines {statistics.median(ratios):.2f} times decoding them "
        f"(median of {len(ratios)} pairs, {min(ratios):.2f} to {max(ratios):.2f})"
    )


#: A suite of the usual length; what its checks ask for occurs in most conversations of the airline desk.
CHECKS: list[dict[str, Any]] = [
    {"type": "tool_called", "tool": "get_user_details"},
    {"type": "tool_not_called", "tool": "book_reservation", "before": {"tool": "get_user_details", "result": {}}},
    {"type": "tool_input", "tool": "get_user_details", "args": {"user_id": "*"}},
    {"type": "every_call", "tool": "book_reservation", "args": {"insurance": {"$one_of": ["yes", "no"]}}},
    {"type": "followed_by", "tool": "search_direct_flight", "next": {"tool": "book_reservation"}},
    {"type": "last_tool", "tool": "transfer_to_human_agents"},
    {"type": "max_calls", "max": 20},
]


@pytest.fixture(scope="session")
def histories(recorded_rows: list[dict[str, Any]], recorded_simulations: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return conversations in the providers' own formats."""
    chats = [row["traj"] for row in recorded_rows]
    messages = [anthropic(row) for row in recorded_rows if any(item["role"] == "tool" for item in row["traj"])]
    return {"chat completions": chats, "Anthropic": messages, "tau2-bench": recorded_simulations}


@pytest.mark.parametrize("spaced", [True, False], ids=["spaced", "compact"])
@pytest.mark.parametrize("test_keys", [True, False], ids=["keys", "no-keys"])
@pytest.mark.parametrize("format_name", ["chat completions", "Anthropic", "tau2-bench"])
def test_reading_and_checking(
    format_name: str, test_keys: bool, spaced: bool, histories: dict[str, list[Any]], say: Callable[[str], None]
) -> None:
    """Each format as it is recorded: read, and read and checked, beside decoding the same bytes."""
    separators = None if spaced else (",", ":")
    lines = [json.dumps(history, separators=separators).encode() for history in histories[format_name]]
    decode = msgspec.json.Decoder().decode
    checks = compile_checks(CHECKS)

    def read_alone(line: bytes) -> object:
        return read(line, test_keys=test_keys)

    def read_and_check(line: bytes) -> object:
        return checks.check(read(line, test_keys=test_keys))

    reading, checking = [], []
    for _ in range(15):
        decoding = _seconds(decode, lines)
        reading.append(_seconds(read_alone, lines) / decoding)
        checking.append(_seconds(read_and_check, lines) / decoding)
    kind = f"{'spaced' if spaced else 'compact'} JSON, repeated keys {'' if test_keys else 'not '}looked for"
    say(
        f"{format_name} ({kind}): reading {statistics.median(reading):.2f} times decoding the bytes, reading and "
        f"checking {statistics.median(checking):.2f} times (medians of 15; the goals are 1.5 and 2.5)"
    )

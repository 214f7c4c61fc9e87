"""How long reading takes, against the cost of decoding the same bytes."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tracewitness.readers import read

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

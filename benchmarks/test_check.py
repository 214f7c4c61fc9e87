"""How long checking takes, against the cost of decoding the same bytes."""

from __future__ import annotations

import gc
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import neutral
from tracewitness.expectations import CheckSet, compile_checks
from tracewitness.readers import decode_trace
from tracewitness.suites import load_suite
from tracewitness.trace import Trace

ORDERS = Path(__file__).resolve().parents[1] / "examples" / "orders" / "orders.evals.yaml"

ORDER_EVENTS: list[dict[str, Any]] = [
    {"user": "Order ITEM-42, please"},
    {"call": "check_availability", "args": {"item_id": "ITEM-42"}, "id": "c1"},
    {"result": {"status": "available"}, "of": "check_availability", "id": "c1"},
    {"call": "create_order", "args": {"item_id": "ITEM-42", "quantity": 1}, "id": "c2"},
    {"result": {"order_id": "O-1", "status": "confirmed"}, "of": "create_order", "id": "c2"},
    {"agent": "I have placed your order."},
    {"user": "And my new address is 1 Main Street"},
    {"call": "update_account", "args": {"address": "1 Main Street", "verified": True}, "id": "c3"},
    {"result": {"ok": True}, "of": "update_account", "id": "c3"},
    {"call": "check_availability", "args": {"item_id": "ITEM-7"}, "id": "c4"},
    {"result": {"status": "sold out"}, "of": "check_availability", "id": "c4"},
    {"call": "create_order", "args": {"item_id": "ITEM-8", "quantity": 1}, "id": "c5"},
    {"result": {"order_id": "O-2", "status": "confirmed"}, "of": "create_order", "id": "c5"},
    {"call": "end_session", "args": {"status": "completed"}, "id": "c6"},
    {"result": {}, "of": "end_session", "id": "c6"},
]

#: The nine operators, on the airline desk of the recordings; what they ask for occurs in most conversations.
AIRLINE_CHECKS = [
    {"type": "tool_called", "tool": "get_user_details"},
    {
        "type": "tool_not_called",
        "tool": "book_reservation",
        "before": {"tool": "get_user_details", "result": {}},
    },
    {"type": "tool_input", "tool": "get_user_details", "args": {"user_id": "*"}},
    {"type": "tool_output", "tool": "get_reservation_details", "result": {"reservation_id": "*"}},
    {"type": "last_tool", "tool": "transfer_to_human_agents"},
    {"type": "every_call", "tool": "book_reservation", "args": {"insurance": {"$one_of": ["yes", "no"]}}},
    {"type": "followed_by", "tool": "search_direct_flight", "next": {"tool": "book_reservation"}},
    {"type": "terminal_tool", "tool": "transfer_to_human_agents"},
    {"type": "end_session"},
]


def example_checks() -> CheckSet:
    """Compile the nine checks of the shipped example: those of the case that uses all nine operators."""
    case = next(case for case in load_suite(str(ORDERS)).cases if case.name == "order-in-stock")
    nine = {kind["type"] for kind in AIRLINE_CHECKS}
    return compile_checks([operator for operator in case.tool_expectations if operator.type_name in nine])


def test_nine_checks_on_six_calls(benchmark: Any) -> None:
    """The example's nine checks on a trace of six calls, built anew each time."""
    checks = example_checks()
    assert len(checks.operators) >= 10
    verdicts = benchmark(lambda: checks.check(Trace.from_events(ORDER_EVENTS)))
    assert len(verdicts) == len(checks.operators)


@pytest.mark.parametrize("decode_results", [False, True], ids=["results-as-recorded", "results-decoded"])
def test_decode_and_check(
    recorded_rows: list[dict[str, Any]], decode_results: bool, benchmark: Any, say: Callable[[str], None]
) -> None:
    """1,000 recorded conversations: decode and check, beside decoding the same bytes alone."""
    lines = [neutral(row, decode_results=decode_results) for row in recorded_rows] * 5
    checks = compile_checks(AIRLINE_CHECKS)
    decode = msgspec.json.Decoder().decode

    def decode_alone() -> None:
        for line in lines:
            decode(line)

    def decode_and_check() -> None:
        for line in lines:
            checks.check(decode_trace(line))

    ratios = [_seconds(decode_and_check) / _seconds(decode_alone) for _ in range(15)]
    kind = "decoded" if decode_results else "as recorded"
    say(
        f"decode and check 1,000 conversations (results {kind}): {statistics.median(ratios):.2f} times "
        f"decoding alone (median of 15 pairs, {min(ratios):.2f} to {max(ratios):.2f}); the goal is 2.0"
    )
    benchmark.pedantic(decode_and_check, rounds=5)


def test_a_million_calls(say: Callable[[str], None]) -> None:
    """Time and memory grow linearly with the calls of one trace."""
    for calls in (10_000, 100_000, 1_000_000):
        code = f"import test_check; test_check.print_long_trace({calls})"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
        )
        say(done.stdout.strip())


def print_long_trace(calls: int) -> None:
    """Build and check a trace with so many calls and as many results, in a process of its own, and print the cost."""
    names = ["get_user_details", "search_direct_flight", "book_reservation", "calculate", "think"]
    events: list[dict[str, Any]] = []
    for number in range(calls):
        events.append({"call": names[number % 5], "args": {"user_id": "u1", "insurance": "no"}, "id": f"c{number}"})
        events.append({"result": {"ok": True}, "id": f"c{number}"})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    checks = compile_checks(AIRLINE_CHECKS)
    gc.freeze()
    begun = time.perf_counter()
    trace = Trace.from_events(events)
    _ = trace.calls
    built = time.perf_counter()
    verdicts = checks.check(trace)
    checked = time.perf_counter()
    assert len(verdicts) == 10
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"a trace of {calls:,} calls: reading {built - begun:.3f} s, nine checks {checked - built:.3f} s, "
        f"{grown:.0f} MiB more"
    )


@pytest.mark.parametrize(
    ("what", "command", "goal"),
    [
        ("import tracewitness", ["-c", "import tracewitness"], "40 ms over a bare interpreter"),
        ("import tracewitness.expectations", ["-c", "import tracewitness.expectations"], "none set"),
        ("tracewitness --help", ["-m", "tracewitness", "--help"], "200 ms in all"),
    ],
)
def test_whole_processes(what: str, command: list[str], goal: str, say: Callable[[str], None]) -> None:
    """Start-up, as whole processes side by side with a bare interpreter."""
    bare: list[float] = []
    ours: list[float] = []
    for _ in range(15):
        bare.append(_process_seconds(["-c", "pass"]))
        ours.append(_process_seconds(command))
    extra = statistics.median(our - alone for our, alone in zip(ours, bare, strict=True))
    say(
        f"{what}: {statistics.median(ours) * 1000:.0f} ms, {extra * 1000:.0f} ms over a bare interpreter "
        f"(medians of 15; the goal is {goal})"
    )


def _process_seconds(arguments: list[str]) -> float:
    return _seconds(lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True))


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun

"""Time tracewitness beside other libraries that check tool calls, on the same recorded conversations.

The conversations are those of tau-bench, in chat completions. Each library is asked whether the calls of a conversation
are the expected ones, arguments included; all of them are, so that none can stop early. tracewitness gets the bytes,
and decoding and reading them is part of its time. The others are timed twice: from the same bytes, with what has to be
done to give them what they take; and on the comparison alone, with their objects and lists of calls ready-made.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

# Before the libraries are imported: none of them is to ask a server for anything, or to tell one.
os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "LANGSMITH_TRACING": "false", "OPENAI_API_KEY": "none"}
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from test_reading import CHECKS

from conftest import TAU_BENCH, corpora
from tracewitness import evaluate, read
from tracewitness.expectations import compile_checks

ROUNDS = 5
FROM_BYTES = "from the bytes"
CONVERSATIONS = 100
Work = Callable[[], object]


def calls_of(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls of a history."""
    functions = (call["function"] for message in history for call in message.get("tool_calls") or [])
    return [{"tool": each["name"], "args": json.loads(each["arguments"])} for each in functions]


def ours(histories: list[list[dict[str, Any]]]) -> dict[str, list[Work]]:
    """Return what tracewitness does: the usual suite, a sequence of calls, and a score."""
    lines = [json.dumps(history, separators=(",", ":")).encode() for history in histories]
    expected = [calls_of(history) for history in histories]
    suite = compile_checks(CHECKS)
    orders = [compile_checks([{"type": "sequence", "calls": calls, "mode": "exact"}]) for calls in expected]
    return {
        "tracewitness: bytes read, a suite of 7 checks": [lambda line=line: suite.check(read(line)) for line in lines],
        "tracewitness: bytes read, the expected calls in their order": [
            lambda line=line, order=order: order.check(read(line)) for line, order in zip(lines, orders, strict=True)
        ],
        "tracewitness: bytes read, the five metrics": [
            lambda line=line, calls=calls: evaluate(calls, read(line))
            for line, calls in zip(lines, expected, strict=True)
        ],
    }


def tool_scorer(histories: list[list[dict[str, Any]]]) -> dict[str, list[Work]]:
    """Return what tool-scorer does: its `evaluate`, on lists of calls."""
    import toolscore

    return _twice("tool-scorer: evaluate", histories, calls_of, lambda calls: toolscore.evaluate(calls, calls))


def agentevals(histories: list[list[dict[str, Any]]]) -> dict[str, list[Work]]:
    """Return what agentevals does: a match of trajectories, on messages."""
    from agentevals.trajectory.match import create_trajectory_match_evaluator

    match = create_trajectory_match_evaluator(trajectory_match_mode="strict")

    def prepare(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [_as_agentevals_takes_it(message) for message in history]

    def compare(history: list[dict[str, Any]]) -> object:
        return match(outputs=history, reference_outputs=history)

    return _twice("agentevals: trajectory match, strict", histories, prepare, compare)


def _as_agentevals_takes_it(message: dict[str, Any]) -> dict[str, Any]:
    """Leave out calls that are null: it would iterate over them."""
    return {key: value for key, value in message.items() if not (key == "tool_calls" and value is None)}


def deepeval(histories: list[list[dict[str, Any]]]) -> dict[str, list[Work]]:
    """Return what deepeval does: its metric for tools, with arguments and their order."""
    from deepeval.metrics import ToolCorrectnessMetric
    from deepeval.test_case import LLMTestCase, ToolCall, ToolCallParams

    metric = ToolCorrectnessMetric(
        evaluation_params=[ToolCallParams.INPUT_PARAMETERS], async_mode=False, should_consider_ordering=True
    )

    def prepare(history: list[dict[str, Any]]) -> LLMTestCase:
        calls = [ToolCall(name=call["tool"], input_parameters=call["args"]) for call in calls_of(history)]
        return LLMTestCase(input="-", actual_output="-", tools_called=calls, expected_tools=calls)

    def compare(case: LLMTestCase) -> object:
        return metric.measure(case, _show_indicator=False)

    return _twice("deepeval: ToolCorrectnessMetric", histories, prepare, compare)


def _twice(
    name: str, histories: list[Any], prepare: Callable[[Any], Any], compare: Callable[[Any], object]
) -> dict[str, list[Work]]:
    """Return the work from the bytes, and that of the comparison alone."""
    lines = [json.dumps(history, separators=(",", ":")).encode() for history in histories]
    prepared = [prepare(history) for history in histories]
    return {
        f"{name}, {FROM_BYTES}": [lambda line=line: compare(prepare(json.loads(line))) for line in lines],
        f"{name}, the comparison alone": [lambda each=each: compare(each) for each in prepared],
    }


def seconds_of(works: Iterable[Work]) -> float:
    """Return the processor's seconds, which other programs disturb least."""
    begun = time.process_time()
    for work in works:
        work()
    return time.process_time() - begun


def versions(*names: str) -> str:
    """Name the versions that are measured."""
    found = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    return f"Python {platform.python_version()}, {found}"


def main() -> None:
    """Measure all of them in turn, some times, and print the medians."""
    path = corpora() / TAU_BENCH
    if not path.exists():
        sys.exit(f"the recordings of {TAU_BENCH} are not here; TRACEWITNESS_CORPORA says where they are")
    histories = [row["traj"] for row in json.loads(path.read_text("utf-8"))]
    histories = [history for history in histories if calls_of(history)][:CONVERSATIONS]
    candidates = ours(histories) | tool_scorer(histories) | agentevals(histories) | deepeval(histories)
    measured: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(ROUNDS):
        for name, works in candidates.items():
            measured[name].append(seconds_of(works) / len(works))
    medians = {name: statistics.median(each) for name, each in measured.items()}
    others = {name: value for name, value in medians.items() if not name.startswith("tracewitness")}
    fastest = min(value for name, value in others.items() if name.endswith(FROM_BYTES))
    alone = min(value for name, value in others.items() if not name.endswith(FROM_BYTES))
    print(versions("tracewitness", "agentevals", "deepeval", "tool-scorer"))
    print(
        f"{len(histories)} conversations, median of {ROUNDS} rounds; microseconds a conversation, and how many times as"
    )
    print("long the fastest of the others takes, from the bytes and for its comparison alone:")
    for name, value in medians.items():
        print(f"{value * 1e6:8.0f}  {fastest / value:6.1f}  {alone / value:6.1f}  {name}")


if __name__ == "__main__":
    main()

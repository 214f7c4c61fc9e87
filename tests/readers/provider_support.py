"""What the tests of providers' formats share: tools that note what they were called with, and answers to take turns."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracewitness.trace import UNANSWERED, Trace

WHEEL = "the wheel is stuck"


def corpora() -> Path:
    """Return the folder of real recordings: beside the checkout, or where TRACEWITNESS_CORPORA says."""
    default = Path(__file__).resolve().parents[3] / "shared" / "corpora"
    return Path(os.environ.get("TRACEWITNESS_CORPORA", default))


class Tools:
    """Two tools, one of which fails, and a note of every call to them."""

    def __init__(self) -> None:
        self.made: list[tuple[str, dict[str, Any]]] = []

    def search(self, query: str, limit: int = 3) -> dict[str, Any]:
        """Find things."""
        self.made.append(("search", {"query": query, "limit": limit}))
        return {"found": [f"{query}-{number}" for number in range(limit)]}

    def steer(self, angle: float) -> str:
        """Turn the wheel, which can't be turned."""
        self.made.append(("steer", {"angle": angle}))
        raise RuntimeError(WHEEL)

    def run(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Run a tool and return what it gave as text, and whether it failed."""
        try:
            return json.dumps(getattr(self, name)(**arguments)), False
        except RuntimeError as error:
            return f"Error: {error}", True


# What the script makes the model do, in two turns: two calls at once, then one that fails, then words.
PLAN = (
    ("search", {"query": "lamp", "limit": 2}),
    ("search", {"query": "desk", "limit": 1}),
    ("steer", {"angle": 12.5}),
)
RESULTS = ({"found": ["lamp-0", "lamp-1"]}, {"found": ["desk-0"]}, f"Error: {WHEEL}")


def scripted(httpx: Any, answers: list[Any], requests: list[Any]) -> Any:
    """Return a client of which each request gets the next answer; what was sent is kept in ``requests``."""

    def answer(request: Any) -> Any:
        requests.append(json.loads(request.content))
        return httpx.Response(200, json=answers.pop(0))

    return httpx.Client(transport=httpx.MockTransport(answer))


def called(trace: Trace) -> list[tuple[str, Any]]:
    """Return the names and arguments of the calls."""
    return [(call.name, call.args) for call in trace.calls]


def decoded_results(trace: Trace) -> list[Any]:
    """Return the results of the calls, decoded where they are JSON."""
    return [_decoded(call.result) for call in trace.calls]


def _decoded(payload: Any) -> Any:
    if payload is UNANSWERED or not isinstance(payload, str):
        return payload
    try:
        return json.loads(payload)
    except ValueError:
        return payload


def assert_as_planned(trace: Trace, tools: Tools, turns: int = 2, decode: Callable[[Any], Any] = lambda x: x) -> None:
    """Check a trace of the script against what the tools noted."""
    assert called(trace) == tools.made == list(PLAN)
    assert [decode(result) for result in decoded_results(trace)] == list(RESULTS)
    assert trace.problems == ()
    assert trace.no_evidence is None
    assert max(call.turn for call in trace.calls) == turns

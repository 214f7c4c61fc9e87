"""An envelope is looked into, and nothing holds on it because of what is only missing outside."""

from __future__ import annotations

import json
from typing import Any

import naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracewitness.expectations import compile_checks
from tracewitness.matching import ANY, Regex, opened
from tracewitness.trace import Trace

FAILED = {"status": "failed", "error": "boom"}


class Other:
    """A foreign object that equals everything but one value."""

    __hash__ = object.__hash__

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return bool(other != self.value)


#: What must not hold on `FAILED`, for it holds on nothing but a thing that is not there.
DENIALS: dict[str, Any] = {
    "absent": {"error": {"$absent": True}},
    "absent or another": {"error": {"$any_of": [{"$absent": True}, "none"]}},
    "not absent or": {"status": {"$any_of": [{"$absent": True}, "ok"]}},
    "absent result beside": {"result": {"$absent": True}, "error": {"$absent": True}},
    "result may be absent": {"result": {"$any_of": [{"$absent": True}, 1]}, "error": {"$absent": True}},
    "not": {"$not": {"status": "failed"}},
    "partial": {"$partial": {"error": {"$absent": True}}},
    "all of": {"$all_of": [{"$type": "object"}, {"error": {"$absent": True}}]},
    "any of": {"$any_of": [{"error": {"$absent": True}}, 5]},
    "exactly": {"$exactly": {"result": FAILED}},
    "short": {"$length": 1},
    "contains": {"$contains": "result"},
    "foreign": Other(FAILED),
}
WRAPPED: dict[str, Any] = {
    "mapping": {"result": FAILED},
    "text": json.dumps({"result": FAILED}),
    "text with space": f' \n{{ "result" :{json.dumps(FAILED)}}}',
    "text in text": json.dumps(json.dumps({"result": FAILED})),
    "text in text in text": json.dumps(json.dumps(json.dumps({"result": FAILED}))),
    "escaped": '{"r\\u0065sult": {"status": "failed", "error": "boom"}}',
    "escaped first": '{"\\u0072esult": {"status": "failed", "error": "boom"}}',
    "escaped in text": json.dumps('{"r\\u0065sult": {"status": "failed", "error": "boom"}}'),
    "twice the key": '{"result": 1, "result": {"status": "failed", "error": "boom"}}',
}


def status(expected: Any, payload: Any) -> str:
    """Return the verdict of tool_output, and assert that the other operators with a result agree with it."""
    events = [{"call": "pay"}, {"result": payload, "of": "pay"}]
    checks: list[tuple[dict[str, Any], list[Any]]] = [
        ({"type": "tool_output", "tool": "pay", "result": expected}, events),
        (
            {"type": "followed_by", "tool": "begin", "next": {"tool": "pay", "result": expected}},
            [{"call": "begin"}, *events],
        ),
        ({"type": "claim", "says": "paid", "tool": "pay", "result": expected}, [*events, {"agent": "paid"}]),
        (
            {"type": "tool_not_called", "tool": "ship", "before": {"tool": "pay", "result": expected}},
            [*events, {"call": "ship"}],
        ),
    ]
    verdicts = [compile_checks([check]).check(Trace.from_events(seen))[0] for check, seen in checks]
    assert len({verdict.status for verdict in verdicts}) == 1
    if verdicts[0].status == "broken":
        assert verdicts[0].near_miss is not None
        assert verdicts[0].near_miss.differences
    return verdicts[0].status


@pytest.mark.parametrize("payload", WRAPPED)
@pytest.mark.parametrize("expected", DENIALS)
def test_nothing_holds_for_lack_on_the_envelope(expected: str, payload: str) -> None:
    """What is broken by a payload is broken by the payload in an envelope, in whatever way that is written."""
    assert status(DENIALS[expected], FAILED) == "broken"
    assert status(DENIALS[expected], WRAPPED[payload]) == "broken"


@pytest.mark.parametrize(
    ("expected", "payload", "verdict"),
    [
        ({"result": {"status": "ok"}}, {"result": {"status": "ok"}}, "held"),
        ({"result": {"status": "ok"}}, '{"result": {"status": "ok"}}', "held"),
        ('{"result": {"status": "ok"}}', '{"result": {"status": "ok"}}', "held"),
        ('{"result": {"status": "ok"}}', {"result": {"status": "ok"}}, "held"),
        ({"result": {"$any": True}}, {"result": None}, "held"),
        ({"result": {"status": "ok"}, "x": {"$absent": True}}, {"result": {"status": "ok"}}, "held"),
        ({"result": {"result": 1}}, {"result": {"result": 1}}, "held"),
        ({"result": 1}, {"result": {"result": 1}}, "held"),
        ({"result": {"status": "ok"}}, {"result": {"status": "failed"}}, "broken"),
        ({"status": "ok"}, {"result": {"status": "ok"}}, "held"),
        ({"$not": {"status": "failed"}}, {"result": {"status": "ok"}}, "held"),
        ({"error": {"$absent": True}}, {"result": {"status": "ok"}}, "held"),
        ({"error": {"$absent": True}}, {"result": FAILED, "took": 1}, "held"),
        ("*", {"result": ""}, "broken"),
        ("*", {"result": "x"}, "held"),
        ({"$regex": "d.*"}, {"result": "done"}, "held"),
        ({"$regex": "{.*"}, '{"result": "done"}', "broken"),
        ({"$type": "object"}, {"result": "done"}, "broken"),
        ({"$any": True}, {"result": None}, "held"),
        (None, {"result": None}, "held"),
        ({"$not": "failed"}, "the result is good", "held"),
        ({"$not": "failed"}, '"the result is good"', "held"),
    ],
)
def test_envelopes(expected: Any, payload: Any, verdict: str) -> None:
    """The outside counts where the expectation demands the key; else what is inside."""
    assert status(expected, payload) == verdict
    check = {"type": "tool_output", "tool": "pay", "result": expected}
    assert naive.verdict(check, [{"call": "pay"}, {"result": payload}]) == verdict


@pytest.mark.parametrize("inside", ["[" * 3000 + "]" * 3000, "9" * 5000], ids=["deep", "long"])
def test_an_envelope_that_cannot_be_read_holds_nothing(inside: str) -> None:
    """Where nobody knows whether a text is an envelope, no expectation holds on it."""
    for text in (f'{{"result": {inside}}}', json.dumps(f'{{"result": {inside}}}')):
        for expected in ({"$not": {"$type": "object"}}, {"$not": "failed"}, Other("failed"), ANY, Regex("(?s).*")):
            assert status(expected, text) == "broken"
        assert opened(text) == text


def test_the_nearest_miss_is_told_of_the_nearer_reading() -> None:
    """Of an envelope and what is in it, where both count, the one that differs less is shown."""
    events = [{"call": "pay"}, {"result": {"result": {"status": "failed", "id": 1}}}]
    check = {"type": "tool_output", "tool": "pay", "result": {"result": {"status": "ok", "id": 1}}}
    verdict = compile_checks([check]).check(Trace.from_events(events))[0]
    assert str(verdict.near_miss) == "result.result.status: expected 'ok', got 'failed'"


KEYS = st.sampled_from(["result", "results", "status", "a"])
VALUES = st.recursive(
    st.sampled_from([1, None, "x", '{"result": 1}']),
    lambda inner: st.dictionaries(KEYS, inner, max_size=2) | st.lists(inner, max_size=2) | inner.map(json.dumps),
    max_leaves=4,
)


@given(VALUES, st.booleans())
def test_the_quick_look_misses_no_envelope(value: Any, ascii_only: bool) -> None:
    """A text is opened exactly where decoding it, up to three times, gives a mapping with the one key."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    inside: Any = text
    for _ in range(3):
        if not isinstance(inside, str):
            break
        try:
            inside = json.loads(inside)
        except ValueError:
            break
    is_envelope = isinstance(inside, dict) and list(inside) == ["result"]
    assert opened(text) == (inside["result"] if is_envelope else text)

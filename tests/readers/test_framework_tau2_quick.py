"""Simulations of tau2-bench that are decoded at once make the same traces as those that are not."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick_support import optional, told

from tracewitness.errors import ReadError
from tracewitness.readers import read
from tracewitness.readers.documents import decode_document
from tracewitness.readers.frameworks.tau2_quick import decode_simulation
from tracewitness.readers.registry import detected, trace_of

_TEXTS = st.sampled_from(["", "hi", "null", "a:b", 'say "so": "no"', "é\u2028\n\t\\"])
_MAYBE: st.SearchStrategy[Any] = st.one_of(st.none(), _TEXTS, st.sampled_from([["part"], 3]))
_IDS: st.SearchStrategy[Any] = st.sampled_from(["c1", "c2", "c1", "", "null", None, 7])
_TIMES: st.SearchStrategy[Any] = st.sampled_from([None, "", "2026-01-01T00:00:00", 3])
_CALLS = optional(
    {"id": _IDS, "name": _TEXTS, "arguments": st.sampled_from([{}, {"q": {"n": 1.50}}, "{}", None, [], {"a:b": ":"}])},
    requestor=st.sampled_from(["assistant", "user", "", None, "x"]),
)
_SAID = optional(
    {"role": st.sampled_from(["user", "assistant", "assistant", "system"])},
    content=_MAYBE,
    tool_calls=st.none() | st.lists(_CALLS, max_size=3),
    turn_idx=st.sampled_from([0, None, "x"]),
    timestamp=_TIMES,
    cost=st.sampled_from([0.50, None, {}]),
    usage=st.sampled_from([None, {"prompt_tokens": 3}]),
    raw_data=st.sampled_from([None, {"choices": [{"a": [1]}]}]),
)
_RESULTS = optional(
    {"role": st.just("tool"), "id": _IDS, "content": _MAYBE},
    requestor=st.sampled_from(["assistant", "user", None]),
    error=st.sampled_from([True, False, None, "x"]),
    timestamp=_TIMES,
)
_USUAL_SAID = optional(
    {"role": st.sampled_from(["user", "assistant"]), "content": _TEXTS},
    tool_calls=st.none()
    | st.lists(
        st.fixed_dictionaries(
            {
                "id": st.sampled_from(["c1", "c2"]),
                "name": st.just("a"),
                "arguments": st.just({"q": 1}),
                "requestor": st.sampled_from(["assistant", "user"]),
            }
        ),
        max_size=2,
    ),
    timestamp=st.sampled_from([None, "2026-01-01T00:00:00"]),
)
_USUAL_RESULTS = optional(
    {"role": st.just("tool"), "id": st.sampled_from(["c1", "c2"]), "content": _TEXTS}, error=st.booleans()
)
_SIMULATIONS = optional(
    {
        "task_id": st.sampled_from(["7", 7, None, ""]),
        "messages": st.lists(_USUAL_SAID | _USUAL_RESULTS, max_size=6) | st.lists(_SAID | _RESULTS, max_size=6),
    },
    termination_reason=st.sampled_from(["user_stop", "max_steps", None]),
    reward_info=st.sampled_from([None, {"reward": 1.0, "action_checks": [{"a": 1}]}]),
    trial=st.just(0),
    note=st.just("x"),
)


@settings(max_examples=400)
@given(_SIMULATIONS, st.sampled_from([None, 2]), st.sampled_from([(", ", ": "), (",", ":")]), st.booleans())
def test_quick_and_slow_agree(
    simulation: dict[str, Any], indent: int | None, separators: tuple[str, str], ascii_only: bool
) -> None:
    """On events, problems, places, names and formats; and what is not decoded at once is left to the reader."""
    data = json.dumps(simulation, indent=indent, separators=separators, ensure_ascii=ascii_only).encode()
    for quick in (decode_simulation(data), decode_simulation(data, test_keys=False)):
        if quick is not None:
            slow = trace_of(decode_document(data))
            assert [reader.name for reader in detected(simulation)] == ["tau2-bench"]
            assert (told(quick), quick.name) == (told(slow), slow.name)
            assert (quick.problems, quick.no_evidence) == (slow.problems, None)
            assert told(pickle.loads(pickle.dumps(quick))) == told(slow)  # noqa: S301 - our own


_CALL = {"id": "c1", "name": "a", "arguments": {"q": {"n": 1.50}}, "requestor": "user"}
_USUAL = {
    "id": "s1",
    "task_id": "7",
    "termination_reason": "user_stop",
    "reward_info": {"reward": 1.0, "checks": [{"a": 1}]},
    "duration": 1.50,
    "messages": [
        {"role": "assistant", "content": "é: hi", "tool_calls": None, "turn_idx": 0, "cost": 0.10, "usage": {"a": 1}},
        {"role": "user", "content": None, "tool_calls": [_CALL], "timestamp": "2026-01-01T00:00:00"},
        {"id": "c1", "role": "tool", "content": "{}", "requestor": "user", "error": True, "timestamp": "2026-01-02"},
    ],
}


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_usual_simulations_are_decoded_at_once(separators: tuple[str, str]) -> None:
    """With all that most of them have, in one of them."""
    text = json.dumps(_USUAL, separators=separators)
    trace = decode_simulation(text.encode())
    assert trace is not None
    assert trace.to_events() == [
        {"agent": "é: hi"},
        {
            "call": "a",
            "args": {"q": {"n": 1.5}},
            "id": "c1",
            "by": "user",
            "at": "2026-01-01T00:00:00",
        },
        {"result": "{}", "id": "c1", "is_error": True, "at": "2026-01-02"},
        {"end": True},
    ]
    assert read(text) == read(_USUAL) == trace


@pytest.mark.parametrize(
    ("usual", "repeated"),
    [
        ('"n":1.5', '"n":1,"n":1.5'),
        ('"reward":1.0', '"reward":0.0,"reward":1.0'),
        ('"usage":{"a":1}', '"usage":{"a":2,"a":1}'),
        ('"name":"a"', '"name":"b","name":"a"'),
        ('"task_id":"7"', '"task_id":"8","task_id":"7"'),
        ('"content":"{}"', '"content":"","content":"{}"'),
    ],
)
def test_keys_that_stand_twice_are_found(usual: str, repeated: str) -> None:
    """At every depth, also in what is passed over."""
    text = json.dumps(_USUAL, separators=(",", ":"), ensure_ascii=False)
    assert usual in text
    text = text.replace(usual, repeated)
    assert decode_simulation(text.encode()) is None
    with pytest.raises(ReadError, match="stands twice"):
        read(text)


@pytest.mark.parametrize("usual", ['"duration":1.5', '"reward":1.0', '"cost":0.1', '"n":1.5'])
def test_numbers_that_cannot_be_read_are_found(usual: str) -> None:
    """Wherever they stand, the reader says of them what it says of any."""
    text = json.dumps(_USUAL, separators=(",", ":"))
    assert usual in text
    data = text.replace(usual, usual.split(":")[0] + ":" + "9" * 5000).encode()
    assert decode_simulation(data) is None
    with pytest.raises(ReadError, match="digits"):
        read(data)

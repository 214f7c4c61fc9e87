"""Hiding by path and by look, in values of any shape, in JSON within texts, and in whole traces."""

from __future__ import annotations

import copy
import json
import pickle
from collections import UserDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracewitness import Redaction, Trace
from tracewitness.errors import UsageError
from tracewitness.redaction import HIDDEN, redact_events

KEY = "sk" + "-proj-a1B2c3D4e5F6g7H8i9J0"


@pytest.mark.parametrize(
    ("paths", "value", "shown"),
    [
        (["card"], {"card": {"number": 1}, "sum": 2}, {"card": HIDDEN, "sum": 2}),
        (["card.*"], {"card": {"number": 1, "name": "A"}}, {"card": {"number": HIDDEN, "name": HIDDEN}}),
        (["card.*"], {"card": "x"}, {"card": "x"}),
        (
            ["**.id"],
            {"id": 1, "a": [{"id": None}, {"b": {"id": []}}]},
            {"id": HIDDEN, "a": [{"id": HIDDEN}, {"b": {"id": HIDDEN}}]},
        ),
        (["items[*].x"], {"items": [{"x": 1}, {"y": 2}, 3]}, {"items": [{"x": HIDDEN}, {"y": 2}, 3]}),
        (["items[1]"], {"items": [1, 2]}, {"items": [1, HIDDEN]}),
        (["t[0]"], {"t": (1, 2)}, {"t": (HIDDEN, 2)}),
        (["['odd key']"], {"odd key": 1}, {"odd key": HIDDEN}),
        (["a.b"], {"a": '{"b": 1, "c": 2}'}, {"a": '{"b": "[redacted]", "c": 2}'}),
        (["a[0].b"], {"a": '[{"b": 1}]'}, {"a": '[{"b": "[redacted]"}]'}),
        (["a.b.c"], {"a": json.dumps({"b": json.dumps({"c": 1})})}, {"a": json.dumps({"b": '{"c": "[redacted]"}'})}),
        (["a.1"[:1]], {"a": 1}, {"a": HIDDEN}),
        (["['1']"], {1: "x", 2: "y"}, {1: HIDDEN, 2: "y"}),
        (["$"], {"a": 1}, HIDDEN),
    ],
)
def test_what_stands_at_a_path_is_hidden_whole(paths: list[str], value: Any, shown: Any) -> None:
    before = copy.deepcopy(value)
    assert Redaction(paths).value(value) == shown
    assert value == before


@pytest.mark.parametrize("text", ['{"b": 1', "{'b': 1}", '[{"b": 1}', '{"b": 1} {"b": 2}', "[" * 5000])
def test_a_text_that_should_be_an_object_and_cant_be_read_is_hidden_where_a_path_leads_into_it(text: str) -> None:
    assert Redaction(["a.b"]).value({"a": text, "c": text}) == {"a": HIDDEN, "c": text}


@pytest.mark.parametrize("text", ["[1] a footnote", "{name}, hello", "[INFO] started", "plain", "7", ""])
def test_a_text_that_is_no_object_at_all_stays(text: str) -> None:
    assert Redaction(["**.b"]).value({"a": text}) == {"a": text}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"password": "x", "user": "ada"}, {"password": HIDDEN, "user": "ada"}),
        ({"a": [{"apiKey": 7}]}, {"a": [{"apiKey": HIDDEN}]}),
        ({"credentials": {"user": "ada", "x": 1}}, {"credentials": HIDDEN}),
        (
            {"password": None, "secret": True, "token": "", "api_key": [], "cvv": 0},
            {"password": None, "secret": True, "token": "", "api_key": [], "cvv": HIDDEN},
        ),
        (
            {"headers": [{"name": "Authorization", "value": "x"}]},
            {"headers": [{"name": "Authorization", "value": HIDDEN}]},
        ),
        ({"headers": [["X-Api-Key", "x"], ["Host", "y"]]}, {"headers": [["X-Api-Key", HIDDEN], ["Host", "y"]]}),
        ('{"password": "x", "n": 1.0}', '{"password": "[redacted]", "n": 1.0}'),
        ('{"n":  1.0}', '{"n":  1.0}'),
        ('{"a": {"password": "x"}, "a": 1}', '{"a": 1}'),
        (
            {"body": json.dumps({"inner": json.dumps({"password": "x"})})},
            {"body": json.dumps({"inner": '{"password": "[redacted]"}'})},
        ),
        (KEY, HIDDEN),
        ({KEY: 1, KEY + "2": 2, "a": 3}, {HIDDEN: 1, f"{HIDDEN} (2)": 2, "a": 3}),
        ([4111111111111111, 4111111111111112, 1700000000000], [HIDDEN, 4111111111111112, 1700000000000]),
        (b"key " + KEY.encode() + b"\xff", b"key [redacted]\xff"),
        ({"note": f"use {KEY} here"}, {"note": "use [redacted] here"}),
        (
            {"order_id": "ORD-42", "sum": 3.5, "none": None, "yes": True},
            {"order_id": "ORD-42", "sum": 3.5, "none": None, "yes": True},
        ),
    ],
)
def test_known_secrets_are_hidden_without_being_named(value: Any, shown: Any) -> None:
    assert Redaction().value(value) == shown
    assert Redaction.none().value(value) == value


def test_a_path_may_be_given_for_where_the_value_stands() -> None:
    redaction = Redaction(["args.card", "result[0]"])
    assert redaction.value({"card": 1}, ("args",)) == {"card": HIDDEN}
    assert redaction.value(7, ("args", "card", "number")) == HIDDEN
    assert redaction.value([1, 2], ("result",)) == [HIDDEN, 2]
    assert redaction.value("x", ("args", "password")) == HIDDEN
    assert redaction.value({"card": 1}, ("result",)) == {"card": 1}


def test_what_nests_too_deeply_to_be_looked_through_is_hidden() -> None:
    deep: Any = {"password": "x"}
    for _ in range(3000):
        deep = [deep]
    shown = Redaction().value(deep)
    assert "x" not in repr(shown).replace(HIDDEN, "")
    itself: list[Any] = [1]
    itself.append(itself)
    assert HIDDEN in repr(Redaction().value(itself))


def test_texts_in_texts_are_opened_three_times_and_looked_at_all_the_same() -> None:
    text = json.dumps({"password": "hunter2"})
    for _ in range(6):
        text = json.dumps({"t": text})
    assert "hunter2" not in Redaction().value(text)


def test_a_mapping_that_cant_be_read_is_hidden() -> None:
    class Broken(dict[str, int]):
        def items(self) -> Any:
            raise RuntimeError("no")

    assert Redaction().value({"a": Broken(b=1), "c": UserDict(password=1)}) == {"a": HIDDEN, "c": {"password": HIDDEN}}


def test_events_keep_their_form_and_a_trace_of_them_its_pairs() -> None:
    events = [
        {"user": f"my key is {KEY}"},
        {"call": "pay", "args": {"card": {"number": "1"}, "sum": 2}, "id": "4111111111111111", "by": "desk", "at": 1.5},
        {"result": '{"token": "t", "ok": true}', "id": "4111111111111111"},
        {"call": "pay", "raw_args": '{"card": {"num', "id": "c2", "metadata": {"authorization": "x"}},
        {"raw_result": "nonsense", "id": "c2"},
        {"agent": "paid with card 4111111111111111"},
        {"transfer": "billing"},
        {"end": True},
        {"odd": 1, "password": "x"},
        "no event, password=x",
        7,
    ]
    shown = redact_events(events, Redaction(["args.card.number", "result.token"]))
    assert shown == [
        {"user": f"my key is {HIDDEN}"},
        {
            "call": "pay",
            "args": {"card": {"number": HIDDEN}, "sum": 2},
            "id": "4111111111111111",
            "by": "desk",
            "at": 1.5,
        },
        {"result": '{"token": "[redacted]", "ok": true}', "id": "4111111111111111"},
        {"call": "pay", "raw_args": HIDDEN, "id": "c2", "metadata": {"authorization": HIDDEN}},
        {"raw_result": HIDDEN, "id": "c2"},
        {"agent": f"paid with card {HIDDEN}"},
        {"transfer": "billing"},
        {"end": True},
        {"odd": 1, "password": HIDDEN},
        "no event, password=[redacted]",
        7,
    ]
    before, after = Trace.from_events(events), Trace.from_events(shown)
    assert [call.number for call in after.calls if call.answer] == [call.number for call in before.calls if call.answer]
    assert redact_events(before.to_events(), Redaction.none()) == before.to_events()


def test_a_malformed_path_is_refused_before_anything_is_hidden() -> None:
    with pytest.raises(UsageError, match="character 3"):
        Redaction(["a..b"])
    with pytest.raises(UsageError, match="a list of patterns"):
        Redaction("args.card")


def test_a_redaction_is_a_value() -> None:
    redaction = Redaction(["a", "b.*"])
    assert redaction == Redaction(("a", "b.*")) != Redaction(["a"])
    assert redaction != Redaction(["a", "b.*"], secrets=False)
    assert repr(redaction) == "Redaction(['a', 'b.*'], secrets=True)"
    assert len({redaction, copy.copy(redaction)}) == 1
    assert [bool(redaction), bool(Redaction()), bool(Redaction.none())] == [True, True, False]
    assert redaction != "Redaction"
    assert pickle.loads(pickle.dumps(redaction)).value({"a": 1}) == {"a": HIDDEN}  # noqa: S301 - our own


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(max_size=8),
        st.sampled_from([KEY, "password=x", '{"secret": "x"}', HIDDEN]),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "password", "id", KEY, "name", "value"]), inner, max_size=4)
    ),
    max_leaves=8,
)
patterns = st.lists(st.sampled_from(["a", "**.id", "a.*", "[0]", "a[*].id", "**"]), max_size=3)


@given(json_values, patterns)
def test_hiding_again_changes_nothing(value: Any, paths: list[str]) -> None:
    redaction = Redaction(paths)
    once = redaction.value(value)
    assert redaction.value(once) == once


@given(json_values)
def test_a_secret_is_nowhere_in_what_is_shown(value: Any) -> None:
    assert KEY not in json.dumps(Redaction().value(value))


@given(json_values)
def test_where_nothing_is_to_be_hidden_a_value_stays_as_it_is(value: Any) -> None:
    assert Redaction.none().value(value) == value

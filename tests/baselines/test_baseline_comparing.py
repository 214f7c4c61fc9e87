"""What is compared with a baseline and how; what a person may write into it; and what a failure says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from baseline_support import check, run, store, text, write

from tracewitness import IsType, Regex, Satisfies, SuiteError, Trace, UsageError

KEY = "sk" + "-proj-a1B2c3D4e5F6g7H8i9J0"

ORDER = (
    {"search": {"query": "lamp", "limit": 5}},
    [{"price": {"item": "L-1"}}, {"stock": {"item": "L-1"}}],
    {"order": {"item": "L-1", "quantity": 2}},
)

RECORDED = """\
# Calls of agents, recorded by tracewitness. Later runs are compared with them exactly. A value may be replaced by a
# matcher, as in eval files: {$regex: "ORD-.*"}; rewriting keeps it as long as it matches.
version: 1
baselines:
  "test_order":
  - call: "search"
    args:
      limit: 5
      query: "lamp"
  - parallel:
    - call: "price"
      args:
        item: "L-1"
    - call: "stock"
      args:
        item: "L-1"
  - call: "order"
    args:
      item: "L-1"
      quantity: 2
"""


def test_the_first_run_is_recorded_in_a_file_that_people_can_read(tmp_path: Path) -> None:
    result = check(tmp_path, run(*ORDER))
    assert (result.passed, result.written, result.updated) == (True, True, False)
    assert "recorded 4 calls" in result.explanation
    assert text(tmp_path) == RECORDED


def test_the_order_in_which_parallel_calls_came_first_does_not_show_in_the_file(tmp_path: Path) -> None:
    check(tmp_path, run(ORDER[0], ORDER[1][::-1], ORDER[2]))  # type: ignore[index]
    assert text(tmp_path) == RECORDED


@pytest.mark.parametrize(
    ("recorded", "came"),
    [
        (1, True),
        (1, 1.0),
        (True, 1),
        (0, False),
        (None, 0),
        ("hi", "hi\n"),
        ("hi", " hi"),
        ("1", 1),
        ("true", True),
        ("", None),
        ([], {}),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ({}, {"a": None}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ("{}", {}),
        ("é", "e\u0301"),
        ("*", "anything"),
        (b"hi", "hi"),
        ((1, 2), [1, 2]),
        ({1: 2}, {"1": 2}),
        ({"$any": True}, 7),
        (float("nan"), None),
        (0.1, 0.1 + 1e-17 + 1e-16),
        (2**53, 2**53 + 1),
    ],
    ids=repr,
)
def test_values_and_types_are_compared_exactly(tmp_path: Path, recorded: Any, came: Any) -> None:
    check(tmp_path, run({"a": {"x": recorded}}))
    assert check(tmp_path, run({"a": {"x": recorded}}), ci=True).passed
    result = check(tmp_path, run({"a": {"x": came}}), ci=True)
    assert not result.passed
    assert "\n           args.x" in result.explanation


DIFFERENCES: list[tuple[str, tuple[Any, ...], list[str]]] = [
    (
        "an argument changed",
        (ORDER[0], ORDER[1], {"order": {"item": "L-1", "quantity": 3}}),
        [
            "1 call changed",
            "CHANGED  order(item='L-1', quantity=3) (event 7)",
            "      was  order(item='L-1', quantity=2) (call 4, line 17)",
            "           args.quantity: expected 2, got 3",
        ],
    ),
    (
        "a call is missing",
        (ORDER[0], ORDER[1]),
        ["1 call missing", "MISSING  order(item='L-1', quantity=2) (call 4, line 17)"],
    ),
    (
        "a call is new",
        (*ORDER, {"mail": {"to": "ada"}}),
        ["1 call new", "NEW      mail(to='ada') (event 9)"],
    ),
    (
        "a call moved",
        (ORDER[2], ORDER[0], ORDER[1]),
        [
            "1 call moved",
            "MOVED    order(item='L-1', quantity=2) (event 1)",
            "      was  order(item='L-1', quantity=2) (call 4, line 17)",
        ],
    ),
    (
        "a call came twice",
        (ORDER[0], ORDER[1], ORDER[2], ORDER[2]),
        ["1 call new", "NEW      order(item='L-1', quantity=2) (event 9)"],
    ),
    (
        "one of the parallel calls changed",
        (ORDER[0], [{"stock": {"item": "L-2"}}, {"price": {"item": "L-1"}}], ORDER[2]),
        [
            "1 call changed",
            "CHANGED  stock(item='L-2') (event 3)",
            "      was  stock(item='L-1') (call 3, line 14)",
            "           args.item: expected 'L-1', got 'L-2'",
        ],
    ),
    (
        "nothing was called",
        (),
        [
            "4 calls missing",
            "MISSING  search(limit=5, query='lamp') (call 1, line 6)",
            "MISSING  price(item='L-1') (call 2, line 11)",
            "MISSING  stock(item='L-1') (call 3, line 14)",
            "MISSING  order(item='L-1', quantity=2) (call 4, line 17)",
        ],
    ),
]


@pytest.mark.parametrize(("calls", "said"), [row[1:] for row in DIFFERENCES], ids=[row[0] for row in DIFFERENCES])
def test_a_failure_says_call_by_call_what_differs(tmp_path: Path, calls: tuple[Any, ...], said: list[str]) -> None:
    check(tmp_path, run(*ORDER))
    first, *rest = check(tmp_path, run(*calls), ci=True).explanation.splitlines()
    assert first == f"the baseline 'test_order' in {tmp_path}/__witness__/test_orders.witness.yaml: {said[0]}"
    assert rest == said[1:]


def test_where_nothing_shows_that_calls_were_parallel_their_order_counts(tmp_path: Path) -> None:
    """A plain list of calls has no results, which would show it."""
    events = [{"call": "a"}, {"call": "b"}]
    check(tmp_path, Trace.from_events(events))
    assert not check(tmp_path, Trace.from_events(events[::-1])).passed


def test_parallel_calls_of_which_one_is_unanswered_are_parallel(tmp_path: Path) -> None:
    events = [{"call": "a", "id": "1"}, {"call": "b", "id": "2"}, {"result": 1, "id": "1"}, {"agent": "done"}]
    check(tmp_path, Trace.from_events(events))
    assert check(tmp_path, Trace.from_events([events[1], events[0], *events[2:]])).passed


def test_the_agent_that_called_is_compared(tmp_path: Path) -> None:
    events = [{"call": "a", "by": "planner"}]
    check(tmp_path, Trace.from_events(events))
    assert 'by: "planner"' in text(tmp_path)
    assert (
        "by: expected 'planner', got 'worker'"
        in check(tmp_path, Trace.from_events([{"call": "a", "by": "worker"}])).explanation
    )
    assert not check(tmp_path, Trace.from_events([{"call": "a"}])).passed
    assert check(tmp_path, Trace.from_events([{"call": "a", "by": "worker"}]), ignore=["by"]).passed


def test_names_of_tools_are_compared_as_they_are(tmp_path: Path) -> None:
    check(tmp_path, run({"projects/p/tools/book": {}}))
    assert not check(tmp_path, run({"book": {}})).passed


def test_arguments_that_could_not_be_read_are_compared_as_they_came(tmp_path: Path) -> None:
    def malformed(raw: Any) -> Trace:
        return Trace.from_events([{"call": "a", "raw_args": raw}])

    check(tmp_path, malformed('{"broken'))
    assert 'raw_args: "{\\"broken"' in text(tmp_path)
    assert check(tmp_path, malformed('{"broken')).passed
    assert "raw_args: expected" in check(tmp_path, malformed('{"other')).explanation
    assert not check(tmp_path, run({"a": {}})).passed


class TestResults:
    """What tools returned is not what the agent did; who wants it compared says so, or writes it into the file."""

    @staticmethod
    def returning(result: Any, **more: Any) -> Trace:
        return Trace.from_events([{"call": "a", "id": "1"}, {"result": result, "id": "1", **more}])

    def test_by_default_they_are_neither_recorded_nor_compared(self, tmp_path: Path) -> None:
        check(tmp_path, self.returning({"at": 1}))
        assert "at" not in text(tmp_path).split("version")[1]
        assert check(tmp_path, self.returning({"at": 2})).passed

    def test_they_are_where_that_is_asked_for(self, tmp_path: Path) -> None:
        check(tmp_path, self.returning({"at": 1}), results=True)
        assert check(tmp_path, self.returning({"at": 1}), results=True).passed
        assert "result.at: expected 1, got 2" in check(tmp_path, self.returning({"at": 2}), results=True).explanation
        assert not check(tmp_path, self.returning({"at": 1}, is_error=True), results=True).passed
        assert not check(tmp_path, run(), results=True).passed
        assert not check(tmp_path, Trace.from_events([{"call": "a", "id": "1"}]), results=True).passed

    def test_what_the_file_has_is_compared_in_any_case(self, tmp_path: Path) -> None:
        check(tmp_path, self.returning({"at": 1}), results=True)
        assert not check(tmp_path, self.returning({"at": 2})).passed

    def test_what_the_file_has_not_is_missed_where_results_are_asked_for(self, tmp_path: Path) -> None:
        check(tmp_path, self.returning(None))
        assert not check(tmp_path, self.returning(None), results=True).passed
        assert check(tmp_path, self.returning(None), results=True, update=True).updated
        assert "result: null" in text(tmp_path)

    def test_undecodable_ones_are_compared_as_they_came(self, tmp_path: Path) -> None:
        def raw(result: str) -> Trace:
            return Trace.from_events([{"call": "a", "id": "1"}, {"raw_result": result, "id": "1"}])

        check(tmp_path, raw("x"), results=True)
        assert check(tmp_path, raw("x"), results=True).passed
        assert not check(tmp_path, raw("y"), results=True).passed
        assert not check(tmp_path, self.returning("x"), results=True).passed


WITH_MATCHERS = """\
version: 1
baselines:
  test_order:
    - call: search  # what the customer asked for
      args:
        query: {$regex: "l.mp"}
        limit: {$gt: 0}
        page: {$absent: true}
    - call: order
      args: {item: L-1, quantity: {$any: true}}
"""


@pytest.mark.parametrize(
    ("search", "order", "passes"),
    [
        ({"query": "lamp", "limit": 5}, {"item": "L-1", "quantity": 2}, True),
        ({"query": "lump", "limit": 1}, {"item": "L-1", "quantity": None}, True),
        ({"query": "lamps", "limit": 5}, {"item": "L-1", "quantity": 2}, False),
        ({"query": "lamp", "limit": True}, {"item": "L-1", "quantity": 2}, False),
        ({"query": "lamp", "limit": 5, "page": 1}, {"item": "L-1", "quantity": 2}, False),
        ({"query": "lamp", "limit": 5}, {"item": "L-1"}, False),
        ({"query": "lamp", "limit": 5}, {"item": "L-2", "quantity": 2}, False),
    ],
)
def test_a_person_may_put_a_matcher_in_the_place_of_a_value(
    tmp_path: Path, search: Any, order: Any, passes: bool
) -> None:
    write(tmp_path, WITH_MATCHERS)
    assert check(tmp_path, run({"search": search}, {"order": order})).passed == passes
    assert text(tmp_path) == WITH_MATCHERS


def test_data_that_looks_like_a_matcher_is_data(tmp_path: Path) -> None:
    check(tmp_path, run({"a": {"filter": {"$gt": 1}}}))
    assert '"$eq":' in text(tmp_path)
    assert check(tmp_path, run({"a": {"filter": {"$gt": 1}}})).passed
    assert not check(tmp_path, run({"a": {"filter": 5}})).passed


def test_a_matcher_may_be_given_by_the_test(tmp_path: Path) -> None:
    given: dict[str, Any] = {"args.id": Regex(r"ORD-\d+"), "args.items[*].at": IsType(int)}
    first = {"id": "ORD-1", "items": [{"at": 1}, {"at": 2}]}
    check(tmp_path, run({"a": first}), matchers=given)
    assert '"$regex": "ORD-\\\\d+"' in text(tmp_path)
    assert "ORD-1" not in text(tmp_path)
    other = {"id": "ORD-77", "items": [{"at": 5}, {"at": 6}]}
    assert check(tmp_path, run({"a": other}), matchers=given).passed
    assert not check(tmp_path, run({"a": {**other, "id": "77"}}), matchers=given).passed
    assert not check(tmp_path, run({"a": {**other, "items": [{"at": "5"}, {"at": 6}]}}), matchers=given).passed


def test_a_matcher_that_is_given_later_goes_before_the_value_in_the_file(tmp_path: Path) -> None:
    check(tmp_path, run({"a": {"id": "ORD-1"}}))
    assert check(tmp_path, run({"a": {"id": "ORD-2"}}), matchers={"**.id": Regex("ORD-.*")}).passed
    assert not check(tmp_path, run({"a": {"id": "X"}}), matchers={"**.id": Regex("ORD-.*")}).passed


def test_a_run_that_the_tests_own_matcher_refuses_is_not_recorded(tmp_path: Path) -> None:
    given = {"args.id": Regex("ORD-.*")}
    first = check(tmp_path, run({"a": {"id": "X"}}), matchers=given)
    assert (first.passed, first.written) == (False, False)
    assert (
        "is not recorded: a value is not matched by its matcher: args.id: expected Regex('ORD-.*'), got 'X'"
        in first.explanation
    )
    assert list(tmp_path.iterdir()) == []
    check(tmp_path, run({"a": {"id": "ORD-1"}}), matchers=given)
    before = text(tmp_path)
    other = check(tmp_path, run({"a": {"id": "X"}}), matchers=given, update=True)
    assert (other.passed, other.updated) == (False, False)
    assert "args.id: expected Regex('ORD-.*'), got 'X'" in other.explanation
    assert text(tmp_path) == before


def test_a_matcher_that_no_file_can_hold_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a matcher of a baseline can't be used"):
        check(tmp_path, run({"a": {"id": "X"}}), matchers={"args.id": Satisfies(bool)})


class TestRedaction:
    """What is secret is never written, and what is hidden is compared as it was hidden."""

    def test_secrets_are_hidden_before_anything_is_written(self, tmp_path: Path) -> None:
        args = {"password": "hunter2", "note": f"use {KEY}", "card": {"number": "4111"}, "body": '{"apiKey": "k1"}'}
        trace = run({"a": args}, {"b": {KEY: 1}})
        for came in (trace, run({"a": {**args, "note": f"see {KEY}"}})):
            result = check(tmp_path, came, redact=["args.card"])
            said = result.explanation + "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
            assert not [secret for secret in ("hunter2", KEY, "4111", "k1") if secret in said]
        assert check(tmp_path, trace, redact=["args.card"]).passed

    def test_another_secret_in_the_same_place_is_the_same(self, tmp_path: Path) -> None:
        check(tmp_path, run({"a": {"password": "one"}}))
        assert check(tmp_path, run({"a": {"password": "two"}})).passed
        assert not check(tmp_path, run({"a": {"password": ""}})).passed

    def test_they_can_be_kept(self, tmp_path: Path) -> None:
        check(tmp_path, run({"a": {"password": "one"}}), secrets=False)
        assert 'password: "one"' in text(tmp_path)
        assert not check(tmp_path, run({"a": {"password": "two"}}), secrets=False).passed

    def test_a_secret_that_is_in_the_file_is_not_shown_and_goes_with_the_next_rewriting(self, tmp_path: Path) -> None:
        check(tmp_path, run({"a": {"note": KEY}}), secrets=False)
        result = check(tmp_path, run({"a": {"note": KEY}}))
        assert not result.passed
        assert KEY not in result.explanation
        check(tmp_path, run({"a": {"note": KEY}}), update=True)
        assert KEY not in text(tmp_path)

    def test_results_and_objects_are_hidden_as_well(self, tmp_path: Path) -> None:
        class Config:
            def __repr__(self) -> str:
                return f"Config(user='ada', password='hunter2', key={KEY})"

        events = [{"call": "a", "args": {"with": Config()}, "id": "1"}, {"result": {"token": "t0ken"}, "id": "1"}]
        check(tmp_path, Trace.from_events(events), results=True)
        assert "Config(user='ada', password='[redacted]'" in text(tmp_path)
        assert not [secret for secret in ("hunter2", KEY, "t0ken") if secret in text(tmp_path)]
        assert check(tmp_path, Trace.from_events(events), results=True).passed


def test_what_is_ignored_reaches_into_results_that_are_json(tmp_path: Path) -> None:
    def returning(text_: str) -> Trace:
        return Trace.from_events([{"call": "a", "id": "1"}, {"result": text_, "id": "1"}])

    check(tmp_path, returning('{"id": 1, "ok": true}'), results=True, ignore=["result.id"])
    assert check(tmp_path, returning('{"id": 2, "ok": true}'), results=True, ignore=["result.id"]).passed
    assert not check(tmp_path, returning('{"id": 2, "ok": false}'), results=True, ignore=["result.id"]).passed


def test_what_is_ignored_later_is_ignored_in_the_file_as_well(tmp_path: Path) -> None:
    check(tmp_path, run({"a": {"id": 1, "x": [{"id": 1, "y": 2}, 3], "$ref": {"$any": 1}}}))
    came = run({"a": {"id": 2, "x": [{"y": 2}, 4], "$ref": {"$any": 1}}})
    assert check(tmp_path, came, ignore=["**.id", "args.x[1]"]).passed
    assert not check(tmp_path, came, ignore=["**.id"]).passed


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (Trace.from_events([]), "the recording is empty"),
        (Trace.from_events([{"call": "a"}], error="boom"), "the run failed: 'boom'"),
        (Trace.from_events([{"call": "a"}, {"unknown": 1}]), "a call may be hidden by what could not be read: event 1"),
        (Trace.without_evidence("no trace"), "no trace"),
    ],
)
def test_a_run_that_does_not_show_all_calls_neither_passes_nor_becomes_a_baseline(
    tmp_path: Path, trace: Trace, said: str
) -> None:
    for options in ({}, {"update": True}):
        result = check(tmp_path, trace, **options)
        assert (result.passed, result.written, result.updated) == (False, False, False)
        assert said in result.explanation
    assert list(tmp_path.iterdir()) == []


def test_what_could_not_be_read_is_told_without_the_secrets_in_it(tmp_path: Path) -> None:
    result = check(
        tmp_path, Trace.from_events([{"call": "a"}, {"unknown": f"password={KEY}"}, {"call": KEY, "x": KEY}])
    )
    assert not result.passed
    assert KEY not in result.explanation


def test_objects_are_compared_by_their_type_and_what_they_show(tmp_path: Path) -> None:
    from decimal import Decimal
    from uuid import UUID

    def with_(value: Any) -> Trace:
        return Trace.from_events([{"call": "a", "args": {"x": value}}])

    for value, other in [(Decimal("1.0"), Decimal("1.00")), (UUID(int=1), UUID(int=2)), ({3, 1, 2}, {1, 2}), (1j, 2j)]:
        folder = tmp_path / type(value).__name__
        check(folder, with_(value))
        assert check(folder, with_(value)).passed
        assert not check(folder, with_(other)).passed
        assert not check(folder, with_(repr(value))).passed


def test_an_object_that_shows_nothing_lasting_is_refused(tmp_path: Path) -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    deep: Any = []
    for _ in range(200):
        deep = [deep]
    for value, said in [
        (object(), "args.x is a object, <object object at"),
        (Broken(), "raised RuntimeError"),
        (deep, "levels deep"),
    ]:
        with pytest.raises(UsageError, match="ignore it") as caught:
            check(tmp_path, Trace.from_events([{"call": "a", "args": {"x": value}}]))
        assert said in str(caught.value)
        assert check(tmp_path, Trace.from_events([{"call": "a", "args": {"x": value}}]), ignore=["args.x"]).passed
        store(tmp_path).path.unlink()


@pytest.mark.parametrize(
    "options", [{"ignore": ["a..b"]}, {"redact": ["a..b"]}, {"matchers": {"a..b": 1}}, {"ignore": "args"}]
)
def test_a_malformed_pattern_is_an_error_and_nothing_is_written(tmp_path: Path, options: Any) -> None:
    with pytest.raises(UsageError):
        check(tmp_path, run({"a": {}}), **options)
    assert list(tmp_path.iterdir()) == []


def test_a_hundred_differences_are_not_all_told(tmp_path: Path) -> None:
    check(tmp_path, run(*({f"t{number}": {}} for number in range(100))))
    lines = check(tmp_path, run()).explanation.splitlines()
    assert "100 calls missing" in lines[0]
    assert len(lines) < 40
    assert "… and 70 more calls that differ" in lines


def test_what_a_failure_says_can_do_nothing_to_a_terminal(tmp_path: Path) -> None:
    check(tmp_path, run({"a\x1b[2J": {"x\u202e": "y\x07"}}))
    said = check(tmp_path, run({"b\x1b[2J": {"x\u202e": "z\x07"}}, {"a\x1b[2J": {"x\u202e": "z\x07"}})).explanation
    assert all(line.isprintable() for line in said.splitlines())


def test_a_malformed_matcher_is_an_error_at_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, WITH_MATCHERS.replace("$gt", "$gtt"))
    with pytest.raises(SuiteError) as caught:
        check(tmp_path, run({"search": {}}), update=True)
    assert str(caught.value).startswith(f"{path}:7:17: unknown matcher '$gtt'; did you mean '$gt'?")
    assert "$gtt" in path.read_text()

"""What holds for any run: it is what its own baseline says, and no other run is."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from baseline_support import ODD_NUMBERS, ODD_TEXTS, any_values, arguments, check, json_values, keys, run, store, text
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from tracewitness.baselines.document import Document, NewItem, parse_document
from tracewitness.baselines.encoding import Comparing, expectation, written
from tracewitness.matching import compile_expected, strict_key
from tracewitness.redaction import Redaction

calls = st.lists(st.tuples(st.sampled_from(["search", "book", "", "projects/p/tools/book"]), arguments), max_size=4)


@pytest.fixture
def folder() -> Any:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@given(any_values)
@example({"$eq": {"$any": 1}})
@example({"$any": {"$bytes": "aGk=", "x": b"hi"}})
@example({"$approx": 1, "rel": 2})
@example({"$python": "x", "type": "y"})
@example({"$text": "a"})
@example([10**4200, {"$int": "0x1"}])
def test_a_value_in_the_form_of_the_file_matches_itself_and_nothing_else(value: Any) -> None:
    comparable = Comparing().value(value, ("args",))
    expected = compile_expected(expectation(written(comparable)), "strict")
    assert expected.matches(comparable)
    for other in changed(comparable):
        assert not expected.matches(other), other


def changed(value: Any) -> list[Any]:
    """Return values that differ from one in a single leaf, type or key."""
    if isinstance(value, dict):
        within = [{**value, key: other} for key, item in value.items() for other in changed(item)[:3]]
        fewer = [{key: item for key, item in value.items() if key != gone} for gone in value]
        return [*within, *fewer, {**value, "further key": 1}, list(value)]
    if isinstance(value, (list, tuple)):
        kind = type(value)
        within = [
            kind([*value[:index], other, *value[index + 1 :]])
            for index, item in enumerate(value)
            for other in changed(item)[:3]
        ]
        return [
            *within,
            kind([*value, None]),
            *([kind(value[1:])] if value else []),
            tuple(value) if kind is list else list(value),
        ]
    if isinstance(value, str):
        return [value + " ", value + "\n", " " + value, value + "x", None, [value], value.encode("utf-8", "replace")]
    if isinstance(value, bool):
        return [not value, int(value), float(value), str(value)]
    if isinstance(value, (int, float)):
        odd = isinstance(value, float) and not math.isfinite(value)
        other_type = (
            []
            if odd or (isinstance(value, int) and abs(value) > 2**53)
            else [float(value) if type(value) is int else int(value)]
        )
        return [*other_type, True, None, "1", 7.25]
    return [0, "", False, [], {}, "None"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(calls)
def test_a_run_is_as_its_own_baseline_says_whatever_is_in_it(made: list[tuple[str, dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = run(*({tool: args} for tool, args in made))
        first = check(folder, trace, secrets=False)
        assert (first.passed, first.written) == (True, True)
        again = check(folder, trace, secrets=False, ci=True)
        assert again == type(again)("test_order", passed=True)
        before = text(folder)
        assert not check(folder, trace, secrets=False, update=True).updated
        assert text(folder) == before


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(calls.filter(bool), st.data())
def test_a_run_that_differs_in_one_thing_fails_and_is_what_the_baseline_says_once_it_is_rewritten(
    made: list[tuple[str, dict[str, Any]]], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(made) - 1))
    tool, args = made[index]
    others: list[Any] = [(tool, other) for other in changed(args) if isinstance(other, dict)]
    others += [(tool + "x", args), None]
    other = data.draw(st.sampled_from(others))
    after = [*made[:index], *([other] if other else []), *made[index + 1 :]]
    assume(strict_key([list(call) for call in after]) != strict_key([list(call) for call in made]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check(folder, run(*({tool: args} for tool, args in made)), secrets=False)
        came = run(*({tool: args} for tool, args in after))
        failed = check(folder, came, secrets=False)
        assert not failed.passed
        assert len(failed.explanation.splitlines()) >= 2
        assert all(line.isprintable() for line in failed.explanation.splitlines())
        assert check(folder, came, secrets=False, update=True).updated
        assert check(folder, came, secrets=False, ci=True).passed
        assert not check(folder, run(*({tool: args} for tool, args in made)), secrets=False, ci=True).passed


@pytest.mark.parametrize("gone", [{"$any": {}}, {"$any": {"$regex": "("}}, {"$x": {}}, {"$any": True}])
def test_what_looks_like_a_malformed_matcher_may_go(folder: Path, gone: dict[str, Any]) -> None:
    check(folder, run({"a": {**gone, "b": 1, "c": {**gone}, "d": {**gone, "e": 1}}}))
    after = run({"a": {"b": 1, "c": {}, "d": {"e": 1}}})
    assert check(folder, after, update=True).updated
    assert check(folder, after, ci=True).passed


@settings(max_examples=40)
@given(st.permutations([("a", 1), ("a", 2), ("b", 1), ("c", 1)]))
def test_calls_one_after_the_other_have_an_order(order: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        recorded = [("a", 1), ("a", 2), ("b", 1), ("c", 1)]
        check(Path(name), run(*({tool: {"n": number}} for tool, number in recorded)))
        result = check(Path(name), run(*({tool: {"n": number}} for tool, number in order)))
        assert result.passed == (list(order) == recorded)


@settings(max_examples=40)
@given(st.permutations([("a", 1), ("a", 2), ("b", 1), ("c", 1)]))
def test_calls_made_in_parallel_have_none(order: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        group = [{"a": {"n": 1}}, {"a": {"n": 2}}, {"b": {"n": 1}}, {"c": {"n": 1}}]
        check(Path(name), run({"first": {}}, group, {"last": {}}))
        other = [{tool: {"n": number}} for tool, number in order]
        assert check(Path(name), run({"first": {}}, other, {"last": {}}), ci=True).passed
        assert check(Path(name), run({"first": {}}, *other, {"last": {}}), ci=True).passed
        assert not check(Path(name), run(other, {"first": {}}, {"last": {}}), ci=True).passed
        assert not check(Path(name), run({"first": {}}, [*other, other[0]], {"last": {}}), ci=True).passed


@given(keys, json_values)
@settings(max_examples=60)
def test_what_is_ignored_may_be_anything(key: str, value: Any) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, paths = Path(name), ["**.request_id", "args.when", "args.items[*].at"]
        first = {"n": 1, "items": [{"at": 1, "x": 1}]}
        check(folder, run({"a": first}), ignore=paths)
        came = {"n": 1, "request_id": value, "when": value, "items": [{"at": value, "x": 1, "request_id": key}]}
        assert check(folder, run({"a": came}), ignore=paths, ci=True).passed
        assert not check(folder, run({"a": came}), ci=True).passed
        assert not check(folder, run({"a": {**came, "n": 2}}), ignore=paths, ci=True).passed


@pytest.mark.parametrize("value", [*ODD_TEXTS, *ODD_NUMBERS], ids=lambda value: repr(value)[:20])
def test_odd_values_are_read_back_as_they_were(folder: Path, value: Any) -> None:
    redaction = Redaction.none()
    assert redaction.value(value) == value
    args = {"at": value, "list": [value, {"deep": value}], "text": "end"}
    check(folder, run({"a": args}), secrets=False)
    (item,) = parse_document(text(folder), "").entries["test_order"].items
    assert strict_key(compiled(item.calls[0].fields["args"])) == strict_key(args)
    assert check(folder, run({"a": args}), secrets=False, ci=True).passed


def compiled(value: Any) -> Any:
    return expectation(value)


LAYOUTS = [
    "version: 1\nbaselines:\n  b: []\n",
    "version: 1\nbaselines:\n  # first\n  a:\n  - {call: x, args: {}}\n\n  # second\n  c: []\n\n\n",
    "version: 1\nbaselines:\n    b:\n    -   call: x\n        args: {t: 1}\n",
    "baselines:\n  a:\n  - call: x\n    args:\n      t: |+\n        text\n\n\n  d: []\n# end\nversion: 1\n",
    "version: 1\nbaselines: {a: [], c: []}\n",
]
steps = st.one_of(
    st.builds(lambda tool, args: NewItem(({"call": tool, "args": written(args)},)), st.sampled_from("xyz"), arguments),
    st.just(NewItem(({"call": "x", "args": {}}, {"call": "y", "args": {}}), is_group=True)),
)
edits = st.tuples(st.sampled_from("abcde"), st.none() | st.lists(steps, max_size=3))


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=80)
@given(st.sampled_from(LAYOUTS), st.lists(edits, min_size=1, max_size=6))
def test_what_is_known_of_a_document_after_changes_is_what_its_text_says(
    layout: str, changes: list[tuple[str, list[NewItem] | None]]
) -> None:
    """Only what may have changed is read back; the places of the rest are reckoned."""
    document = parse_document(layout, "f")
    wanted = {key: entry.plain for key, entry in document.entries.items()}
    for key, items in changes:
        if items is None:
            document = document.without_entries([key])
            wanted.pop(key, None)
        else:
            document = document.with_entry(key, items)
            wanted[key] = [item.plain for item in items]
        read = parse_document(document.text, "f")
        assert strict_key({key: entry.plain for key, entry in read.entries.items()}) == strict_key(wanted)
        assert places(document) == places(read)
        assert (document.body, list(document.entries)) == (read.body, list(read.entries))


def places(document: Document) -> list[Any]:
    return [
        (
            key,
            entry.place.line + entry.shift,
            [(item.place.line + entry.shift, item.place.column) for item in entry.items],
        )
        for key, entry in document.entries.items()
    ]


def test_a_store_sees_what_another_one_wrote(folder: Path) -> None:
    one, other = store(folder), store(folder)
    one.check("test_a", run({"a": {}}))
    assert other.check("test_a", run({"a": {}})).explanation == ""
    store(folder, update=True).check("test_a", run({"b": {}}))
    assert one.check("test_a", run({"b": {}})).passed
    assert other.check("test_a", run({"b": {}})).passed

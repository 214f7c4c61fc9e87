"""What a difference says: where, what, and why."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tracewitness.matching import (
    ABSENT,
    MISSING,
    AllOf,
    AnyOf,
    Contains,
    Difference,
    Each,
    Exactly,
    GreaterThan,
    IsDate,
    IsDateTime,
    IsType,
    JSONSchema,
    Length,
    Not,
    OneOf,
    Partial,
    Regex,
    Satisfies,
    Unordered,
    compile_expected,
    differences,
)


def _broken(value: object) -> bool:
    raise LookupError("no such thing")


def encoded(value: object, times: int) -> str:
    """Write a value as JSON in a text, in a text, and so on."""
    text = json.dumps(value)
    return text if times == 1 else encoded(text, times - 1)


SAID: list[tuple[Any, Any, str, list[str]]] = [
    ({"city": "NYC"}, {"city": "LAX"}, "subset", ["args.city: expected 'NYC', got 'LAX'"]),
    ({"a": 1, "b": [2, 3]}, {"a": 2, "b": [2, 4]}, "subset",
     ["args.a: expected 1, got 2", "args.b[1]: expected 3, got 4"]),
    ({"city": "NYC"}, {}, "subset", ["args.city: expected 'NYC', but it is missing"]),
    ({"city": "NYC"}, {"City": "NYC"}, "subset",
     ["args.city: expected 'NYC', but it is missing (there is the key 'City')"]),
    ({"city": 1}, {"city": 1, "seats": 2}, "strict", ["args.seats: did not expect 2"]),
    ({"colour": 1}, {"color": 1}, "lenient",
     ["args.colour: expected 1, but it is missing (there is the key 'color')",
      "args.color: did not expect 1 (perhaps it should be the key 'colour')"]),
    ({"my key": {"$any": True}}, {}, "subset", ["args['my key']: expected ANY, but it is missing"]),
    ({1: "a", None: 2}, {}, "subset",
     ["args[1]: expected 'a', but it is missing", "args.None: expected 2, but it is missing"]),
    (2, "2", "lenient", ["args: expected the number 2, got the text '2'"]),
    (7, "007", "subset", ["args: expected the number 7, got the text '007'"]),
    (True, 1, "subset", ["args: expected the bool True, got the number 1"]),
    (None, "", "subset", ["args: expected null, got the text ''"]),
    ({"a": 1}, None, "subset", ["args: expected the mapping {'a': 1}, got null"]),
    (1, 1.0, "strict", ["args: expected 1, got 1.0 (of type float, not int)"]),
    (1, 2.0, "strict", ["args: expected 1, got 2.0"]),
    ([1], (1,), "strict", ["args: expected [1], got (1,) (of type tuple, not list)"]),
    (b"a", bytearray(b"a"), "subset", ["args: expected b'a', got bytearray(b'a') (of type bytearray, not bytes)"]),
    ([1, 2], [1], "subset", ["args: expected 2 items, got 1"]),
    ("*", "", "subset", ["args: expected anything but null and what is empty, got a text that is empty"]),
    ("*", None, "subset", ["args: expected anything but null and what is empty, got null"]),
    ("NYC", "nyc", "subset", ["args: expected 'NYC', got 'nyc' (differs only in case)"]),
    ("caf\u00e9", "cafe\u0301", "subset",
     ["args: expected 'caf\u00e9', got 'cafe\u0301' (differs only in Unicode normalisation)"]),
    ("a", " a\n", "subset", ["args: expected 'a', got ' a\\n' (differs only in surrounding white space)"]),
    ("A", "a ", "strict",
     ["args: expected 'A', got 'a ' (differs only in case, surrounding white space or Unicode normalisation)"]),
    ("NYC", "NY\u0421", "subset", ["args: expected 'NYC', got 'NY\u0421' (character 2 is U+0421, not U+0043)"]),
    ("x\x1b[31m", "x\u202e", "subset",
     ["args: expected 'x\\x1b[31m', got 'x\\u202e' (character 1 is U+202E, not U+001B)"]),
    ({"a": 1}, '{"a": 2}', "subset", ["args.a: expected 1, got 2"]),
    ('{"a": 1}', {"a": 2}, "subset", ["args.a: expected 1, got 2"]),
    ({"a": 1}, '{"a": 2}', "lenient",
     ["args: expected {'a': 1}, got '{\"a\": 2}' (JSON in a text counts only under the policy 'subset')"]),
    ({"a": 1}, "[1]", "subset", ["args: expected {'a': 1}, got '[1]' (the text holds a list, not a mapping)"]),
    ({"a": 1}, '{"a": ', "subset", ["args: expected {'a': 1}, got '{\"a\": ' (the text is not JSON)"]),
    ([1], encoded([1], 4), "subset",
     [f"args: expected [1], got {encoded([1], 4)!r} (more than 3 texts in texts are not looked into)"]),
    (Regex("A.*"), "xA", "subset", ["args: expected Regex('A.*'), got 'xA' (only a part of it matches)"]),
    (Regex("A.*"), 5, "subset", ["args: expected Regex('A.*'), got 5 (a text is needed, not a number)"]),
    (Length(2), "abc", "subset", ["args: expected Length(2), got 'abc' (its length is 3)"]),
    (Length(2), 5, "subset", ["args: expected Length(2), got 5 (a number has no length)"]),
    (IsType("string"), None, "subset", ["args: expected IsType('string'), got None (it is null)"]),
    (GreaterThan(5), "6", "subset", ["args: expected GreaterThan(5), got '6' (a number is needed, not a text)"]),
    (GreaterThan(5), 5, "subset", ["args: expected GreaterThan(5), got 5"]),
    (GreaterThan("2024-01-01"), "soon", "subset",
     ["args: expected GreaterThan('2024-01-01'), got 'soon' (an ISO 8601 date is needed, not the text 'soon')"]),
    (GreaterThan("2024-01-01T00:00:00Z"), "2024-01-01T00:00:00", "subset",
     ["args: expected GreaterThan('2024-01-01T00:00:00Z'), got '2024-01-01T00:00:00' "
      "(one of the times says its time zone and the other does not)"]),
    (IsDate(), "2024", "subset", ["args: expected IsDate(), got '2024' (not an ISO 8601 date)"]),
    (IsDateTime(near="2024-05-01T10:00:00Z", within=5), "2024-05-01T10:01:00Z", "subset",
     ["args: expected IsDateTime(near='2024-05-01T10:00:00Z', within=5), got '2024-05-01T10:01:00Z' "
      "(60 seconds away)"]),
    (IsDateTime(), "2024-05-01", "subset",
     ["args: expected IsDateTime(), got '2024-05-01' (not an ISO 8601 date with a time)"]),
    (IsDateTime(), 5, "subset", ["args: expected IsDateTime(), got 5 (a text is needed, not a number)"]),
    (IsDateTime(near="2024-05-01T10:00Z", within=5), "now", "subset",
     ["args: expected IsDateTime(near='2024-05-01T10:00Z', within=5), got 'now' (not an ISO 8601 date with a time)"]),
    (IsDate(), 5, "subset", ["args: expected IsDate(), got 5 (a text is needed, not a number)"]),
    (" a", "a", "subset", ["args: expected ' a', got 'a' (differs only in surrounding white space)"]),
    ("b" * 79, "b" * 78, "subset", [f"args: expected …'{'b' * 21}', got …'{'b' * 20}'"]),
    ("b" * 78, "c" * 78, "subset", [f"args: expected '{'b' * 78}', got '{'c' * 78}'"]),
    (OneOf("a", "b"), "c", "subset", ["args: expected OneOf('a', 'b'), got 'c' (none of the 2 matches)"]),
    (AnyOf(Satisfies(_broken), 1), 2, "subset",
     ["args: expected AnyOf(Satisfies(_broken), 1), got 2 (it raised LookupError: no such thing)"]),
    (AllOf(Regex("a"), Length(2)), "b", "subset",
     ["args: expected Regex('a'), got 'b'", "args: expected Length(2), got 'b' (its length is 1)"]),
    (Not(5), 5, "subset", ["args: expected Not(5), got 5 (it matches what it must not)"]),
    ({"a": ABSENT}, {"a": None}, "subset", ["args.a: expected ABSENT, got None (it must not be there)"]),
    (Contains("a"), ["b"], "subset", ["args: expected Contains('a'), got ['b'] (no item matches)"]),
    (Contains(1), "1", "subset", ["args: expected Contains(1), got '1' (a text contains only texts)"]),
    (Contains("a"), {"b": 1}, "subset", ["args: expected Contains('a'), got {'b': 1} (there is no such key)"]),
    (Contains("a"), 5, "subset", ["args: expected Contains('a'), got 5 (a number contains nothing)"]),
    (Each(GreaterThan(0)), [1, 0, -1], "subset",
     ["args[1]: expected GreaterThan(0), got 0", "args[2]: expected GreaterThan(0), got -1"]),
    (Each(1), {}, "subset", ["args: expected Each(1), got {} (a list is needed, not a mapping)"]),
    (Each(1), "[1]", "strict",
     ["args: expected Each(1), got '[1]' (JSON in a text counts only under the policy 'subset')"]),
    (Partial({"a": 1}), [], "subset",
     ["args: expected Partial({'a': 1}), got [] (a mapping is needed, not a list)"]),
    (Exactly(1), 1.0, "subset", ["args: expected 1, got 1.0 (of type float, not int)"]),
    (Unordered([{"sku": "A", "n": 1}, {"sku": "B", "n": 2}]), [{"sku": "B", "n": 3}, {"sku": "A", "n": 1}], "subset",
     ["args[0].n: expected 2, got 3"]),
    (Unordered([1, 2]), [1], "subset",
     ["args: expected 2, but it is missing (no item is left for expected item 1)"]),
    (Unordered([1]), [1, 2], "subset", ["args[1]: did not expect 2 (no expected item is left for it)"]),
    (JSONSchema({"required": ["id"], "type": "object"}), {}, "subset",
     ["args: expected JSONSchema({'required': ['id'], 'type': 'object'}), got {} "
      "(not valid under the schema: 'id' is a required property)"]),
    (JSONSchema({"properties": {"a": {"items": {"type": "string"}}}}), {"a": ["x", 5]}, "subset",
     ["args.a[1]: expected JSONSchema({'properties': {'a': {'items': {'type': 'string'}}}}), got 5 "
      "(not valid under the schema: 5 is not of type 'string')"]),
    (JSONSchema({"$ref": "file:///etc/hosts"}), 5, "subset",
     ["args: expected JSONSchema({'$ref': 'file:///etc/hosts'}), got 5 "
      "(the schema refers to what it does not hold: file:///etc/hosts)"]),
    (Satisfies(_broken), 5, "subset",
     ["args: expected Satisfies(_broken), got 5 (it raised LookupError: no such thing)"]),
    (Not(Satisfies(_broken)), 5, "subset",
     ["args: expected Not(Satisfies(_broken)), got 5 (it raised LookupError: no such thing)"]),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "actual", "policy", "said"), SAID)
def test_what_is_said(expected: object, actual: object, policy: str, said: list[str]) -> None:
    """Each difference names the place, both values, and the reason where there is more to say."""
    found = compile_expected(expected, policy).differences(actual, ("args",))
    assert [str(difference) for difference in found] == said


def test_without_a_path() -> None:
    """A difference at the top has no place to name."""
    assert [str(difference) for difference in differences(1, 2)] == ["expected 1, got 2"]


@pytest.mark.parametrize("position", [0, 500, 99_999])
def test_long_texts_are_shown_where_they_differ(position: int) -> None:
    """Of two long texts the part around the difference is shown, on a short line."""
    expected = "x" * position + "A" + "y" * (100_000 - position)
    actual = "x" * position + "B" + "y" * (100_000 - position)
    (difference,) = differences(expected, actual)
    line = str(difference)
    assert "A" in line
    assert "B" in line
    assert len(line) < 250


@pytest.mark.parametrize(
    "actual",
    [{"a" * 10_000: 1}, {"a\n\x1b[2J\u202e": 1}, ["x" * 100_000] * 50, {"k": {"k": "\n" * 5_000}}, 10**5_000],
    ids=["long key", "control characters", "long list", "nested", "long number"],
)
def test_hostile_values_take_one_short_line(actual: object) -> None:
    """Whatever came, a difference is one printable line of bounded length."""
    for difference in differences({}, actual, "strict"):
        assert str(difference).isprintable()
        assert len(str(difference)) < 800


def test_a_difference_is_a_value() -> None:
    """Differences are immutable and compare by value; what is not there has a sign of its own."""
    (difference,) = differences({"a": 1}, {})
    assert difference == Difference(("a",), 1, MISSING)
    assert repr(MISSING) == "<missing>"
    assert copy.copy(MISSING) is MISSING
    with pytest.raises(AttributeError):
        difference.reason = "another"  # type: ignore[misc]


@pytest.mark.parametrize("policy", ["strict", "lenient", "subset"])
@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (list(range(30)), [-1] * 30),
        ({f"k{number}": 1 for number in range(30)}, {f"k{number}": 2 for number in range(30)}),
        ({"x": [{"y": [1] * 30}]}, {"x": [{"y": [2] * 30}]}),
        (Each(1), [2] * 30),
        (AllOf(*range(30)), -1),
        (Unordered([1] * 30), [2] * 30),
    ],
    ids=repr,
)
def test_a_limit_on_differences(expected: Any, actual: Any, policy: str) -> None:
    """The first are those that come first of all; one stands for the rest and says how many. All come without one."""
    complete = differences(expected, actual, policy)
    assert len(complete) == 30
    limited = differences(expected, actual, policy, limit=20)
    assert [str(each) for each in limited] == [*map(str, complete[:20]), "and 10 more"]
    assert [str(each) for each in differences(expected, actual, policy, limit=30)] == list(map(str, complete))


def test_what_lies_beyond_a_limit_is_not_compared_without_end() -> None:
    """Only so many are counted, so that a failure costs what it shows."""
    found = differences([0] * 20_000, [1] * 20_000, limit=5)
    assert str(found[5]) == "and more than 10,000 more"

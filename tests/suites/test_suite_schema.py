"""The JSON Schema for editors accepts what the reader accepts, and explains every field."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tracewitness.errors import SuiteError
from tracewitness.expectations import OPERATORS
from tracewitness.matching.notation import MATCHERS
from tracewitness.suites import parse_suite, suite_schema
from tracewitness.suites.nodes import plain_value
from tracewitness.suites.problems import Problems
from tracewitness.suites.yaml_source import build_from_yaml

EXAMPLES = Path(__file__).parents[2] / "examples"
CHECKS = Path(__file__).parents[1] / "conformance" / "checks.json"
VALIDATOR = Draft202012Validator(suite_schema())


def with_check(check: dict[str, Any]) -> dict[str, Any]:
    """Make a file with one check."""
    return {"evals": [{"name": "a", "tool_expectations": [check]}]}


def is_loaded(file: Any) -> bool:
    """Tell whether the reader accepts a file."""
    try:
        parse_suite(json.dumps(file), source="f.json")
    except SuiteError:
        return False
    return True


def test_it_is_a_valid_schema() -> None:
    """The schema keeps to draft 2020-12, can be written as JSON, and every reference leads somewhere."""
    schema = suite_schema()
    Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema)) == schema
    assert set(references(schema)) <= {f"#/$defs/{name}" for name in schema["$defs"]}


def references(schema: Any) -> list[str]:
    """Return every $ref below a schema; one in a mapping of properties is a property."""
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    found = [reference for part in parts for reference in references(part)]
    own = schema.get("$ref") if isinstance(schema, dict) else None
    return [*found, own] if isinstance(own, str) else found


def test_each_caller_has_a_schema_of_its_own() -> None:
    """Changing the schema that was returned changes no other."""
    first = suite_schema()
    before = copy.deepcopy(first)
    first["$defs"]["matcher"]["properties"]["$type"].clear()
    first["$defs"]["expected"]["else"]["items"]["$ref"] = "x"
    assert suite_schema() == before


def test_every_field_is_explained() -> None:
    """An editor has something to show for each operator, each field and each matcher."""
    schema = suite_schema()
    mappings = {"": schema, **schema["$defs"]}
    unexplained = [
        f"{name}.{field}"
        for name, mapping in mappings.items()
        for field, form in mapping.get("properties", {}).items()
        if field != "type" and not form.get("description") and "$ref" not in form
    ]
    assert unexplained == []
    assert all(schema["$defs"][name]["description"] for name in OPERATORS)


def test_no_operator_and_no_matcher_is_left_out() -> None:
    """What the library has is in the schema, by the name that a file uses."""
    schema = suite_schema()
    assert set(schema["$defs"]["tool_expectation"]["properties"]["type"]["enum"]) == {*OPERATORS, "handoff"}
    assert set(schema["$defs"]["matcher"]["properties"]) == {*MATCHERS, "rel", "abs"}


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.evals.yaml")), ids=lambda path: path.name)
def test_the_examples_are_valid(path: Path) -> None:
    """Each shipped eval file is valid under the schema."""
    root = build_from_yaml(path.read_text("utf-8"), Problems(str(path))).root
    assert root is not None
    assert [error.message for error in VALIDATOR.iter_errors(plain_value(root))] == []


def test_there_are_examples() -> None:
    """The examples are really found."""
    assert list(EXAMPLES.rglob("*.evals.yaml"))


@pytest.mark.skipif(not CHECKS.exists(), reason="the conformance file is not here")
def test_every_check_that_is_known_to_work_is_valid() -> None:
    """All checks of the conformance cases that load are valid under the schema."""
    checks = [case["check"] for case in json.loads(CHECKS.read_text("utf-8"))["cases"] if "check" in case]
    loaded = [check for check in checks if is_loaded(with_check(check))]
    assert len(loaded) > 100
    assert [check for check in loaded if not VALIDATOR.is_valid(with_check(check))] == []


BAD_CHECKS: list[dict[str, Any]] = [
    {},
    {"type": "tool_caled", "tool": "a"},
    {"type": "tool_called"},
    {"type": "tool_called", "tool": ""},
    {"type": "tool_called", "tool": "a", "mim": 1},
    {"type": "tool_called", "tool": "a", "min": "1"},
    {"type": "tool_called", "tool": "a", "min": -1},
    {"type": "tool_called", "tool": "a", "args": [1]},
    {"type": "tool_called", "tool": "a", "args": {"x": {"$regexx": "y"}}},
    {"type": "tool_called", "tool": "a", "args": {"x": [{"y": {"$type": "text"}}]}},
    {"type": "tool_called", "tool": "a", "args": {"x": {"$any": False}}},
    {"type": "tool_called", "tool": "a", "args": {"x": {"$length": {"min": 1, "mx": 2}}}},
    {"type": "tool_called", "tool": "a", "args": {"x": {"$approx": "2"}}},
    {"type": "tool_called", "tool": "a", "args": {"x": {"$gt": 1, "$zz": 2}}},
    {"type": "tool_called", "tool": "a", "args": {"x": {"$one_of": {"$regexx": 1}}}},
    {"type": "tool_called", "tool": "a", "args": {"x": {"$not": {"$regexx": "y"}}}},
    {"type": "tool_not_called", "tool": "a", "before": {"tol": "b"}},
    {"type": "followed_by", "tool": "a", "next": {"tool": "b", "arg": {}}},
    {"type": "sequence", "calls": [{"tool": "a"}], "mode": "inorder"},
    {"type": "sequence", "calls": [[{"tool": "a", "arg": {}}]]},
    {"type": "args_from", "tool": "a", "args": {"x": "usr"}},
    {"type": "args_from", "tool": "a", "args": {"x": [{"tool": "b"}]}},
    {"type": "args_from", "tool": "a", "args": {}},
    {"type": "end_session", "tool": "end_session"},
]


@pytest.mark.parametrize("check", BAD_CHECKS, ids=json.dumps)
def test_a_malformed_check_fails_in_both(check: dict[str, Any]) -> None:
    """What an editor can see, it underlines; the reader refuses it too."""
    assert not VALIDATOR.is_valid(with_check(check))
    assert not is_loaded(with_check(check))


GOOD_VALUES: list[Any] = [
    {"$approx": 2, "rel": 0.1, "abs": 1},
    {"$approx": 2, "$gt": 1},
    {"rel": 1, "abs": {"$gt": 2}},
    {"$gt": 1, "plain": {"$unknown": 1, "x": 2}},
    {"$eq": {"$unknown": {"$regexx": 1}}},
    {"$schema": {"$ref": "#/$defs/x", "$defs": {"x": {}}}},
    {"$length": 3},
    {"$length": {"min": 1}},
    {"$type": ["string", "null"]},
    {"$datetime": {"near": "2024-01-01T10:00:00Z", "within": 60}},
    {"$datetime": True},
    {"$one_of": [{"$regex": "x"}, 1, None]},
    {"$partial": {"a": {"$absent": True}}},
    {"$unordered": [{"$gt": 1}, {"$all_of": [{"$gte": 1}, {"$lte": 2}]}]},
    {},
    [],
    "*",
    None,
]


@pytest.mark.parametrize("value", GOOD_VALUES, ids=json.dumps)
def test_a_good_expectation_is_valid_in_both(value: Any) -> None:
    """Matchers, and data that only looks like one, are accepted at every depth."""
    for check in ({"type": "tool_output", "tool": "a", "result": value},
                  {"type": "tool_called", "tool": "a", "args": {"x": [value]}}):  # fmt: skip
        assert is_loaded(with_check(check))
        assert [error.message for error in VALIDATOR.iter_errors(with_check(check))] == []


MISSPELT: list[tuple[str, str]] = [
    ("tool_expectations", "tool_expectation"),
    ("evals", "eval"),
    ("goal", "gaol"),
    ("tags", "tag"),
    ("aliases", "alias"),
    ("title", "titel"),
    ("common_tool_expectations", "common_tool_expectation"),
]


@pytest.mark.parametrize(("key", "misspelt"), MISSPELT)
def test_a_misspelt_key_fails(key: str, misspelt: str) -> None:
    """A key with a letter wrong can't vanish, at no level of the file."""
    text = json.dumps(
        {
            "aliases": {"pay": ["mcp__pay"]},
            "common_tool_expectations": [{"type": "trace_parsed"}],
            "evals": [
                {
                    "name": "a",
                    "tags": ["x"],
                    "steps": [{"goal": "y"}],
                    "expectations": [{"title": "t", "expectation": "e"}],
                    "tool_expectations": [],
                    "voice_config": {},
                }
            ],
        }
    )
    assert VALIDATOR.is_valid(json.loads(text))
    assert is_loaded(json.loads(text))
    wrong = json.loads(text.replace(f'"{key}"', f'"{misspelt}"'))
    assert not VALIDATOR.is_valid(wrong)
    assert not is_loaded(wrong)


WORDS = st.sampled_from(["a", "b", " ", "", "*", "user", "tool_called", "in_order", "$gt", "007"])
PLAIN = st.none() | st.booleans() | st.integers(-2, 3) | st.just(0.5) | WORDS
DOLLAR = st.sampled_from([*MATCHERS, "rel", "abs", "$x", "plain", "min", "max", "near", "tool", "path", "args"])
EXPECTED = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(DOLLAR, inner, max_size=2),
    max_leaves=4,
)
ARGS = st.dictionaries(WORDS, EXPECTED, max_size=2)
CALL = st.fixed_dictionaries({"tool": st.just("a")}, optional={"args": ARGS})


def sometimes(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly a fitting value, else nothing, or anything."""
    others = {8: st.none(), 9: EXPECTED}
    return st.integers(0, 9).flatmap(lambda number: others.get(number, good))


ENTRY = st.recursive(
    CALL | st.lists(CALL, max_size=2),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"ordered": st.lists(inner, max_size=2)}),
        st.fixed_dictionaries({"one_of": st.lists(inner, max_size=2)}),
        st.fixed_dictionaries({"repeat": st.fixed_dictionaries({"calls": st.lists(inner, max_size=2)})}),
    ),
    max_leaves=3,
)
ROWS = st.lists(st.dictionaries(WORDS, PLAIN, max_size=2), max_size=2)
DEFINITIONS = st.sampled_from(
    [[{"name": "a", "input_schema": {"type": "object"}}], {"a": {"properties": {"x": {"$ref": "#/$defs/y"}}}}, [], {}]
)
FITTING: dict[str, st.SearchStrategy[Any]] = {
    "within": sometimes(st.sampled_from([{"turn": 1}, {"turns": [1, 3]}])) | st.just({"turns": [3, 1]}),
    "agent": st.just("a"),
    "after": CALL,
    "seconds": st.sampled_from([0, 1.5, -1]),
    "database": st.just("a"),
    "query": st.just("SELECT 1"),
    "rows": ROWS,
    "unchanged": st.booleans(),
    "changed": st.fixed_dictionaries({}, optional={"added": ROWS, "changed": st.just([{"before": {"a": 1}}])}),
    "key": st.lists(WORDS, max_size=2),
    "tool": st.just("a"),
    "args": ARGS | st.just({"x": "user"}) | st.just({"x": [{"tool": "a", "path": "b[*].c"}, "user"]}),
    "result": EXPECTED,
    "min": st.integers(0, 2),
    "max": st.integers(1, 3),
    "is_error": st.booleans(),
    "before": CALL,
    "next": CALL,
    "calls": st.lists(CALL | st.lists(CALL, max_size=2) | ENTRY, max_size=2),
    "mode": st.sampled_from(["exact", "in_order", "any_order", "subset"]),
    "tools": st.lists(WORDS, max_size=2) | DEFINITIONS,
    "says": st.sampled_from(["x", "(?i)a|b", "("]),
}


def checks_of(type_name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Generate checks of one operator, most of them well-formed."""
    kind = OPERATORS[type_name]
    fields = {name: sometimes(FITTING.get(name, WORDS)) for name in kind.__struct_fields__}
    required = {name: fields.pop(name) for name in kind.required()}
    return st.fixed_dictionaries({"type": st.just(type_name), **required}, optional=fields)


CHECK = st.sampled_from([*OPERATORS]).flatmap(checks_of)
CASE = st.fixed_dictionaries(
    {"name": sometimes(st.text(min_size=1, max_size=3))},
    optional={
        "tags": sometimes(st.lists(WORDS, max_size=2)),
        "max_turns": sometimes(st.integers(0, 5)),
        "session_parameters": sometimes(st.dictionaries(WORDS, EXPECTED, max_size=2)),
        "steps": sometimes(
            st.lists(st.dictionaries(st.sampled_from(["goal", "max_turns", "inject_variables"]), PLAIN), max_size=2)
        ),
        "expectations": sometimes(
            st.lists(WORDS | st.dictionaries(st.sampled_from(["title", "expectation"]), WORDS), max_size=2)
        ),
        "tool_expectations": sometimes(st.lists(CHECK, max_size=1)),
        "voice_config": PLAIN,
    },
)
SUITE = st.lists(CASE, max_size=2) | st.fixed_dictionaries(
    {"evals": sometimes(st.lists(CASE, max_size=2))},
    optional={
        "aliases": sometimes(st.dictionaries(WORDS, st.lists(WORDS, max_size=2), max_size=2)),
        "common_tool_expectations": sometimes(st.lists(CHECK, max_size=1)),
        "common_expectations": sometimes(st.lists(WORDS, max_size=2)),
        "common_session_parameters": sometimes(st.dictionaries(WORDS, PLAIN, max_size=2)),
        "common_naturalness_metric": PLAIN,
    },
)


def loaded_is_valid(file: Any) -> bool:
    """Check the law on one file; tell whether the reader accepts it."""
    if not is_loaded(file):
        return False
    assert [error.message for error in VALIDATOR.iter_errors(file)] == []
    return True


@given(SUITE)
def test_what_the_reader_accepts_is_valid(file: Any) -> None:
    """The schema never underlines a file that loads."""
    loaded_is_valid(file)


@given(CHECK)
def test_a_check_that_the_reader_accepts_is_valid(check: dict[str, Any]) -> None:
    """The schema never underlines a check that loads, whatever its fields hold."""
    loaded_is_valid(with_check(check))


@pytest.mark.parametrize(("strategy", "enough"), [(SUITE, 40), (CHECK.map(with_check), 60)], ids=["suites", "checks"])
def test_the_generated_files_are_not_all_refused(strategy: st.SearchStrategy[Any], enough: int) -> None:
    """The laws above have something to say: a good part of what is generated loads."""
    accepted = 0

    @settings(max_examples=200, database=None, derandomize=True)
    @given(strategy)
    def count(file: Any) -> None:
        nonlocal accepted
        accepted += loaded_is_valid(file)

    count()
    assert accepted >= enough

"""What an unquoted YAML value means: YAML 1.2, so that no word turns into something else."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tracewitness.errors import SuiteError
from tracewitness.suites import parse_suite, yaml_source
from tracewitness.suites.json_source import build_from_json
from tracewitness.suites.nodes import plain_value
from tracewitness.suites.problems import Problems
from tracewitness.suites.yaml_source import build_from_yaml

TEXTS = """
no No NO on off yes y n Y N OFF nO tRUE nULL None nil
12:30 12:30:45 190:20:30.15 2024-01-31 2024-01-31T10:00:00Z 2001-12-14t21:59:43.10-05:00
007 00 -007 +1 +15551234567 +007 1_000 0b101 0x 0xZZ 0o8 0o 1e 1e+ . .. ._ 1.2.3 -- +.x .infinity inf nan NaN
Infinity ١٢٣ 0.1.0 1,000 =
""".split()  # noqa: SIM905  a list of words reads better

VALUES: list[tuple[str, Any]] = [
    ("~", None),
    ("null", None),
    ("Null", None),
    ("NULL", None),
    ("", None),
    ("true", True),
    ("True", True),
    ("TRUE", True),
    ("false", False),
    ("False", False),
    ("FALSE", False),
    ("0", 0),
    ("-0", 0),
    ("42", 42),
    ("-19", -19),
    ("9007199254740993", 9007199254740993),
    ("0o14", 12),
    ("0x3A", 58),
    ("0xfF", 255),
    ("0.", 0.0),
    ("-0.0", -0.0),
    (".5", 0.5),
    ("-.5", -0.5),
    ("+1.5", 1.5),
    ("1.10", 1.1),
    ("1e3", 1000.0),
    ("+12e03", 12000.0),
    ("-2E+05", -200000.0),
    (".inf", math.inf),
    ("-.Inf", -math.inf),
    ("+.INF", math.inf),
    ("'no'", "no"),
    ('"7"', "7"),
    ('""', ""),
    ("!!str 7", "7"),
    ("! 7", "7"),
    ("!!str", ""),
    ("!!int 7", 7),
    ("!!float 7.5", 7.5),
    ("!!bool true", True),
    ("!!null ~", None),
    ("!!map {a: 1}", {"a": 1}),
    ("!!seq [1]", [1]),
    ("|-\n    7", "7"),
    (">-\n    true", "true"),
]


def value_of(written: str) -> Any:
    """Read what stands behind a key."""
    return parse_suite(f"- name: x\n  session_parameters:\n   value: {written}\n").cases[0].session_parameters["value"]


@pytest.mark.parametrize("written", TEXTS)
def test_it_stays_text(written: str) -> None:
    """Words, dates, times, phone numbers and identifiers are the text as it was written."""
    assert value_of(written) == written


@pytest.mark.parametrize(("written", "value"), VALUES)
def test_it_means_a_value(written: str, value: Any) -> None:
    """Null, bools and numbers of the core schema are what they say, and quotes make text."""
    read = value_of(written)
    assert (type(read), read) == (type(value), value)
    assert not isinstance(value, float) or math.copysign(1, read) == math.copysign(1, value)


@pytest.mark.parametrize("written", [".nan", ".NaN", ".NAN"])
def test_not_a_number(written: str) -> None:
    """The core schema has a NaN."""
    assert math.isnan(value_of(written))


def test_it_means_the_same_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PyYAML was built without its C parser, the slower one gives the same values."""
    monkeypatch.setattr(yaml_source, "_Parser", yaml.SafeLoader)
    assert [value_of(written) for written in TEXTS] == TEXTS
    assert [value_of(written) for written, _ in VALUES] == [value for _, value in VALUES]


def test_the_parser_alone_would_get_them_wrong() -> None:
    """The table has teeth: PyYAML's own reading of many of these words is no text."""
    assert sum(not isinstance(yaml.safe_load(written), str) for written in TEXTS[:30]) > 10


@pytest.mark.parametrize("key", ["no", "1", "true", "007", "0x10", "null", "~", "2024-01-31", "1.0", "'1'"])
def test_keys_are_the_text_as_written(key: str) -> None:
    """Keys describe JSON, so they are text, as they stand in the file."""
    suite = parse_suite(f"- name: x\n  session_parameters: {{{key}: 1}}\n")
    assert suite.cases[0].session_parameters == {key.strip("'"): 1}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("1e999", "f.yaml:1:37: '1e999' is too large for a number; put it in quotes"),
        ("9" * 4_001, "f.yaml:1:37: a number of 4,001 digits is too long; put it in quotes"),
        (
            "!!int seven",
            "f.yaml:1:37: tag !!int is not possible here; leave it out, or put the value in quotes",
        ),
        (
            "!!bool no",
            "f.yaml:1:37: tag !!bool is not possible here; leave it out, or put the value in quotes",
        ),
        ("!!timestamp 2024-01-31", "f.yaml:1:37: tag !!timestamp is not possible here"),
        ("!!binary aGk=", "f.yaml:1:37: tag !!binary is not possible here"),
        ("!!set {a, b}", "f.yaml:1:37: tag !!set is not possible here"),
        (
            "!!python/object/apply:os.system [ls]",
            "f.yaml:1:37: tag !!python/object/apply:os.system is not possible",
        ),
        ("!mine x", "f.yaml:1:37: tag !mine is not possible here"),
    ],
)
def test_what_has_no_value_is_refused(written: str, problem: str) -> None:
    """A number that would change and a tag that would make an object are errors at their place."""
    with pytest.raises(SuiteError) as error:
        parse_suite(f"- {{name: x, session_parameters: {{v: {written}}}}}", source="f.yaml")
    assert str(error.value).startswith(problem)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufeff\ufffe\uffff")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc <~1", max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_json_reads_the_same_as_json_and_as_yaml(value: Any) -> None:
    """JSON is YAML: both readers return what Python's own decoder does."""
    text = json.dumps([value], ensure_ascii=False)
    problems = Problems("f")
    from_json, from_yaml = build_from_json(text, problems), build_from_yaml(text, problems)
    problems.raise_any()
    assert from_json.root is not None
    assert from_yaml.root is not None
    expected = json.dumps(json.loads(text))
    assert json.dumps(plain_value(from_json.root)) == expected
    assert json.dumps(plain_value(from_yaml.root)) == expected

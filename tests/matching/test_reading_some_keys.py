"""What stands at some keys of a JSON text is read without the rest, and is the same as if all had been read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matching_strategies import json_values

from tracewitness.matching import compile_expected
from tracewitness.matching.jsontext import LEVELS, reading_of, unfold
from tracewitness.matching.values import UndecidedError

ASCII_KEYS = ("a", "b", "result", "", 'a"b')
KEYS = (*ASCII_KEYS, "é", "\ud800")
_MEMBER = st.tuples(
    st.sampled_from(KEYS[:-1]).map(json.dumps) | st.just('"\\u0061"'),
    json_values.map(json.dumps) | st.sampled_from(["1e400", "-0", "9" * 30, "NaN", '"\\ud800"', '"\\x"', "01", "[1,]"]),
)
#: Texts of objects: keys twice or spelt with escapes, numbers that are out of range, and what is no JSON.
_OBJECTS = st.lists(_MEMBER, max_size=4).map(
    lambda pairs: "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
)
_TEXTS = _OBJECTS | st.builds(
    "{}{}{}".format, st.sampled_from(["", " ", "["]), _OBJECTS, st.sampled_from(["", " ", "x"])
)

DEEP = '{"b": ' + "[" * 5000 + "]" * 5000 + ', "a": 1}'
LONG = '{"b": ' + "9" * 5000 + ', "a": 1}'


def all_of(text: str) -> Any:
    """Return the mapping that a whole text holds, or None."""
    try:
        content, _ = unfold(text, 1)
    except UndecidedError:
        return None
    return content if isinstance(content, dict) else None


@example(["a"], DEEP)
@example(["a"], LONG)
@given(st.lists(st.sampled_from(ASCII_KEYS), unique=True), _TEXTS)
def test_some_keys_have_what_they_have_in_the_whole(keys: list[str], text: str) -> None:
    """Where something is read at all, it is what decoding the whole text gives at these keys."""
    found = reading_of(keys)(text)
    if found is not None:
        whole = all_of(text)
        assert whole is not None
        assert list(map(repr, map(found.get, keys))) == list(map(repr, map(whole.get, keys)))
        assert found.keys() == whole.keys() & set(keys)


@given(st.dictionaries(st.sampled_from(KEYS), json_values, max_size=3), _TEXTS | json_values.map(json.dumps))
def test_a_text_matches_as_what_it_holds(expected: dict[str, Any], text: str) -> None:
    """An expected mapping matches a JSON text exactly where nothing of the whole text differs."""
    compiled = compile_expected(expected, "subset")
    assert compiled.matches(text) is not bool(list(compiled._node.explain(text, (), LEVELS)))


@pytest.mark.parametrize(
    ("text", "matching"),
    [
        ('{"a": 1, "b": [{"c": "\\u00e9"}]}', True),
        (' {"a": 1}', True),
        ('{"a": 2, "a": 1}', True),
        ('{"a": 1, "a": 2}', False),
        ('{"\\u0061": 1}', True),
        ('{"b": 1e400, "a": 1}', True),
        ('{"b": "\\ud800", "a": 1}', True),
        ('"{\\"a\\": 1}"', True),
        ('{"a": "1"}', True),
        ('{"a": 1} x', False),
        ('{"a": 1, "b": "\\x"}', False),
        ('[{"a": 1}]', False),
        ("{}", False),
        (DEEP, False),
        (LONG, False),
    ],
)
def test_one_key_in_texts(text: str, matching: bool) -> None:
    """How a text is written makes no difference; a text that can't be read as a whole matches nothing."""
    assert compile_expected({"a": 1}, "subset").matches(text) is matching
    assert compile_expected({"a": 1, "z": "*"}, "subset").matches(text) is False


@pytest.mark.parametrize("text", ["", "no object", " {}", "[]", "{", DEEP, LONG])
def test_where_nothing_is_certain(text: str) -> None:
    """The quick way leaves to the slow one what it can't tell."""
    assert reading_of(["a"])(text) is None

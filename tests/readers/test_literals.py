"""The strict grammar of literals: what it reads, what it refuses, and that it costs what the text is long."""

from __future__ import annotations

import ast
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracewitness.errors import ReadError
from tracewitness.readers import literals
from tracewitness.readers.literals import LiteralError, parse_literal

READ = [
    # words and numbers
    ("None", None),
    ("null", None),
    ("True", True),
    ("true", True),
    ("False", False),
    ("0", 0),
    ("-0", 0),
    ("-17", -17),
    ("9007199254740993", 2**53 + 1),
    ("2.0", 2.0),
    ("1e+16", 1e16),
    ("1E-07", 1e-7),
    ("-2.5e3", -2500.0),
    ("inf", math.inf),
    ("-inf", -math.inf),
    ("Infinity", math.inf),
    ("-Infinity", -math.inf),
    # texts
    ("''", ""),
    ('"it\'s"', "it's"),
    (r"'it\'s'", "it's"),
    (r"'a\tb\nc\\d'", "a\tb\nc\\d"),
    (r"'\x00\xe9\u65e5\U0001f600'", "\x00é日😀"),
    (r'"\ud83d\ude00"', "😀"),
    (r'"a\/b\b\f"', "a/b\b\f"),
    (r"'\ud800'", "\ud800"),
    ("'a\tb\u2028c\rd'", "a\tb\u2028c\rd"),
    # lists, tuples, mappings
    ("[]", []),
    ("()", []),
    ("(1,)", [1]),
    ("(1, (2, 3))", [1, [2, 3]]),
    ("[1,2 , 3 ]", [1, 2, 3]),
    ("{}", {}),
    ("{'a': {'b': [None, {}]}}", {"a": {"b": [None, {}]}}),
    ("{2: 'x', None: 2.5}", {2: "x", None: 2.5}),
    ('{"a":null,"b":[true]}', {"a": None, "b": [True]}),
    ("  {'a': 1}\r\n", {"a": 1}),
]

REFUSED = [
    # nothing is evaluated, joined or looked up
    "len('abc')",
    "2**64",
    "1 + 1",
    "-x",
    "+1",
    "- 1",
    "x",
    "datetime.date(2024, 5, 1)",
    "[x for x in (1, 2)]",
    "<object at 0x7f00>",
    "__import__('os')",
    "{1, 2}",
    "set()",
    "[*'ab']",
    "{**{}}",
    "lambda: 1",
    "...",
    # no spelling but that of repr and JSON
    "b'x'",
    "r'x'",
    "f'x'",
    "'a' 'b'",
    "'''a'''",
    '""""""',
    "007",
    "1_000",
    "0x10",
    "1.",
    ".5",
    "1e",
    "1.5.2",
    "1j",
    "TRUE",
    "nil",
    "-nan",
    "nanx",
    "None1",
    "(1)",
    "(1, 2,)",
    "[1,]",
    "[1 2]",
    "[,]",
    "{'a'}",
    "{'a': }",
    "{'a': 1,}",
    "{'a': 1 'b': 2}",
    "{: 1}",
    "{(1, 2): 3}",
    "{[1]: 2}",
    "{'a': 1, 'a': 2}",
    "{1: 'a', True: 'b'}",
    # texts
    r"'\d'",
    r"'\0'",
    r"'\N{BULLET}'",
    r"'\x4'",
    r"'\u12'",
    r"'\U00110000'",
    r"'\'",
    "'a\nb'",
    "'a",
    "a'",
    # what does not begin or end
    "",
    "  ",
    "[",
    "[1",
    "{'a'",
    "{'a': 1",
    "]",
    "1]",
    "{} x",
    "{} # note",
    "'a';",
    "1,",
    "1, 2",
    "9" * 5000,
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_reads(text: str, value: Any) -> None:
    """A literal of either notation has the value that Python or JSON gives it, and its type."""
    read = parse_literal(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("text", ["nan", "NaN", "[nan]"])
def test_reads_nan(text: str) -> None:
    """The words for no number are read in both spellings."""
    assert "nan" in repr(parse_literal(text))


@pytest.mark.parametrize("text", REFUSED, ids=[text[:20] for text in REFUSED])
def test_refuses(text: str) -> None:
    """What is outside the grammar is an error with a position in the text and a reason."""
    with pytest.raises(LiteralError) as caught:
        parse_literal(text)
    assert 0 <= caught.value.position <= len(text)
    assert caught.value.problem.isprintable()
    assert f"character {caught.value.position + 1}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem", "position"),
    [
        ("{'a': oops}", "a value was expected, 'oops' came", 6),
        ("[1, ]", "a value was expected, ']' came", 4),
        ("(1, 2, )", "a comma before the closing bracket", 7),
        ("(1)", "',' was expected, ')' came", 2),
        ("{1: 2, }", "a value was expected, '}' came", 7),
        ("{[1]: 2}", "a key was expected, '[' came", 1),
        ("{'a': 1, 'a': 2}", "the key 'a' stands there twice, which is ambiguous", 9),
        ("['a, 1]", "a text without its closing quote", 7),
        ("[1, ", "it ends in the middle", 4),
        ("[1 2]", "',' was expected, '2' came", 3),
        ("[]]", "']' after the literal", 2),
        ("  007", "no literal begins with '007'", 2),
    ],
)
def test_an_error_says_what_is_wrong_and_where(text: str, problem: str, position: int) -> None:
    """The position is that of the piece that can't stand there."""
    with pytest.raises(LiteralError) as caught:
        parse_literal(text)
    assert (caught.value.problem, caught.value.position) == (problem, position)


def test_an_error_is_a_read_error() -> None:
    """Callers catch the library's own error."""
    assert issubclass(LiteralError, ReadError)


def test_reads_from_a_place_to_the_end() -> None:
    """A literal may begin anywhere in a text, and must end with it."""
    assert parse_literal("name with args {'a': 1}", 15) == {"a": 1}


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{'a':", "}"), ("(", ",)")])
def test_depth_is_bounded(opening: str, closing: str) -> None:
    """A hundred levels are read; one more, or twenty thousand, is an error and no crash."""
    assert parse_literal(opening * 100 + "1" + closing * 100)
    for depth in (101, 20_000):
        with pytest.raises(LiteralError, match="levels deep"):
            parse_literal(opening * depth + "1" + closing * depth)


@pytest.mark.parametrize(
    "text",
    [
        "'" + "a" * 2_000_000,
        "'" + "\\" * 2_000_001,
        '"' + "'" * 2_000_000,
        "[" + "''," * 700_000,
        "1" * 2_000_000,
        "-" * 2_000_000,
        "a" * 2_000_000,
        " " * 2_000_000,
        "{" * 2_000_000,
    ],
    ids=["open", "backslashes", "quotes", "items", "digits", "signs", "word", "space", "braces"],
)
def test_long_hostile_text_is_refused_at_once(text: str) -> None:
    """Two million characters that are no literal are refused; in more than linear time it would not end."""
    with pytest.raises(LiteralError):
        parse_literal(text)


def test_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text beyond the bound is refused before anything of it is read; its length counts from where it starts."""
    monkeypatch.setattr(literals, "MAX_LENGTH", 10)
    assert parse_literal("x" * 50 + repr("a" * 8), 50) == "a" * 8
    with pytest.raises(LiteralError, match="longer than 10 characters"):
        parse_literal(repr("a" * 9))


def test_a_long_literal_is_read() -> None:
    """A result of some megabytes is ordinary."""
    value = [{"id": number, "text": "x" * 50} for number in range(20_000)]
    assert parse_literal(repr(value)) == value


_TEXTS = st.text(st.characters(exclude_categories=()))
_NUMBERS = st.integers() | st.floats(allow_nan=False)
_SCALARS = st.none() | st.booleans() | _NUMBERS | st.text()
_PLAIN = st.recursive(
    _SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner), max_leaves=20
)
_JSON = st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def _exact(value: Any) -> str:
    return repr(value).replace("-0.0", "0.0") if isinstance(value, float) else repr(value)


@settings(deadline=None)
@given(_PLAIN)
def test_what_repr_writes_is_read_back(value: Any) -> None:
    """Any plain value comes back from its repr, with the same types in it."""
    assert _exact(parse_literal(repr(value))) == _exact(value)


@settings(deadline=None)
@given(_JSON, st.booleans())
def test_what_json_writes_is_read_back(value: Any, ascii_only: bool) -> None:
    """Any value comes back from JSON, escaped or not."""
    assert _exact(parse_literal(json.dumps(value, ensure_ascii=ascii_only))) == _exact(value)


@settings(deadline=None)
@given(_TEXTS)
def test_any_text_is_read_back(text: str) -> None:
    """Every text comes back, halves of surrogate pairs too; two halves that meet become the whole."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    assert parse_literal(repr(text)) == whole


def _as_python_reads(text: str) -> Any:
    """Return what Python or JSON makes of a text, with lists for tuples."""
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(json.dumps(ast.literal_eval(text)))


def _agrees_with_python(text: str) -> bool:
    """Whether a text is refused, or read as Python or JSON reads it."""
    try:
        value = parse_literal(text)
    except LiteralError as refused:
        return 0 <= refused.position <= len(text)
    if any(word in text for word in ("nan", "inf", "NaN", "Infinity", "null", "true", "false")):
        return True  # words that Python does not read among its own
    return json.dumps(value) == json.dumps(_as_python_reads(text))


@settings(deadline=None)
@given(_PLAIN, st.data())
def test_damaged_text_is_refused_or_means_what_it_says(value: Any, data: st.DataObject) -> None:
    """A literal with a piece cut out or put in is refused, or reads as Python reads it."""
    text = repr(value)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    piece = data.draw(st.text(st.sampled_from("{}[](),:'\"\\ 0e-.nNxuUaf"), max_size=4))
    assert _agrees_with_python(text[:start] + piece + text[end:])


@settings(deadline=None)
@given(st.lists(st.sampled_from([*"{}[](),:'\" 1", "\\n", "\\'", "'a'", '"b"', "None", "-2.5", "1e3"])).map("".join))
def test_any_text_of_pieces_is_refused_or_means_what_it_says(text: str) -> None:
    """Whatever the pieces of literals are put together to, it is refused or reads as Python reads it."""
    assert _agrees_with_python(text)

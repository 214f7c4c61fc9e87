"""Values are found in texts as a plain definition finds them, and many of them in little time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracewitness.value_search import ValueSearch

#: Characters that change their number or their kind with their size, digits, quotes and the mark of a cut.
ODD = st.text(alphabet="aAbB1.'\"…ΣσςİßĲ\ud800é ", max_size=40)


@given(value=ODD.filter(lambda text: len(text) >= 4), before=ODD, after=ODD)
def test_a_text_is_found_wherever_it_stands(value: str, before: str, after: str) -> None:
    """In between anything, and in capitals where these are as many characters."""
    search = ValueSearch([value], [])
    assert value not in search.replaced(f"{before}{value}{after}", "#")
    assert search.is_value(value)


@pytest.mark.parametrize(
    ("texts", "numbers", "text", "shown"),
    [
        (["abcd", "abcdef"], [], "xabcdefx abcde", "x#x #e"),
        (["Ana@Example.org"], [], "ANA@EXAMPLE.ORG ana@example.org", "# #"),
        (["ΔΣΔΣ"], [], "ΔΣΔΣ δσδς ΔΣΔΣΔ", "# # #Δ"),
        (["İİİİ"], [], "xİİİİx", "x#x"),
        (["abc"], [], "abc 'abc' \"ABC\" 'abc", "abc '#' \"#\" 'abc"),
        ([], ["4711"], "4711, 14711, 4711.5, 0.4711, x4711x", "#, 14711, #.5, 0.4711, x#x"),
        (["4711"], ["4711"], "14711", "1#"),
        ([], ["7"], "7 of '7'", "7 of '#'"),
        ([".*+?", "(["], [], ".*+? '(['", "# '#'"),
    ],
)
def test_what_is_replaced(texts: list[str], numbers: list[str], text: str, shown: str) -> None:
    """The longest first; numbers not in longer ones; what is short only in quotes; nothing is a pattern."""
    assert ValueSearch(texts, numbers).replaced(text, "#") == shown


@pytest.mark.parametrize(
    ("value", "text", "shows"),
    [
        ("abcdef", "it was ABCD…", True),
        ("abcdef", "it was abc…", False),
        ("abcdef", "…cdef was it", True),
        ("abcdef", "…cde was it", False),
        ("abcdef", "…", False),
        ("abcdef", "", False),
        ("0123456789abcdefg", "0123456789", True),
        ("0123456789abcdefg", "789ABCDEFG", True),
        ("0123456789abcdefg", "123456789a", False),
        ("0123456789abcdef", "0123456789", False),
        ("x" * 200, f"{'x' * 100}…", True),
    ],
)
def test_what_shows_a_part(value: str, text: str, shows: bool) -> None:
    """Before and after the mark of a cut, and much of what is long."""
    assert ValueSearch([value], []).shows_part(text) is shows


def test_many_values_take_no_more_steps_than_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose every result is hidden has as many values as texts, so that each with each would never end."""
    looked_at = 0
    found = ValueSearch._found

    def counted(search: ValueSearch, lengths: dict[int, None], text: str, at: int) -> int:
        nonlocal looked_at
        looked_at += len(lengths)
        return found(search, lengths, text, at)

    monkeypatch.setattr(ValueSearch, "_found", counted)
    search = ValueSearch([f"customer number {number}" for number in range(20_000)], [])
    texts = [f"this is customer number {number}, is it?" for number in range(20_000)]
    assert {search.replaced(text, "#") for text in texts} == {"this is #, is it?"}
    assert looked_at <= 10 * len(texts)

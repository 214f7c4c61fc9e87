"""Read JSON into a tree with places.

Python's own decoder gives values but no places, so the structure is read here; strings are left to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from tracewitness.display import show
from tracewitness.suites.nodes import Leaf, TreeBuilder
from tracewitness.suites.numbers import finite_float, whole_number
from tracewitness.suites.places import Lines, Place
from tracewitness.suites.problems import Problems

__all__ = ["JsonSyntaxError", "build_from_json"]

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD: Final = re.compile(r"[A-Za-z0-9_.+-]+")
_CONSTANTS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_DECODER: Final = json.JSONDecoder()


class JsonSyntaxError(Exception):
    """The text is not JSON; it may still be YAML.

    Arguments:
        problem: what is wrong.
        place: where.
    """

    def __init__(self, problem: str, place: Place) -> None:
        super().__init__(problem, place)
        self.problem = problem
        self.place = place


def build_from_json(text: str, problems: Problems) -> TreeBuilder:
    """Read one JSON value.

    Raises:
        JsonSyntaxError: the text is not JSON.
        SuiteError: it is, but too deep or too large.
    """
    reader = _JsonReader(text, problems)
    reader.read()
    return reader.builder


class _JsonReader:
    """A scanner with one position that only moves forward.

    It calls itself for what is nested; the builder refuses a depth at which that could matter.
    """

    def __init__(self, text: str, problems: Problems) -> None:
        self.builder = TreeBuilder(problems)
        self._text = text
        self._at = 0
        self._problems = problems
        self._lines = Lines(text)

    def read(self) -> None:
        """Read the whole text."""
        self._value()
        if self._peek():
            raise self._unexpected("the end of the file")

    def _value(self) -> None:
        first = self._peek()
        if first == "{":
            self.builder.open_mapping(self._place())
            self._items("}", self._entry)
        elif first == "[":
            self.builder.open_list(self._place())
            self._items("]", self._value)
        else:
            self.builder.leaf(self._leaf(first))

    def _items(self, closer: str, read_item: Callable[[], None]) -> None:
        """Read from an opening bracket to its closer."""
        self._at += 1
        if self._peek() != closer:
            read_item()
            while self._peek() == ",":
                self._at += 1
                read_item()
            if self._peek() != closer:
                raise self._unexpected(f"a comma or {closer}")
        self._at += 1
        self.builder.close()

    def _entry(self) -> None:
        if self._peek() != '"':
            raise self._unexpected("a key in double quotes")
        self.builder.leaf(self._string())
        if self._peek() != ":":
            raise self._unexpected("a colon after the key")
        self._at += 1
        self._value()

    def _leaf(self, first: str) -> Leaf:
        if first == '"':
            return self._string()
        number = _NUMBER.match(self._text, self._at)
        if number:
            return self._number(number)
        word = _WORD.match(self._text, self._at)
        if word is None or word.group() not in _CONSTANTS:
            raise self._unexpected("a value")
        place = self._place()
        self._at = word.end()
        return Leaf(place, _CONSTANTS[word.group()], word.group())

    def _string(self) -> Leaf:
        place = self._place()
        try:
            value, self._at = _DECODER.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            problem = error.msg[0].lower() + error.msg[1:].removesuffix(" at").removesuffix(" starting")
            raise JsonSyntaxError(problem, self._place(error.pos)) from None
        return Leaf(place, value, value)

    def _number(self, match: re.Match[str]) -> Leaf:
        place, text = self._place(), match.group()
        self._at = match.end()
        value: Any = text
        try:
            value = finite_float(text) if match.group(1) or match.group(2) else whole_number(text)
        except ValueError as error:
            self._problems.add(str(error), self.builder.path(), *place)
        return Leaf(place, value, text)

    def _peek(self) -> str:
        """Move to the next character that is no white space and return it; empty at the end."""
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]

    def _place(self, offset: int | None = None) -> Place:
        return self._lines.place(self._at if offset is None else offset)

    def _unexpected(self, wanted: str) -> JsonSyntaxError:
        word = _WORD.match(self._text, self._at)
        found = word.group() if word else self._peek()
        what = show(found, 40) if found else "the file ends; is it complete?"
        return JsonSyntaxError(f"expected {wanted}, but {'found ' if found else ''}{what}", self._place())

"""Matchers of texts by regular expressions."""

from __future__ import annotations

import re

from tracewitness.display import show
from tracewitness.errors import ExpectationError

from .base import Matcher, Write, unless
from .nodes import Node, Rules, leaf
from .values import named, noun

_NOT_SPECIAL = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)  # escaped characters, and classes
_SCOPED_DOTALL = re.compile(r"\(\?[a-zA-Z]*s[a-zA-Z]*[-:]")


class Regex(Matcher):
    """Match a text that the pattern matches as a whole.

    Arguments:
        pattern: a regular expression of Python's `re`.
        flags: of `re`; a file can't write them, ``(?i)`` in the pattern does.

    >>> Regex(r"FL-\\d+")
    Regex('FL-\\\\d+')
    """

    __slots__ = ("flags", "pattern")
    key = "$regex"
    fields = ("pattern", "flags")
    pattern: str
    flags: int

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._set(pattern=pattern, flags=int(flags))
        self._compiled()

    @property
    def stops_at_lines(self) -> bool:
        """Whether a ``.`` in the pattern stands for any character but a line break."""
        if self._compiled().flags & re.DOTALL or _SCOPED_DOTALL.search(self.pattern):
            return False
        return "." in _NOT_SPECIAL.sub("", self.pattern)

    def _compiled(self) -> re.Pattern[str]:
        if not isinstance(self.pattern, str):
            raise ExpectationError(f"{type(self).__name__} needs a pattern as text, not {show(self.pattern)}")
        try:
            return re.compile(self.pattern, self.flags)
        except re.error as error:
            place = "" if error.pos is None else f" at character {error.pos}"
            problem = f"the pattern {show(self.pattern)} does not compile: {error.msg}{place}"
            raise ExpectationError(problem) from error
        except Exception as error:  # RecursionError, OverflowError, a FutureWarning made an error …
            raise ExpectationError(f"the pattern {show(self.pattern)} does not compile: {named(error)}") from error

    def arguments(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return (self.pattern,), {"flags": self.flags} if self.flags else {}

    def to_file(self, _write: Write, /) -> dict[str, object]:
        if self.flags:
            raise ExpectationError(f"a file can't hold the flags of {self!r}; write (?i) and the like in the pattern")
        return {self.key: self.pattern}

    def build(self, _rules: Rules, /) -> Node:
        compiled = self._compiled()

        def test(actual: object, _levels: int) -> bool:
            return isinstance(actual, str) and compiled.fullmatch(actual) is not None

        def why(actual: object) -> str:
            if not isinstance(actual, str):
                return f"a text is needed, not {noun(actual)}"
            return "only a part of it matches" if compiled.search(actual) else ""

        return leaf(self, test, why)


class Search(Regex):
    """Match a text in which the pattern is found anywhere; ``.`` crosses lines.

    >>> Search("rm .*-rf")
    Search('rm .*-rf')
    """

    __slots__ = ()
    key = "$search"
    stops_at_lines = False

    def build(self, _rules: Rules, /) -> Node:
        compiled = re.compile(self.pattern, self.flags | re.DOTALL)

        def test(actual: object, _levels: int) -> bool:
            return isinstance(actual, str) and compiled.search(actual) is not None

        return leaf(self, test, lambda actual: unless("text", actual))

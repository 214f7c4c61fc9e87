"""The matcher that asks a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracewitness.display import show
from tracewitness.errors import ExpectationError

from .base import Matcher, Write
from .nodes import Node, Rules, leaf
from .values import UndecidedError, named


class Satisfies(Matcher):
    """Match a value for which a function returns something true; a file can't hold it.

    Arguments:
        function: takes the value. What it raises is no match, nor one for the negation.

    >>> Satisfies(str.isupper)
    Satisfies(str.isupper)
    """

    __slots__ = ("function",)
    fields = ("function",)
    function: Callable[[Any], object]

    def __init__(self, function: Callable[[Any], object]) -> None:
        if not callable(function):
            raise ExpectationError(f"Satisfies needs a function, not {show(function)}")
        self._set(function=function)

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", None) or repr(self.function)
        return f"Satisfies({name.rpartition('<locals>.')[2]})"

    def to_file(self, _write: Write, /) -> dict[str, object]:
        raise ExpectationError(f"a file can't hold {self!r}; use another matcher")

    def build(self, _rules: Rules, /) -> Node:
        def test(actual: object, _levels: int) -> bool:
            try:
                return bool(self.function(actual))
            except Exception as error:
                raise UndecidedError(f"it raised {named(error)}") from error

        return leaf(self, test, lambda _actual: "")

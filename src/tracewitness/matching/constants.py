"""Matchers of which there is one each."""

from __future__ import annotations

from typing import ClassVar, Final

from tracewitness.display import show
from tracewitness.errors import ExpectationError

from .base import Matcher, Read, Write
from .nodes import Node, Rules, leaf


class _Constant(Matcher):
    """A matcher of which there is one; a file writes it ``{key: true}``."""

    __slots__ = ()
    name: ClassVar[str] = ""

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name

    @classmethod
    def from_file(cls, value: object, _read: Read, /) -> Matcher:
        if value is not True:
            raise ExpectationError(f"{cls.key} takes only true, not {show(value)}")
        return _CONSTANTS[cls]

    def to_file(self, _write: Write, /) -> dict[str, object]:
        return {self.key: True}


class _Any(_Constant):
    __slots__ = ()
    key = "$any"
    name = "ANY"

    def build(self, _rules: Rules, /) -> Node:
        return leaf(self, lambda _actual, _levels: True, lambda _actual: "")


class _Absent(_Constant):
    __slots__ = ()
    key = "$absent"
    name = "ABSENT"

    def build(self, _rules: Rules, /) -> Node:
        return leaf(self, lambda _actual, _levels: False, lambda _actual: "it must not be there", absent=True)


ANY: Final = _Any()
"""Matches whatever is there, None included."""
ABSENT: Final = _Absent()
"""Stands for a key that is not there."""
_CONSTANTS: Final[dict[type[_Constant], _Constant]] = {_Any: ANY, _Absent: ABSENT}

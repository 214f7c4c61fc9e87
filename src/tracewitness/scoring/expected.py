"""The calls that are expected: `ExpectedCall`, and reading them from mappings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeGuard

from msgspec import UNSET, Struct

from tracewitness.display import nearest_name, printable, show
from tracewitness.errors import ExpectationError
from tracewitness.matching import Matcher
from tracewitness.trace import ToolCall

__all__ = ["ExpectedCall", "is_listing", "read_call", "read_expected"]

_FIELDS: Final = ("tool", "args", "result")
_OTHER_WORDS: Final = {
    "name": "tool",
    "function": "tool",
    "call": "tool",
    "arguments": "args",
    "parameters": "args",
    "params": "args",
    "input": "args",
    "kwargs": "args",
    "output": "result",
    "response": "result",
    "returns": "result",
}


class ExpectedCall(Struct, frozen=True, repr_omit_defaults=True):
    """A call that an agent is expected to make.

    Attributes:
        tool: the tool's exact name.
        args: a mapping of the arguments, with matchers at any depth, or a matcher of all of them. Left out they are
            not checked; ``{}`` says that there must be none.
        result: what the tool must have returned; left out it is not checked.

    Raises:
        ExpectationError: a field is of the wrong kind.

    >>> ExpectedCall("book_flight", {"flight_id": "FL-42"})
    ExpectedCall(tool='book_flight', args={'flight_id': 'FL-42'})
    """

    tool: str
    args: Any = UNSET
    result: Any = UNSET

    def __post_init__(self) -> None:
        if not isinstance(self.tool, str) or not self.tool:
            raise ExpectationError(f"tool is a tool's name, not {show(self.tool)}", ("tool",))
        args = self.args
        if args.__class__ is not dict and args is not UNSET and not isinstance(args, (Mapping, Matcher)):
            what_to_do = "leave it out where arguments are not checked, {} says that there must be none"
            raise ExpectationError(f"args is a mapping, not {show(args)}; {what_to_do}", ("args",))

    def __str__(self) -> str:
        args = "" if self.args is UNSET else show(self.args, 60)
        return f"{printable(self.tool, 60)}({args})"


def is_listing(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether a value is a list of calls, or what can stand for one: no text, no mapping, no single call."""
    if isinstance(value, (list, tuple)):
        return True
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping, ExpectedCall, ToolCall))


def read_expected(expected: object) -> list[ExpectedCall]:
    """Read what is expected.

    Arguments:
        expected: a list of mappings ``{tool, args?, result?}`` or of `ExpectedCall`.

    Raises:
        ExpectationError: it is no such list; it says where.
    """
    if not is_listing(expected):
        raise ExpectationError(f"expected is a list of calls such as {{'tool': 'search'}}, not {show(expected)}")
    return [read_call(item, "expected", index, _FIELDS) for index, item in enumerate(expected)]


def read_call(item: Any, role: str, index: int, fields: tuple[str, ...]) -> ExpectedCall:
    """Read one call of an expectation.

    Arguments:
        role: what the list is called that it stands in, and ``index`` its place there, for errors.
        fields: the fields that it may have.

    Raises:
        ExpectationError: it is malformed; it says where.
    """
    if isinstance(item, ExpectedCall):
        return item
    if item.__class__ is not dict and not isinstance(item, Mapping):
        raise ExpectationError(f"a call is a mapping with {' and '.join(fields)}, not {show(item)}", (role, index))
    for key in item:
        if key not in fields:
            raise ExpectationError(_unknown_key(key, fields), (role, index))
    if "tool" not in item:
        raise ExpectationError("a call has a tool; its name stands under tool", (role, index))
    try:
        return ExpectedCall(item["tool"], item.get("args", UNSET), item.get("result", UNSET))
    except ExpectationError as error:
        raise error.under(role, index) from None


def _unknown_key(key: object, known: Sequence[str]) -> str:
    """Say that a key is not known, and which one was meant."""
    near = _OTHER_WORDS.get(key) or nearest_name(key, known) if isinstance(key, str) else None
    meant = f"; {near} is meant" if near in known else f"; there are {', '.join(known)}"
    return f"unknown key {show(key, 40)}{meant}"

"""Values are copied to plain data; what has no plain form is said to have none."""

from __future__ import annotations

import dataclasses
import enum
import math
import types
from collections import OrderedDict, deque, namedtuple
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from unittest.mock import MagicMock
from uuid import UUID

import attrs
import msgspec
import numpy as np
import pydantic
import pytest
from hypothesis import given

from tracewitness import MalformedArguments, check, record
from tracewitness.capture.snapshots import snapshot
from tracewitness.testing import json_values


@dataclasses.dataclass
class Item:
    name: str
    at: date


@attrs.define
class Box:
    items: list[Item]


class Order(msgspec.Struct):
    box: Box


class Model(pydantic.BaseModel):
    price: Decimal


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Name(str):
    __slots__ = ()


Point = namedtuple("Point", "x y")


class Plain:
    def __init__(self) -> None:
        self.id = 7


class Hostile:
    """Raises whatever it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise OSError(name)


class HostileMapping(dict[str, Any]):
    def __iter__(self) -> Any:
        raise OSError

    keys = items = __iter__  # type: ignore[assignment]


@dataclasses.dataclass
class HostileField:
    name: str

    def __getattribute__(self, name: str) -> Any:
        if name == "name":
            raise OSError(name)
        return super().__getattribute__(name)


ITEM = Item("lamp", date(2024, 5, 1))
ITEM_COPY = {"name": "lamp", "at": "2024-05-01"}

COPIES: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (10**400, 10**400),
    ("\ud800", "\ud800"),
    ((1, (2,)), [1, [2]]),
    (range(3), [0, 1, 2]),
    (deque("ab"), ["a", "b"]),
    ({"b", "a"}, ["a", "b"]),
    (frozenset({(2, 1), (1, 2)}), [[1, 2], [2, 1]]),
    (b"\xff\x00", "/wA="),
    (bytearray(b"a"), "YQ=="),
    (memoryview(b"a"), "YQ=="),
    (datetime(2024, 5, 1, tzinfo=UTC), "2024-05-01T00:00:00+00:00"),
    (time(12, 30), "12:30:00"),
    (timedelta(minutes=1), 60.0),
    (Decimal("2.50"), "2.50"),
    (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
    (PurePosixPath("/tmp/a"), "/tmp/a"),  # noqa: S108
    (Colour.RED, "red"),
    (Level.HIGH, 3),
    (Name("lamp"), "lamp"),
    (Point(1, 2), [1, 2]),
    (OrderedDict(a=1), {"a": 1}),
    (types.MappingProxyType({"a": 1}), {"a": 1}),
    ({1: "a", None: "b", False: "c", Colour.RED: "d"}, {"1": "a", "null": "b", "false": "c", "red": "d"}),
    (ITEM, ITEM_COPY),
    (Order(Box([ITEM])), {"box": {"items": [ITEM_COPY]}}),
    (Model(price=Decimal("1.5")), {"price": "1.5"}),
    (np.int64(3), 3),
    (np.array([[1.5]]), [[1.5]]),
    (np.float64(2.5), 2.5),
]


@pytest.mark.parametrize(("value", "copy"), COPIES, ids=lambda value: type(value).__name__)
def test_copies(value: Any, copy: Any) -> None:
    """What has one obvious form in JSON is copied to that, of plain types alone."""
    taken = snapshot(value)
    assert taken.value == copy
    assert type(taken.value) is type(copy)
    assert taken.opaque == ()


@given(json_values())
def test_what_is_plain_is_copied_as_it_is(value: Any) -> None:
    """The copy equals it, and shares nothing that can change."""
    assert snapshot(value).value == value
    assert snapshot([value]).value[0] is not value or not isinstance(value, (list, dict))


def test_what_is_not_a_number() -> None:
    """It is kept: whether JSON holds it is for who writes it."""
    assert math.isnan(snapshot(math.nan).value)


CYCLE: list[Any] = []
CYCLE.append(CYCLE)

OPAQUE: list[tuple[Any, tuple[Any, ...], str]] = [
    (object(), (), "object"),
    ([1, Plain()], (1,), f"{__name__}.Plain"),
    ({"a": {"b": len}}, ("a", "b"), "builtin_function_or_method"),
    (Item, (), "type"),
    (1j, (), "complex"),
    (MagicMock(), (), "unittest.mock.MagicMock"),
    (MagicMock(spec=dict), (), "unittest.mock.MagicMock"),
    ({(1, 2): 3}, (), "a mapping whose key tuple"),
    ({1: "a", "1": "b"}, (), "a mapping whose key str"),
    (Hostile(), (), f"{__name__}.Hostile"),
    ({"a": HostileMapping(a=1)}, ("a",), f"{__name__}.HostileMapping, which raised OSError"),
    (HostileField("a"), (), f"{__name__}.HostileField, which raised OSError"),
]


@pytest.mark.parametrize(("value", "path", "reason"), OPAQUE, ids=lambda value: type(value).__name__)
def test_what_has_no_plain_form(value: Any, path: tuple[Any, ...], reason: str) -> None:
    """It is found where it stands, and nothing that it raises comes out."""
    (opaque,) = snapshot(value).opaque
    assert opaque.path == path
    assert opaque.reason.startswith(reason)
    assert repr(opaque) == f"<{opaque.reason}>"


def test_what_holds_itself() -> None:
    """It has no end, so that the copy has one."""
    (opaque,) = snapshot(CYCLE).opaque
    assert "perhaps in itself" in opaque.reason


# ----------------------------------------------------------------------------------------------- in a recording


@record.tool
def delete(target: Any, reason: str = "") -> Any:
    return target


BAN = [{"type": "tool_not_called", "tool": "delete", "args": {"target": {"id": 7}}}]
DEMAND = [{"type": "tool_called", "tool": "delete", "args": {"reason": "old"}}]


def test_an_argument_without_a_plain_form() -> None:
    """The call's arguments can't be read: no check relies on them, and the problem says what to do."""
    with record() as trace:
        delete(Plain(), "old")
    args = trace.calls[0].args
    assert isinstance(args, MalformedArguments)
    assert args.raw == f"{{'reason': 'old', 'target': <{__name__}.Plain>}}"
    assert not check(trace, BAN)[0].held
    assert not check(trace, DEMAND)[0].held
    assert any("record.tool(leave_out=['target'])" in problem.reason for problem in trace.problems)
    assert any("what delete returned can't be written down" in problem.reason for problem in trace.problems)


def test_a_result_without_a_plain_form() -> None:
    """It answers the call and matches nothing."""

    @record.tool
    def find() -> Any:
        return [Plain()]

    with record() as trace:
        find()
    assert trace.calls[0].answer is not None
    (verdict, parsed) = check(trace, [{"type": "tool_output", "tool": "find", "result": {"$any": True}}])
    assert not verdict.held
    assert not parsed.held


def test_a_way_to_make_it_plain() -> None:
    """`plain` is asked for what has no plain form, and only for that."""
    asked = []

    def plain(value: Any) -> Any:
        asked.append(value)
        return {"id": value.id} if isinstance(value, Plain) else value

    tool = record.tool(delete, name="delete", plain=plain)
    with record() as trace:
        tool(Plain(), "old")
    assert trace.calls[0].args == {"target": {"id": 7}, "reason": "old"}
    assert trace.calls[0].result == {"id": 7}
    assert not trace.problems
    assert len(asked) == 2


@pytest.mark.parametrize("plain", [lambda value: value, lambda value: [value], lambda value: value.no_such_attribute])
def test_a_way_that_makes_nothing_plain(plain: Any) -> None:
    """Then it has no plain form; the tool's call is not disturbed."""
    tool = record.tool(delete, name="delete", plain=plain)
    with record() as trace:
        assert isinstance(tool(Plain()), Plain)
    assert isinstance(trace.calls[0].args, MalformedArguments)


def test_a_default_without_a_plain_form() -> None:
    """It is mostly a mark for “not given”, and the agent gave nothing: it is left out."""
    missing = object()

    @record.tool
    def find(query: str, after: Any = missing) -> None: ...

    with record() as trace:
        find("lamp")
    assert trace.calls[0].args == {"query": "lamp"}
    assert not trace.problems

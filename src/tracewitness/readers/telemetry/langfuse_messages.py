"""Read what Langfuse makes of the inputs and outputs of observations: messages in one form, whoever recorded them.

For each observation there is a list of messages, or why there is none. Neither times nor types are there, nor which
observation is in which: what came first is known from the histories alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from tracewitness.display import show
from tracewitness.readers.conversation import Conversation
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse
from tracewitness.readers.telemetry.messages import read_messages
from tracewitness.readers.telemetry.pieces import problems_of
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read"]

SHAPE: Final = "a mapping of observations has input and output, each with success and data or error"

_SIDES: Final = ("input", "output")
_NO_DATA: Final = "what an observation was given or gave is no list of messages"


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if not isinstance(document, Mapping) or not document:
        return False
    return all(isinstance(item, Mapping) and _is_observation(item) for item in document.values())


def _is_observation(item: Mapping[str, Any]) -> bool:
    return bool(item) and item.keys() <= {"input", "output"} and all(map(_is_side, item.values()))


def _is_side(side: Any) -> bool:
    return isinstance(side, Mapping) and "success" in side and ("data" in side or "error" in side)


def read(document: Any, name: str = "") -> Trace:
    """Read the messages of observations as one run.

    Raises:
        ReadError: it is nothing of the kind.

    >>> messages = [{"role": "assistant", "tool_calls": [{"id": "c1", "name": "search", "arguments": "{}"}]}]
    >>> read({"o1": {"output": {"success": True, "data": messages}}}).calls[0].name
    'search'
    """
    if not detects(document):
        raise refuse(document, SHAPE)
    accounts = [_account(key, item) for key, item in document.items()]
    # A history has all that came before: the longer it is, the later its observation was.
    accounts.sort(key=lambda account: account.length)
    conversation = Conversation()
    if len({account.beginning for account in accounts}) > 1:
        reason = "observations have no times: which came first is not known where no history has both"
        conversation.doubt(reason, (), hides_call=False)
    for account in accounts:
        conversation.add_request(account.told)
    return conversation.trace(name)


class _Account(NamedTuple):
    """What the messages of an observation tell.

    Attributes:
        length: how many messages it was given. A result alone stands after what called for it, wherever that is.
        beginning: the first of them; a text of its own where there is none.
    """

    length: float
    beginning: str
    told: Recording


def _account(key: Any, item: Mapping[str, Any]) -> _Account:
    given, gave = Recording(), Recording()
    for told, side in ((given, "input"), (gave, "output")):
        if side in item:
            _read_side(told, item[side], (str(key), side))
    messages = item["input"].get("data") if "input" in item else None
    length: float = len(messages) if isinstance(messages, list) else 0
    if not len(given) and all(record.result is not UNSET for record in gave.records):
        length = math.inf
    first = next(iter(given.records or gave.records), None)
    beginning = str(first.user or first.system or first.agent or key) if first is not None else str(key)
    if given.records[:1] == gave.records[:1]:  # the whole conversation came out again
        given = problems_of(given)
    is_repeated = given.records[-len(gave) :] == gave.records if len(gave) else False
    given.take(problems_of(gave) if is_repeated else gave)
    return _Account(length, beginning, given)


def _read_side(told: Recording, side: Mapping[str, Any], path: Path) -> None:
    # What is missing of a history, others tell. What is missing of an output may be what a model called.
    is_output = path[-1] == "output"
    if not side["success"] or "data" not in side:
        told.doubt(f"{_NO_DATA}: {show(side.get('error'))}", path, hides_call=is_output)
        return
    for message, place in each_mapping(told, side["data"], (*path, "data"), "a message"):
        plain = _plain(message)
        if "role" in plain:
            read_messages(told, plain, place)
        elif plain:
            told.doubt(f"neither a message nor a call: {show(plain)}", place, hides_call=is_output)


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message without the tools that the model had, and with what was put aside as having no place in it."""
    plain = {key: value for key, value in message.items() if key not in ("tools", "json")}
    aside = message.get("json")
    while isinstance(aside, Mapping) and isinstance(aside.get("json"), Mapping):
        aside = aside["json"]
    if not isinstance(aside, Mapping):
        return plain
    if "role" not in plain:
        inner = aside.get("message")
        return dict(inner) if isinstance(inner, Mapping) else {**plain, **aside}
    if "content" not in plain and isinstance(aside.get("text"), str):
        plain["content"] = aside["text"]
    return {**{key: aside[key] for key in ("status", "finish_reason") if key in aside}, **plain}


READER: Final = Reader("langfuse-chatml", detects=detects, read=read, shape=SHAPE)

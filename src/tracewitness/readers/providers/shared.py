"""What the readers of whole answers share: results that failed, answers that were cut, documents of another format."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers.pairing import freeze
from tracewitness.readers.recording import Path, Recording, read_arguments
from tracewitness.trace import Trace

__all__ = [
    "CALL_FIELDS",
    "CUT",
    "Call",
    "actions_of",
    "doubt_cut",
    "doubt_foreign_calls",
    "doubt_lost",
    "doubt_others",
    "give_back",
    "holds_actions",
    "take_answer",
    "told_trace",
]

# The fields of a message that hold its calls: as chat completions have it, and as some clients and servers write it.
CALL_FIELDS: Final = ("tool_calls", "toolCalls", "tool_call")
# A call as id, name and arguments.
Call = tuple[Any, Any, Any]
# Why an answer ended of which there was to be more, as the providers write it.
CUT: Final = frozenset(
    {"length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded", "incomplete"}
)
_FLAGS: Final = ("is_error", "isError")
_NO_ERRORS: Final = frozenset({"", "false", "none", "null"})
_FLAG_TEXTS: Final = {"true": True, "false": False}
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})


def told_trace(recording: Recording, document: Any, name: str, detects: Callable[[Any], bool], shape: str) -> Trace:
    """Return the trace of a document.

    Raises:
        ReadError: nothing in it was understood, and it is of another format, which somebody took for this one.
    """
    trace = recording.trace(name)
    if not len(recording) and trace.reader_problems and not detects(document):
        raise ReadError(f"{trace.reader_problems[0]}; {shape}")
    return trace


def holds_actions(document: Any) -> bool:
    """Whether messages say beside themselves which actions were taken: then they tell calls that are not in them."""
    messages = document.get("messages") if isinstance(document, Mapping) else document
    return isinstance(messages, list) and any(actions_of(message) for message in messages)


def actions_of(message: Any) -> Any:
    """Return the actions that were taken upon a message, where it says so; None where it does not."""
    extra = message.get("extra") if isinstance(message, Mapping) else None
    return extra.get("actions") if isinstance(extra, Mapping) else None


def doubt_others(recording: Recording, places: Sequence[Path], what: str) -> None:
    """Note that other answers of a response call tools, than the first, which is read. It hides no call that was made.

    Arguments:
        places: of those answers.
        what: what the format calls them; the reader takes the index of the one that was used as ``choice``.
    """
    if places:
        reason = f"the first {what} was read, and others call tools: tell which one was used, by choice=…"
        recording.doubt(reason, places[0], hides_call=False)


def doubt_foreign_calls(recording: Recording, message: Mapping[str, Any], path: Path) -> bool:
    """Note, and return, whether a message has calls as chat completions write them, where nobody does."""
    fields = [field for field in (*CALL_FIELDS, "function_call") if message.get(field)]
    if fields:
        recording.doubt(f"calls as another format writes them: {show(fields)}", path)
    return bool(fields)


# ------------------------------------------------------------------------------------------------------------- results


def give_back(
    recording: Recording,
    result: Mapping[str, Any],
    payload: Any,
    call_id: Any,
    path: Path,
    *,
    of: Any = None,
    is_error: bool | None = None,
    at: Any = None,
) -> None:
    """Add a result with what it says of its own failing, in whatever words.

    Arguments:
        result: what holds the payload, and perhaps beside it an ``error``, a flag or a status.
        is_error: what the format itself says.
    """
    error = result.get("error") or None
    if isinstance(error, str) and error.strip().lower() in _NO_ERRORS:
        error = None
    failed = _has_failed(result, error)
    if failed is not None and is_error is not True:
        is_error = failed
    has_cause = error is not None and error is not True and not isinstance(error, (int, float))
    beside = None
    if has_cause and payload in _EMPTY:
        payload = error
    elif has_cause:
        beside = {"error": error}
    recording.answer(payload, call_id, path, of=of, is_error=is_error, at=at, metadata=beside)


def _has_failed(result: Mapping[str, Any], error: Any) -> bool | None:
    """Return what a result says of its own failing; one that says both things has failed."""
    flags = [_flag(result[key]) for key in _FLAGS if key in result]
    status = result.get("status")
    if error is not None or True in flags or (isinstance(status, str) and status.lower() == "error"):
        return True
    return False if False in flags else None


def _flag(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return _FLAG_TEXTS.get(value.strip().lower()) if isinstance(value, str) else None


# --------------------------------------------------------------------------------------------------------- cut answers


def doubt_cut(recording: Recording, begin: int, reason: Any, arguments: Any, path: Path) -> None:
    """Note that an answer was cut short while its last call was written, as far as anybody can know.

    A text of JSON that is whole can't have been longer; a mapping may be what was there of one.

    Arguments:
        begin: how many events there were before the answer.
        reason: why it ended.
        arguments: those of its last call, as they were recorded.
    """
    records = recording.records
    last = records[-1] if len(records) > begin else None
    if not isinstance(reason, str) or reason.lower() not in CUT or last is None or not isinstance(last.call, str):
        return
    if isinstance(arguments, str) and arguments.strip():
        return
    recording.doubt(
        f"the answer was cut ({reason}), and the arguments of {show(last.call)} may have been", path, hides_call=False
    )
    if last.args == {}:  # they are not known to be none
        records[-1] = replace(last, args=UNSET, raw_args="{}")


# ----------------------------------------------------------------------------------------------- what is told two times


def take_answer(recording: Recording, answer: Recording) -> None:
    """Add the answer to a request whose messages were read. Those who keep both may have put it at their end too."""
    count = len(answer)
    is_told = count > 0 and recording.records[-count:] == answer.records
    recording.take(answer, count if is_told else 0)
    recording.failure = recording.failure or answer.failure


def doubt_lost(recording: Recording, told: Iterable[Call], kept: Iterable[Call], path: Path) -> list[int]:
    """Note that an answer lacks, at its end, calls that its stream had, or has them otherwise.

    Arguments:
        told, kept: the calls that the stream told, and those at its end. Arguments that are UNSET had not come yet.

    Returns:
        The indexes of those at the end that the stream did not tell.
    """
    indexes: dict[Hashable, deque[int]] = {}
    new = set()
    for index, call in enumerate(kept):
        new.add(index)
        for key in _keys(call):
            indexes.setdefault(key, deque()).append(index)
    for call in sorted(told, key=lambda found: found[2] is UNSET):  # those that are known by more go first
        waiting = indexes.get(_keys(call)[-1], deque())
        while waiting and waiting[0] not in new:
            waiting.popleft()
        if waiting:
            new.discard(waiting.popleft())
        else:
            recording.doubt(f"the stream had a call to {show(call[1])} that is not in the answer at its end", path)
    return sorted(new)


def _keys(call: Call) -> list[Hashable]:
    """Return what a call is known by: its id and name, and the arguments where they are there."""
    call_id, name, arguments = call
    key = (freeze(call_id), name if isinstance(name, str) else None)
    return [key] if arguments is UNSET else [key, (*key, freeze(read_arguments(arguments)))]

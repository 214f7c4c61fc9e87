"""What an agent's code returned for a turn, as the events of that turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import UNSET, structs

from tracewitness.display import nearest_name, printable, show
from tracewitness.errors import AgentError, ReadError
from tracewitness.evals.simulation.conversation import AgentTurn
from tracewitness.readers import read
from tracewitness.readers.recording import Path, Recording
from tracewitness.trace import Problem, Record, Trace

__all__ = ["Replies", "joined", "own_events"]

#: The tool by which an agent ends a session.
_END_SESSION: Final = "end_session"
_REPLY_KEYS: Final = frozenset({"reply", "calls", "ended"})
_EVENTS_KEYS: Final = frozenset({"events", "ended"})
_EVENT_KEYS: Final = frozenset(Record.__struct_encode_fields__)
_TOOL_KEYS: Final = ("call", "tool", "name")
_ARGUMENT_KEYS: Final = ("args", "arguments")
_CALL_KEYS: Final = frozenset({*_TOOL_KEYS, *_ARGUMENT_KEYS, "id", "result", "error"})
_EXPECTED: Final = (
    "it returns a text, a mapping with reply, calls and ended, events, a Trace, or what a provider or framework gave"
)


_MAY_REPEAT: Final = Problem(
    "the turn begins with all that was returned on the last one; return only what is new, or the user's messages too",
    hides_call=False,
)


class Replies:
    """Reads what one session's agent returns, turn after turn.

    Much of what an agent may return tells the whole conversation each time. Of that only the turn itself is taken:

    - What follows the last message of the user that says what was said in this turn.
    - Where the beginning is what was returned on the last turn, what follows that, be it later; but where there are
      messages of the user, only if one follows. An agent that does twice the same does so in two turns.
    - Everything, where nothing of this is so. Without any message of the user it can't be told whether a beginning that
      was returned on the last turn is told again or was done again: it is kept, and that is a problem.
    """

    def __init__(self) -> None:
        self._last: list[Record] = []
        self._doubts: set[tuple[str, str]] = set()

    def turn(self, value: Any, said: str) -> AgentTurn:
        """Return what happened in a turn.

        Arguments:
            value: what was returned.
            said: what the user said in this turn.

        Raises:
            AgentError: it can't be understood.
        """
        if isinstance(value, AgentTurn):
            return value
        reply = _read(value)
        records = list(map(_comparable, reply.records))
        last, self._last = self._last, records
        begin = _begin_of_turn(records, last, said)
        own = reply.records[begin:]
        kept, ends = own_events(own)
        problems = [problem for problem in reply.problems if self._is_new(problem)]
        if _may_repeat(records, last):
            problems.append(_MAY_REPEAT)
        return AgentTurn(tuple(kept), ended=reply.ended or ends, problems=tuple(problems))

    def _is_new(self, problem: Problem) -> bool:
        """Whether a problem was not told before: a whole conversation has those of earlier turns in it."""
        doubt = (problem.reason, problem.place)
        if doubt in self._doubts:
            return False
        self._doubts.add(doubt)
        return True


def own_events(records: Iterable[Record]) -> tuple[list[Record], bool]:
    """Return what an agent did among the events of a turn, and whether the session is over.

    What the user said is told by who plays the user, what a model was instructed is nothing that happened, and the end
    is told by `AgentTurn.ended`. A call to ``end_session`` that did not fail is the end.
    """
    kept = [record for record in records if record.user is record.system is record.end is UNSET]
    ends = any(record.end is True for record in records)
    return kept, ends or _calls_for_the_end(kept)


def _calls_for_the_end(records: Sequence[Record]) -> bool:
    calls = Trace(records).calls
    return any(call.name.rpartition("/")[2] == _END_SESSION and not call.is_error for call in calls)


def joined(items: Sequence[Any]) -> Any:
    """Return what a generator gave as one thing: pieces of text that follow each other are one text."""
    if len(items) == 1:
        return items[0]
    if all(isinstance(item, str) for item in items):
        return "".join(items)
    events: list[Any] = []
    for item in items:
        if isinstance(item, str) and events and isinstance(events[-1], Record):
            events[-1] = Record(agent=f"{events[-1].agent}{item}")
        else:
            events.append(Record(agent=item) if isinstance(item, str) else item)
    return events


# ------------------------------------------------------------------------------------------------------------- reading


class _Reply(NamedTuple):
    records: Sequence[Record]
    problems: Sequence[Problem] = ()
    ended: bool = False


def _read(value: Any) -> _Reply:
    if isinstance(value, str):
        return _Reply([Record(agent=value)])
    if isinstance(value, Mapping) and value and _REPLY_KEYS.issuperset(value):
        return _read_mapping(value)
    if isinstance(value, Mapping) and _EVENTS_KEYS.issuperset(value) and "events" in value:
        return _read_trace({"events": value["events"]})._replace(ended=_flag(value))
    if (
        isinstance(value, (list, tuple))
        and value
        and all(isinstance(item, Mapping) and "tool" in item for item in value)
    ):
        return _read_mapping({"calls": value})
    if isinstance(value, Mapping) and _is_event(value):
        return _read_trace([value])
    if value is None or isinstance(value, (bool, int, float)):
        raise AgentError(f"the agent returned {show(value)}; {_EXPECTED}")
    return _read_trace(value)


def _is_event(value: Mapping[Any, Any]) -> bool:
    """Whether a mapping is one event in neutral form, such as a generator gives where it gives no more."""
    return _EVENT_KEYS.issuperset(value) and any(isinstance(value.get(key), str) for key in ("agent", "call"))


def _read_trace(value: Any) -> _Reply:
    """Read something by the reader of its format."""
    if isinstance(value, Mapping) and value.get("events") == []:
        return _Reply([])
    try:
        trace = read(list(value) if isinstance(value, tuple) else value)
    except ReadError as error:
        reason = f"what the agent returned can't be read: {show(value)}"
        raise AgentError(f"{reason}; {_EXPECTED} ({printable(str(error), 200)})") from error
    if trace.no_evidence is not None:
        raise AgentError(f"what the agent returned tells nothing: {trace.no_evidence}; {_EXPECTED}")
    problems = [structs.replace(problem, position=None) for problem in trace.reader_problems]
    for position, event in trace.unreadable.items():
        problems.append(Problem(event.reason, place=f"event {position} of what the agent returned"))
    records = [record for position, record in enumerate(trace.records) if position not in trace.unreadable]
    return _Reply(records, problems)


def _read_mapping(value: Mapping[str, Any]) -> _Reply:
    recording = Recording()
    calls = value.get("calls") or ()
    if not isinstance(calls, (list, tuple)):
        raise AgentError(f"calls are a list of mappings such as {{'call': …, 'args': …}}, not {show(calls)}")
    for number, call in enumerate(calls):
        _read_call(recording, call, ("calls", number))
    reply = value.get("reply")
    if isinstance(reply, str):
        recording.say("agent", reply, ("reply",))
    elif reply is not None:
        raise AgentError(f"a reply is a text, not {show(reply)}")
    return _Reply(recording.records, recording.trace("").reader_problems, _flag(value))


def _flag(value: Mapping[str, Any]) -> bool:
    ended = value.get("ended", False)
    if not isinstance(ended, bool):
        raise AgentError(f"ended is true or false, not {show(ended)}")
    return ended


def _read_call(recording: Recording, call: Any, path: Path) -> None:
    if not isinstance(call, Mapping):
        raise AgentError(f"a call is a mapping such as {{'call': …, 'args': …}}, not {show(call)}")
    for key in call:
        if key not in _CALL_KEYS:
            near = nearest_name(str(key), _CALL_KEYS)
            meant = f"; {near} was meant" if near else ""
            raise AgentError(f"a call has call, args, id, result and error, not {show(key)}{meant}")
    name = next((call[key] for key in _TOOL_KEYS if key in call), None)
    arguments = next((call[key] for key in _ARGUMENT_KEYS if key in call), None)
    recording.call(name, arguments, call.get("id"), path)
    if call.get("error") is not None:
        recording.answer(call["error"], call.get("id"), path, of=name, is_error=True)
    elif "result" in call:
        recording.answer(call["result"], call.get("id"), path, of=name)


# ----------------------------------------------------------------------------------------------- what belongs to a turn


def _comparable(record: Record) -> Record:
    """Return an event without what may differ when the same is told again."""
    return structs.replace(record, at=UNSET, until=UNSET, metadata=UNSET, by=UNSET)


def _begin_of_turn(records: list[Record], last: list[Record], said: str) -> int:
    """Return where in what was returned the turn begins; the rules are those of `Replies`."""
    users = [position for position, record in enumerate(records) if record.user is not UNSET]
    if not users:
        return 0
    common = _common_beginning(records, last)
    asked = [position for position in users if str(records[position].user).strip() == said.strip()]
    after_asked = asked[-1] + 1 if asked else 0
    return max(after_asked, common if users[-1] >= common else 0)


def _may_repeat(records: list[Record], last: list[Record]) -> bool:
    """Whether a turn begins with all of the last one, a call among it, and nothing says that it is only told again."""
    has_user = any(record.user is not UNSET for record in records)
    has_call = any(record.call is not UNSET for record in last)
    return has_call and not has_user and _common_beginning(records, last) == len(last) < len(records)


def _common_beginning(records: list[Record], last: list[Record]) -> int:
    pairs = zip(records, last, strict=False)
    return next((number for number, (one, other) in enumerate(pairs) if one != other), min(len(records), len(last)))

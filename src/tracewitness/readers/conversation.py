"""Put a conversation together from the model calls in it, each of which tells anew what came before it."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import UNSET, structs

from tracewitness.readers.pairing import freeze
from tracewitness.readers.recording import Path, Recording
from tracewitness.trace import Record, ToolCall, Trace

__all__ = ["Conversation", "recording_of"]

# An id of so many characters is made once and never again; short ones are counted up in each run anew.
_UNIQUE: Final = 16
_path_part = re.compile(r"""\.([\w-]+)|\[(\d+)\]|\[(?:'(.*?)'|"(.*?)")\]""").finditer


class Conversation(Recording):
    """A recording that is made of requests to models and their responses, in the order in which they were made.

    A model is given the whole conversation each time it is asked. `add_response` tells all that the model answered.
    `add_request` tells what is new in what the model was given: results of tools, messages, and calls that no
    response told of. New events are told in their order, after all that was told before. What is not new:

    - **A call** that has the id, the name and the arguments of one that was told. A call without an id is known by its
      name and arguments, and by its place: calls of a request follow each other as they were told. Where a request has
      fewer of them, its calls are the latest, since what a history loses is its beginning; where it has one more,
      the last of them is new. Frameworks give a call an id where the model gave none: it is the same call, and keeps
      that id. Two calls with two ids are two. A call whose id and name were told, of a call that nothing else in the
      request is, is known too: somebody rewrote its arguments on the way. So is one by its id alone, where that is
      as long as providers make them: another provider has another name for a tool of its own.
    - **A result** of a call that was answered already, as many times as it was; whatever its payload is by now.
      A result whose call is not in the request answers the latest call that was told with its id.
    - **A message** with the text of one that was told between the same calls. What a system or an agent says is known
      wherever it stands; formats put an agent's words before its calls or after them. An agent's empty message
      says nothing new. A summary that a request has before events that were told earlier is told once.
    - **A problem** with the same reason.

    Hence a request of another agent or of another conversation adds its own messages, and one whose history
    was shortened or summed up adds the summary, and neither loses a call nor doubles one. Two conversations that begin
    with the same words are one to it: the words are told once.

    >>> conversation = Conversation()
    >>> request, response = Recording(), Recording()
    >>> request.say("user", "Find a lamp.", ())
    >>> response.call("search", {"q": "lamp"}, "c1", ())
    >>> conversation.add_request(request)
    >>> conversation.add_response(response)
    >>> request.take(response)
    >>> request.answer("a lamp", "c1", ())
    >>> conversation.add_request(request)
    >>> for event in conversation.trace("").to_events():
    ...     print(event)
    {'user': 'Find a lamp.'}
    {'call': 'search', 'args': {'q': 'lamp'}, 'id': 'c1'}
    {'result': 'a lamp', 'id': 'c1'}
    """

    __slots__ = (
        "_answers",
        "_call_positions",
        "_doubts",
        "_inserted",
        "_latest_with_id",
        "_numbers",
        "_open",
        "_orphans",
        "_said",
    )

    def __init__(self) -> None:
        super().__init__()
        # Calls go by their numbers among the calls.
        self._call_positions: list[int] = []
        self._answers: list[int] = []
        self._numbers: dict[Hashable, list[int]] = {}
        self._latest_with_id: dict[Hashable, int] = {}
        self._open: dict[int, str] = {}
        self._orphans: dict[Hashable, int] = {}
        self._said: dict[Hashable, list[int]] = {}
        # What stands in a request before events that were told earlier, such as a summary.
        self._inserted: set[Hashable] = set()
        self._doubts: set[tuple[str, bool]] = set()

    def add_request(self, history: Recording, *, is_whole: bool = True) -> None:
        """Add what is new in what a model was given.

        Arguments:
            is_whole: whether it begins where the conversation does; False where the provider keeps the history and is
                sent only what is new: then every message is, but for what the system says.
        """
        _News(self, history, is_whole=is_whole).tell()
        self._take_doubts(history, again=False)

    def add_response(self, answer: Recording) -> None:
        """Add what a model answered. Instructions that an answer repeats were told with the request."""
        for record, path in zip(answer._records, answer._paths, strict=True):
            if record.system is UNSET or _words(record) not in self._said:
                self._add(record, path)
        self._take_doubts(answer, again=True)
        self.calls += answer.calls
        self.failure = answer.failure

    def open_call(self, name: Any, arguments: Any, without: Collection[int] = ()) -> int | None:
        """Return the position of the earliest call with that name and those arguments that nothing answered yet.

        Arguments:
            without: positions of calls that are not meant.
        """
        positions = (self._call_positions[number] for number, known in self._open.items() if known == name)
        found = (position for position in positions if self._records[position].args == arguments)
        return next((position for position in found if position not in without), None)

    def is_open(self, position: int) -> bool:
        """Whether nothing answered the call at a position yet."""
        return self._call_positions.index(position) in self._open

    def take(self, other: Recording, begin: int = 0) -> None:
        """Add what another recording has, its events from ``begin`` on."""
        for record, path in zip(other._records[begin:], other._paths[begin:], strict=True):
            self._add(record, path)
        self.calls += other.calls
        self._take_doubts(other, again=True)

    def _take_doubts(self, other: Recording, *, again: bool) -> None:
        """Add problems.

        Arguments:
            again: whether also those that were told before; each request has those of the history in it.
        """
        for problem in other._problems:
            doubt = (problem.reason, problem.hides_call)
            if again or doubt not in self._doubts:
                self._doubts.add(doubt)
                self._problems.append(problem)

    # ------------------------------------------------------------------------------------------------ what was told

    def _add(self, record: Record, path: Path) -> None:
        self._tell(record, path, None)

    def _tell(self, record: Record, path: Path, answered: int | None) -> int | None:
        """Add an event and return the number of the call that it makes.

        Arguments:
            answered: the call that it answers, where that is known.
        """
        position = len(self._records)
        super()._add(record, path)
        if record.call is not UNSET:
            return self._enter_call(record, position)
        if record.result is not UNSET:
            self._enter_result(record, self._answered_by(record) if answered is None else answered)
        else:
            self._said.setdefault(_words(record), []).append(position)
        return None

    def _enter_call(self, record: Record, position: int) -> int:
        number = len(self._call_positions)
        self._call_positions.append(position)
        self._answers.append(0)
        self._open[number] = str(record.call)
        call_id, content = _id(record), _content(record)
        for key in (("call", content), ("call", content, call_id), ("id", call_id, record.call), ("id", call_id)):
            self._numbers.setdefault(key, []).append(number)
        if call_id is not None:
            self._latest_with_id[call_id] = number
        return number

    def _adopt_id(self, number: int, record: Record) -> None:
        """Give a call that was told without an id the one that it got later, by which its result will know it."""
        position = self._call_positions[number]
        call_id = _id(record)
        if call_id is None or _id(self._records[position]) is not None:
            return
        self._records[position] = structs.replace(self._records[position], id=call_id)
        for key in (("call", _content(record), call_id), ("id", call_id, record.call), ("id", call_id)):
            insort(self._numbers.setdefault(key, []), number)
        self._latest_with_id[call_id] = max(number, self._latest_with_id.get(call_id, number))

    def _enter_result(self, record: Record, number: int | None) -> None:
        if number is None:
            key = _orphan(record)
            self._orphans[key] = self._orphans.get(key, 0) + 1
        else:
            self._answers[number] += 1
            self._open.pop(number, None)

    def _answered_by(self, record: Record) -> int | None:
        """Return the call that a result answers: by id the latest, else the earliest of the tool that is open."""
        result_id = _id(record)
        if result_id is not None:
            return self._latest_with_id.get(result_id)
        return next((number for number, name in self._open.items() if record.of in (UNSET, name)), None)

    def _first_number(self, keys: Iterable[Hashable], low: int) -> int | None:
        """Return the first call from ``low`` on that has one of the keys."""
        lists = (self._numbers.get(key, ()) for key in keys)
        return min(
            (numbers[bisect_left(numbers, low)] for numbers in lists if numbers and numbers[-1] >= low), default=None
        )

    def _last_number(self, keys: Iterable[Hashable], high: int) -> int | None:
        """Return the last call before ``high`` that has one of the keys."""
        lists = (self._numbers.get(key, ()) for key in keys)
        return max(
            (numbers[bisect_left(numbers, high) - 1] for numbers in lists if numbers and numbers[0] < high),
            default=None,
        )


class _News:
    """Finds out what is new in one request."""

    def __init__(self, told: Conversation, history: Recording, *, is_whole: bool) -> None:
        self._told = told
        self._told_events = len(told)
        self._records = history._records
        self._paths = history._paths
        self._is_whole = is_whole
        index = Trace(self._records).index
        self._steps = {step.position: step for step in index.steps}
        # By the number of a call in the history, the number of the call that was told.
        self._known = _matched(told, [call.record for call in index.calls])
        self._seen_answers: dict[int, int] = {}
        self._told_answers = list(told._answers)
        self._told_orphans = dict(told._orphans)
        self._said_again: dict[Hashable, int] = {}
        self._low = 0

    def tell(self) -> None:
        """Tell the new events."""
        limits = self._limits()
        latest_with_id: dict[Hashable, int] = {}
        for position, (record, path) in enumerate(zip(self._records, self._paths, strict=True)):
            step = self._steps.get(position)
            if isinstance(step, ToolCall):
                self._tell_call(step, path)
                latest_with_id[_id(record)] = step.number
            elif step is not None:
                own = step.call_number
                if own is None and _id(record) is not None:
                    own = latest_with_id.get(_id(record))
                self._tell_result(record, path, own)
            elif not self._was_said(record, limits[position]):
                self._told._tell(record, path, None)
                if limits[position] < self._told_events:
                    self._told._inserted.add(_words(record))

    def _limits(self) -> list[int]:
        """Return for each event where in what was told the next call stands that is known."""
        limit = self._told_events
        limits = []
        for position in range(len(self._records) - 1, -1, -1):
            step = self._steps.get(position)
            if isinstance(step, ToolCall) and step.number in self._known:
                limit = self._told._call_positions[self._known[step.number]]
            limits.append(limit)
        return limits[::-1]

    def _tell_call(self, call: ToolCall, path: Path) -> None:
        number = self._known.get(call.number)
        if number is not None:
            self._told._adopt_id(number, call.record)
            self._low = max(self._low, self._told._call_positions[number])
            return
        number = self._told._tell(call.record, path, None)
        self._told.calls += 1
        if number is not None:
            self._known[call.number] = number

    def _tell_result(self, record: Record, path: Path, own: int | None) -> None:
        """Tell a result if its call had fewer answers than the history has up to here.

        Arguments:
            own: the number of its call in the history.
        """
        number = None if own is None else self._known.get(own)
        if own is None and _id(record) is not None:
            number = self._told._answered_by(record)
        if number is None:
            key = _orphan(record)
            left = self._told_orphans.get(key, 0)
            self._told_orphans[key] = left - 1
            is_known = left > 0
        else:
            seen = self._seen_answers[number] = self._seen_answers.get(number, 0) + 1
            is_known = number < len(self._told_answers) and seen <= self._told_answers[number]
        if not is_known:
            self._told._tell(record, path, number)

    def _was_said(self, record: Record, limit: int) -> bool:
        """Whether a message is known.

        Arguments:
            limit: before which position it was told, unless its place does not matter.
        """
        if not self._is_whole and record.system is UNSET:
            return False
        if record.agent == "":
            return True
        words = _words(record)
        positions = self._told._said.get(words, ())
        at = bisect_left(positions, self._low)
        if at < len(positions) and positions[at] < limit:
            self._low = positions[at] + 1
        elif not self._may_stand_anywhere(record) or self._said_again.get(words, 0) >= len(positions):
            return False
        self._said_again[words] = self._said_again.get(words, 0) + 1
        return True

    def _may_stand_anywhere(self, record: Record) -> bool:
        return record.user is UNSET or _words(record) in self._told._inserted


def _matched(told: Conversation, calls: Sequence[Record]) -> dict[int, int]:
    """Return which calls of a history were told: by the number in the history, the number in what was told."""
    keys = [_keys(call) for call in calls]
    known = _from_the_end(told, keys)
    if len(known) < len(calls):
        forward = _from_the_beginning(told, keys)
        known = known if len(known) > len(forward) else forward
        _match_by_id(told, calls, known)
    return known


def _from_the_end(told: Conversation, keys: Sequence[Sequence[Hashable]]) -> dict[int, int]:
    known: dict[int, int] = {}
    high = len(told._call_positions)
    for own in range(len(keys) - 1, -1, -1):
        number = told._last_number(keys[own], high)
        if number is not None:
            known[own] = high = number
    return known


def _from_the_beginning(told: Conversation, keys: Sequence[Sequence[Hashable]]) -> dict[int, int]:
    known: dict[int, int] = {}
    low = 0
    for own, alternatives in enumerate(keys):
        number = told._first_number(alternatives, low)
        if number is not None:
            known[own] = number
            low = number + 1
    return known


def _match_by_id(told: Conversation, calls: Sequence[Record], known: dict[int, int]) -> None:
    """Match the calls that are left by their ids, wherever they stand: with arguments and name, with the name alone."""
    taken = set(known.values())
    left: dict[Hashable, Iterator[int]] = {}
    for keys_of in (_keys, _key_without_arguments, _key_alone):
        for own, call in enumerate(calls):
            if own in known or _id(call) is None:
                continue
            key = keys_of(call)[0]
            numbers = left.setdefault(key, iter(told._numbers.get(key, ())))
            number = next((number for number in numbers if number not in taken), None)
            if number is not None:
                known[own] = number
                taken.add(number)


def _id(record: Record) -> str | int | None:
    return None if record.id is UNSET or record.id == "" else record.id


def _content(record: Record) -> Hashable:
    arguments = {} if record.args is UNSET and record.raw_args is UNSET else record.args
    return record.call, freeze(arguments) if arguments is not UNSET else record.raw_args


def _keys(call: Record) -> Sequence[Hashable]:
    """Return the keys of the told calls that a call may be."""
    content, call_id = _content(call), _id(call)
    return [("call", content)] if call_id is None else [("call", content, call_id), ("call", content, None)]


def _key_without_arguments(call: Record) -> Sequence[Hashable]:
    return [("id", _id(call), call.call)]


def _key_alone(call: Record) -> Sequence[Hashable]:
    call_id = _id(call)
    return [("id", call_id) if isinstance(call_id, str) and len(call_id) >= _UNIQUE else None]


def _words(record: Record) -> Hashable:
    """Return what makes two events the same that are neither calls nor results."""
    return record.user, record.agent, record.system, record.transfer, record.end


def _orphan(record: Record) -> Hashable:
    """Return what makes two results the same whose call is not known."""
    return _id(record), record.of, freeze(record.result)


# ------------------------------------------------------------------------------------------------- traces as recordings

_ROOT: Final[Path] = ()


def recording_of(trace: Trace, path: Path = _ROOT) -> Recording:
    """Return what a reader made of a part of a document as a recording of the whole.

    Arguments:
        path: where in the whole the part stands.
    """
    recording = Recording()
    place_of: Any = trace._place_of
    for position, record in enumerate(trace.records):
        recording._add(record, path if place_of is None else (*path, *_parts(place_of(position))))
    recording.calls = len(trace.calls)
    for problem in trace.reader_problems:
        recording.doubt(problem.reason, (*path, *_parts(problem.place)), hides_call=problem.hides_call)
    recording.failure = None if len(trace) else trace.no_evidence
    return recording


def _parts(place: str) -> Path:
    """Return a path that was written as a text."""
    return tuple(
        int(found[2]) if found[2] else next(part for part in found.groups() if part is not None)
        for found in _path_part(place)
    )

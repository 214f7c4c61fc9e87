"""Read the text trace of a simulation's result, ``detailed_trace``, by the rules of the page on checks.

Each entry is a user's (``User: …``, opaque: whatever it holds is the user's words) or an agent's: lines, each
of a kind. What this reader decides beyond that page:

- ``User [tag]: …`` is a user's entry too, and ``Agent: …`` or ``Agent (name): …`` begins an agent's words
  where no other text stands open, as in recordings that replay a user.
- A ``User Query: `` that repeats the user's entry is no second message. One that differs is kept as a system
  message; where the user's entry holds lines that look like tool lines, it is a problem too, since nobody can
  say where the user's words end, and those of its lines that stand in the user's entry are taken for the
  user's.
- ``Custom Payload`` lines are neither calls nor the agent's words: they are kept as system messages.
- A line of no kind that has no text before it to continue can't be understood. It may be of a kind that is
  not known here, or tell that the tool line before it is a part of the agent's words.
- Where a call's name is certain and only its arguments can't be read, the call is there, with malformed
  arguments.
- A row of this library's own simulations has the events themselves beside the text, as ``trace`` in neutral form,
  and what was odd about them as ``trace_problems``. They decide; where the text tells of other calls than the text of
  these events would, that is a problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers import neutral
from tracewitness.readers.literals import LiteralError, parse_literal
from tracewitness.readers.pairing import CallKey, freeze, pair_calls
from tracewitness.readers.reader import Reader
from tracewitness.readers.spans import TurnSpans, read_turn_spans
from tracewitness.readers.text_trace_writing import text_entries
from tracewitness.trace import Problem, Record, Trace, Unreadable

__all__ = ["READER", "begins_entry", "entries_of", "is_simulation_result", "is_users_entry", "read_text_trace"]

_ROW_KEYS = frozenset({"detailed_trace", "expectation_details", "passed", "goals", "error"})
_USER_ENTRY = re.compile(r"(?:\[Turn [0-9]+\] )?User(?: \[[^\]\n]*\])?:(?: |(?=\n)|\Z)")
_AGENT_ENTRY = re.compile(r"(?:\[Turn [0-9]+\] )?Agent(?: \([^()\n]*\))?:(?: |\Z)")
_KIND = re.compile(
    r"""(?:\[Turn\ [0-9]+\]\ )?(?:
        (?P<call> Tool\ Call:(?:\ |\Z) | Agent\ Action:\ Call\ Tool\  )
      | (?P<output> Tool\ Call\ \(Output\):(?:\ |\Z) )
      | (?P<response> Tool\ Response:(?:\ |\Z) )
      | (?P<agent> Agent\ Text(?:\ \(Diag\))?:(?:\ |\Z) )
      | (?P<query> User\ Query:(?:\ |\Z) )
      | (?P<transfer> Agent\ Transfer:\ Transferred\ to(?:\ |\Z) )
      | (?P<payload> Custom\ Payload(?:\ \(Output\))?:(?:\ |\Z) )
    )""",
    re.VERBOSE,
)
# Looked for at every place, also where two of them share a space.
_BEFORE_ARGS = re.compile(r"(?=( with args | args=))")
_BEFORE_RESULT = re.compile(r"(?=( with result | response=))")


def is_simulation_result(data: Any) -> bool:
    """Whether decoded data is a row of a simulation's results. One that failed has only an error."""
    return isinstance(data, Mapping) and not _ROW_KEYS.isdisjoint(data)


def read_text_trace(result: Mapping[str, Any], *, name: str = "") -> Trace:
    """Read what a simulation's result says the agent did.

    Where the result has events (``trace``), they decide; else where it has spans (``turn_traces``) those do: a
    disagreement with the text is a problem, and the calls of that turn are those of the spans. Otherwise, and where
    spans leave out arguments or results that the text tells of, the trace is marked as text alone.

    Arguments:
        result: a row of the simulation's results; ``detailed_trace`` is a list of texts.
        name: the run's name where the row has none.

    Returns:
        The trace. Where the row has an ``error``, or no trace, or an empty one, it is no evidence.

    Raises:
        ReadError: it is no mapping.

    >>> read_text_trace({"detailed_trace": ["User: hi", "Tool Call: greet with args {'name': 'Ann'}"]}).calls
    (<ToolCall 1: greet({'name': 'Ann'})>,)
    """
    if not isinstance(result, Mapping):
        raise ReadError(f"a simulation's result is a mapping, not {show(result)}")
    own_name = result.get("name")
    name = own_name if isinstance(own_name, str) and own_name else name
    reason = _why_no_evidence(result)
    if reason is not None:
        return Trace.without_evidence(reason, name=name)
    if _has_events(result):
        return _read_events(result, name)
    turns, problems = read_turn_spans(result.get("turn_traces"))
    return _read_entries(result["detailed_trace"], turns, problems, name)


def is_users_entry(entry: str) -> bool:
    """Whether an entry is a user's."""
    return _USER_ENTRY.match(entry) is not None


def begins_entry(text: str) -> bool:
    """Whether a text begins as an entry does: with a user's, or with a line of an agent's."""
    return any(beginning.match(text) for beginning in (_USER_ENTRY, _KIND, _AGENT_ENTRY))


def entries_of(text: str) -> list[str]:
    """Split a trace that was written down as one text. An agent's entry begins at the first line of a kind.

    >>> entries_of("User: hi\\nthere\\nAgent Text: Hello.\\n\\nUser: bye")
    ['User: hi\\nthere', 'Agent Text: Hello.', 'User: bye']
    """
    entries: list[list[str]] = []
    is_users = True
    for line in text.split("\n"):
        begins_user = is_users_entry(line)
        if begins_user or not entries or (is_users and begins_entry(line)):
            entries.append([line])
            is_users = begins_user
        else:
            entries[-1].append(line)
    return ["\n".join(lines).rstrip("\n") for lines in entries]


def _has_events(result: Mapping[str, Any]) -> bool:
    """Whether a result has events in neutral form, and no spans, which would be a third account."""
    events = result.get("trace")
    return (
        isinstance(events, list) and bool(events) and neutral.READER.detects(events) and not result.get("turn_traces")
    )


def _read_events(result: Mapping[str, Any], name: str) -> Trace:
    """Read the events of a result, beside which its text stands."""
    trace = Trace.from_events(result["trace"], name=name)
    problems = [*_told_problems(result.get("trace_problems")), *_disagreement(result, trace)]
    return Trace(trace.records, name=name, problems=problems, unreadable=trace.unreadable)


def _told_problems(told: Any) -> list[Problem]:
    """Return the problems that a result tells of."""
    try:
        return [] if told is None else msgspec.convert(told, list[Problem])
    except (msgspec.ValidationError, RecursionError):
        return [Problem(f"trace_problems are a list of mappings with a reason, not {show(told)}")]


def _disagreement(result: Mapping[str, Any], trace: Trace) -> Iterator[Problem]:
    """Yield a problem where the text of a result tells of other calls than that of its events would.

    The text of the events, and not the events, since an agent's words can look like a line of a tool.
    """
    if "detailed_trace" not in result:
        return
    entries, expected = result["detailed_trace"], text_entries(trace)
    if entries != expected and (not isinstance(entries, list) or _calls_told(entries) != _calls_told(expected)):
        yield Problem("the two tell of different calls", place="trace and detailed_trace")


def _calls_told(entries: list[Any]) -> list[tuple[str, Any, Any]]:
    return [(call.name, call.args, call.result) for call in _read_entries(entries, {}, [], "").calls]


def _read_entries(entries: list[Any], turns: dict[int, TurnSpans], problems: list[Problem], name: str) -> Trace:
    reading = _Reading(turns, problems)
    for number, entry in enumerate(entries):
        reading.add_entry(number, entry)
    return reading.finish(name)


def _why_no_evidence(result: Mapping[str, Any]) -> str | None:
    if result.get("error"):
        return f"the run failed: {show(result['error'])}"
    if _has_events(result):
        return None
    if "detailed_trace" not in result:
        return "the result has no detailed_trace"
    entries = result["detailed_trace"]
    if not isinstance(entries, list):
        return f"detailed_trace is a list of texts, not {show(entries)}"
    return None if entries else "detailed_trace is empty"


class _Item(NamedTuple):
    """One event as an entry's line tells it.

    Attributes:
        kind: ``call``, ``output`` (a call from the turn's output), ``response``, ``message`` or
            ``unreadable``.
        line: where it begins, from 1.
        raw, reason: of what is unreadable.
    """

    kind: str
    record: Record
    line: int
    raw: Any = None
    reason: str = ""


class _Reading:
    """All entries of one trace, read so far."""

    def __init__(self, turns: dict[int, TurnSpans], problems: list[Problem]) -> None:
        self._turns = turns
        self._problems = problems
        self._items: list[_Item] = []
        self._entries: list[int] = []
        self._entry_count = 0
        self._user: _UserEntry | None = None
        self._agent_entries = 0
        self._text_alone = False

    def add_entry(self, number: int, entry: Any) -> None:
        """Read one entry.

        Arguments:
            number: its place in the list.
        """
        self._entry_count = number + 1
        if not isinstance(entry, str):
            self._agent_entries += 1
            self._add(number, [_unreadable(entry, 1, f"an entry is text, not {show(entry)}")])
            return
        user = _USER_ENTRY.match(entry)
        if user is not None:
            self._user = _UserEntry(entry[user.end() :])
            self._add(number, [_Item("message", Record(user=self._user.text), 1)])
            return
        items = _without_repeats(_AgentEntry(entry, self._user).read())
        turn = self._turns.pop(self._agent_entries, None)
        self._agent_entries += 1
        if turn is None:
            self._text_alone = self._text_alone or bool(items)
        else:
            items = self._settled(number, items, turn)
        self._add(number, items)

    def finish(self, name: str) -> Trace:
        """Return the trace."""
        for turn in self._turns.values():
            if turn.agent_calls():
                reason = "the spans tell of a turn that the text does not have"
                self._problems.append(Problem(reason, place=turn.place))
                self._add(self._entry_count, _items_of(turn))
        unreadable = {
            position: Unreadable(position, item.raw, item.reason)
            for position, item in enumerate(self._items)
            if item.kind == "unreadable"
        }
        return Trace(
            [item.record for item in self._items],
            name=name,
            problems=tuple(self._problems),
            no_evidence=None if self._items else "detailed_trace holds no event",
            text_alone=self._text_alone,
            unreadable=unreadable,
            place_of=self._place_of,
        )

    def _add(self, number: int, items: list[_Item]) -> None:
        self._items += items
        self._entries += [number] * len(items)

    def _place_of(self, position: int) -> str:
        return f"detailed_trace[{self._entries[position]}], line {self._items[position].line}"

    def _settled(self, number: int, items: list[_Item], turn: TurnSpans) -> list[_Item]:
        """Return the items, with the calls of the spans in place of the text's where the two disagree."""
        told = Trace([item.record for item in items if item.kind != "unreadable"])
        comparison = turn.compare(told.calls)
        if comparison.disagreement is None:
            self._text_alone = self._text_alone or comparison.unconfirmed
            return items
        self._problems.append(Problem(comparison.disagreement, place=f"detailed_trace[{number}]"))
        is_tool = [item.kind in ("call", "output", "response") for item in items]
        first = is_tool.index(True) if True in is_tool else len(items)
        kept = [item for item, tool in zip(items[first:], is_tool[first:], strict=True) if not tool]
        return [*items[:first], *_items_of(turn), *kept]


def _items_of(turn: TurnSpans) -> list[_Item]:
    return [_Item("call", record, 1) for call in turn.agent_calls() for record in call.records()]


def _unreadable(raw: Any, line: int, reason: str) -> _Item:
    return _Item("unreadable", Record(), line, raw, reason)


def _without_repeats(items: list[_Item]) -> list[_Item]:
    """Leave out the calls of the turn's output that a plain line tells of too."""
    outputs = [index for index, item in enumerate(items) if item.kind == "output"]
    if not outputs:
        return items
    plain = [_key(item.record) for item in items if item.kind == "call"]
    pairs = pair_calls([_key(items[index].record) for index in outputs], plain)
    repeats = {outputs[index] for index in pairs}
    return [item for index, item in enumerate(items) if index not in repeats]


def _key(record: Record) -> CallKey:
    return CallKey(str(record.call), (freeze(record.args), str(record.raw_args)))


class _OpenText(NamedTuple):
    """A text that the next line may continue.

    Attributes:
        role: ``agent``, ``system``, ``repeated`` (the user's words over again) or ``unreadable``.
        start: where it begins in the entry.
        line: its line, from 1.
    """

    role: str
    start: int
    line: int


class _UserEntry:
    """What the user said. The entries after it may repeat it thousands of times, so it is looked into once."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def spellings(self) -> tuple[str, str]:
        """The text as it is, and without space around it: as a User Query may repeat it."""
        return self.text, self.text.strip()

    @cached_property
    def tool_lines(self) -> frozenset[str]:
        """Those lines of the text, beyond its first, that look like lines of a kind."""
        _, *lines = self.text.split("\n")
        return frozenset(line.strip() for line in lines if _KIND.match(line))


class _AgentEntry:
    """Reads the lines of one entry.

    Arguments:
        text: the entry.
        user: what the user said before it, where there is any.
    """

    def __init__(self, text: str, user: _UserEntry | None) -> None:
        self._text = text
        self._user = user
        self._items: list[_Item] = []
        self._line = 1
        self._next = 0
        self._open: _OpenText | None = None
        self._open_end = 0
        self._users_lines: frozenset[str] = frozenset()
        self._long_query_seen = False

    def read(self) -> list[_Item]:
        """Return the events that the entry tells of, in order."""
        while self._next <= len(self._text):
            start = self._next
            end = self._text.find("\n", start)
            end = len(self._text) if end < 0 else end
            self._next = end + 1
            self._read_line(start, end)
            self._line += 1
        self._close()
        return self._items

    def _read_line(self, start: int, end: int) -> None:
        found = _KIND.match(self._text, start, end)
        if found is None or self._text[start:end].strip() in self._users_lines:
            self._continue(start, end)
            return
        self._close()
        kind = found.lastgroup
        rest = self._text[found.end() : end]
        if kind == "agent":
            self._begin("agent", found.end(), end)
        elif kind == "query":
            self._query(found, end)
        elif kind == "payload":
            self._begin("system", found.start("payload"), end)
        elif kind == "transfer":
            self._items.append(_Item("message", Record(transfer=rest), self._line))
        elif kind == "response":
            self._items.append(self._response(rest))
        else:
            self._items.append(self._call(str(kind), rest))

    def _begin(self, role: str, start: int, end: int) -> None:
        self._open = _OpenText(role, start, self._line)
        self._open_end = end

    def _continue(self, start: int, end: int) -> None:
        if self._open is not None:
            self._open_end = end
            return
        words = _AGENT_ENTRY.match(self._text, start, end)
        if words is not None:
            self._begin("agent", words.end(), end)
        elif self._text[start:end].strip():
            self._begin("unreadable", start, end)

    def _close(self) -> None:
        """Add the text that stands open."""
        if self._open is None:
            return
        role, start, line = self._open
        text = self._text[start : self._open_end]
        self._open = None
        if role == "agent":
            self._items.append(_Item("message", Record(agent=text), line))
        elif role == "system":
            self._items.append(_Item("message", Record(system=text), line))
        elif role == "unreadable":
            reason = f"a line of no kind, with no text before it to continue: {show(text)}"
            self._items.append(_unreadable(text, line, reason))

    def _query(self, found: re.Match[str], end: int) -> None:
        """Take the user's words over again, as long as they were."""
        query_end = self._repeated_until(found.end())
        reason = self._why_doubtful(query_end)
        if reason:
            self._items.append(_unreadable(self._text[found.start() : end], self._line, reason))
        if query_end is None:
            self._users_lines = self._user.tool_lines if self._user else frozenset()
            self._begin("system", found.start("query"), end)
            return
        self._begin("repeated", found.end(), query_end)
        self._line += self._text.count("\n", found.end(), query_end)
        self._next = query_end + 1

    def _repeated_until(self, start: int) -> int | None:
        """Return where the user's words end that stand from ``start`` on; None where others stand there."""
        for words in self._user.spellings if self._user else ():
            if self._text.startswith(words, start):
                end = start + len(words)
                if end == len(self._text) or self._text[end] == "\n":
                    return end
        return None

    def _why_doubtful(self, query_end: int | None) -> str:
        """Say why it can't be known where the user's words end, or return an empty text."""
        if self._user is None:
            return "a User Query, and no user's entry before it says how long it is"
        if not self._user.tool_lines:
            return ""
        if query_end is None:
            return "a User Query that is not what the user's entry says, which holds lines like tool lines"
        if self._long_query_seen:
            return "a second User Query with lines like tool lines"
        self._long_query_seen = True
        return ""

    def _call(self, kind: str, rest: str) -> _Item:
        try:
            split = _split(rest, _BEFORE_ARGS, are_args=True)
        except ReadError as error:
            return _unreadable(rest, self._line, f"an unreadable tool call {show(rest)}: {error}")
        if split.raw is not None:
            return _Item(kind, Record(call=split.name, raw_args=split.raw), self._line)
        return _Item(kind, Record(call=split.name, args=split.value or {}), self._line)

    def _response(self, rest: str) -> _Item:
        try:
            split = _split(rest, _BEFORE_RESULT, are_args=False)
        except ReadError as error:
            return _unreadable(rest, self._line, f"an unreadable tool response {show(rest)}: {error}")
        if split.raw is not None:
            return _Item("response", Record(raw_result=split.raw, of=split.name), self._line)
        return _Item("response", Record(result=split.value, of=split.name), self._line)


class _Split(NamedTuple):
    """A tool's name, and the value of the literal after it or the text that is none."""

    name: str
    value: Any = None
    raw: str | None = None


def _split(rest: str, separator: re.Pattern[str], *, are_args: bool) -> _Split:
    """Split a tool line between name and literal.

    Of all places where a separator stands, one at most leaves a name and a literal: two literals that end
    where the line ends would begin one inside a text of the other, and from there on never be outside a text
    together. For the same reason thousands of separators cost little more than one: an attempt that begins
    inside a text fails before the next separator, or at the next quote of the kind that it opens. Where no
    place will do, but a separator stands at one only, the name is certain all the same.

    Arguments:
        are_args: whether the literal is a mapping or None; else it is any.

    Raises:
        ReadError: it splits in no way.
    """
    ends: list[tuple[int, int]] = []
    for found in separator.finditer(rest):
        name_end, start = found.span(1)
        ends.append((name_end, start))
        try:
            value = parse_literal(rest, start)
        except LiteralError:
            continue
        if rest[:name_end].strip() and (not are_args or value is None or isinstance(value, dict)):
            return _Split(rest[:name_end], value)
    return _split_by_name(rest, ends)


def _split_by_name(rest: str, ends: list[tuple[int, int]]) -> _Split:
    """Split a line whose literal can't be read, where it is certain what its name is."""
    if not ends:
        raise ReadError("nothing follows its name")
    name_end, start = ends[0]
    if len(ends) > 1:
        raise ReadError(f"no literal after any of {len(ends)} places where its name could end")
    if not rest[:name_end].strip():
        raise ReadError("no name")
    if not rest[start:].strip():
        raise ReadError("nothing follows its name")
    return _Split(rest[:name_end], raw=rest[start:])


def _is_bare_result(data: Any) -> bool:
    """Whether a simulation's result has nothing that others have not: an answer may have an ``error`` too."""
    return "detailed_trace" not in data and "expectation_details" not in data


READER: Final = Reader(
    "simulation result",
    detects=is_simulation_result,
    read=read_text_trace,
    shape="a simulation's result has a detailed_trace",
    keys=_ROW_KEYS | {"session_id", "turn_traces"},
    yields=_is_bare_result,
)

"""A recording in the making: what happens in a ``with record()`` block, and who belongs to which."""

from __future__ import annotations

import itertools
import threading
import time
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET, Struct

from tracewitness.capture.arguments import GivenArguments
from tracewitness.capture.snapshots import Snapshot
from tracewitness.display import plural, printable, show
from tracewitness.errors import UsageError
from tracewitness.trace import Event, LiveTrace, Problem, Record, ToolCall, Trace

if TYPE_CHECKING:
    from tracewitness.expectations import CheckSet, LiveCheck

__all__ = ["OPEN", "RecordedCall", "Recording", "recordings_here", "words_of"]

#: Hides the frames of this module in a test runner's traceback.
__tracebackhide__ = True

_MOST_SHOWN: Final = 20_000


class RecordedCall(Struct, eq=False):
    """A call of a wrapped tool in one recording.

    Attributes:
        id: its id there.
        tool: the tool's name.
        given: what it was called with.
        parent: the id of the call during which it was made.
        began, ended: when, in seconds since 1970.
        clock: the same moment as `began` on a clock that is never set back.
    """

    id: str
    tool: str
    given: GivenArguments
    parent: str | None
    began: float
    clock: float
    ended: float | None = None

    def record(self) -> Record:
        """Return it as an event."""
        return Record(
            call=self.tool,
            args=UNSET if self.given.args is None else self.given.args,
            raw_args=self.given.raw_args if self.given.args is None else UNSET,
            id=self.id,
            at=_written(self.began),
            until=UNSET if self.ended is None else _written(self.ended),
            metadata=UNSET if self.parent is None else {"parent": self.parent},
        )


def _written(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Recording(LiveTrace):
    """What happens in a ``with record()`` block. It stands for its trace wherever one is taken.

    What was called there goes by itself; what was said, the user of the library tells, before or after the block's end.

    Attributes:
        name: the run's name; it picks the case of an eval file.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._lock = threading.RLock()
        self._entries: list[Record | RecordedCall] = []
        self._problems: list[Problem] = []
        self._ids = itertools.count(1)
        self._watching: list[LiveCheck] = []
        self._state = "new"
        self._failure: str | None = None
        self._scope: tuple[Recording, ...] = ()
        self._before: tuple[Recording, ...] | None = None

    # ------------------------------------------------------------------------------------------------- the block

    def __enter__(self) -> Recording:
        if self._state != "new":
            raise UsageError("a recording is of one block; make another one with record()")
        self._state = "open"
        self._before = _scope.get()
        self._scope = (*(self._before or ()), self)
        _scope.set(self._scope)
        with _opening:
            OPEN.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the block. One that an exception ended is a run that failed: its trace is no evidence."""
        with _opening:
            OPEN.remove(self)
        if _scope.get() is self._scope:  # else it was entered in another context, as those of fixtures may be
            _scope.set(self._before)
        with self._lock:
            self._state = "ended"
            if error is not None:
                self._failure = printable(words_of(error), _MOST_SHOWN)

    async def __aenter__(self) -> Recording:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    @property
    def is_open(self) -> bool:
        """Whether the block goes on."""
        return self._state == "open"

    @property
    def scope(self) -> tuple[Recording, ...]:
        """The recordings whose blocks it stands in, and itself."""
        return self._scope

    # ------------------------------------------------------------------------------------------------- what is said

    def user(self, text: str) -> None:
        """Add what the user said; it begins a turn."""
        self._add(Record(user=_text(text, "the user")))

    def agent(self, text: str, *, by: str | None = None) -> None:
        """Add what the agent said.

        Arguments:
            by: its name, where there are several.
        """
        self._add(Record(agent=_text(text, "the agent"), by=UNSET if by is None else by))

    def system(self, text: str) -> None:
        """Add what the system said."""
        self._add(Record(system=_text(text, "the system")))

    def transfer(self, agent: str) -> None:
        """Add that the session was handed over to another agent."""
        self._add(Record(transfer=_text(agent, "a name")))

    def end(self) -> None:
        """Add that the session ended."""
        self._add(Record(end=True))

    # ------------------------------------------------------------------------------------------------- what is called

    def begin(self, tool: str, given: GivenArguments, parent: str | None) -> RecordedCall | None:
        """Add a call, or return None where the block has ended."""
        with self._lock:
            if not self.is_open:
                return None
            call = RecordedCall(f"c{next(self._ids)}", tool, given, parent, time.time(), time.monotonic())
            position = len(self._entries)
            self._problems += [Problem(reason, position, hides_call=False) for reason in given.problems]
            self._add(call)
            return call

    def answer(self, call: RecordedCall, result: Snapshot, *, is_error: bool, metadata: dict[str, Any]) -> None:
        """Add what came of a call, unless the block has ended before it came."""
        with self._lock:
            if not self.is_open:
                return
            call.ended = call.began + (time.monotonic() - call.clock)
            payload = {"raw_result": show(result.value, _MOST_SHOWN)} if result.opaque else {"result": result.value}
            reasons = "; ".join(opaque.reason for opaque in result.opaque[:3])
            if reasons:
                words = f"what {printable(call.tool, 60)} returned can't be written down: {reasons}"
                advice = "; record.tool(plain=…) makes plain data of it"
                self._problems.append(Problem(words + advice, len(self._entries), hides_call=False))
            at = _written(call.ended)
            beside = metadata or UNSET
            record = Record(of=call.tool, id=call.id, is_error=is_error, at=at, metadata=beside, **payload)
            self._add(record)

    def doubt(self, reason: str) -> None:
        """Add that a call may belong here."""
        with self._lock:
            self._problems.append(Problem(reason))

    def _add(self, entry: Record | RecordedCall) -> None:
        with self._lock:
            self._entries.append(entry)
            for live in self._watching:
                live.feed(_record(entry).to_event())

    # ------------------------------------------------------------------------------------------------- what is known

    def watch(self, checks: CheckSet) -> LiveCheck:
        """Check what happens while it happens; what has happened is checked at once.

        >>> from tracewitness import compile_checks, record
        >>> @record.tool
        ... def delete(path: str) -> None: ...
        >>> with record() as trace:
        ...     live = trace.watch(compile_checks([{"type": "tool_not_called", "tool": "delete"}]))
        ...     delete("/")
        ...     live.verdicts()[0].status
        'broken'
        """
        live = checks.watch()
        with self._lock:
            for entry in self._entries:
                live.feed(_record(entry).to_event())
            self._watching.append(live)
        return live

    @property
    def trace(self) -> Trace:
        """What happened so far. One of nothing is no evidence, and neither is a run that failed."""
        with self._lock:
            records = [_record(entry) for entry in self._entries]
            return Trace(records, name=self.name, problems=list(self._problems), no_evidence=self._why_no_evidence())

    def _why_no_evidence(self) -> str | None:
        if self._failure is not None:
            return f"the run failed: {self._failure}"
        if self._entries:
            return None
        return (
            "nothing was recorded: no tool that record.tool wraps was called in the block, and nothing was said; "
            "where that is as it should be, tell what was said with user(…) and agent(…) of the recording"
        )

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls so far, each with its result."""
        return self.trace.calls

    @property
    def events(self) -> tuple[Event, ...]:
        """Every event so far."""
        return self.trace.events

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be recorded so far."""
        return self.trace.problems

    def to_events(self) -> list[Any]:
        """Return what happened so far in neutral form."""
        return self.trace.to_events()

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        name = f" {printable(self.name, 40)}" if self.name else ""
        return f"<Recording{name}: {plural(len(self._entries), 'event')}, {self._state}>"


def _record(entry: Record | RecordedCall) -> Record:
    return entry.record() if isinstance(entry, RecordedCall) else entry


def _text(text: object, who: str) -> str:
    if not isinstance(text, str):
        raise UsageError(f"{who}: expected text, got {show(text)}")
    return str.__str__(text)


def words_of(error: BaseException) -> str:
    """Return an exception's class and message, as they are."""
    try:
        words = str.__str__(str(error))[:_MOST_SHOWN]
    except Exception:  # noqa: BLE001 - a foreign class may raise anything
        words = "a message that can't be read"
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


# ------------------------------------------------------------------------------------------- who belongs to which

#: The recordings whose blocks go on, in whatever thread.
OPEN: list[Recording] = []
_opening: Final = threading.Lock()

#: Those that the present context stands in; None where it knows of none, as in a thread that was not told.
_scope: ContextVar[tuple[Recording, ...] | None] = ContextVar("tracewitness_recordings", default=None)


def recordings_here(tool: str) -> tuple[Recording, ...]:
    """Return the recordings that a call made here belongs to.

    A context that knows of none, such as that of a new thread, belongs to the blocks that go on, if these stand in each
    other. Otherwise nobody knows, and each of them is told so.
    """
    known = _scope.get()
    if known is not None:
        going_on = tuple(recording for recording in known if recording.is_open)
        if going_on:
            return going_on
    with _opening:
        active = list(OPEN)
    if known is None and (nested := _innermost_scope(active)):
        return nested
    why = "of a recording that has ended" if known else "that is told of no recording, and several go on"
    for recording in active:
        recording.doubt(
            f"{printable(tool, 60)} was called in a context {why}, so that nobody knows whether it belongs here; run "
            "threads in a copy of the context (contextvars.copy_context().run), and wait for what a block has begun"
        )
    return ()


def _innermost_scope(active: list[Recording]) -> tuple[Recording, ...]:
    """Return the scope that has all active recordings in it, if there is one."""
    for recording in reversed(active):
        if all(other in recording.scope for other in active):
            return tuple(each for each in recording.scope if each.is_open)
    return ()

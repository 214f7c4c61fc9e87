"""How a check runs: compiled once to a `Plan`, watched by a `Monitor` that is made anew for each trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from msgspec import Struct

from tracewitness.display import show
from tracewitness.errors import ExpectationError
from tracewitness.trace import EventIndex, short_tool_name
from tracewitness.verdict import NearMiss, Status, Verdict

if TYPE_CHECKING:
    from tracewitness.expectations.operators import Operator

__all__ = ["Handler", "Monitor", "Plan", "Subscription", "ToolNames", "calls_to", "checked_aliases"]

#: Names come from recordings; what is remembered of them must not grow with whatever they hold.
_MOST_NAMES = 4096

EventKind = Literal["call", "result", "message"]
#: ``handler(monitor, call)``, ``handler(monitor, result, call)`` or ``handler(monitor, message)``.
Handler = Callable[..., None]


def checked_aliases(aliases: Any) -> Mapping[str, Iterable[str]]:
    """Return aliases that can be used.

    Raises:
        ExpectationError: they are no mapping of names to lists of names, or one name would mean two tools.
    """
    if aliases is None:
        return {}
    if not isinstance(aliases, Mapping):
        raise ExpectationError(f"aliases are a mapping from a tool's name to its other names, not {show(aliases)}")
    tool_of: dict[str, str] = {}
    for tool, others in aliases.items():
        if not isinstance(others, (list, tuple)) or not all(isinstance(name, str) for name in (tool, *others)):
            raise ExpectationError(f"the aliases of {show(tool)} are a list of names, not {show(others)}")
        for other in others:
            if other in aliases or tool_of.setdefault(other, tool) != tool:
                raise ExpectationError(f"{show(other)} can't be an alias of {show(tool)}: it stands for a tool already")
    return aliases


class ToolNames:
    """Which names mean one tool.

    Names compare exactly. A full resource name also counts as its last part, and a suite's aliases make names one.

    Arguments:
        aliases: for a tool's name, its other names.
    """

    def __init__(self, aliases: dict[str, tuple[str, ...]]) -> None:
        self._primary = {other: name for name, others in aliases.items() for other in others}
        self._counted: dict[str, tuple[str, ...]] = {}

    def primary(self, name: str) -> str:
        """Return the name that stands for all names of a tool."""
        return self._primary.get(name, name)

    def counted_as(self, name: str) -> tuple[str, ...]:
        """Return the names that a recorded call counts as: its own, and its last part where it has one."""
        counted = self._counted.get(name)
        return self._count(name) if counted is None else counted

    def _count(self, name: str) -> tuple[str, ...]:
        own, short = self.primary(name), short_tool_name(name)
        counted = tuple(dict.fromkeys((own,) if short is None else (own, self.primary(short))))
        if len(self._counted) >= _MOST_NAMES:
            self._counted.clear()
        self._counted[name] = counted
        return counted


class Subscription(NamedTuple):
    """Which events go to a monitor.

    Attributes:
        kind: the kind of event.
        wanted: whether a tool with these names (see `ToolNames.counted_as`) is of interest; None for all.
        handler: the monitor's method, not bound.
    """

    kind: EventKind
    wanted: Callable[[tuple[str, ...]], bool] | None
    handler: Handler


class Plan:
    """A check, compiled: what stays the same for every trace.

    Attributes:
        operator: the check.
        start: makes the monitor of one trace.
        subscriptions: which events go to it, in the order in which they are handed on.
        parts: what the monitor compiled for itself, such as tests of arguments.
        pristine: the monitor that no event has reached, for all traces that have none of the events it asked for.
        untouched: its verdict where no event that it asked for came, if that is the same for every such trace.
    """

    __slots__ = ("operator", "parts", "pristine", "start", "subscriptions", "universal", "untouched")

    def __init__(
        self, operator: Operator, monitor: type[Monitor], subscriptions: list[Subscription], parts: Any = None
    ) -> None:
        self.operator: Any = operator  # its fields are those of the monitor's own kind of operator
        self.subscriptions = subscriptions
        self.parts = parts
        self.universal = operator.is_universal()
        self.start: Callable[[], Monitor] = partial(monitor, self)
        self.pristine = self.start()
        self.untouched = self.pristine.verdict(EventIndex()) if monitor.knows_vacuity else None


class Monitor(Struct, gc=False):
    """The running state of one check on one trace.

    A subclass compiles a `Plan`, has a handler for each of its subscriptions, and can say its verdict at any time.
    It is made for every check of every trace, so it is a struct that costs little; ``gc=False`` is safe, since
    nothing that it holds refers back to it.
    """

    #: Whether its verdict is the same for all traces that have none of the events it asked for.
    knows_vacuity: ClassVar[bool] = False
    #: The statuses that no later event can change.
    lasting: ClassVar[frozenset[Status]] = frozenset()
    #: Whether it looks at all calls when it is asked, also at those that it did not ask for.
    sees_all_calls: ClassVar[bool] = False

    plan: Plan

    @classmethod
    def compile(cls, operator: Any, names: ToolNames) -> Plan:
        """Prepare the check of ``operator``."""
        raise NotImplementedError

    def verdict(self, index: EventIndex) -> Verdict:
        """Say what was found in the events so far."""
        raise NotImplementedError

    def is_final(self, status: Status) -> bool:
        """Whether a verdict of this status stays what it is, whatever comes after the events so far."""
        return status in self.lasting

    def looks_at_all(self) -> bool:
        """Whether a call that it did not ask for can break it."""
        return self.sees_all_calls and "broken" in self.lasting

    def _held(self, evidence: tuple[int, ...], *words: Any) -> Verdict:
        return Verdict(self.plan.operator, "held", evidence, words)

    def _broken(
        self, evidence: tuple[int, ...], *words: Any, misses: Callable[[], NearMiss | None] | None = None
    ) -> Verdict:
        return Verdict(self.plan.operator, "broken", evidence, words, misses)


def calls_to(names: ToolNames, tool: str) -> Callable[[tuple[str, ...]], bool]:
    """Make a test for calls that count as ``tool``."""
    primary = names.primary(tool)
    return lambda counted: primary in counted

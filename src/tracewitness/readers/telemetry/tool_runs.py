"""The runs of tools that spans tell of, and which calls in messages they are."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any, Final

import msgspec
from msgspec import UNSET

from tracewitness.display import show
from tracewitness.readers.pairing import freeze
from tracewitness.readers.recording import Recording
from tracewitness.readers.telemetry.conventions import OF_THE_END, ToolRun, tool_run
from tracewitness.readers.telemetry.disagreements import arguments_differ, payloads_differ
from tracewitness.readers.telemetry.messages import NOT_RECORDED
from tracewitness.readers.telemetry.pieces import problems_of
from tracewitness.readers.telemetry.tree import Moment, Node
from tracewitness.trace import Record

__all__ = ["SeenRun", "ToolRuns", "seconds"]

_NANOSECONDS: Final = 1_000_000_000
# So many spans in one another may tell of one call: of a node, a framework, a protocol's client and its server.
_MOST_LAYERS: Final = 4
# So many different results, or arguments, are compared with those of a run, where one id has several.
_MOST_SIGHTINGS: Final = 100


class SeenRun:
    """A run of a tool.

    Attributes:
        call: the call as the run tells it, alone in a recording.
        call_id: that of the call, as far as any sighting has it.
        is_own_id: whether a span has that id, and not only another sighting.
        is_told: whether a message tells of the call, so that the run has only its result to add.
        known_result: when a model was first told the result; None where that is not recorded.
    """

    __slots__ = ("_content", "call", "call_id", "is_own_id", "is_told", "known_result", "node", "tool")

    def __init__(self, node: Node, tool: ToolRun, call: Recording) -> None:
        self.node = node
        self.tool = tool
        self.call = call
        self._content: Hashable = None
        self.call_id: Any = None if self.record.id is UNSET else self.record.id
        self.is_own_id = self.call_id is not None
        self.is_told = False
        self.known_result: Moment | None = None

    @property
    def record(self) -> Record:
        """The call."""
        return self.call.records[0]

    @record.setter
    def record(self, record: Record) -> None:
        self.call.records[0] = record
        self._content = None

    @property
    def content(self) -> Hashable:
        """The arguments."""
        if self._content is None:
            self._content = _content(self.record)
        return self._content

    @property
    def name(self) -> str:
        """The tool's name."""
        return str(self.record.call)

    def settle_id(self, call_id: Any = UNSET) -> None:
        """Take the id of another sighting where there is none yet; where that has none either, that of the span."""
        if self.call_id is None:
            self.call_id = self.node.span.span_id if call_id is UNSET else call_id
        self.record = msgspec.structs.replace(self.record, id=self.call_id)


class ToolRuns:
    """The runs of tools in a run of an agent.

    A span and a call in a message are the same where they have one id. Where one of them has none: where the names are
    equal, the span has at least the message's arguments (defaults are filled in on the way), and it began after the
    model was asked; the earliest such span, one of the same agent first.
    """

    def __init__(self, nodes: Sequence[Node], problems: Recording) -> None:
        self._problems = problems
        self._asked: list[Record] = []  # calls in messages of which no run was found
        self._told: dict[Any, dict[Hashable, Any]] = {}  # the results that models were told, by the id of the call
        self.runs: list[SeenRun] = list(_told_once(nodes, _seen_runs(nodes, problems), problems))
        self._by_name: dict[str, list[SeenRun]] = {}
        for run in self.runs:
            self._by_name.setdefault(run.name, []).append(run)
        self._by_id = self._indexed()

    def _indexed(self) -> dict[Any, list[SeenRun]]:
        by_id: dict[Any, list[SeenRun]] = {}
        for run in self.runs:
            if run.call_id is not None:
                by_id.setdefault(run.call_id, []).append(run)
        return by_id

    def match(self, node: Node, records: list[Record], *, is_answer: bool) -> dict[int, SeenRun]:
        """Find the runs of the calls in messages, and complete the calls by what the runs know.

        Arguments:
            is_answer: whether no other answer can tell of the same calls.

        Returns:
            The runs, by the position of the call.
        """
        found: dict[int, SeenRun] = {}
        used: set[int] = set()
        # A run with the very arguments of a call is not left to another call that has fewer of them.
        for is_exact, (position, record) in product((True, False), enumerate(list(records))):
            if record.call is UNSET or position in found:
                continue
            run = self._run_of(
                node, record, lambda run: not (run.is_told if is_answer else id(run) in used), is_exact=is_exact
            )
            if run is None:
                continue
            used.add(id(run))
            if not run.is_told and arguments_differ(record, run.record):
                self._doubt_asked(run, record)
            run.is_told = True
            run.settle_id(record.id)
            records[position] = _completed(record, run)
            found[position] = run
        self._asked += (
            record
            for at, record in enumerate(records)
            if record.call is not UNSET and record.id is not UNSET and at not in found
        )
        return found

    def _doubt(self, run: SeenRun, reason: str) -> None:
        self._problems.doubt(f"{show(run.name)} {reason}: which is true is not known", run.node.span.path)

    def name_run(self, node: Node, record: Record) -> bool:
        """Give a run without an id the one of a call in a history; False where there is no such run."""
        run = self._run_of(None, record, lambda run: run.call_id is None and run.node.start <= node.start)
        if run is not None:
            run.settle_id(record.id)
        return run is not None

    def name_the_rest(self) -> None:
        """Give the runs that no sighting has an id for the ids of their spans, so that results find their calls."""
        for run in self.runs:
            run.settle_id()
        self._by_id = self._indexed()

    def know_results(self, records: Sequence[Record], moment: Moment) -> None:
        """Remember when a model was told results: the tools had returned by then, whenever their spans were closed."""
        for record in records:
            if record.result is UNSET or record.id is UNSET:
                continue
            if record.id in self._by_id and record.is_error is not True:
                self._told.setdefault(record.id, {}).setdefault(_key_of(record.result), record.result)
            for run in self._by_id.get(record.id, ()):
                if run.node.beginning < moment and run.known_result is None:
                    run.known_result = moment

    def doubt_differences(self, requests: Iterable[Record]) -> None:
        """Add what spans and messages say differently.

        Arguments:
            requests: what models were told, of which calls may be known from there alone.
        """
        calls = [record for record in requests if record.call is not UNSET and record.id is not UNSET]
        self._doubt_results()
        self._doubt_arguments(calls)
        self._doubt_ids(calls)

    def _doubt_results(self) -> None:
        for run in self.runs:
            told = self._told.get(run.call_id, {})
            if not told or not run.tool.has_result or run.tool.is_error or _key_of(run.tool.result) in told:
                continue
            if len(told) > _MOST_SIGHTINGS:
                self._doubt(run, f"has an id that {len(told)} results have")
            elif all(payloads_differ(payload, run.tool.result) for payload in told.values()):
                payload = next(iter(told.values()))
                self._doubt(run, f"gave {show(run.tool.result)}, and the model was told {show(payload)}")

    def _doubt_arguments(self, calls: Sequence[Record]) -> None:
        """Look at the runs that only a history tells of, as `match` does at those that an answer tells of."""
        seen: dict[Hashable, dict[Hashable, Record]] = {
            (run.call_id, run.name): {} for run in self.runs if run.is_own_id and not run.is_told
        }
        for record in calls:
            if (record.id, record.call) in seen:
                seen[record.id, record.call].setdefault(_content(record), record)
        for run in self.runs:
            asked = seen.get((run.call_id, run.name))
            if not asked or run.is_told or run.content in asked:
                continue
            if len(asked) > _MOST_SIGHTINGS:
                self._doubt(run, f"has an id that {len(asked)} calls have")
            elif all(arguments_differ(record, run.record) for record in asked.values()):
                self._doubt_asked(run, next(iter(asked.values())))

    def _doubt_asked(self, run: SeenRun, record: Record) -> None:
        self._doubt(run, f"was asked for with {show(record.args)}, and ran with {show(run.record.args)}")

    def _doubt_ids(self, calls: Sequence[Record]) -> None:
        """Look for runs of which no message tells though one tells of what may be the same call."""
        strangers = [run for run in self.runs if run.is_own_id and not run.is_told]
        own = {(run.call_id, run.name) for run in self.runs}
        asked = [record for record in (*self._asked, *calls) if (record.id, record.call) not in own]
        by_id = {record.id: record for record in asked}
        by_content = {(record.call, _content(record)): record for record in asked}
        for run in strangers:
            if (record := by_id.get(run.call_id)) is not None:
                self._doubt(run, f"ran for the call {show(run.call_id)}, by which a message asks for {record.call}")
            elif (record := by_content.get((run.name, run.content))) is not None:
                self._doubt(
                    run, f"ran for the call {show(run.call_id)}, and the same was asked for as {show(record.id)}"
                )

    def _run_of(self, node: Node | None, record: Record, is_free: Any, *, is_exact: bool = False) -> SeenRun | None:
        """Return the run of a call.

        Arguments:
            node: of the model's answer that calls; None where any run before a request may be it.
            is_exact: whether a run without the call's id needs to have the same arguments.
        """
        start = 0 if node is None else node.start
        content = _content(record) if is_exact else None
        first: SeenRun | None = None
        for run in self._by_id.get(record.id, ()):
            if run.name == record.call and is_free(run) and (not is_exact or run.content == content):
                if run.node.start >= start:
                    return run
                first = first or run
        if first is not None:
            return first
        for run in self._by_name.get(str(record.call), ()):
            may_be = run.node.start >= start and is_free(run) and (not is_exact or run.content == content)
            if may_be and _may_be(record, run):
                if node is None or run.node.scope is node.scope:
                    return run
                first = first or run
        return first


def _seen_runs(nodes: Sequence[Node], problems: Recording) -> Iterator[SeenRun]:
    """Yield the runs. One of a tool without a name is a problem."""
    for node in nodes:
        tool = tool_run(node.span) if node.kind == "tool" else None
        if tool is None:
            continue
        call = Recording()
        arguments = NOT_RECORDED if tool.arguments is None else tool.arguments
        at, until = seconds(node.span.start), seconds(node.span.end)
        call.call(tool.name, arguments, tool.call_id, node.span.path, by=node.agent, at=at, until=until)
        problems.take(problems_of(call))
        if len(call):
            yield SeenRun(node, tool, call)


def seconds(nanoseconds: int | None) -> float | None:
    """Return a time as events have it."""
    return None if nanoseconds is None else nanoseconds / _NANOSECONDS


def _told_once(nodes: Sequence[Node], runs: Iterator[SeenRun], problems: Recording) -> Iterator[SeenRun]:
    """Leave out the runs that another span tells of: of some layers, say a framework's and a protocol's, one call.

    A tool that runs itself is no such layer: where it does so several times, or deeper than layers are, each is a call.
    Where two spans in one another are alike in all that an instrumentation writes, nothing shows which it is: they are
    told as one call, and that they may be several is a problem.
    """
    own = {id(run.node): run for run in runs}
    inner = _inner_runs(nodes, own)
    stacks: dict[int, _Stack] = {}  # by the outermost run's and, where another fits it, by that one's node
    for run in sorted(own.values(), key=lambda run: run.node.depth):
        stack = stacks.setdefault(id(run.node), _Stack(run))
        same = [one for one in inner.get(id(run.node), ()) if stack.fits(one)]
        if len(same) == 1 or (same and stack.named is None):
            stack.add(same[0])
            stacks[id(same[0].node)] = stack
    left_out: set[int] = set()
    for stack in dict.fromkeys(stacks.values()):
        alike = stack.alike()
        left_out.update(id(run) for run in stack.merged())
        for run in alike:
            reason = f"a run of {show(run.name)} in one that is alike: another call, or told twice"
            problems.doubt(reason, run.node.span.path)
    yield from (run for run in own.values() if id(run) not in left_out)


def _inner_runs(nodes: Sequence[Node], own: Mapping[int, SeenRun]) -> dict[int, list[SeenRun]]:
    """Return the runs in each run, by its node, with neither another run nor a model nor an agent between the two."""
    around: dict[int, int | None] = {}
    inner: dict[int, list[SeenRun]] = {}
    for node in sorted(nodes, key=lambda node: node.depth):
        parent = node.parent
        if parent is None or parent.kind in ("agent", "model"):
            holder = None
        else:
            holder = id(parent) if id(parent) in own else around[id(parent)]
        around[id(node)] = holder
        if holder is not None and id(node) in own:
            inner.setdefault(holder, []).append(own[id(node)])
    return inner


class _Stack:
    """Runs in one another that may be one.

    Attributes:
        named: the innermost of them that has a tool's name; None where none has.
    """

    def __init__(self, run: SeenRun) -> None:
        self._runs: list[SeenRun] = []
        self.named: SeenRun | None = None
        self._call_id: Any = None
        self._asked = run.record
        self.add(run)

    def add(self, run: SeenRun) -> None:
        """Add a run that fits."""
        self._runs.append(run)
        if run.tool.is_named:
            self.named = run
        if self._call_id is None:
            self._call_id = run.call_id
        if self._asked.raw_args == NOT_RECORDED:
            self._asked = run.record

    def fits(self, inner: SeenRun) -> bool:
        """Whether a run in the innermost one tells of the same call."""
        outer = self.named or self._runs[-1]
        is_protocol = inner.node.span.attributes.get("mcp.method.name") == "tools/call"
        has_name = outer.name == inner.name or (is_protocol and outer.name.endswith(inner.name))
        if not has_name and outer.tool.is_named and inner.tool.is_named:
            return False
        if not has_name and not (self._asked.args is not UNSET and bool(self._asked.args)):
            return False
        if len({self._call_id, inner.call_id} - {None}) > 1:
            return False
        return _covers(self._asked, inner.record) or _covers(inner.record, self._asked)

    def alike(self) -> list[SeenRun]:
        """Return the runs that do not differ from the one around them in anything but their times and results."""
        if len(self._runs) > _MOST_LAYERS:
            return []
        return [
            inner
            for outer, inner in pairwise(self._runs)
            if _marks(outer) == _marks(inner) and (inner.call_id is None or not inner.is_own_id)
        ]

    def merged(self) -> Iterator[SeenRun]:
        """Put all that is known into one of the runs, the outermost with a tool's name, and yield the others."""
        if len(self._runs) > _MOST_LAYERS:
            return
        kept = next((run for run in self._runs if run.tool.is_named), self._runs[0])
        for run in self._runs:
            if run is not kept:
                _complete_run(kept, run)
                yield run


def _marks(run: SeenRun) -> Hashable:
    """Return what tells the span of one instrumentation from that of another."""
    span = run.node.span
    told = frozenset(span.attributes) - OF_THE_END
    return span.scope, span.side, span.name, run.call_id is None, told


def _complete_run(run: SeenRun, other: SeenRun) -> None:
    """Add what another span tells of the same run."""
    if run.call_id is None:
        run.call_id, run.is_own_id = other.call_id, other.is_own_id
    if run.record.raw_args == NOT_RECORDED:
        run.record = msgspec.structs.replace(run.record, args=other.record.args, raw_args=other.record.raw_args)
    mine, others = run.tool, other.tool
    if not mine.has_result and others.has_result:
        is_error = mine.is_error or others.is_error
        run.tool = msgspec.structs.replace(mine, result=others.result, has_result=True, is_error=is_error)


def _completed(record: Record, run: SeenRun) -> Record:
    """Return a call of an answer with what its run knows: its times, and what the answer left out."""
    changes: dict[str, Any] = {"id": run.call_id, "at": run.record.at, "until": run.record.until}
    if record.raw_args == NOT_RECORDED:
        changes.update(args=run.record.args, raw_args=run.record.raw_args)
    if record.by is UNSET:
        changes["by"] = run.record.by
    return msgspec.structs.replace(record, **changes)


def _may_be(call: Record, run: SeenRun) -> bool:
    """Whether a call may be the one that a tool ran for. Two ids are two calls."""
    if call.id is not UNSET and run.call_id is not None and call.id != run.call_id:
        return False
    return _covers(call, run.record)


def _covers(made: Record, ran: Record) -> bool:
    """Whether arguments are among those that a tool ran with, as far as both are recorded."""
    if NOT_RECORDED in (made.raw_args, ran.raw_args):
        return True
    if not isinstance(made.args, dict) or not isinstance(ran.args, dict):
        return _content(made) == _content(ran)
    return all(key in ran.args and _equal(value, ran.args[key]) for key, value in made.args.items())


def _equal(one: Any, other: Any) -> bool:
    return one.__class__ is other.__class__ and one == other if isinstance(one, str) else freeze(one) == freeze(other)


def _key_of(payload: Any) -> Hashable:
    return payload if isinstance(payload, str) else freeze(payload)


def _content(record: Record) -> Hashable:
    return freeze(record.args) if record.args is not UNSET else record.raw_args

"""The runs of tools that spans tell of, and which calls in messages they are."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

import msgspec
from msgspec import UNSET

from tracewitness.readers.pairing import freeze
from tracewitness.readers.recording import Recording
from tracewitness.readers.telemetry.conventions import ToolRun, tool_run
from tracewitness.readers.telemetry.messages import NOT_RECORDED
from tracewitness.readers.telemetry.pieces import problems_of
from tracewitness.readers.telemetry.tree import Moment, Node
from tracewitness.trace import Record

__all__ = ["SeenRun", "ToolRuns", "seconds"]

_NANOSECONDS: Final = 1_000_000_000


class SeenRun:
    """A run of a tool.

    Attributes:
        call: the call as the run tells it, alone in a recording.
        call_id: that of the call, as far as any sighting has it.
        is_told: whether a message tells of the call, so that the run has only its result to add.
        known_result: when a model was first told the result; None where that is not recorded.
    """

    __slots__ = ("call", "call_id", "is_told", "known_result", "node", "tool")

    def __init__(self, node: Node, tool: ToolRun, call: Recording) -> None:
        self.node = node
        self.tool = tool
        self.call = call
        self.call_id: Any = None if self.record.id is UNSET else self.record.id
        self.is_told = False
        self.known_result: Moment | None = None

    @property
    def record(self) -> Record:
        """The call."""
        return self.call.records[0]

    @record.setter
    def record(self, record: Record) -> None:
        self.call.records[0] = record

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
        self.runs: list[SeenRun] = list(_told_once(_seen_runs(nodes, problems)))
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
            run.is_told = True
            run.settle_id(record.id)
            records[position] = _completed(record, run)
            found[position] = run
        return found

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
            for run in self._by_id.get(record.id, ()):
                if run.node.beginning < moment and run.known_result is None:
                    run.known_result = moment

    def _run_of(self, node: Node | None, record: Record, is_free: Any, *, is_exact: bool = False) -> SeenRun | None:
        """Return the run of a call.

        Arguments:
            node: of the model's answer that calls; None where any run before a request may be it.
            is_exact: whether a run without the call's id needs to have the same arguments.
        """
        start = 0 if node is None else node.start
        with_id = [run for run in self._by_id.get(record.id, ()) if is_free(run) and run.name == record.call]
        if with_id:
            return next((run for run in with_id if run.node.start >= start), with_id[0])
        candidates = [
            run
            for run in self._by_name.get(str(record.call), ())
            if is_free(run) and run.node.start >= start and _may_be(record, run)
            if not is_exact or _content(record) == _content(run.record)
        ]
        own = (run for run in candidates if node is None or run.node.scope is node.scope)
        return next(own, candidates[0] if candidates else None)


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


def _told_once(runs: Iterator[SeenRun]) -> Iterator[SeenRun]:
    """Leave out the runs that another span tells of: of two layers, say a framework's and a protocol's, one call."""
    kept: dict[int, SeenRun] = {}
    for run in runs:
        outer = _outer(run, kept)
        if outer is None or not _is_same_run(outer, run):
            kept[id(run.node)] = run
        elif outer.tool.is_named or not run.tool.is_named:
            _complete_run(outer, run)
        else:  # the outer one is a wrapper, and has no tool's name
            _complete_run(run, outer)
            del kept[id(outer.node)]
            kept[id(run.node)] = run
    yield from kept.values()


def _outer(run: SeenRun, kept: Mapping[int, SeenRun]) -> SeenRun | None:
    """Return the run that a run is inside of, with neither a model nor an agent between the two."""
    for node in run.node.ancestors():
        if node.kind in ("agent", "model"):
            return None
        if id(node) in kept:
            return kept[id(node)]
    return None


def _is_same_run(outer: SeenRun, inner: SeenRun) -> bool:
    is_protocol = inner.node.span.attributes.get("mcp.method.name") == "tools/call"
    has_name = outer.name == inner.name or (is_protocol and outer.name.endswith(inner.name))
    if not has_name and outer.tool.is_named and inner.tool.is_named:
        return False
    ids = {outer.call_id, inner.call_id} - {None}
    has_arguments = bool(outer.record.args) if outer.record.args is not UNSET else False
    if not has_name and not has_arguments:
        return False
    return len(ids) < 2 and (_may_be(outer.record, inner) or _may_be(inner.record, outer))


def _complete_run(run: SeenRun, other: SeenRun) -> None:
    """Add what another span tells of the same run."""
    if run.call_id is None:
        run.call_id = other.call_id
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
    made, ran = call, run.record
    if NOT_RECORDED in (made.raw_args, ran.raw_args):
        return True
    if not isinstance(made.args, dict) or not isinstance(ran.args, dict):
        return _content(made) == _content(ran)
    return all(key in ran.args and _equal(value, ran.args[key]) for key, value in made.args.items())


def _equal(one: Any, other: Any) -> bool:
    return one.__class__ is other.__class__ and one == other if isinstance(one, str) else freeze(one) == freeze(other)


def _content(record: Record) -> Hashable:
    return freeze(record.args) if record.args is not UNSET else record.raw_args

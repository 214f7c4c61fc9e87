"""Spans as a tree, in the order in which they began: parents before children."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from tracewitness.readers.telemetry.conventions import agent_of, kind_of
from tracewitness.readers.telemetry.span import Span

__all__ = ["Moment", "Node", "nodes_of"]

#: When something happened: a time, the place of its span among all, and whether before (-1), at the beginning (0) or at
#: the end (1) of that span.
Moment = tuple[int, int, int]

_NO_TIME: Final = 0


class Node:
    """A span in its tree.

    Attributes:
        kind: as of `conventions.kind_of`.
        depth: how many spans it is in.
        order: its place among all spans.
        start, end: its times; where they are not recorded, its parent's.
        last: the moment after all in it.
        agent: the name of the agent that it is of.
        scope: the span of that agent; None where there is none.
        is_inside_tool: whether a tool asked the agent that it is of.
    """

    __slots__ = (
        "agent",
        "children",
        "depth",
        "end",
        "is_inside_tool",
        "kind",
        "last",
        "order",
        "parent",
        "scope",
        "span",
        "start",
    )

    def __init__(self, span: Span) -> None:
        self.span = span
        self.kind = kind_of(span)
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.start = _NO_TIME
        self.end = _NO_TIME
        self.depth = 0
        self.order = 0
        self.last: Moment = (_NO_TIME, 0, 1)
        self.agent = ""
        self.scope: Node | None = None
        self.is_inside_tool = False

    @property
    def beginning(self) -> Moment:
        """When it began."""
        return self.start, self.order, 0


def nodes_of(spans: Sequence[Span]) -> list[Node]:
    """Return the spans as nodes, in the order in which they began."""
    nodes = list(_unique(spans))
    _link(nodes)
    ordered = _from_the_roots(nodes)
    for node in ordered:
        _set_times(node)
        node.depth = 0 if node.parent is None else node.parent.depth + 1
    ordered.sort(key=lambda node: (node.start, node.depth))
    for order, node in enumerate(ordered):
        node.order = order
    for node in sorted(ordered, key=lambda node: node.depth):
        _set_agent(node)
    _find_agents_inside_tools(ordered)
    _set_last(ordered)
    return ordered


def _unique(spans: Sequence[Span]) -> Iterator[Node]:
    """Yield a node for each span. One that was exported while it was open and again when it ended is one span."""
    fullest: dict[tuple[str, str], Span] = {}
    for span in spans:
        key = span.trace_id, span.span_id
        known = fullest.get(key)
        if known is None or _fullness(known) < _fullness(span):
            fullest[key] = span
    yield from map(Node, fullest.values())


def _fullness(span: Span) -> tuple[bool, int]:
    return span.end is not None, len(span.attributes)


def _link(nodes: list[Node]) -> None:
    by_id = {(node.span.trace_id, node.span.span_id): node for node in nodes}
    for node in nodes:
        parent = by_id.get((node.span.trace_id, node.span.parent_id)) if node.span.parent_id else None
        if parent is not None and parent is not node:
            node.parent = parent
            parent.children.append(node)


def _from_the_roots(nodes: list[Node]) -> list[Node]:
    """Return the nodes with each parent before its children. Of spans that are each other's parents one is a root."""
    ordered: list[Node] = []
    seen: set[int] = set()
    for only_roots in (True, False):
        for root in nodes:
            if id(root) in seen or (only_roots and root.parent is not None):
                continue
            if root.parent is not None:
                root.parent.children.remove(root)
                root.parent = None
            stack = [root]
            while stack:
                node = stack.pop()
                seen.add(id(node))
                ordered.append(node)
                stack += [child for child in reversed(node.children) if id(child) not in seen]
    return ordered


def _set_times(node: Node) -> None:
    span, parent = node.span, node.parent
    node.start = span.start if span.start is not None else parent.start if parent is not None else _NO_TIME
    node.end = max(span.end, node.start) if span.end is not None else node.start


def _set_agent(node: Node) -> None:
    """Find whose a span is. The agent around it goes first: some write one name on all of their spans."""
    parent = node.parent
    if node.kind == "agent":
        node.scope = node
        node.agent = agent_of(node.span)
    elif parent is not None:
        node.scope, node.agent = parent.scope, parent.agent
    node.agent = node.agent or agent_of(node.span)
    node.is_inside_tool = parent is not None and (parent.is_inside_tool or parent.kind == "tool")


def _find_agents_inside_tools(nodes: list[Node]) -> None:
    """Find the agents that ran while a tool did: some instrumentations don't make them its children."""
    tools = [node for node in nodes if node.kind == "tool" and node.span.end is not None]
    starts = [node.start for node in tools]
    ends: list[int] = []
    for tool in tools:
        ends.append(max(tool.end, ends[-1]) if ends else tool.end)
    for node in nodes:
        if node.kind == "agent" and node.span.end is not None and not node.is_inside_tool:
            before = bisect_right(starts, node.start)
            node.is_inside_tool = before > 0 and ends[before - 1] >= node.end and node.start < node.end
        elif node.parent is not None and node.parent.is_inside_tool:
            node.is_inside_tool = True


def _set_last(nodes: list[Node]) -> None:
    """Set the moment after all that is in a span, which may have been closed before what is in it."""
    for node in nodes:
        node.last = (node.end, node.order, 1)
    for node in sorted(nodes, key=lambda node: node.depth, reverse=True):
        if node.parent is not None:
            end, order, _ = node.parent.last
            node.parent.last = (max(end, node.last[0]), max(order, node.last[1]), 1)

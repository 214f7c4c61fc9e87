"""What spans tell in messages: what went into models and agents, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET

from tracewitness.readers.recording import Recording
from tracewitness.readers.telemetry.attributes import decoded
from tracewitness.readers.telemetry.conventions import Messages, inputs_of, is_of_adk, outputs_of
from tracewitness.readers.telemetry.messages import read_messages
from tracewitness.readers.telemetry.pieces import chosen_of
from tracewitness.readers.telemetry.tree import Node
from tracewitness.trace import Record

__all__ = ["Account", "accounts_of", "silent_models"]

# How an answer ends that called nothing, by what says so; most have a list.
_FINISH_REASONS: Final = ("gen_ai.response.finish_reasons", "llm.finish_reason", "ai.response.finishReason")
_ENDS: Final = frozenset({"stop", "end_turn", "length", "max_tokens", "stop_sequence"})

# How Google's ADK begins what it tells an agent of what others did.
_ADK_CONTEXT: Final = "For context:"


class Account(NamedTuple):
    """What a span tells in messages.

    Attributes:
        is_answer: whether it is what a model answered; else it sums up what other spans may tell too.
    """

    node: Node
    request: Recording
    answer: Recording
    is_answer: bool


def accounts_of(nodes: Sequence[Node]) -> Iterator[Account]:
    """Yield what the spans tell.

    Where a span has another in it of which a model's answer is recorded, it sums up: of its messages only calls and
    results are of use then, and nothing where it is neither a model's nor an agent's.
    """
    told = {node.order: (inputs_of(node.span), outputs_of(node.span)) for node in nodes if _may_tell(node)}
    covered = _covered(nodes, told)
    for node in nodes:
        inputs, outputs = told.get(node.order, ([], []))
        is_covered = node.order in covered
        if not (inputs or outputs) or (is_covered and not node.kind):
            continue
        request, answer = _recorded(node, inputs), _recorded(node, outputs)
        if is_covered:
            request, answer = chosen_of(request, _is_call_or_result), chosen_of(answer, _is_call_or_result)
        yield Account(node, request, answer, is_answer=node.kind == "model" and not is_covered)


def silent_models(nodes: Sequence[Node], accounts: Sequence[Account]) -> Iterator[Node]:
    """Yield the models of which nothing tells what they answered.

    Neither a message, be it of a span around or in them, nor the history of a later request to the same agent, nor a
    tool that ran before the next request to it, nor the reason why the answer ended.
    """
    told = {account.node.order for account in accounts if len(account.answer)}
    around, within = _around(nodes, {account.node.order for account in accounts}), _within(nodes, told)
    requests = {_scope_of(account.node): account.node.order for account in accounts if len(account.request)}
    latest: dict[int, Node] = {}  # the last thing that a model or a tool of an agent did
    for node in reversed(nodes):
        scope = _scope_of(node)
        if node.kind == "model" and node.order not in told and node.order not in around and not _ended(node):
            is_followed = scope in latest and latest[scope].kind == "tool"
            if not is_followed and node.order not in within and requests.get(scope, 0) <= node.order:
                yield node
        if node.kind in ("model", "tool"):
            latest[scope] = node


def _around(nodes: Sequence[Node], orders: set[int]) -> set[int]:
    """Return the spans that have one of some in them, from the innermost on: chains of spans may be long."""
    around: set[int] = set()
    for node in sorted(nodes, key=lambda node: node.depth, reverse=True):
        if node.parent is not None and (node.order in orders or node.order in around):
            around.add(node.parent.order)
    return around


def _within(nodes: Sequence[Node], orders: set[int]) -> set[int]:
    """Return the spans that are in one of some."""
    within: set[int] = set()
    for node in sorted(nodes, key=lambda node: node.depth):
        if node.parent is not None and (node.parent.order in orders or node.parent.order in within):
            within.add(node.order)
    return within


def _scope_of(node: Node) -> int:
    return -1 if node.scope is None else node.scope.order


def _ended(node: Node) -> bool:
    """Whether a span says that its model's answer called nothing."""
    attributes = node.span.attributes
    reasons = [decoded(attributes[key]) for key in _FINISH_REASONS if attributes.get(key)]
    words = [word for reason in reasons for word in (reason if isinstance(reason, (list, tuple)) else [reason])]
    return bool(words) and all(isinstance(word, str) and word.lower() in _ENDS for word in words)


def _may_tell(node: Node) -> bool:
    return node.kind not in ("tool", "handover")


def _covered(nodes: Sequence[Node], told: dict[int, tuple[list[Messages], list[Messages]]]) -> set[int]:
    """Return the spans in which there is one of a model whose answer is recorded."""
    covered: set[int] = set()
    for node in sorted(nodes, key=lambda node: node.depth, reverse=True):
        tells = node.order in covered or (node.kind == "model" and bool(told[node.order][1]))
        if tells and node.parent is not None:
            covered.add(node.parent.order)
    return covered


def _recorded(node: Node, messages: list[Messages]) -> Recording:
    recording = Recording()
    for one in messages:
        read_messages(recording, one.data, one.path, by=node.agent, role=one.role)
    if node.is_inside_tool:
        _replace(recording, _as_asked_by_a_tool)
    if is_of_adk(node.span):
        _replace(recording, _as_of_adk)
    return recording


def _replace(recording: Recording, replaced: Callable[[Record], Record]) -> None:
    records = recording.records
    records[:] = map(replaced, records)


def _as_asked_by_a_tool(record: Record) -> Record:
    """What a tool asks an agent is not what the user says."""
    return record if record.user is UNSET else Record(system=record.user)


def _as_of_adk(record: Record) -> Record:
    """What one agent is told of another is not what the user says, and an id made of a name and a place is none."""
    if isinstance(record.user, str) and record.user.startswith(_ADK_CONTEXT):
        return Record(system=record.user)
    name, _, number = str(record.id).rpartition("_")
    if not name or not number.isdecimal():
        return record
    if record.call == name:
        return msgspec.structs.replace(record, id=UNSET)
    return msgspec.structs.replace(record, id=UNSET, of=name) if record.result is not UNSET else record


def _is_call_or_result(record: Record) -> bool:
    return record.call is not UNSET or record.result is not UNSET

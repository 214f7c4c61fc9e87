"""Put a run together from its spans: one event for each thing that happened, however many spans tell of it.

A call is seen in the model's answer, in the span of the tool, in the history that later requests repeat, and in what
the agent's span sums up. What is the same of spans of tools, see `ToolRuns`; of histories, `Conversation`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from tracewitness.display import show
from tracewitness.readers.conversation import Conversation
from tracewitness.readers.recording import Recording
from tracewitness.readers.telemetry.accounts import Account, accounts_of, silent_models
from tracewitness.readers.telemetry.conventions import handover, is_of_adk
from tracewitness.readers.telemetry.pieces import chosen_of, piece_of, problems_of
from tracewitness.readers.telemetry.span import Span
from tracewitness.readers.telemetry.tool_runs import SeenRun, ToolRuns, seconds
from tracewitness.readers.telemetry.tree import Moment, Node, nodes_of
from tracewitness.trace import Trace

__all__ = ["trace_of_spans"]

# An item's id of OpenAI's, which some instrumentations write into histories in the place of the call's.
_ITEM_ID: Final = "fc_"
# A history that is told piece by piece is compared with itself as many times.
_MOST_PIECES: Final = 100
# How an agent of Google's ADK hands over: by a call.
_ADK_TRANSFER: Final = "transfer_to_agent"
# How an OpenAI function call looks where an instrumentation took it for text.
_SHOWN_CALL: Final = "ResponseFunctionToolCall("
_shown_name: Final = re.compile(r"ResponseFunctionToolCall\([^\n]*?name='([\w.-]{1,128})'").findall


def trace_of_spans(spans: Sequence[Span], name: str = "", problems: Recording | None = None) -> Trace:
    """Return the trace of a run.

    Arguments:
        problems: what was odd about the document that the spans come from.
    """
    return _Run(nodes_of(spans), Recording() if problems is None else problems).trace(name)


class _Step(NamedTuple):
    """Something to be told.

    Attributes:
        number: keeps those of one moment in their order.
    """

    moment: Moment
    number: int
    what: str
    content: Any


class _Run:
    """A run in the making."""

    def __init__(self, nodes: list[Node], problems: Recording) -> None:
        self._nodes = nodes
        self._conversation = Conversation()
        self._conversation.take(problems)
        self._steps: list[_Step] = []
        self._accounts = list(accounts_of(nodes))
        self._tools = ToolRuns(nodes, self._conversation)
        self._begun: set[str] = set()
        self._prompts: set[object] = set()

    def trace(self, name: str) -> Trace:
        """Return the trace."""
        found: dict[int, dict[int, SeenRun]] = {}
        for is_answer in (True, False):  # what a model answered says more than what an agent sums up
            for account in self._accounts:
                if account.is_answer is is_answer:
                    runs = self._tools.match(account.node, account.answer.records, is_answer=is_answer)
                    found[account.node.order] = runs
        self._settle_ids()
        for account in self._accounts:
            self._step(account.node.beginning, "request", account)
            self._add_answer(account, found[account.node.order])
        for run in self._tools.runs:
            self._add_run(run)
        for node in self._nodes:
            if node.kind == "handover":
                self._step(node.beginning, "transfer", node)
        for step in sorted(self._steps, key=lambda step: step[:2]):
            self._tell(step)
        self._doubt_the_rest()
        return self._conversation.trace(name)

    def _settle_ids(self) -> None:
        """Find one id for all sightings of a call: not all of them have the call's."""
        requests = [(account.node, account.request.records) for account in self._accounts]
        known = {record.id for account in self._accounts for record in account.answer.records}
        known.update((UNSET, *(run.call_id for run in self._tools.runs)))
        answered = {record.id for _, records in requests for record in records if record.call is UNSET}
        for node, records in requests:
            for position, record in enumerate(records):
                if record.call is UNSET or record.id in known:
                    continue
                if str(record.id).startswith(_ITEM_ID) and record.id not in answered:
                    records[position] = msgspec.structs.replace(record, id=UNSET)
                elif self._tools.name_run(node, record):
                    known.add(record.id)
        self._tools.name_the_rest()
        for node, records in requests:
            self._tools.know_results(records, node.beginning)
        self._tools.doubt_differences(record for _, records in requests for record in records)

    # ---------------------------------------------------------------------------------------------------------- steps

    def _step(self, moment: Moment, what: str, content: Any) -> None:
        self._steps.append(_Step(moment, len(self._steps), what, content))

    def _add_answer(self, account: Account, runs: dict[int, SeenRun]) -> None:
        """Add an answer. A sum is added in pieces: what an agent said before a tool ran stands before the run.

        With each piece goes what was before it, by which it is told what in it is known.
        """
        moments = _moments(account, runs)
        what = "answer" if account.is_answer else "summary"
        for position, moment in enumerate(moments):
            if position + 1 == len(moments) or moments[position + 1] != moment:
                self._step(moment, what, piece_of(account.answer, position + 1))
        self._step(account.node.last, "summary", problems_of(account.answer))

    def _add_run(self, run: SeenRun) -> None:
        node = run.node
        if not run.is_told:
            self._step(node.beginning, "call", run)
        if run.tool.has_result:
            moment = (node.end, node.order, 1)
            if run.known_result is not None:
                moment = min(moment, (run.known_result[0], run.known_result[1], -1))
            self._step(moment, "result", run)

    # -------------------------------------------------------------------------------------------------------- telling

    def _tell(self, step: _Step) -> None:
        content = step.content
        if step.what == "request":
            self._tell_request(content)
        elif step.what == "summary":
            self._conversation.add_request(content)
        elif step.what == "answer":
            self._conversation.add_response(content)
        elif step.what == "call":
            self._conversation.take(content.call)
        elif step.what == "result":
            self._tell_result(content)
        else:
            from_agent, to_agent = handover(content.span)
            self._conversation.transfer(to_agent, content.span.path, from_agent or content.agent)

    def _tell_request(self, account: Account) -> None:
        """Tell a request. A later trace of a conversation may begin with only what is new in it."""
        trace_id = account.node.span.trace_id
        is_later = bool(self._begun) and trace_id not in self._begun
        self._begun.add(trace_id)
        has_history = any(not (record.agent is record.call is UNSET) for record in account.request.records)
        # A prompt of another agent's stands later than what the user said before: it is no place to go on from.
        request = chosen_of(account.request, lambda record: record.system not in self._prompts)
        self._prompts.update(record.system for record in request.records if record.system is not UNSET)
        self._conversation.add_request(request, is_whole=has_history or not is_later)

    def _tell_result(self, run: SeenRun) -> None:
        node, tool = run.node, run.tool
        at = seconds(node.span.end)
        self._conversation.answer(tool.result, run.call_id, node.span.path, of=run.name, is_error=tool.is_error, at=at)
        if run.name == _ADK_TRANSFER and is_of_adk(node.span) and isinstance(run.record.args, dict):
            self._conversation.transfer(run.record.args.get("agent_name"), node.span.path, node.agent)

    def _doubt_the_rest(self) -> None:
        """Look for what the spans leave open: calls that nothing tells of, and what came first."""
        if any(node.span.start is None for node in self._nodes) and len(self._nodes) > 1:
            reason = "a span without a time: what came before it and what after is not known"
            place = next(node.span.path for node in self._nodes if node.span.start is None)
            self._conversation.doubt(reason, place, hides_call=False)
        silent = list(silent_models(self._nodes, self._accounts))
        for node in silent:
            if not node.span.failed:
                self._conversation.doubt("what a model answered was not recorded, nor that a tool ran", node.span.path)
        self._doubt_calls_in_texts()
        if not self._conversation.records:
            failed = next((node.span.message for node in silent if node.span.failed), None)
            self._conversation.failure = failed or "the spans tell of no message, and of no tool that ran"

    def _doubt_calls_in_texts(self) -> None:
        """Look for answers that were recorded as Python shows them: does something else tell of the calls in them?"""
        records = self._conversation.records
        known = {record.call for record in records} | {f"transfer_to_{record.transfer}" for record in records}
        for record in list(records):
            if isinstance(record.agent, str) and _SHOWN_CALL in record.agent:
                for name in _shown_name(record.agent) or [record.agent]:
                    if name not in known:
                        self._conversation.doubt(f"a call to {show(name)} that only a text tells of", ())


def _moments(account: Account, runs: dict[int, SeenRun]) -> list[Moment]:
    """Return when each event of an answer was, as far as the runs of its calls show."""
    node = account.node
    if account.is_answer:  # all of it came before any tool ran that is called in it
        began = [(run.node.start, run.node.order, -1) for run in runs.values()]
        return [min([(node.end, node.order, 1), *began])] * len(account.answer)
    moment = node.last
    moments: list[Moment] = []
    for position in range(len(account.answer) - 1, -1, -1):
        if position in runs:
            run = runs[position].node
            moment = min(moment, (run.start, run.order, -1))
        moments.append(moment)
    moments.reverse()
    return [moments[-1]] * len(moments) if len(set(moments)) > _MOST_PIECES else moments

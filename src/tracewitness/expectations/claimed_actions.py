"""The monitor of `Claims`: whatever the agent says it did, a tool that could have done it came back before."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from tracewitness.expectations import wording
from tracewitness.expectations.claim_lexicon import READY, Action, Lexicon, could_do, nouns_of_tool, verb_of_tool
from tracewitness.expectations.claim_phrases import Said, claims_in
from tracewitness.expectations.evidence import Misses, PayloadTest
from tracewitness.expectations.operators import ClaimedAction, Claims
from tracewitness.expectations.plan import Monitor, Plan, Subscription, ToolNames
from tracewitness.trace import EventIndex, Message, ToolCall, ToolResult
from tracewitness.verdict import Verdict

__all__ = ["ClaimsWatch", "claimed_actions"]


def claimed_actions(tool: str, given: ClaimedAction) -> list[Action]:
    """Return the words that stand for a tool; where no verbs are given, those that its name has and the like of them.

    >>> [action.verbs[:3] for action in claimed_actions("cancel_order", ClaimedAction())]
    [('cancel', 'void', 'call off')]
    """
    objects = () if isinstance(given.objects, UnsetType) else given.objects
    if not isinstance(given.verbs, UnsetType):
        return [Action(given.verbs, objects)]
    own, nouns = str(verb_of_tool(tool)), objects or nouns_of_tool(tool)
    alike = [
        Action(action.verbs, nouns)
        for action in READY
        if own in action.verbs and (not action.objects or not set(nouns).isdisjoint(action.objects))
    ]
    return alike or [Action((own,), nouns)]


class _Listed(Struct, frozen=True):
    """A tool of the check: what stands for it, and what it must have returned."""

    tool: str
    words: Lexicon
    payload: PayloadTest


class _Compiled:
    """The compiled check: the listed tools, the ready set, and all their verbs together."""

    def __init__(self, operator: Claims, names: ToolNames) -> None:
        given = {} if isinstance(operator.tools, UnsetType) else operator.tools
        self.listed = [_listed(names.primary(tool), tool, action) for tool, action in given.items()]
        self.ready = Lexicon(READY if operator.ready else ())
        self.all = Lexicon([*(action for each in self.listed for action in each.words.actions), *self.ready.actions])
        self.names = names


def _listed(primary: str, tool: str, action: ClaimedAction) -> _Listed:
    result: Any = {} if action.result is UNSET else action.result
    return _Listed(primary, Lexicon(claimed_actions(tool, action)), PayloadTest(result))


class ClaimsWatch(Monitor, gc=False):
    """Finds claims in the agent's messages, and looks for a successful call before each."""

    lasting = frozenset({"broken"})

    #: By listed tool, the first result that is as it must be; by any tool, the first that is no error.
    backing: dict[str, int] = {}
    done: dict[str, int] = {}
    backed_by: tuple[int, int] | None = None  # the first claim, and what backs it
    unbacked: list[tuple[int, Said, tuple[str, ...]]] = []
    misses: dict[str, Misses] = field(default_factory=dict)

    @classmethod
    def compile(cls, operator: Claims, names: ToolNames) -> Plan:
        compiled = _Compiled(operator, names)
        tools = {each.tool for each in compiled.listed}
        wanted = None if operator.ready else lambda counted: not tools.isdisjoint(counted)
        subscriptions = [Subscription("message", None, cls.message), Subscription("result", wanted, cls.result)]
        return Plan(operator, cls, subscriptions, compiled)

    def result(self, result: ToolResult, call: ToolCall) -> None:
        compiled = self.plan.parts
        counted = compiled.names.counted_as(call.name)
        for each in compiled.listed:
            if each.tool not in counted:
                continue
            if each.payload.holds(result):
                self.backing.setdefault(each.tool, result.position)
            else:
                misses = self.misses.setdefault(each.tool, Misses())
                misses.add(result.position, call.name, partial(each.payload.differences, result))
        if result.is_error is not True and not result.is_malformed:
            self.done.setdefault(counted[-1], result.position)

    def message(self, message: Message) -> None:
        if message.role != "agent":
            return
        for said in claims_in(message.text, self.plan.parts.all):
            backing, tools, is_known = self._backing(said)
            if backing is None and is_known:
                self.unbacked.append((message.position, said, tools))
            elif backing is not None and self.backed_by is None:
                self.backed_by = (message.position, backing)

    def _backing(self, said: Said) -> tuple[int | None, tuple[str, ...], bool]:
        """Return the result that backs a claim, the listed tools of which one must, and whether any tool must."""
        compiled = self.plan.parts
        tools = tuple(each.tool for each in compiled.listed if each.words.matching(said.verb, said.noun))
        if tools:
            return next((self.backing[tool] for tool in tools if tool in self.backing), None), tools, True
        actions = compiled.ready.matching(said.verb, said.noun)
        able = (
            position
            for tool, position in self.done.items()
            if any(could_do(action, said.noun, tool) for action in actions)
        )
        return next(able, None), (), bool(actions)

    def verdict(self, index: EventIndex) -> Verdict:
        if self.unbacked:
            position, said, tools = self.unbacked[0]
            evidence = tuple(dict.fromkeys(each for each, _, _ in self.unbacked))
            called = tuple(dict.fromkeys(call.name for call in index.calls if call.position < position))
            words = (wording.claims_unbacked, said.words, position, tools, called)
            missed = next((self.misses[tool] for tool in tools if tool in self.misses), None)
            return self._broken(evidence, *words, misses=missed.nearest if missed else None)
        if self.backed_by is None:
            return self._held((), wording.nothing_claimed)
        return self._held(self.backed_by[::-1], wording.claims_backed, *self.backed_by)

"""The operators: what a check says, as a frozen value with the fields of the file.

Each names the monitor that watches for it; what the monitor does with the events stands in its own module. To add an
operator, write its class here, its monitor beside those it resembles, and list it in `OPERATORS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, UnsetType, structs

from tracewitness.callers import warn_caller
from tracewitness.display import nearest_name, printable, show
from tracewitness.errors import ExpectationError, UsageError
from tracewitness.expectations import fields
from tracewitness.expectations.claim_lexicon import claim_noun, claim_verb, verb_of_tool
from tracewitness.expectations.fields import Fields
from tracewitness.expectations.sources import ArgumentSource, SessionSource, Source, named_in, parse_sources
from tracewitness.matching import JSONSchema, Matcher, fits_mappings, regexes_that_stop_at_lines

__all__ = [
    "OPERATORS",
    "ArgsFrom",
    "Claim",
    "ClaimedAction",
    "Claims",
    "EndSession",
    "EveryCall",
    "FollowedBy",
    "Group",
    "LastTool",
    "Marker",
    "MaxCalls",
    "MaxCost",
    "MaxErrors",
    "MaxTokens",
    "MaxTurns",
    "MustRecover",
    "Next",
    "NoDuplicateCalls",
    "NoOtherTools",
    "Operator",
    "Repeat",
    "RetryAfterError",
    "RowChanges",
    "ScopedOperator",
    "Score",
    "Sequence",
    "Source",
    "State",
    "Step",
    "TerminalTool",
    "ToolCalled",
    "ToolInput",
    "ToolNotCalled",
    "ToolOutput",
    "TraceParsed",
    "ValidArguments",
    "Within",
    "WithinSeconds",
    "parse_operator",
]

Tool = Annotated[str, Meta(min_length=1, description="The tool's exact name.")]
Args = Annotated[
    dict[str, Any] | Matcher,
    Meta(description="Arguments that the call must have; more are fine. Matchers may stand at every depth."),
]
Result = Annotated[Any, Meta(description="What the result must match. Matchers may stand at every depth.")]
Min = Annotated[int, Meta(ge=0, description="At least so many must be there.")]
Max = Annotated[int, Meta(ge=0, description="At most so many may be there.")]
_Row = Annotated[dict[str, Any] | Matcher, Meta(description="Values by the names of columns; more are fine.")]
IsError = Annotated[bool, Meta(description="Whether the recording must mark the result as an error.")]
_Tools = Annotated[
    Any,
    Meta(
        description="Definitions of tools, as OpenAI, Anthropic or MCP take them, or a JSON Schema for each name.",
        extra_json_schema={"type": ["array", "object"]},
    ),
]

_CALL: dict[str, fields.Validator] = {"tool": fields.text, "args": fields.values}


class Marker(Fields, frozen=True):
    """What must have happened first: a call, or with ``result`` the result that it returned."""

    tool: Tool
    args: Args | UnsetType = UNSET
    result: Result | UnsetType = UNSET
    is_error: IsError | UnsetType = UNSET

    validators = {**_CALL, "result": fields.value, "is_error": fields.flag}

    def validate(self) -> None:
        if self.is_error is not UNSET and self.result is UNSET:
            raise ExpectationError("is_error goes with result; write result: {} for any", ("is_error",))


class Within(Fields, frozen=True):
    """Turns, from 1: a user's message begins one, and turn 0 is what comes before the first."""

    turn: Annotated[int, Meta(ge=0, description="One turn.")] | UnsetType = UNSET
    turns: (
        Annotated[
            tuple[int, ...],
            Meta(description="The first and the last turn.", extra_json_schema={"minItems": 2, "maxItems": 2}),
        ]
        | UnsetType
    ) = UNSET

    validators = {"turn": fields.count, "turns": fields.array(fields.count)}

    def validate(self) -> None:
        if (self.turn is UNSET) is (self.turns is UNSET):
            raise ExpectationError("expected turn, or turns with the first and the last one")
        if self.turns is not UNSET and (len(self.turns) != 2 or self.turns[0] > self.turns[1]):
            what = f"expected the first and the last turn, got {show(list(self.turns))}"
            raise ExpectationError(what, ("turns",))

    @property
    def bounds(self) -> tuple[int, int]:
        """The first and the last turn."""
        return (self.turn, self.turn) if not isinstance(self.turn, UnsetType) else (self.turns[0], self.turns[1])  # type: ignore[index]


class Next(Fields, frozen=True):
    """A call, and with ``result`` one that returned that: what must come later, or what is expected to be scored."""

    tool: Tool
    args: Args | UnsetType = UNSET
    result: Result | UnsetType = UNSET

    validators = {**_CALL, "result": fields.value}


class Step(Fields, frozen=True):
    """One call of a sequence."""

    tool: Tool
    args: Args | UnsetType = UNSET

    validators = _CALL


class Group(Fields, frozen=True):
    """Several calls of a sequence as one entry; exactly one of the fields says how they belong together."""

    ordered: Annotated[tuple[Entry, ...], Meta(description="One after the other.")] | UnsetType = UNSET
    unordered: (
        Annotated[tuple[Entry, ...], Meta(description="In any order; the calls of its entries may come in between.")]
        | UnsetType
    ) = UNSET
    optional: Annotated[tuple[Entry, ...], Meta(description="One after the other, or none of them.")] | UnsetType = (
        UNSET
    )
    one_of: Annotated[tuple[Entry, ...], Meta(description="One of these paths.")] | UnsetType = UNSET
    repeat: Annotated[Repeat, Meta(description="The same calls several times.")] | UnsetType = UNSET

    validators = {
        "ordered": fields.array(lambda given: _entry(given)),
        "unordered": fields.array(lambda given: _entry(given)),
        "optional": fields.array(lambda given: _entry(given)),
        "one_of": fields.array(lambda given: _entry(given)),
        "repeat": lambda given: fields.struct(Repeat)(given),
    }

    def validate(self) -> None:
        if sum(getattr(self, field) is not UNSET for field in self.__struct_fields__) != 1:
            raise ExpectationError(f"expected one of {', '.join(self.__struct_fields__)}")
        if self.kind != "repeat" and len(self.entries) < (2 if self.kind == "one_of" else 1):
            least = "two paths" if self.kind == "one_of" else "one call"
            raise ExpectationError(f"expected at least {least}", (self.kind,))

    @property
    def kind(self) -> str:
        """The field that is given."""
        return next(field for field in self.__struct_fields__ if getattr(self, field) is not UNSET)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What the group is made of."""
        given = getattr(self, self.kind)
        entries: tuple[Entry, ...] = given.calls if isinstance(given, Repeat) else given
        return entries


class Repeat(Fields, frozen=True):
    """The same calls several times, one round after the other."""

    calls: Annotated[tuple[Entry, ...], Meta(description="The calls of one round, one after the other.")]
    min: Annotated[int, Meta(ge=0, description="At least so many rounds.")] = 1
    max: Annotated[int, Meta(ge=1, description="At most so many rounds.")] | UnsetType = UNSET

    validators = {"calls": fields.array(lambda given: _entry(given)), "min": fields.count, "max": fields.count}

    def validate(self) -> None:
        if not self.calls:
            raise ExpectationError("expected at least one call", ("calls",))
        if not isinstance(self.max, UnsetType) and self.max < max(self.min, 1):
            raise ExpectationError(f"max {self.max} is less than {max(self.min, 1)} rounds", ("max",))


#: What a sequence is made of: a call, a list of calls in any order, or a group.
Entry = Step | tuple[Step, ...] | Group


class Operator(Fields, frozen=True, kw_only=True):
    """A check on a trace, made in Python or by `parse_operator` from a mapping of a file.

    Raises:
        ExpectationError: a field is of the wrong type, or the check could not fail.
    """

    type_name: ClassVar[str]
    #: Whether the check says that something did not happen, or says something of all events. What could not be read
    #: can't be ruled out, so such a check is broken where a problem of the trace may hide a call.
    universal: ClassVar[bool] = False

    name: Annotated[str, Meta(description="A label for the check in reports.")] | UnsetType = UNSET
    reason: Annotated[str, Meta(description="Shown when the check fails.")] | UnsetType = UNSET

    def is_universal(self) -> bool:
        """Whether what could not be read counts against the check."""
        return self.universal

    @property
    def named_tools(self) -> tuple[str, ...]:
        """Every tool that the check names."""
        tool = getattr(self, "tool", None)
        return (tool,) if isinstance(tool, str) else ()

    @property
    def title(self) -> str:
        """The check in a few words: its own name, else operator and tools."""
        if self.name is not UNSET and self.name:
            return printable(self.name)
        return printable(" ".join((self.type_name, *self.named_tools[:1])))

    @property
    def all_tools(self) -> tuple[str, ...]:
        """Every tool that the verdict depends on by its name."""
        return self.named_tools

    @property
    def is_scoped(self) -> bool:
        """Whether the check looks at some events of the trace alone."""
        return False

    @property
    def reason_text(self) -> str:
        """What the author wants to be shown when the check fails, or an empty text."""
        return "" if self.reason is UNSET else self.reason

    def in_session(self, parameters: Mapping[str, Any]) -> Operator:  # noqa: ARG002 - most checks ask for none
        """Return the check as it is in a session with these parameters."""
        return self

    def to_mapping(self) -> dict[str, Any]:
        """Return the check as a mapping of a file; `parse_operator` of it is the same check."""
        return {"type": self.type_name, **super().to_mapping()}


class ScopedOperator(Operator, frozen=True, kw_only=True):
    """A check that may look at some events alone: those outside its scope do not exist for it.

    >>> from tracewitness.expectations import check
    >>> from tracewitness.testing import call, trace, user
    >>> run = trace(user("hi"), call("search").with_(by="sales"), user("bye"), call("refund").with_(by="billing"))
    >>> first_turn = {"type": "tool_not_called", "tool": "refund", "within": {"turn": 1}}
    >>> by_billing = {"type": "tool_not_called", "tool": "refund", "agent": "billing"}
    >>> [verdict.status for verdict in check(run, [first_turn, by_billing])]
    ['held', 'broken', 'held']
    """

    within: Annotated[Within, Meta(description="The turns in which something counts.")] | UnsetType = UNSET
    agent: (
        Annotated[str, Meta(min_length=1, description="The agent whose calls and messages count; others do not exist.")]
        | UnsetType
    ) = UNSET
    after: (
        Annotated[Marker, Meta(description="Only what comes after the first such call, or result, counts.")] | UnsetType
    ) = UNSET

    @property
    def all_tools(self) -> tuple[str, ...]:
        return self.named_tools if self.after is UNSET else (*self.named_tools, self.after.tool)

    @property
    def is_scoped(self) -> bool:
        return not (self.within is self.agent is self.after is UNSET)


_LABELS: dict[str, fields.Validator] = {
    "name": fields.label,
    "reason": fields.label,
    "within": fields.struct(Within),
    "agent": fields.text,
    "after": fields.struct(Marker),
}


class ToolCalled(ScopedOperator, frozen=True):
    """At least ``min`` calls match, and at most ``max`` where that is given."""

    type_name = "tool_called"
    validators = {**_LABELS, **_CALL, "min": fields.count, "max": fields.count}

    tool: Tool
    args: Args | UnsetType = UNSET
    min: Min = 1
    max: Max | UnsetType = UNSET

    def validate(self) -> None:
        _check_bounds(self.min, self.max)
        if self.max == 0:
            _warn_of_lines(self.args)

    def is_universal(self) -> bool:
        return self.max is not UNSET


class ToolNotCalled(ScopedOperator, frozen=True):
    """No call matches; with ``before``, none at an earlier position than the first marker event."""

    type_name = "tool_not_called"
    universal = True
    validators = {**_LABELS, **_CALL, "before": fields.struct(Marker)}

    tool: Tool
    args: Args | UnsetType = UNSET
    before: Marker | UnsetType = UNSET

    def validate(self) -> None:
        _warn_of_lines(self.args)

    @property
    def named_tools(self) -> tuple[str, ...]:
        return (self.tool,) if self.before is UNSET else (self.tool, self.before.tool)


class ToolInput(ScopedOperator, frozen=True):
    """At least ``min`` calls have matching arguments."""

    type_name = "tool_input"
    validators = {**_LABELS, **_CALL, "min": fields.count}

    tool: Tool
    args: Args
    min: Min = 1

    def validate(self) -> None:
        _check_bounds(self.min, UNSET)


class ToolOutput(ScopedOperator, frozen=True):
    """At least ``min`` results match."""

    type_name = "tool_output"
    validators = {**_LABELS, **_CALL, "result": fields.value, "min": fields.count, "is_error": fields.flag}

    tool: Tool
    result: Result
    min: Min = 1
    is_error: IsError = False

    def validate(self) -> None:
        _check_bounds(self.min, UNSET)


class LastTool(ScopedOperator, frozen=True):
    """The last call is to ``tool`` and matches."""

    type_name = "last_tool"
    universal = True
    validators = {**_LABELS, **_CALL}

    tool: Tool
    args: Args | UnsetType = UNSET


class EveryCall(ScopedOperator, frozen=True):
    """All calls to ``tool`` match; holds when there is none."""

    type_name = "every_call"
    universal = True
    validators = {**_LABELS, **_CALL}

    tool: Tool
    args: Args

    def validate(self) -> None:
        if fits_mappings(self.args):
            problem = f"every_call with args {show(self.args)} could not fail: every mapping matches; name an argument"
            raise ExpectationError(problem, ("args",))


class FollowedBy(ScopedOperator, frozen=True):
    """After every call to ``tool`` there is a later call that matches ``next``; holds when ``tool`` is never called."""

    type_name = "followed_by"
    universal = True
    validators = {**_LABELS, "tool": fields.text, "next": fields.struct(Next)}

    tool: Tool
    next: Next

    @property
    def named_tools(self) -> tuple[str, ...]:
        return (self.tool, self.next.tool)


class TerminalTool(ScopedOperator, frozen=True):
    """``tool`` is called at most once and no call comes after it; holds when it is never called."""

    type_name = "terminal_tool"
    universal = True
    validators = {**_LABELS, "tool": fields.text}

    tool: Tool


class EndSession(ScopedOperator, frozen=True):
    """The last call is to ``end_session``, with ``args`` in its arguments, its metadata, or the two merged."""

    type_name = "end_session"
    universal = True
    validators = {**_LABELS, "args": fields.values}

    args: Args | UnsetType = UNSET

    @property
    def named_tools(self) -> tuple[str, ...]:
        return ("end_session",)

    @property
    def title(self) -> str:
        return printable(self.name) if self.name is not UNSET and self.name else self.type_name


class TraceParsed(Operator, frozen=True):
    """The trace was there and had no problems. It is added to every run by itself."""

    type_name = "trace_parsed"
    validators = _LABELS


class Sequence(ScopedOperator, frozen=True):
    """The calls come in the way that ``mode`` says; a nested list is a group in any order.

    Groups may be nested: `Group` says which there are.

    >>> from tracewitness.expectations import check
    >>> from tracewitness.testing import call, trace
    >>> pay = {"one_of": [{"tool": "card"}, {"ordered": [{"tool": "quote"}, {"tool": "transfer"}]}]}
    >>> wanted = {"type": "sequence", "mode": "exact", "calls": [{"tool": "search"}, pay]}
    >>> runs = [("search", "quote", "transfer"), ("search", "quote", "card")]
    >>> verdicts = [check(trace(*map(call, run)), [wanted])[0] for run in runs]
    >>> [verdict.status for verdict in verdicts], verdicts[1].justification
    (['held', 'broken'], 'expected transfer (calls[1].one_of[1].ordered[1]), got card at event 2')
    """

    type_name = "sequence"
    validators = {
        **_LABELS,
        "calls": fields.array(lambda given: _entry(given)),
        "mode": fields.choice("exact", "in_order", "any_order", "subset"),
    }

    calls: Annotated[
        tuple[Entry, ...],
        Meta(description="The calls; a nested list is a group in any order (parallel calls)."),
    ]
    mode: Annotated[
        str,
        Meta(
            description="exact: these calls and nothing else. in_order: as a subsequence. any_order: each has its own "
            "call. subset: each call made has its own entry.",
            extra_json_schema={"enum": ["exact", "in_order", "any_order", "subset"]},
        ),
    ] = "in_order"

    def validate(self) -> None:
        if not self.calls and self.mode in ("in_order", "any_order"):
            raise ExpectationError(
                f"a sequence of no calls could not fail with mode {self.mode}; exact says that there is no call",
                ("calls",),
            )
        if self.has_groups:
            from tracewitness.expectations.patterns import check_pattern

            check_pattern(self.calls, self.mode)

    @property
    def has_groups(self) -> bool:
        """Whether there is more than calls and lists of calls."""
        return any(isinstance(entry, Group) for entry in self.calls)

    def is_universal(self) -> bool:
        return self.mode in ("exact", "subset")

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every entry, groups opened."""
        return tuple(step for entry in self.calls for step in steps_of(entry))

    @property
    def named_tools(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(step.tool for step in self.steps))

    @property
    def title(self) -> str:
        return printable(self.name) if self.name is not UNSET and self.name else f"sequence {self.mode}"


class NoOtherTools(ScopedOperator, frozen=True):
    """Nothing else is called; holds when there is no call."""

    type_name = "no_other_tools"
    universal = True
    validators = {**_LABELS, "tools": fields.array(fields.text)}

    tools: Annotated[tuple[str, ...], Meta(description="The tools that may be called.")]

    @property
    def named_tools(self) -> tuple[str, ...]:
        return self.tools


class NoDuplicateCalls(ScopedOperator, frozen=True):
    """No two calls have the same tool and, under ``strict``, the same arguments."""

    type_name = "no_duplicate_calls"
    universal = True
    validators = {**_LABELS, "tool": fields.text}

    tool: Tool | UnsetType = UNSET


class MaxErrors(ScopedOperator, frozen=True):
    """At most ``max`` results are marked as errors."""

    type_name = "max_errors"
    universal = True
    validators = {**_LABELS, "max": fields.count, "tool": fields.text}

    max: Max
    tool: Tool | UnsetType = UNSET


class MaxCalls(ScopedOperator, frozen=True):
    """At most ``max`` calls are made."""

    type_name = "max_calls"
    universal = True
    validators = {**_LABELS, "max": fields.count, "tool": fields.text}

    max: Max
    tool: Tool | UnsetType = UNSET


class MaxTurns(Operator, frozen=True):
    """At most ``max`` user messages come; what precedes the first is no turn."""

    type_name = "max_turns"
    universal = True
    validators = {**_LABELS, "max": fields.count}

    max: Max


class ArgsFrom(ScopedOperator, frozen=True):
    """Each listed argument's value appears earlier in the trace. It catches an identifier that the agent made up."""

    type_name = "args_from"
    universal = True
    validators = {
        **_LABELS,
        "tool": fields.text,
        "args": fields.mapping_of(parse_sources),
        "schema": fields.data,
        "session": fields.data,
    }

    tool: Tool
    args: Annotated[
        dict[str, Any],
        Meta(
            description='For each argument its source: {tool, path}, "user", "session", "results", a rule, or a list '
            "of these (any of them). A name may be a path; * stands for all arguments that are not listed."
        ),
    ]
    schema: (
        Annotated[
            dict[str, Any],
            Meta(description="The JSON Schema of the tool's arguments: what an enum, const or default names is known."),
        ]
        | UnsetType
    ) = UNSET
    session: (
        Annotated[dict[str, Any], Meta(description="The session's parameters; those of the case where left out.")]
        | UnsetType
    ) = UNSET

    def validate(self) -> None:
        for name, sources in self.args.items():
            own = (each for each in named_in(sources) if isinstance(each, ArgumentSource) and each.tool is UNSET)
            if any(each.argument == name for each in own):
                raise ExpectationError(f"{show(name)} could not fail: it is its own source", ("args", name))

    def in_session(self, parameters: Mapping[str, Any]) -> ArgsFrom:
        """Return the check with the parameters of the session, where it asks for them and has none."""
        if not parameters or self.session is not UNSET or not self._asks_for_session():
            return self
        return structs.replace(self, session=dict(parameters))

    def _asks_for_session(self) -> bool:
        sources = (each for given in self.args.values() for each in named_in(given))
        return any(each == "session" or isinstance(each, SessionSource) for each in sources)

    @property
    def named_tools(self) -> tuple[str, ...]:
        sources = (each for given in self.args.values() for each in named_in(given))
        tools = (each.tool for each in sources if isinstance(each, (Source, ArgumentSource)))
        return tuple(dict.fromkeys((self.tool, *(tool for tool in tools if tool is not UNSET))))


class Claim(ScopedOperator, frozen=True):
    """Where the agent's text matches ``says``, a matching call had happened before it."""

    type_name = "claim"
    universal = True
    validators = {**_LABELS, **_CALL, "says": fields.pattern, "result": fields.value}

    says: Annotated[str, Meta(min_length=1, description="A regular expression, found anywhere in an agent's message.")]
    tool: Tool
    args: Args | UnsetType = UNSET
    result: Result | UnsetType = UNSET


class ClaimedAction(Fields, frozen=True):
    """What an agent says when it has called a tool; without verbs, what the tool's name says and the like of it."""

    verbs: Annotated[tuple[str, ...], Meta(description="Base forms, as cancel or call off.")] | UnsetType = UNSET
    objects: (
        Annotated[tuple[str, ...], Meta(description="What it is done to; anything where left out.")] | UnsetType
    ) = UNSET
    result: Result | UnsetType = UNSET

    validators = {"verbs": fields.array(claim_verb), "objects": fields.array(claim_noun), "result": fields.value}

    def validate(self) -> None:
        for name, words in (("verbs", self.verbs), ("objects", self.objects)):
            if words == ():
                raise ExpectationError("expected at least one, or leave it out", (name,))


class Claims(ScopedOperator, frozen=True):
    """Whatever the agent says it did, in English, it did before: a call that could do it came back without an error.

    With ``tools`` it is said of each which words stand for it. All other claims of the ready set need a call to any
    tool whose name says that it could have done it; ``ready: false`` leaves them out.

    >>> from tracewitness.expectations import check
    >>> from tracewitness.testing import agent, call, result, trace
    >>> run = trace(call("cancel_order"), result("too late", is_error=True), agent("I've cancelled your order."))
    >>> [verdict.status for verdict in check(run, [Claims()])]
    ['broken', 'held']
    """

    type_name = "claims"
    universal = True
    validators = {
        **_LABELS,
        "tools": fields.mapping_of(fields.struct(ClaimedAction)),
        "ready": fields.flag,
    }

    tools: (
        Annotated[dict[str, ClaimedAction], Meta(description="For each tool the words of a claim that it was called.")]
        | UnsetType
    ) = UNSET
    ready: Annotated[bool, Meta(description="Whether common phrases about other tools count, too.")] = True

    def validate(self) -> None:
        if isinstance(self.tools, UnsetType):
            if not self.ready:
                raise ExpectationError("claims of no tools could not fail; list tools, or leave ready out", ("ready",))
            return
        for tool, action in self.tools.items():
            if action.verbs is UNSET and verb_of_tool(tool) is None:
                raise ExpectationError(f"no verb is known in the name {show(tool)}; list its verbs", ("tools", tool))

    @property
    def named_tools(self) -> tuple[str, ...]:
        return () if isinstance(self.tools, UnsetType) else tuple(self.tools)

    @property
    def title(self) -> str:
        return printable(self.name) if self.name is not UNSET and self.name else self.type_name


class Score(ScopedOperator, frozen=True):
    """The calls are scored against those expected, and the score reaches ``min``; what a fluent contract is in a file.

    Without ``min`` the bar is 0.9, and an expected call without a partner breaks it too, since the score alone is
    blind to one. Arguments are compared by ``lenient``, or ``strict`` where that is asked for. With ``in_order`` no
    expected call may be without a partner, and of the best pairings one must have the partners in the expected order.
    """

    type_name = "score"
    universal = True
    validators = {
        **_LABELS,
        "calls": fields.array(fields.struct(Next)),
        "min": fields.share,
        "weights": fields.mapping_of(fields.number),
        "strict": fields.flag,
        "in_order": fields.flag,
        "tools": lambda given: _definitions(given),
    }

    calls: Annotated[tuple[Next, ...], Meta(description="The expected calls; args left out are not checked.")]
    min: (
        Annotated[float, Meta(ge=0, le=1, description="The score that must be reached; 0.9 where it is left out.")]
        | UnsetType
    ) = UNSET
    weights: (
        Annotated[dict[str, float], Meta(description="How much each metric counts; those left out as by default.")]
        | UnsetType
    ) = UNSET
    strict: Annotated[bool, Meta(description="Whether arguments must be of the same type, too.")] = False
    in_order: Annotated[
        bool, Meta(description="Whether each call must be made, and in this order; others may come between.")
    ] = False
    tools: _Tools | UnsetType = UNSET

    def validate(self) -> None:
        from tracewitness.scoring import merged_weights

        if not self.calls:
            raise ExpectationError("expected at least one call; max_calls: 0 says that there is none", ("calls",))
        if self.weights is not UNSET:
            try:
                merged_weights(self.weights)
            except UsageError as error:
                raise ExpectationError(str(error), ("weights",)) from error

    @property
    def named_tools(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(call.tool for call in self.calls))

    @property
    def title(self) -> str:
        return printable(self.name) if self.name is not UNSET and self.name else self.type_name


class RetryAfterError(ScopedOperator, frozen=True):
    """After every error of ``tool`` it is called again; with ``max``, at most so often before it succeeds.

    >>> from tracewitness.expectations import check
    >>> from tracewitness.testing import call, result, trace
    >>> failed = [call("pay"), result("busy", is_error=True)]
    >>> [check(trace(*run), [RetryAfterError("pay")])[0].status for run in (failed, [*failed, call("pay")])]
    ['broken', 'held']
    """

    type_name = "retry_after_error"
    universal = True
    validators = {**_LABELS, "tool": fields.text, "max": fields.count}

    tool: Tool
    max: Annotated[int, Meta(ge=0, description="At most so many further calls before it succeeds.")] | UnsetType = UNSET


class MustRecover(ScopedOperator, frozen=True):
    """After every error of ``tool`` a later call to it succeeds.

    >>> from tracewitness.expectations import check
    >>> from tracewitness.testing import call, result, trace
    >>> again = [call("pay"), result("busy", is_error=True), call("pay")]
    >>> [check(trace(*run), [MustRecover("pay")])[0].status for run in (again, [*again, result("ok")])]
    ['broken', 'held']
    """

    type_name = "must_recover"
    universal = True
    validators = {**_LABELS, "tool": fields.text}

    tool: Tool


class WithinSeconds(ScopedOperator, frozen=True):
    """It takes at most so long: the run, each call of ``tool`` to its result, or from it to the ``next`` call.

    >>> from tracewitness.expectations import check
    >>> from tracewitness.testing import call, trace
    >>> run = trace(call("hold").with_(at=0), call("book").with_(at=20))
    >>> soon = {"type": "within_seconds", "tool": "hold", "next": {"tool": "book"}}
    >>> [check(run, [{**soon, "seconds": limit}])[0].status for limit in (10, 30)]
    ['broken', 'held']
    """

    type_name = "within_seconds"
    universal = True
    validators = {**_LABELS, **_CALL, "seconds": fields.amount, "next": fields.struct(Next)}

    seconds: Annotated[float, Meta(ge=0, description="At most so many seconds.")]
    tool: Tool | UnsetType = UNSET
    args: Args | UnsetType = UNSET
    next: Annotated[Next, Meta(description="The call that must follow in time.")] | UnsetType = UNSET

    def validate(self) -> None:
        for field in ("args", "next"):
            if getattr(self, field) is not UNSET and self.tool is UNSET:
                raise ExpectationError(f"{field} goes with tool; without one, the whole run is timed", (field,))

    @property
    def named_tools(self) -> tuple[str, ...]:
        named = () if isinstance(self.tool, UnsetType) else (self.tool,)
        return named if self.next is UNSET else (*named, self.next.tool)


class MaxCost(ScopedOperator, frozen=True):
    """What the run cost is known, and at most ``max``: the sum of ``cost`` in the metadata of events.

    >>> from tracewitness.expectations import check
    >>> from tracewitness.testing import agent, trace
    >>> run = trace(agent("Done.").with_(metadata={"cost": 0.02}))
    >>> [check(each, [MaxCost(0.05)])[0].status for each in (run, trace(agent("Done.")))]
    ['held', 'broken']
    """

    type_name = "max_cost"
    universal = True
    validators = {**_LABELS, "max": fields.amount}

    max: Annotated[float, Meta(ge=0, description="At most so much, in the currency of the recording.")]


class MaxTokens(ScopedOperator, frozen=True):
    """How many tokens the run took is known, and at most ``max``: the sum of ``usage`` in the metadata of events.

    >>> from tracewitness.expectations import check
    >>> from tracewitness.testing import agent, trace
    >>> run = trace(agent("Done.").with_(metadata={"usage": {"input_tokens": 90, "output_tokens": 20}}))
    >>> [check(run, [MaxTokens(limit)])[0].status for limit in (100, 200)]
    ['broken', 'held']
    """

    type_name = "max_tokens"
    universal = True
    validators = {**_LABELS, "max": fields.count}

    max: Max


class ValidArguments(ScopedOperator, frozen=True):
    """Every call is to a tool that is defined, with arguments valid under its schema; needs ``tracewitness[schema]``.

    >>> from tracewitness.expectations import check
    >>> from tracewitness.testing import call, trace
    >>> pay = {"name": "pay", "input_schema": {"properties": {"amount": {"type": "number"}}, "required": ["amount"]}}
    >>> [check(trace(call("pay", amount=given)), [ValidArguments(tools=[pay])])[0].status for given in ("ten", 10)]
    ['broken', 'held']
    """

    type_name = "valid_arguments"
    universal = True
    validators = {**_LABELS, "tool": fields.text, "tools": lambda given: _definitions(given)}

    tool: Annotated[str, Meta(min_length=1, description="Only the calls to this tool.")] | UnsetType = UNSET
    tools: _Tools | UnsetType = UNSET

    def validate(self) -> None:
        from tracewitness.scoring.definitions import ToolDefinitions

        if self.tools is not UNSET:
            _check_schemas(ToolDefinitions.read(self.tools))
        if self.tools is not UNSET and self.tool is not UNSET and self.tool not in ToolDefinitions.read(self.tools):
            raise ExpectationError(f"the tools have no definition of {show(self.tool)}", ("tool",))

    @property
    def all_tools(self) -> tuple[str, ...]:
        return (*super().all_tools, *(() if self.tools is UNSET else _names_of_definitions(self.tools)))


class RowChange(Fields, frozen=True):
    """One row before and after."""

    before: _Row | UnsetType = UNSET
    after: _Row | UnsetType = UNSET

    validators = {"before": lambda given: _row(given), "after": lambda given: _row(given)}

    def validate(self) -> None:
        if self.before is self.after is UNSET:
            raise ExpectationError("expected before, after or both")


class RowChanges(Fields, frozen=True):
    """The rows that differ before and after; what is left out must be none."""

    added: Annotated[tuple[_Row, ...], Meta(description="The rows that are there after the run alone.")] = ()
    removed: Annotated[tuple[_Row, ...], Meta(description="The rows that were there before the run alone.")] = ()
    changed: Annotated[
        tuple[RowChange, ...], Meta(description="The rows with the same key and other values: {before, after}.")
    ] = ()

    validators = {
        "added": fields.array(lambda given: _row(given)),
        "removed": fields.array(lambda given: _row(given)),
        "changed": fields.array(lambda given: RowChange.from_mapping(given)),
    }


class State(Operator, frozen=True):
    """What a query of a database gives after the run, or how that differs from before.

    The rows are those that were recorded with the trace; nothing is asked when it is checked.

    >>> from tracewitness.expectations import check
    >>> from tracewitness.testing import system, trace
    >>> rows = {"columns": ["id", "status"], "rows": [[7, "paid"]]}
    >>> seen = {"database": "shop", "queries": [{"query": "SELECT * FROM orders", "before": rows, "after": rows}]}
    >>> run = trace(system("state of shop").with_(metadata={"database_state": seen}))
    >>> orders = {"type": "state", "database": "shop", "query": "SELECT * FROM orders"}
    >>> wanted = [{**orders, "rows": [{"status": "paid"}]}, {**orders, "changed": {"added": [{"id": 7}]}}]
    >>> [verdict.status for verdict in check(run, wanted)][:2]
    ['held', 'broken']
    """

    type_name = "state"
    universal = True
    validators = {
        **_LABELS,
        "database": fields.text,
        "query": fields.text,
        "rows": fields.array(lambda given: _row(given)),
        "unchanged": fields.flag,
        "changed": fields.struct(RowChanges),
        "key": fields.array(fields.text),
    }

    database: Annotated[str, Meta(min_length=1, description="The name that the runner gives the database.")]
    query: Annotated[str, Meta(min_length=1, description="A query in SQL, asked before and after the run.")]
    rows: (
        Annotated[tuple[_Row, ...], Meta(description="The rows after the run, in any order; each by its columns.")]
        | UnsetType
    ) = UNSET
    unchanged: Annotated[bool, Meta(description="Whether the rows must be the same as before.")] = False
    changed: Annotated[RowChanges, Meta(description="How the rows differ from before.")] | UnsetType = UNSET
    key: (
        Annotated[tuple[str, ...], Meta(description="The columns by which a row is the same before and after.")]
        | UnsetType
    ) = UNSET

    def validate(self) -> None:
        asked = (self.rows is not UNSET) + self.unchanged + (self.changed is not UNSET)
        if not asked:
            raise ExpectationError("expected rows, unchanged: true or changed; nothing else could fail")
        if self.unchanged and self.changed is not UNSET:
            raise ExpectationError("unchanged and changed can't both hold; leave one out", ("unchanged",))
        if self.changed is UNSET and self.key is not UNSET:
            raise ExpectationError("key goes with changed", ("key",))
        if self.key is not UNSET and not self.key:
            raise ExpectationError("expected the name of at least one column", ("key",))
        if self.changed is not UNSET:
            self._check_changes(self.changed)

    def _check_changes(self, changes: RowChanges) -> None:
        if not (changes.added or changes.removed or changes.changed):
            raise ExpectationError("expected a row that was added, removed or changed; else write unchanged: true")
        if changes.changed and self.key is UNSET:
            what = "a changed row is known by its key; name the columns under key, for example key: [id]"
            raise ExpectationError(what, ("changed", "changed"))

    @property
    def title(self) -> str:
        return (
            printable(self.name)
            if self.name is not UNSET and self.name
            else printable(f"{self.type_name} {self.database}")
        )


def _row(given: Any) -> Any:
    """Read an expected row: values by the names of columns."""
    return fields.values(given)


def _definitions(given: Any) -> Any:
    """Read definitions of tools, and keep them as they were given."""
    from tracewitness.scoring.definitions import ToolDefinitions

    ToolDefinitions.read(given)
    return given


def _names_of_definitions(tools: Any) -> tuple[str, ...]:
    from tracewitness.scoring.definitions import ToolDefinitions

    return tuple(ToolDefinitions.read(tools))


def _check_schemas(definitions: Mapping[str, Any]) -> None:
    """Refuse schemas that are none, before the first call is checked."""
    for tool, schema in definitions.items():
        try:
            JSONSchema(schema)
        except ExpectationError as error:
            raise ExpectationError(f"the arguments of {show(tool)}: {error.problem}", ("tools",)) from error


def as_group(entry: Step | tuple[Step, ...]) -> tuple[Step, ...]:
    """Return an entry of a sequence as a group of one or more."""
    return entry if isinstance(entry, tuple) else (entry,)


def steps_of(entry: Entry) -> tuple[Step, ...]:
    """Return every call of an entry, groups opened."""
    if isinstance(entry, Group):
        return tuple(step for each in entry.entries for step in steps_of(each))
    return as_group(entry)


def _entry(given: Any) -> Entry:
    if isinstance(given, Group) or (isinstance(given, Mapping) and any(map(_means_group, given))):
        return _group(given)
    if not isinstance(given, (list, tuple)):
        step: Step = fields.struct(Step)(given)
        return step
    if not given:
        raise ExpectationError("a group has at least one call")
    group: tuple[Step, ...] = fields.array(fields.struct(Step))(given)
    return group


def _means_group(key: Any) -> bool:
    """Whether a key is one of a group, or was probably meant to be."""
    near = nearest_name(key, (*Step.__struct_fields__, *Group.__struct_fields__)) if isinstance(key, str) else None
    return key in Group.__struct_fields__ or near in Group.__struct_fields__


def _group(given: Any) -> Entry:
    group: Group = fields.struct(Group)(given)
    return group


def _check_bounds(minimum: int, maximum: int | UnsetType) -> None:
    if minimum == 0 and maximum is UNSET:
        raise ExpectationError("min: 0 alone could not fail; give a max, or use tool_not_called", ("min",))
    if not isinstance(maximum, UnsetType) and maximum < minimum:
        raise ExpectationError(f"max {maximum} is less than min {minimum}; nothing could satisfy it", ("max",))


def _warn_of_lines(banned: Any) -> None:
    """Warn of a pattern that a line break slips past, where that would let a banned call through."""
    for regex in regexes_that_stop_at_lines(banned):
        warn_caller(
            f"a line break slips past {regex!r} in this ban, since its . stops there; "
            "use $search or $contains (Search, Contains), or begin the pattern with (?s)"
        )


OPERATORS: dict[str, type[Operator]] = {
    kind.type_name: kind
    for kind in (
        ToolCalled,
        ToolNotCalled,
        ToolInput,
        ToolOutput,
        LastTool,
        EveryCall,
        FollowedBy,
        TerminalTool,
        EndSession,
        TraceParsed,
        Sequence,
        NoOtherTools,
        NoDuplicateCalls,
        MaxErrors,
        MaxCalls,
        MaxTurns,
        ArgsFrom,
        Claim,
        Claims,
        Score,
        RetryAfterError,
        MustRecover,
        WithinSeconds,
        MaxCost,
        MaxTokens,
        ValidArguments,
        State,
    )
}
#: Other names of operators, as a file may write them.
ALIASES = {"handoff": "end_session"}


def parse_operator(given: Any) -> Operator:
    """Make the operator that a mapping of a file describes.

    Raises:
        ExpectationError: what is wrong, with the path in the mapping and, where near, the name that was meant.

    >>> parse_operator({"type": "tool_called", "tool": "search"})
    ToolCalled(tool='search')
    """
    if not isinstance(given, Mapping):
        raise ExpectationError(f"expected a mapping with a type, got {show(given)}")
    if "type" not in given:
        raise ExpectationError("missing field type: the name of an operator, for example tool_called")
    type_name = given["type"]
    if not isinstance(type_name, str):
        raise ExpectationError(f"expected the name of an operator, got {show(type_name)}", ("type",))
    kind = OPERATORS.get(ALIASES.get(type_name, type_name))
    if kind is None:
        near = nearest_name(type_name, (*OPERATORS, *ALIASES))
        meant = f"{near} was meant" if near else f"there are {', '.join(OPERATORS)}"
        raise ExpectationError(f"unknown operator {show(type_name)}; {meant}", ("type",))
    operator: Operator = kind.from_mapping({field: value for field, value in given.items() if field != "type"})
    return operator

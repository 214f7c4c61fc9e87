"""The operators: what a check says, as a frozen value with the fields of the file.

Each names the monitor that watches for it; what the monitor does with the events stands in its own module. To add an
operator, write its class here, its monitor beside those it resembles, and list it in `OPERATORS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, UnsetType

from tracewitness.callers import warn_caller
from tracewitness.display import nearest_name, printable, show
from tracewitness.errors import ExpectationError, UsageError
from tracewitness.expectations import fields
from tracewitness.expectations.fields import Fields
from tracewitness.matching import Matcher, fits_mappings, regexes_that_stop_at_lines

__all__ = [
    "OPERATORS",
    "ArgsFrom",
    "Claim",
    "EndSession",
    "EveryCall",
    "FollowedBy",
    "LastTool",
    "Marker",
    "MaxCalls",
    "MaxErrors",
    "MaxTurns",
    "Next",
    "NoDuplicateCalls",
    "NoOtherTools",
    "Operator",
    "Score",
    "Sequence",
    "Source",
    "Step",
    "TerminalTool",
    "ToolCalled",
    "ToolInput",
    "ToolNotCalled",
    "ToolOutput",
    "TraceParsed",
    "parse_operator",
]

Tool = Annotated[str, Meta(min_length=1, description="The tool's exact name.")]
Args = Annotated[
    dict[str, Any] | Matcher,
    Meta(description="Arguments that the call must have; more are fine. Matchers may stand at every depth."),
]
Result = Annotated[Any, Meta(description="What the result must match. Matchers may stand at every depth.")]
Min = Annotated[int, Meta(ge=0, description="At least so many.")]
Max = Annotated[int, Meta(ge=0, description="At most so many.")]
IsError = Annotated[bool, Meta(description="Whether the recording must mark the result as an error.")]

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


class Source(Fields, frozen=True):
    """Where a value may come from: a path in an earlier result of a tool."""

    tool: Tool
    path: Annotated[str, Meta(min_length=1, description="Dotted keys with [n] and [*], for example items[*].id.")]

    validators = {"tool": fields.text, "path": fields.text}

    def validate(self) -> None:
        from tracewitness.expectations.provenance import parse_path

        try:
            parse_path(self.path)
        except ExpectationError as error:
            raise error.under("path") from None


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
    def reason_text(self) -> str:
        """What the author wants to be shown when the check fails, or an empty text."""
        return "" if self.reason is UNSET else self.reason

    def to_mapping(self) -> dict[str, Any]:
        """Return the check as a mapping of a file; `parse_operator` of it is the same check."""
        return {"type": self.type_name, **super().to_mapping()}


_LABELS: dict[str, fields.Validator] = {"name": fields.label, "reason": fields.label}


class ToolCalled(Operator, frozen=True):
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


class ToolNotCalled(Operator, frozen=True):
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


class ToolInput(Operator, frozen=True):
    """At least ``min`` calls have matching arguments."""

    type_name = "tool_input"
    validators = {**_LABELS, **_CALL, "min": fields.count}

    tool: Tool
    args: Args
    min: Min = 1

    def validate(self) -> None:
        _check_bounds(self.min, UNSET)


class ToolOutput(Operator, frozen=True):
    """At least ``min`` results match."""

    type_name = "tool_output"
    validators = {**_LABELS, **_CALL, "result": fields.value, "min": fields.count, "is_error": fields.flag}

    tool: Tool
    result: Result
    min: Min = 1
    is_error: IsError = False

    def validate(self) -> None:
        _check_bounds(self.min, UNSET)


class LastTool(Operator, frozen=True):
    """The last call is to ``tool`` and matches."""

    type_name = "last_tool"
    universal = True
    validators = {**_LABELS, **_CALL}

    tool: Tool
    args: Args | UnsetType = UNSET


class EveryCall(Operator, frozen=True):
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


class FollowedBy(Operator, frozen=True):
    """After every call to ``tool`` there is a later call that matches ``next``; holds when ``tool`` is never called."""

    type_name = "followed_by"
    universal = True
    validators = {**_LABELS, "tool": fields.text, "next": fields.struct(Next)}

    tool: Tool
    next: Next

    @property
    def named_tools(self) -> tuple[str, ...]:
        return (self.tool, self.next.tool)


class TerminalTool(Operator, frozen=True):
    """``tool`` is called at most once and no call comes after it; holds when it is never called."""

    type_name = "terminal_tool"
    universal = True
    validators = {**_LABELS, "tool": fields.text}

    tool: Tool


class EndSession(Operator, frozen=True):
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


class Sequence(Operator, frozen=True):
    """The calls come in the way that ``mode`` says; a nested list is a group in any order."""

    type_name = "sequence"
    validators = {
        **_LABELS,
        "calls": fields.array(lambda given: _step_or_group(given)),
        "mode": fields.choice("exact", "in_order", "any_order", "subset"),
    }

    calls: Annotated[
        tuple[Step | tuple[Step, ...], ...],
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

    def is_universal(self) -> bool:
        return self.mode in ("exact", "subset")

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every entry, groups opened."""
        return tuple(step for entry in self.calls for step in as_group(entry))

    @property
    def named_tools(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(step.tool for step in self.steps))

    @property
    def title(self) -> str:
        return printable(self.name) if self.name is not UNSET and self.name else f"sequence {self.mode}"


class NoOtherTools(Operator, frozen=True):
    """Nothing else is called; holds when there is no call."""

    type_name = "no_other_tools"
    universal = True
    validators = {**_LABELS, "tools": fields.array(fields.text)}

    tools: Annotated[tuple[str, ...], Meta(description="The tools that may be called.")]

    @property
    def named_tools(self) -> tuple[str, ...]:
        return self.tools


class NoDuplicateCalls(Operator, frozen=True):
    """No two calls have the same tool and, under ``strict``, the same arguments."""

    type_name = "no_duplicate_calls"
    universal = True
    validators = {**_LABELS, "tool": fields.text}

    tool: Tool | UnsetType = UNSET


class MaxErrors(Operator, frozen=True):
    """At most ``max`` results are marked as errors."""

    type_name = "max_errors"
    universal = True
    validators = {**_LABELS, "max": fields.count, "tool": fields.text}

    max: Max
    tool: Tool | UnsetType = UNSET


class MaxCalls(Operator, frozen=True):
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


class ArgsFrom(Operator, frozen=True):
    """Each listed argument's value appears earlier in the trace. It catches an identifier that the agent made up."""

    type_name = "args_from"
    universal = True
    validators = {
        **_LABELS,
        "tool": fields.text,
        "args": fields.mapping_of(lambda given: _sources(given)),
    }

    tool: Tool
    args: Annotated[
        dict[str, Any],
        Meta(description='For each argument its source: {tool, path}, "user", or a list of these (any of them).'),
    ]

    @property
    def named_tools(self) -> tuple[str, ...]:
        sources = (source.tool for each in self.args.values() for source in each if isinstance(source, Source))
        return tuple(dict.fromkeys((self.tool, *sources)))


class Claim(Operator, frozen=True):
    """Where the agent's text matches ``says``, a matching call had happened before it."""

    type_name = "claim"
    universal = True
    validators = {**_LABELS, **_CALL, "says": fields.pattern, "result": fields.value}

    says: Annotated[str, Meta(min_length=1, description="A regular expression, found anywhere in an agent's message.")]
    tool: Tool
    args: Args | UnsetType = UNSET
    result: Result | UnsetType = UNSET


class Score(Operator, frozen=True):
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


def as_group(entry: Step | tuple[Step, ...]) -> tuple[Step, ...]:
    """Return an entry of a sequence as a group of one or more."""
    return entry if isinstance(entry, tuple) else (entry,)


def _step_or_group(given: Any) -> Step | tuple[Step, ...]:
    if not isinstance(given, (list, tuple)):
        step: Step = fields.struct(Step)(given)
        return step
    if not given:
        raise ExpectationError("a group has at least one call")
    group: tuple[Step, ...] = fields.array(fields.struct(Step))(given)
    return group


def _sources(given: Any) -> tuple[Source | str, ...]:
    """Read the sources of an argument: one, or a list of which any will do."""
    if isinstance(given, (list, tuple)):
        if not given:
            raise ExpectationError("expected at least one source")
        found: tuple[Source | str, ...] = fields.array(_source)(given)
        return found
    return (_source(given),)


def _source(given: Any) -> Source | str:
    if isinstance(given, str):
        if given != "user":
            raise ExpectationError(f'expected {{tool, path}} or "user", got {show(given)}')
        return given
    source: Source = fields.struct(Source)(given)
    return source


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
        Score,
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

"""``expect(subject)``: a contract in a line, built step by step and then run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from tracewitness.display import show
from tracewitness.errors import ExpectationError, UsageError
from tracewitness.expectations import (
    ArgsFrom,
    EveryCall,
    FollowedBy,
    LastTool,
    Marker,
    MaxCalls,
    Next,
    NoOtherTools,
    Operator,
    Score,
    Sequence,
    Step,
    TerminalTool,
    ToolNotCalled,
    ToolOutput,
    parse_operator,
)
from tracewitness.fluent.contents import copied, with_prompt, without_frames
from tracewitness.fluent.failure import ToolScoreAssertionError, explain
from tracewitness.fluent.repeat import Repeated
from tracewitness.fluent.subject import Subject, Witnessed, needs_run_async, read_produced
from tracewitness.fluent.verdicts import named_tools, on_calls_alone, verdicts_on, violations_of
from tracewitness.scoring import (
    EvaluationResult,
    ExpectedCall,
    assess,
    checked_min_score,
    merged_weights,
    warn_of_missing_calls,
)
from tracewitness.suites import write_case
from tracewitness.trace import LiveTrace, Trace

__all__ = ["Expectation", "expect"]

#: Hides the frames of this module in a test runner's traceback.
__tracebackhide__ = True

#: What a snapshot of a contract shares with it: they are not part of what it says, or never change.
_OF_OTHERS = ("_subject", "_prompt")

#: Says that no prompt was given; None may be one.
_NO_PROMPT: Any = UNSET


def expect(subject: Any) -> Expectation:
    """Begin a contract.

    Arguments:
        subject: an agent, sync or async, that is called with the prompt of ``on``; or what one has already produced: a
            `Trace`, a list of calls such as ``{"tool": "search", "args": {…}}``, a recording that a reader knows.

    >>> made = [{"tool": "search", "args": {"city": "NYC"}}]
    >>> expect(made).calls("search", city="NYC").does_not_call("delete").run()
    <EvaluationResult passed: score 1.00 (A), 1 pair>
    """
    return Expectation(subject)


class Expectation:
    """A contract that is being built, by methods that return it; `run`, `run_async` or `repeat` ends it.

    Names of tools are positional only, so that a tool's own arguments may have any names. The arguments of expected
    calls are compared by ``lenient``; those of the checks that must hold whatever the score is by ``subset``, as in an
    eval file.
    """

    def __init__(self, subject: Any) -> None:
        self._subject = Subject(subject)
        self._prompt: Any = _NO_PROMPT
        self._expected: list[ExpectedCall] = []
        self._checks: list[Operator] = []
        #: Make checks that speak of what is expected when the contract is run.
        self._later: list[Callable[[Expectation], list[Operator]]] = []
        self._min_score: float | None = None
        self._weights: dict[str, float] = {}
        self._strict = False

    def __bool__(self) -> bool:
        """Refuse to be taken for an outcome: ``assert expect(…).calls(…)`` has asked nobody."""
        raise UsageError("the contract has not been run, so that it neither holds nor is broken; add .run()")

    # What the agent is asked, and what it is to call.

    def on(self, prompt: Any) -> Expectation:
        """Set what the agent is called with.

        Where a check asks what the user said (``args_from`` with ``user``) and what the agent produced has no message
        of the user, a prompt that is a text is taken for the first event, and every other event comes one later.
        """
        self._prompt = prompt
        return self

    def calls(self, tool: str, /, **args: Any) -> Expectation:
        """Expect a call. Without arguments these are not checked; `calls_without_args` says that there are none."""
        return self._expect(tool, args or UNSET)

    def then_calls(self, tool: str, /, **args: Any) -> Expectation:
        """Expect a further call; the same as `calls`. The order counts in the score; `in_order` makes it hard."""
        return self.calls(tool, **args)

    def calls_without_args(self, tool: str, /) -> Expectation:
        """Expect a call that has no arguments."""
        return self._expect(tool, {})

    # What must hold whatever the score is.

    def does_not_call(self, tool: str, /, **args: Any) -> Expectation:
        """Forbid a tool, or its calls with at least these arguments."""
        return self._add(lambda: ToolNotCalled(tool, copied(args) or UNSET))

    def returns(self, tool: str, /, **result: Any) -> Expectation:
        """Require that a result of the tool has at least these keys."""
        return self._add(lambda: ToolOutput(tool, copied(result)))

    def every_call(self, tool: str, /, **args: Any) -> Expectation:
        """Require these arguments of every call to the tool."""
        return self._add(lambda: EveryCall(tool, copied(args)))

    def not_before(self, tool: str, marker: str | Mapping[str, Any] | Marker, /, **args: Any) -> Expectation:
        """Forbid the tool before a marker: another tool's call, or with ``{"tool": …, "result": …}`` its result."""
        before: Any = copied(marker)
        return self._add(
            lambda: ToolNotCalled(tool, copied(args) or UNSET, Marker(before) if isinstance(before, str) else before)
        )

    def followed_by(self, tool: str, next: str, /, **args: Any) -> Expectation:  # noqa: A002 - as in a file
        """Require that after every call to the tool there is a later one to ``next``, with these arguments."""
        return self._add(lambda: FollowedBy(tool, Next(next, copied(args) or UNSET)))

    def ends_with(self, tool: str, /, **args: Any) -> Expectation:
        """Require that the last call is to the tool, with these arguments."""
        return self._add(lambda: LastTool(tool, copied(args) or UNSET))

    def terminal(self, tool: str, /) -> Expectation:
        """Require that the tool is called at most once, and nothing after it."""
        return self._add(lambda: TerminalTool(tool))

    def at_most(self, tool: str, most: int, /) -> Expectation:
        """Require that the tool is called at most so often."""
        return self._add(lambda: MaxCalls(most, tool))

    def no_calls(self) -> Expectation:
        """Require that no tool is called."""
        return self._add(lambda: MaxCalls(0))

    def nothing_else(self) -> Expectation:
        """Require that no other tools are called than those that the contract names; a ban names none."""
        self._later.append(Expectation._other_tools_checks)
        return self

    def in_order(self) -> Expectation:
        """Require that the expected calls come in their order; others may come between.

        The calls that stand for the expected ones are those of the table: paired by their arguments, as the score
        compares them. So a call with other arguments does not stand in for the right one that came too late; where
        no call has the right arguments, the order is that of the calls that come nearest.
        """
        self._later.append(Expectation._order_checks)
        return self

    def exactly(self) -> Expectation:
        """Require the expected calls in their order, with exactly their arguments, and nothing else."""
        self._later.append(Expectation._exact_checks)
        return self

    def check(self, expectation: Mapping[str, Any] | Operator) -> Expectation:
        """Add a check as it stands in an eval file.

        What speaks of messages or turns (``claim``, ``max_turns``) is broken on a list of calls, which says nothing of
        them; ``max_errors`` there counts a call without a result as one that may have failed.
        """
        if isinstance(expectation, Operator):
            return self._add(lambda: expectation)
        return self._add(lambda: parse_operator(copied(expectation)))

    # How the score is made, and how high it must be.

    def with_score(self, min_score: float) -> Expectation:
        """Set the score from which the contract passes, 0 to 1; an expected call that is missing is then no failure."""
        self._min_score = without_frames(lambda: checked_min_score(min_score))
        return self

    def with_weights(self, **weights: float) -> Expectation:
        """Set how much metrics count; those left out count as by default, then all are divided by their sum."""
        without_frames(lambda: merged_weights({**self._weights, **weights}))
        self._weights.update(weights)
        return self

    def with_strict_args(self) -> Expectation:
        """Compare the arguments of expected calls by ``strict``: the same types, too."""
        self._strict = True
        return self

    # What comes of it.

    def run(self) -> EvaluationResult:
        """Ask the agent, where there is one, and check what it did.

        Raises:
            ToolScoreAssertionError: the contract is broken.
            UsageError: it expects nothing, or has no prompt for an agent, or one for what is none.
            TypeError: the agent is async.
            ReadError: what it produced can't be read.
        """
        __tracebackhide__ = True
        return self._judged(self.attempt())

    async def run_async(self) -> EvaluationResult:
        """Do what `run` does with an agent that may be async."""
        __tracebackhide__ = True
        return self._judged(await self.attempt_async())

    def attempt(self) -> EvaluationResult:
        """Ask the agent once, and return what came of it, whether the contract holds or not."""
        self._validate()
        if self._subject.is_async:
            self._subject.discard()
            raise TypeError(needs_run_async(self._subject.given))
        return self._evaluated(self._subject.witness(self._prompt))

    async def attempt_async(self) -> EvaluationResult:
        """Do what `attempt` does with an agent that may be async."""
        self._validate()
        return self._evaluated(await self._subject.witness_async(self._prompt))

    def repeat(self, runs: int, *, at_least: int | None = None, concurrency: int = 1) -> Repeated:
        """Make a contract of several runs of the agent.

        Arguments:
            runs: how often the agent is asked.
            at_least: how many runs must hold; all of them where it is left out.
            concurrency: how many async runs go on at a time.

        Raises:
            UsageError: a number is out of range, or the subject is no agent that could be asked again.
        """
        if not self._subject.is_agent:
            self._subject.discard()
            raise UsageError(f"only an agent can be asked again, not {show(self._subject.given)}")
        return Repeated(self._snapshot(), runs, runs if at_least is None else at_least, concurrency)

    def judge(self, produced: Any) -> EvaluationResult:
        """Check what an agent did against the contract, as `evaluate` takes it.

        Raises:
            ToolScoreAssertionError: the contract is broken.
        """
        __tracebackhide__ = True
        return self._judged(self.evaluate(produced))

    def __eq__(self, other: object) -> bool:
        """Return for a trace whether the contract holds on it, so that ``assert trace == contract`` means what it says.

        To anything else a contract is equal only where it is the same object.
        """
        return self.evaluate(other).passed if isinstance(other, (Trace, LiveTrace)) else self is other

    __hash__ = object.__hash__

    def _judged(self, result: EvaluationResult) -> EvaluationResult:
        __tracebackhide__ = True
        if not result.passed:
            raise ToolScoreAssertionError(explain(result), result)
        warn_of_missing_calls(result)
        return result

    def evaluate(self, produced: Any) -> EvaluationResult:
        """Return what comes of what an agent did, whether the contract holds or not.

        Arguments:
            produced: a `Trace`, or what else `expect` takes as already produced. The contract's own subject is not
                asked.

        Raises:
            UsageError: the contract expects nothing.
            ExpectationError: an expectation can't be used.
            ReadError: what was produced can't be read.
        """
        return self._evaluated(produced if isinstance(produced, Witnessed) else read_produced(produced))

    def _evaluated(self, seen: Witnessed) -> EvaluationResult:
        """Do what `evaluate` does with what is known of a run."""
        return without_frames(lambda: self._result(seen))

    def _result(self, seen: Witnessed) -> EvaluationResult:
        if not self._expected and not self._checks and not self._later:
            raise UsageError("the contract expects nothing; add .calls(…), .does_not_call(…) or .no_calls()")
        checks = self._hard_checks()
        trace = with_prompt(seen.trace, self._prompt) if any(map(_asks_the_user, checks)) else seen.trace
        verdicts = verdicts_on(trace, checks, self._score if self._expected else None)
        if seen.calls_only:
            verdicts = on_calls_alone(verdicts, trace)
        result = assess(
            self._expected,
            trace,
            weights=self._weights,
            strict=self._strict,
            min_score=self._min_score,
            verdicts=verdicts,
            in_order=bool({Expectation._order_checks, Expectation._exact_checks} & set(self._later)),
        )
        return replace(result, violations=violations_of(verdicts, trace))

    def operators(self) -> list[Operator]:
        """Return the contract as operators: the score of the expected calls, then everything else."""
        return [*self._scores(), *self._hard_checks()]

    def to_yaml(self, name: str) -> str:
        """Write the contract as an eval file with one case.

        Arguments:
            name: the case's name.

        Raises:
            UsageError: the contract expects nothing.
            ExpectationError: something in it can't be written, such as ``Satisfies``.
        """
        self._subject.may_be_left()
        return without_frames(lambda: self._written(name))

    def _written(self, name: str) -> str:
        operators = self.operators()
        if not operators:
            raise UsageError("the contract expects nothing; there is nothing to write")
        if self._strict:
            _refuse_tuples(operators)
        return write_case(name, operators)

    def _add(self, make: Callable[[], Operator]) -> Expectation:
        self._checks.append(without_frames(make))
        return self

    def _expect(self, tool: str, args: Any) -> Expectation:
        self._expected.append(without_frames(lambda: ExpectedCall(tool, copied(args))))
        return self

    def _snapshot(self) -> Expectation:
        """Return the contract as it is now; what is said to this one later does not change it."""
        taken = Expectation.__new__(Expectation)
        kept: dict[str, Any] = {name: copied(value) for name, value in vars(self).items() if name not in _OF_OTHERS}
        vars(taken).update({**kept, **{name: getattr(self, name) for name in _OF_OTHERS}})
        return taken

    def _hard_checks(self) -> list[Operator]:
        """Return what must hold whatever the score is."""
        return [*self._checks, *(check for make in self._later for check in make(self))]

    def _scores(self) -> list[Operator]:
        return [self._score()] if self._expected else []

    def _score(self) -> Score:
        return Score(
            self._wanted(),
            min=UNSET if self._min_score is None else self._min_score,
            weights=self._weights or UNSET,
            strict=self._strict,
        )

    def _wanted(self) -> tuple[Next, ...]:
        return tuple(Next(call.tool, call.args, call.result) for call in self._expected)

    def _other_tools_checks(self) -> list[Operator]:
        return [NoOtherTools(named_tools([*self._scores(), *self._checks]))]

    def _order_checks(self) -> list[Operator]:
        """Return what `in_order` says. Its bar is 0, since how high the score must be is said elsewhere."""
        return [self._ordered(0.0, "in_order")]

    def _exact_checks(self) -> list[Operator]:
        """Return what `exactly` says: the calls one by one, and a score that only a perfect match in order reaches."""
        in_turn = Sequence(tuple(Step(call.tool, call.args) for call in self._expected), mode="exact")
        return [in_turn, self._ordered(1.0, "exactly")] if in_turn.calls else [in_turn]

    def _ordered(self, bar: float, name: str) -> Score:
        if not self._expected:
            raise ExpectationError(f"{name} of no expected calls could not fail; add .calls(…)")
        return Score(self._wanted(), min=bar, strict=self._strict, in_order=True, name=name)

    def _validate(self) -> None:
        """Refuse what can't work, before the agent is asked. What can't be used leaves no coroutine behind."""
        try:
            self._test()
        except BaseException:
            self._subject.discard()
            raise

    def _test(self) -> None:
        if self._subject.is_agent and self._prompt is _NO_PROMPT:
            raise UsageError("an agent needs a prompt; add .on(prompt)")
        if not self._subject.is_agent and self._prompt is not _NO_PROMPT:
            raise UsageError(f"a prompt goes with an agent that can be called, not with {show(self._subject.given)}")
        self.evaluate(Trace(()))  # whatever is malformed in the contract shows on a run without calls, too
        self.operators()


def _asks_the_user(check: Operator) -> bool:
    return isinstance(check, ArgsFrom) and any("user" in sources for sources in check.args.values())


def _refuse_tuples(operators: list[Operator]) -> None:
    """Refuse what strict arguments tell apart and a file can't: a tuple is read back as a list."""
    for operator in operators:
        if isinstance(operator, Score) and parse_operator(operator.to_mapping()) != operator:
            raise ExpectationError("a file has lists and no tuples, and strict arguments tell them apart; write lists")

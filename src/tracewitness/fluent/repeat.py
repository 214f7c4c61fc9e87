"""A contract of several runs: how often it held, and how sure that is."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tracewitness.display import plural
from tracewitness.errors import UsageError
from tracewitness.fluent.failure import ToolScoreAssertionError, reasons
from tracewitness.fluent.rates import Rate, check_number, wilson_interval
from tracewitness.scoring import EvaluationResult, warn_of_missing_calls

if TYPE_CHECKING:
    from tracewitness.fluent.expectation import Expectation

__all__ = ["Repeated", "RepeatedResult", "wilson_interval"]

#: Hides the frames of this module in a test runner's traceback.
__tracebackhide__ = True

#: The version of `RepeatedResult.to_dict`.
REPEATED_VERSION = 1


class RepeatedResult(Struct, frozen=True):
    """What came of several runs.

    Attributes:
        results: of each run, in the order in which they were begun.
        at_least: how many had to hold.
    """

    results: tuple[EvaluationResult, ...]
    at_least: int

    @property
    def runs(self) -> int:
        """How many runs there were."""
        return len(self.results)

    @property
    def held(self) -> int:
        """How many held."""
        return sum(result.passed for result in self.results)

    @property
    def passed(self) -> bool:
        """Whether enough held."""
        return self.held >= self.at_least

    @property
    def rate(self) -> float:
        """The share that held."""
        return self.held / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """The rate's 95 % interval, by `wilson_interval`."""
        return self._rate.interval

    def pass_at(self, k: int) -> float:
        """Estimate how likely at least one of ``k`` runs holds: pass@k, as `Rate.pass_at` has it."""
        return self._rate.pass_at(k)

    def pass_hat(self, k: int) -> float:
        """Estimate how likely all of ``k`` runs hold: pass^k, as `Rate.pass_hat` has it."""
        return self._rate.pass_hat(k)

    @property
    def _rate(self) -> Rate:
        return Rate(self.held, self.runs)

    def differences(self) -> list[str]:
        """Say what the runs that did not hold have and no run that held has, a line each, most frequent first."""
        texts: dict[str, str] = {}
        counts: Counter[str] = Counter()
        for result in self.results:
            if not result.passed:
                found = {reason.trait: reason.text for reason in reasons(result)}
                texts = {**found, **texts}  # the first run's words stand for all
                counts.update(list(found))
        tolerated = {reason.trait for result in self.results if result.passed for reason in reasons(result)}
        ordered = sorted(counts.items(), key=lambda item: (-item[1], texts[item[0]]))
        broken = self.runs - self.held
        return [
            f"{count} of {plural(broken, 'broken run')}: {texts[trait]}"
            for trait, count in ordered
            if trait not in tolerated
        ]

    def __bool__(self) -> bool:
        """Whether enough held, so that ``assert`` of it means what it says."""
        return self.passed

    def report(self) -> str:
        """Return what came of the runs, as a text: the rate, pass@k and pass^k, and what differed."""
        return "\n".join([*self._rate.lines(), *self.differences()])

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers, what differed, and each run's result as data that strict JSON can hold."""
        return {
            "version": REPEATED_VERSION,
            "passed": self.passed,
            "runs": self.runs,
            "held": self.held,
            "at_least": self.at_least,
            "rate": self.rate,
            "interval": list(self.interval),
            "pass_at": {str(k): self.pass_at(k) for k in self._rate.ks()},
            "pass_hat": {str(k): self.pass_hat(k) for k in self._rate.ks()},
            "differences": self.differences(),
            "results": [result.to_dict() for result in self.results],
        }

    def __repr__(self) -> str:
        low, high = self.interval
        verdict = "passed" if self.passed else "not passed"
        return f"<RepeatedResult {verdict}: {self.held}/{self.runs} held, {self.rate:.2f} ({low:.2f} to {high:.2f})>"


class Repeated:
    """A contract of several runs; `run` or `run_async` asks the agent.

    Arguments:
        contract: what each run must do.
        runs: how often the agent is asked.
        at_least: how many runs must hold.
        concurrency: how many async runs go on at a time.

    Raises:
        UsageError: a number is out of range, or the subject is no agent.
    """

    def __init__(self, contract: Expectation, runs: int, at_least: int, concurrency: int) -> None:
        check_number("runs", runs, 1, math.inf)
        check_number("at_least", at_least, 1, runs)
        check_number("concurrency", concurrency, 1, math.inf)
        self._contract = contract
        self._runs = runs
        self._at_least = at_least
        self._concurrency = concurrency

    def __bool__(self) -> bool:
        """Refuse to be taken for an outcome: nobody has been asked yet."""
        raise UsageError("the contract has not been run, so that it neither holds nor is broken; add .run()")

    def run(self) -> RepeatedResult:
        """Ask the agent so often, one run after the other.

        Raises:
            ToolScoreAssertionError: fewer runs held than had to.
        """
        __tracebackhide__ = True
        return self._judge([self._contract.attempt() for _ in range(self._runs)])

    async def run_async(self) -> RepeatedResult:
        """Ask an agent that may be async, several runs at a time where `concurrency` allows it."""
        __tracebackhide__ = True
        return self._judge(await self._results())

    async def _results(self) -> list[EvaluationResult]:
        """Share the runs among as many workers as may go on at a time."""
        results: dict[int, EvaluationResult] = {}
        numbers = iter(range(self._runs))

        async def work() -> None:
            try:
                for number in numbers:
                    results[number] = await self._contract.attempt_async()
            finally:
                deque(numbers, maxlen=0)  # after an exception no further run is begun, by no worker

        workers = [asyncio.create_task(work()) for _ in range(min(self._runs, self._concurrency))]
        try:
            await asyncio.gather(*workers)
        finally:  # what one agent raised passes through; the others are not left running behind it
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return [results[number] for number in range(self._runs)]

    def _judge(self, results: list[EvaluationResult]) -> RepeatedResult:
        __tracebackhide__ = True
        result = RepeatedResult(tuple(results), self._at_least)
        if not result.passed:
            raise ToolScoreAssertionError(_explain(result), _worst(results), result)
        for each in results:
            warn_of_missing_calls(each)
        return result


def _worst(results: list[EvaluationResult]) -> EvaluationResult:
    return min(results, key=lambda result: (result.passed, result.score))


def _explain(result: RepeatedResult) -> str:
    """Return the message of a contract of several runs; its first line says it all."""
    differences = result.differences()
    most = f"; {differences[0]}" if differences else ""
    head = f"{result.held} of {plural(result.runs, 'run')} held, at least {result.at_least} had to{most}"
    return f"{head}\n\n{result.report()}"

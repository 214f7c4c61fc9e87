"""Simulations of CX Agent Studio, by its own runner, with the tool checks folded in before a row is printed or counted.

The runner is the package ``cxas-scrapi``, which is big: it is imported when `ToolCheckedSimulationEvals` is first asked
for, and this module can be imported without it.

::

    from tracewitness import load_suite
    from tracewitness.evals.simulation.cx_agent_studio import ToolCheckedSimulationEvals

    evals = ToolCheckedSimulationEvals("projects/…/locations/…/apps/…")
    rows = evals.run_simulations(load_suite("orders.evals.yaml").cases, runs=3, parallel=10)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tracewitness.display import printable, show
from tracewitness.errors import ExpectationError, UsageError
from tracewitness.evals.tool_expectations import apply_to_result
from tracewitness.expectations import Operator, checked_aliases, parse_operator
from tracewitness.suites import Case

if TYPE_CHECKING:
    ToolCheckedSimulationEvals: Any

__all__ = ["ToolCheckedSimulationEvals"]

#: Whether the job that runs here shows its conversation on the console; None outside a job. Each thread has its own.
_watched: Final[ContextVar[bool | None]] = ContextVar("_watched", default=None)


def __getattr__(name: str) -> Any:
    """Make the class when it is first asked for.

    Raises:
        UsageError: the runner is not installed.
    """
    if name == "ToolCheckedSimulationEvals":
        return _evals_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _evals_class() -> type[Any]:
    try:
        from cxas_scrapi.evals.simulation_evals import SimulationEvals
        from cxas_scrapi.utils.eval_utils import ExpectationResult, ExpectationStatus
    except ImportError as error:
        reason = f"CX Agent Studio is simulated by its own runner, which can't be imported ({error})"
        raise UsageError(f"{reason}; install it: pip install cxas-scrapi") from error

    class ToolCheckedSimulationEvals(SimulationEvals):  # type: ignore[misc]  # the package has no types
        """`SimulationEvals` whose runs pass where the judge is content and all tool checks held.

        Rows are those of the base class after `apply_to_result`: `judge_passed` is the base class's own verdict.
        A run whose session died, or whose judge returned nothing, stays as inconclusive as it was: it is retried by
        ``infra_retries``, and the latter has ``inconclusive: true``.
        """

        def run_simulations(self, test_cases: Iterable[Any], *args: Any, **options: Any) -> list[dict[str, Any]]:
            """Run simulations as the base class does.

            Arguments:
                test_cases: cases of a suite, or mappings with ``tool_expectations`` as in an eval file.
                args, options: as for the base class.

            Raises:
                UsageError: a case's tool checks are malformed; no simulation was begun.
            """
            cases = [case.to_mapping() if isinstance(case, Case) else case for case in test_cases]
            for case in cases:
                _refuse_malformed(case)
            rows: list[dict[str, Any]] = super().run_simulations(cases, *args, **options)
            return rows

        def simulate_conversation(self, test_case: dict[str, Any], *args: Any, **options: Any) -> Any:
            """Simulate a conversation. Its report has the tool checks too, beside what the judge said."""
            watched = _watched.get()
            if watched is not None:
                # The job folds the checks into its row, after the base class made its verdict of the judge's alone.
                return super().simulate_conversation(test_case, *args, **options | {"console_logging": watched})
            conversation = super().simulate_conversation(test_case, *args, **options)
            row = {"detailed_trace": conversation.detailed_trace, "turn_traces": conversation.turn_traces}
            apply_to_result(test_case, row)
            conversation.expectation_results = [
                *conversation.expectation_results,
                *(
                    ExpectationResult(
                        expectation=entry["expectation"],
                        status=ExpectationStatus(entry["status"]),
                        justification=entry["justification"],
                    )
                    for entry in row.get("expectation_details", ())
                ),
            ]
            return conversation

        def _run_single_simulation_job(
            self,
            tc: dict[str, Any],
            run_idx: int,
            runs: int,
            sim_user_model: str,
            eval_model: str,
            modality: str,
            verbose: bool,
            parallel: int,
            **options: Any,
        ) -> dict[str, Any]:
            before = _watched.set(verbose and parallel <= 1)
            try:
                # The base class prints the line of a run before there is a row to fold checks into, but not of a
                # single verbose job: so it is told that it runs one, and the line comes from here.
                row: dict[str, Any] = super()._run_single_simulation_job(
                    tc, run_idx, runs, sim_user_model, eval_model, modality, True, 1, **options
                )
            finally:
                _watched.reset(before)
            apply_to_result(tc, row)
            if row.get("error"):  # the base class has printed a line of it
                return row
            if self._inconclusive_reason(row, {row["name"]: self._declared_expectations_count(tc)}):
                row["inconclusive"] = True
            print(_line(row, f"{row['name']} (run {run_idx + 1}/{runs})"))  # noqa: T201 - as the base class does
            return row

        @staticmethod
        def _inconclusive_reason(row: dict[str, Any], declared_by_name: dict[str, int]) -> str | None:
            reason: str | None = SimulationEvals._inconclusive_reason(_as_judged(row), declared_by_name)
            return reason

    ToolCheckedSimulationEvals.__qualname__ = "ToolCheckedSimulationEvals"
    return ToolCheckedSimulationEvals


def _refuse_malformed(case: Mapping[str, Any]) -> None:
    """Raise what is wrong with the tool checks of a case, which otherwise only its rows would tell."""
    given = case.get("tool_expectations")
    try:
        if given is not None and not isinstance(given, (list, tuple)):
            raise ExpectationError(f"tool_expectations is a list of mappings, not {show(given)}")
        for number, each in enumerate(given or ()):
            try:
                _ = each if isinstance(each, Operator) else parse_operator(each)
            except ExpectationError as error:
                raise error.under("tool_expectations", number) from error
        checked_aliases(case.get("aliases"))
    except ExpectationError as error:
        raise UsageError(f"the case {show(case.get('name'))} can't be checked: {error}") from error


def _as_judged(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose count of expectations is that of the judge's alone, as it was before the checks came in."""
    if "tool_checks" not in row:
        return dict(row)
    both, tools = (_numbers(row[key]) for key in ("expectations", "tool_checks"))
    return {**row, "expectations": f"{both[0] - tools[0]}/{both[1] - tools[1]}"}


def _numbers(count: str) -> tuple[int, int]:
    met, _, total = count.partition("/")
    return int(met), int(total)


def _line(row: MutableMapping[str, Any], label: str) -> str:
    """Return the line of a run in the form of the base class, with the tool checks."""
    fields = [
        f"{'PASS' if row['passed'] else 'FAIL'}  {printable(label)}",
        f"goals: {row['goals']}",
        f"expectations: {row['expectations']}",
        *([f"tool checks: {row['tool_checks']}"] if "tool_checks" in row else []),
        f"turns: {row['turns']}",
        f"{row['duration_s']}s",
    ]
    if "naturalness" in row:
        fields.append(f"naturalness: {row['naturalness']} ({row['naturalness_label']})")
        fields += (f"FAILED: {printable(reason)}" for reason in row["naturalness_details"]["failure_reasons"])
    return "  " + " | ".join(fields)

"""An eval file in memory: a `Suite` of `Case`s, read once and never changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import deepcopy
from typing import Any

from msgspec import Struct, structs

from tracewitness.display import nearest_name, show
from tracewitness.errors import UsageError
from tracewitness.expectations import Operator
from tracewitness.suites.places import Place

__all__ = ["Case", "JudgedExpectation", "Step", "Suite"]


class Step(Struct, frozen=True, omit_defaults=True, repr_omit_defaults=True):
    """One goal of the simulated user.

    Attributes:
        goal: what the user wants.
        success_criteria: what must have happened for the goal to be reached.
        response_guide: how the user behaves and what it knows.
        max_turns: how many turns it may take; 0 where the case alone decides.
        static_utterance: words to say as they are, in place of a goal.
        inject_variables: session variables that are set with the utterance.
    """

    goal: str = ""
    success_criteria: str = ""
    response_guide: str = ""
    max_turns: int = 0
    static_utterance: str = ""
    inject_variables: dict[str, Any] = {}

    def to_mapping(self) -> dict[str, Any]:
        """Return the step as a simulation runner takes it."""
        fields = structs.asdict(self)
        return {name: deepcopy(value) for name, value in fields.items() if value}


class JudgedExpectation(Struct, frozen=True, repr_omit_defaults=True):
    """Something that a judge decides, not this library.

    Attributes:
        expectation: what is expected, in words.
        title: its short name in reports, where it has one.
    """

    expectation: str
    title: str = ""

    def to_file(self) -> str | dict[str, str]:
        """Return it as it stands in a file: a text, or a mapping where it has a title."""
        if not self.title:
            return self.expectation
        return {"title": self.title, "expectation": self.expectation}


class Case(Struct, frozen=True, repr_omit_defaults=True):
    """One eval of a suite, with all that is common to the suite merged in.

    Attributes:
        name: its name; runs are matched with it.
        place: where it begins in the file.
        tags: its tags.
        steps: the goals of the simulated user.
        session_parameters: the common ones, under the case's own.
        max_turns: the limit for the whole conversation, where there is one.
        expectations: what a judge decides, the common ones first.
        tool_expectations: the checks, the common ones first.
        places: where each of ``tool_expectations`` begins in the file.
        aliases: the suite's other names of tools.
        extras: keys that belong to other tools, as they were.
    """

    name: str
    place: Place
    tags: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    session_parameters: dict[str, Any] = {}
    max_turns: int | None = None
    expectations: tuple[JudgedExpectation, ...] = ()
    tool_expectations: tuple[Operator, ...] = ()
    places: tuple[Place, ...] = ()
    aliases: dict[str, tuple[str, ...]] = {}
    extras: dict[str, Any] = {}

    def to_mapping(self) -> dict[str, Any]:
        """Return the case as a simulation runner and ``apply_to_result`` take it, sharing nothing with it."""
        fields: dict[str, Any] = {
            "name": self.name,
            "tags": list(self.tags),
            "steps": [step.to_mapping() for step in self.steps],
            "session_parameters": deepcopy(self.session_parameters),
            "max_turns": self.max_turns,
            "expectations": [expectation.to_file() for expectation in self.expectations],
            "tool_expectations": [operator.to_mapping() for operator in self.tool_expectations],
            "aliases": {tool: list(names) for tool, names in self.aliases.items()},
        }
        given = {key: value for key, value in fields.items() if value or key in ("name", "steps")}
        return given | deepcopy(self.extras)


class Suite(Struct, frozen=True, repr_omit_defaults=True):
    """An eval file.

    Attributes:
        source: the file's name as the user gave it.
        cases: its evals, in order, each with the common parts merged in.
        common_tool_expectations: the checks that apply to every run, also to one without a case.
        common_places: where each of them begins in the file.
        common_expectations: what a judge decides for every case.
        common_session_parameters: the session parameters of every case.
        aliases: for a tool's name, the other names that stand for it.
        tools: definitions of the tools, as they were given; None where there are none. The checks know them already.
        extras: keys at the top that belong to other tools, as they were.
        notices: what the user should know, a line each.
    """

    source: str
    cases: tuple[Case, ...]
    common_tool_expectations: tuple[Operator, ...] = ()
    common_places: tuple[Place, ...] = ()
    common_expectations: tuple[JudgedExpectation, ...] = ()
    common_session_parameters: dict[str, Any] = {}
    aliases: dict[str, tuple[str, ...]] = {}
    tools: Any = None
    extras: dict[str, Any] = {}
    notices: tuple[str, ...] = ()

    def select(self, names: Collection[str] = (), tags: Collection[str] = ()) -> Suite:
        """Return the suite with only some of its cases.

        Arguments:
            names: keep cases with one of these names; empty keeps all.
            tags: of those, keep cases with at least one of these tags; empty keeps all.

        Raises:
            UsageError: a name or tag is nowhere in the suite, or no case is left: a filter that selects
                nothing would make every check pass.
        """
        _check_known("case", names, (case.name for case in self.cases))
        _check_known("tag", tags, (tag for case in self.cases for tag in case.tags))
        kept = tuple(case for case in self.cases if _selected(case, names, tags))
        if not kept and (names or tags):
            raise UsageError(f"{self.source}: none of the named cases has one of the tags; loosen the filter")
        return structs.replace(self, cases=kept)


def _selected(case: Case, names: Collection[str], tags: Collection[str]) -> bool:
    return (not names or case.name in names) and (not tags or not set(tags).isdisjoint(case.tags))


def _check_known(noun: str, asked: Iterable[str], known: Iterable[str]) -> None:
    names = list(dict.fromkeys(known))
    for name in asked:
        if name not in names:
            near = nearest_name(name, names)
            hint = f"{show(near)} was meant" if near else f"it has {', '.join(map(show, names)) or 'none'}"
            raise UsageError(f"no {noun} {show(name)} in the suite; {hint}")

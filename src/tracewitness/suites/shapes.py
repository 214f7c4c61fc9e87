"""What an eval file may hold, said once: the reader and the JSON Schema both go by these tables."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

__all__ = ["CASE", "JUDGED", "STEP", "SUITE", "Field", "Kind", "Shape"]

Kind = Literal[
    "aliases", "cases", "count", "expectations", "name", "operators", "steps", "tags", "text", "tools", "values"
]


class Field(Struct, frozen=True):
    """A key of a mapping: what its value is, and what an editor shows about it."""

    name: str
    kind: Kind
    description: str
    required: bool = False


class Shape(Struct, frozen=True):
    """The keys that one kind of mapping has.

    Attributes:
        noun: what it is called in a message.
        fields: its keys.
        foreign: keys that belong to other tools: kept as they are, and named in a notice.
    """

    noun: str
    fields: tuple[Field, ...]
    foreign: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The keys that mean something here."""
        return tuple(field.name for field in self.fields)


_FOREIGN: Final = ("audio_expectations", "naturalness_metric", "voice_config")

STEP: Final = Shape(
    "a step",
    (
        Field("goal", "text", "What the simulated user wants to get done."),
        Field("success_criteria", "text", "What must have happened for the goal to count as reached."),
        Field("response_guide", "text", "How the simulated user behaves, and the facts that it may give."),
        Field("max_turns", "count", "How many turns this step may take."),
        Field("static_utterance", "text", "Words that the simulated user says exactly so, in place of a goal."),
        Field("inject_variables", "values", "Session variables that are set together with the utterance."),
    ),
)

JUDGED: Final = Shape(
    "an expectation",
    (
        Field("title", "text", "A short name for reports."),
        Field("expectation", "name", "What is expected, in words; a judge decides it.", required=True),
    ),
)

CASE: Final = Shape(
    "an eval",
    (
        Field("name", "name", "The name of the case; runs with this name are checked by it.", required=True),
        Field("tags", "tags", "Tags to select cases by."),
        Field("steps", "steps", "The goals of the simulated user, in order."),
        Field("session_parameters", "values", "Parameters of the session; they win over the common ones."),
        Field("max_turns", "count", "How many turns the whole conversation may take."),
        Field("expectations", "expectations", "What a judge decides: texts, or mappings with a title."),
        Field(
            "tool_expectations",
            "operators",
            "What the agent must and must not have done, checked on its calls.",
        ),
    ),
    _FOREIGN,
)

SUITE: Final = Shape(
    "an eval file",
    (
        Field("evals", "cases", "The cases."),
        Field("common_session_parameters", "values", "Session parameters of every case."),
        Field("common_expectations", "expectations", "What a judge decides for every case."),
        Field("common_tool_expectations", "operators", "Checks that apply to every run."),
        Field("aliases", "aliases", "For a tool's name, other names that stand for it in recordings."),
        Field(
            "tools",
            "tools",
            "Definitions of the tools (OpenAI, Anthropic, MCP, or a JSON Schema for each name), or a file with them.",
        ),
    ),
    (*_FOREIGN, "common_naturalness_metric"),
)

"""What a comparison says."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from tracewitness.reports.document import Head

__all__ = [
    "BAD_KINDS",
    "COMPARISON_VERSION",
    "CallChange",
    "CallsChanged",
    "CaseChange",
    "CheckChange",
    "Comparison",
    "Kind",
    "Rate",
    "comparison_schema",
]

#: The version of a comparison as JSON. It grows when a reader of the old form could be misled by the new one.
COMPARISON_VERSION: Final = 1

Kind = Literal["newly_broken", "newly_held", "flaky", "vanished", "undecided", "new", "same"]

#: What is not well, unless it is allowed: what broke, and what can't be told any more.
BAD_KINDS: Final[tuple[Kind, ...]] = ("newly_broken", "vanished", "undecided")

_PValue = Annotated[
    float | None,
    Meta(description="Of Fisher's exact test, two-sided: how likely the rates differ at least so much by chance."),
]
_Allowed = Annotated[str, Meta(description="Why a drop does not count, or an empty text.")]


class Rate(Struct, frozen=True):
    """How many of some runs passed."""

    passed: Annotated[int, Meta(ge=0)]
    runs: Annotated[int, Meta(ge=0)]

    @property
    def share(self) -> Fraction:
        """The rate, exact; 0 of no runs."""
        return Fraction(self.passed, self.runs) if self.runs else Fraction(0)

    @property
    def is_mixed(self) -> bool:
        """Whether some passed and some did not."""
        return 0 < self.passed < self.runs

    def __str__(self) -> str:
        return f"{self.passed}/{self.runs}"


class CheckChange(Struct, frozen=True):
    """A check, goal or judged expectation of a case that is not as it was."""

    label: str
    kind: Kind
    base: Rate | None
    new: Rate | None
    p_value: _PValue = None
    allowed: _Allowed = ""
    why: Annotated[str, Meta(description="The justification of the first new run that it does not hold in.")] = ""


class CallChange(Struct, frozen=True):
    """A call that is not as it was."""

    kind: Literal["missing", "added", "different", "order"]
    tool: str
    text: Annotated[str, Meta(description="The call, or what differs in it.")]
    base_position: int | None = None
    new_position: int | None = None


class CallsChanged(Struct, frozen=True):
    """How the calls of one new run differ from those of one base run of the same case."""

    base_run: int
    new_run: int
    changes: tuple[CallChange, ...]


class CaseChange(Struct, frozen=True):
    """A case that is not as it was."""

    name: str
    kind: Kind
    base: Rate | None
    new: Rate | None
    p_value: _PValue = None
    allowed: _Allowed = ""
    checks: tuple[CheckChange, ...] = ()
    calls: CallsChanged | None = None


class Comparison(Struct, frozen=True):
    """Two reports side by side."""

    version: Literal[1]
    base: Head
    new: Head
    exit_status: Annotated[int, Meta(description="1 where something broke or can't be told any more.")]
    tolerance: Annotated[float, Meta(description="A rate may drop by so much.")]
    alpha: Annotated[float | None, Meta(description="A drop counts where its p-value is below this.")]
    counts: Annotated[dict[str, int], Meta(description="How many cases and checks changed so, by kind.")]
    unchanged: Annotated[int, Meta(ge=0, description="How many cases are as they were.")]
    cases: tuple[CaseChange, ...]


def comparison_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a comparison; the caller may change it."""
    (found,), components = msgspec.json.schema_components([Comparison], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:tracewitness:comparison:{COMPARISON_VERSION}",
        "title": "Comparison of tracewitness",
        "description": "What changed from one report to another.",
        **found,
        "$defs": components,
    }

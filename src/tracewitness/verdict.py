"""What a check found: held, broken, inconclusive or error, with the events that prove it and the nearest miss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, Protocol

from msgspec import Struct

from tracewitness.display import printable
from tracewitness.errors import PathPart

__all__ = ["Checked", "NearMiss", "PathDifference", "Status", "Verdict"]

Status = Literal["held", "broken", "inconclusive", "error"]


class Checked(Protocol):
    """What a verdict needs to know of the check that it is about."""

    @property
    def type_name(self) -> str:
        """The operator's name in a file, for example ``tool_called``."""

    @property
    def title(self) -> str:
        """The check in a few words: its own name, else operator and tool."""

    @property
    def reason_text(self) -> str:
        """What the author wants to be shown when it fails, or an empty text."""


class PathDifference(Protocol):
    """One place where a value differs from what was expected."""

    @property
    def path(self) -> tuple[PathPart, ...]:
        """Where, as keys and indexes."""

    @property
    def expected(self) -> Any:
        """What was expected there."""

    @property
    def actual(self) -> Any:
        """What came."""

    @property
    def reason(self) -> str:
        """Why the two differ."""


class NearMiss(Struct, frozen=True):
    """The event that came nearest to what a broken check asked for.

    Attributes:
        position: the event's position in the trace.
        tool: the tool's name, as it was recorded.
        differences: what would have to be otherwise.
    """

    position: int
    tool: str
    differences: Sequence[PathDifference]

    def __str__(self) -> str:
        return "; ".join(f"{difference}" for difference in self.differences)


class Verdict(Struct, frozen=True, gc=False):
    """What one check found on one trace.

    Attributes:
        check: the operator that was checked.
        status: ``held``; ``broken``; ``inconclusive``, where the recording is cut and what is missing could decide; or
            ``error``, where the check itself could not be evaluated. Only ``held`` counts.
        evidence: the positions of the events that prove it.
        words: a function and its arguments that make the justification. Most verdicts of a large run are never read,
            so the text is made when somebody asks.
        misses: finds the nearest miss, or None.
    """

    check: Checked
    status: Status
    evidence: tuple[int, ...]
    words: tuple[Any, ...]
    misses: Callable[[], NearMiss | None] | None = None

    @property
    def held(self) -> bool:
        """Whether the check held."""
        return self.status == "held"

    @property
    def operator(self) -> str:
        """The operator's name, for example ``tool_called``."""
        return self.check.type_name

    @property
    def label(self) -> str:
        """The check in a few words."""
        return self.check.title

    @property
    def reason(self) -> str:
        """What the check's author wants to be shown when it fails."""
        return self.check.reason_text

    @property
    def justification(self) -> str:
        """Why, in one printable line."""
        make, *arguments = self.words
        return printable(make(*arguments), 1000)

    @property
    def near_miss(self) -> NearMiss | None:
        """The event that came nearest to what a broken check asked for."""
        return self.misses() if self.misses is not None else None

    def __reduce__(self) -> tuple[Any, ...]:
        """Be sent to another process with the words and the nearest miss made: what makes them may not be sent."""
        near = self.near_miss
        found = None if near is None else partial(_same, near)
        return type(self), (self.check, self.status, self.evidence, (str, self.justification), found)

    def explain(self) -> str:
        """Return the justification, with the author's reason and the nearest miss where the check is not held."""
        parts = [self.justification]
        if not self.held:
            near = self.near_miss
            if near is not None:
                parts.append(f"nearest, at event {near.position}: {near}")
            if self.reason:
                parts.append(printable(self.reason))
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data that JSON can hold."""
        near = self.near_miss
        return {
            "operator": self.operator,
            "label": self.label,
            "status": self.status,
            "evidence": list(self.evidence),
            "justification": self.justification,
            "reason": self.reason,
            "near_miss": None
            if near is None
            else {
                "position": near.position,
                "tool": printable(near.tool),
                "differences": [str(difference) for difference in near.differences],
            },
        }

    def __repr__(self) -> str:
        return f"<Verdict {self.status}: {self.label}: {self.justification}>"


def _same(near: NearMiss) -> NearMiss:
    return near

"""A run's entry that was read from a report, with more of it hidden than was hidden when it was written."""

from __future__ import annotations

import re
from ast import literal_eval
from typing import Any, Final

import msgspec

from tracewitness.errors import PathPart
from tracewitness.hidden_values import HiddenValues
from tracewitness.redaction import HIDDEN, Redaction, redact_events
from tracewitness.reports.document import DifferenceEntry, RunEntry

__all__ = ["redacted_run"]

_PART: Final = re.compile(r"\.?([^.\[\]'\"]+)|\[(\d+)\]|\[('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\]")
#: What is no text of a trace: by these, runs and checks are known, or they are of a few words that are ours.
_KEPT: Final = frozenset({"case", "tags", "status", "outcome", "operator", "file", "tools", "events"})
#: What is data and may be of any form.
_DATA: Final = frozenset({"expected", "actual", "votes", "usage"})


def redacted_run(run: RunEntry, redaction: Redaction) -> RunEntry:
    """Return a run with what must not be shown hidden. Where that can't be told of a difference, all of it is.

    Arguments:
        run: the run, as it was read.
        redaction: what is hidden.
    """
    if not redaction:
        return run
    before = run.events or []
    after = redact_events(before, redaction)
    hidden = HiddenValues(before, after, redaction) if before else HiddenValues.of_no_events(redaction)
    plain = msgspec.to_builtins(_without_differences(run, redaction))
    told = {key: _hidden(key, value, hidden, redaction) for key, value in plain.items()}
    events = None if run.events is None else [hidden.event(event) for event in after]
    return msgspec.convert({**told, "events": events}, RunEntry)


def _hidden(key: str, value: Any, hidden: HiddenValues, redaction: Redaction) -> Any:
    if key in _DATA:
        return hidden.value(redaction.value(value))
    if key in _KEPT or value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return hidden.told(value) if key in ("justification", "traceback") else hidden.text(value)
    if isinstance(value, dict):
        return {name: _hidden(name, item, hidden, redaction) for name, item in value.items()}
    return [_hidden("", item, hidden, redaction) for item in value]


def _without_differences(run: RunEntry, redaction: Redaction) -> RunEntry:
    """Return a run in whose differences nothing stands that the redaction hides by its path."""
    verdicts = []
    for verdict in run.verdicts:
        near = verdict.near_miss
        if near is not None:
            differences = tuple(_difference(difference, redaction) for difference in near.differences)
            near = msgspec.structs.replace(near, differences=differences)
        verdicts.append(msgspec.structs.replace(verdict, near_miss=near))
    return msgspec.structs.replace(run, verdicts=tuple(verdicts))


def _difference(difference: DifferenceEntry, redaction: Redaction) -> DifferenceEntry:
    path = _path_of(difference.path)
    given = {name: getattr(difference, name) for name in ("expected", "actual")}
    shown = {
        name: HIDDEN if path is None and redaction.paths else redaction.value(value, path or ())
        for name, value in given.items()
        if value is not msgspec.UNSET
    }
    if all(shown[name] == given[name] for name in shown):
        return difference
    text = f"{difference.path}: it differs, and is hidden"
    return msgspec.structs.replace(difference, text=text, reason="", **shown)


def _path_of(text: str) -> tuple[PathPart, ...] | None:
    """Return the path that a text shows, or None where it can't be told."""
    parts: list[PathPart] = []
    position = 0
    while position < len(text):
        match = _PART.match(text, position)
        if match is None:
            return None
        name, index, quoted = match.groups()
        parts.append(name if name is not None else int(index) if index is not None else _unquoted(quoted))
        position = match.end()
    return tuple(parts)


def _unquoted(text: str) -> str:
    try:
        return str(literal_eval(text))
    except (ValueError, SyntaxError):  # an escape that is none
        return text[1:-1]

"""What was hidden at one place of a run must not come to light at another, nor in the words that are about the run.

A result repeats an argument, a check's justification quotes it, a judge repeats what was said. So the values that a
redaction took out of the events are looked for in all other events and in every text of the report as well.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Self
from urllib.parse import quote

from tracewitness.display import printable
from tracewitness.redaction import HIDDEN, NOT_CONTENT, Redaction
from tracewitness.secret_shapes import without_secrets
from tracewitness.value_search import ValueSearch

__all__ = ["HiddenValues"]

#: Texts up to this length are remembered with their secrets hidden: the same labels and reasons stand in most runs.
_REMEMBERED: Final = 400


class HiddenValues:
    """The values that were taken out of a run's events.

    Arguments:
        before, after: the events as they were, and as they are shown.
        redaction: what took them out.

    >>> before = [{"call": "pay", "args": {"pin": "7391"}}]
    >>> HiddenValues(before, [{"call": "pay", "args": {"pin": HIDDEN}}], Redaction()).text("the pin is 7391")
    'the pin is [redacted]'
    """

    def __init__(self, before: Iterable[Any], after: Iterable[Any], redaction: Redaction) -> None:
        self._redaction = redaction
        self._is_known = True
        pairs = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
        found = [leaf for pair in pairs for leaf in _taken_out(*pair)]
        numbers = {str(leaf) for leaf in found if not isinstance(leaf, str)}
        texts = {form for leaf in found if isinstance(leaf, str) for form in _forms(leaf)}
        self._search = ValueSearch(texts, numbers) if texts or numbers else None

    @classmethod
    def of_no_events(cls, redaction: Redaction) -> Self:
        """Return what is known where the events are not: which values to look for can't be told of paths."""
        hidden = cls((), (), redaction)
        hidden._is_known = not redaction.paths
        return hidden

    def __bool__(self) -> bool:
        """Whether anything was taken out that words could show."""
        return self._search is not None

    def told(self, text: str) -> str:
        """Return what somebody says of what happened. All of it is hidden where it can't be told what must be."""
        return self.text(text) if self._is_known or not text else HIDDEN

    def text(self, text: str) -> str:
        """Return a text without what was hidden; all of it is hidden where it shows a part of that."""
        text = self._without_secrets(text)
        if self._search is None:
            return text
        text = self._search.replaced(text, HIDDEN)
        return HIDDEN if self._search.shows_part(text) else text

    def value(self, value: Any) -> Any:
        """Return plain data whose texts and numbers are shown as `text` shows them."""
        if isinstance(value, str):
            return HIDDEN if self._is_whole(value) else self.told(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if value is None or isinstance(value, bool):
            return value
        return HIDDEN if self._is_whole(str(value)) else value

    def _is_whole(self, text: str) -> bool:
        """Whether a text is a hidden value as a whole. A single character tells nothing, and is in every run."""
        return self._search is not None and len(text) > 1 and self._search.is_value(text)

    def _mapping(self, mapping: Mapping[Any, Any]) -> dict[str, Any]:
        """Return a mapping with what was hidden replaced in keys as well; no two of them become one."""
        shown: dict[str, Any] = {}
        for key, item in mapping.items():
            name = plain = self.text(str(key))
            number = 1
            while name in shown:
                number += 1
                name = f"{plain} ({number})"
            shown[name] = self.value(item)
        return shown

    def event(self, event: Any) -> Any:
        """Return an event, which the redaction has seen, without the values that it took out elsewhere.

        The names of tools and agents, ids and times stay, since results find their calls by them.

        >>> hidden = HiddenValues([{"args": {"pin": "7391"}}], [{"args": {"pin": HIDDEN}}], Redaction())
        >>> hidden.event({"result": {"used": ["7391"]}, "id": "c1"})
        {'result': {'used': ['[redacted]']}, 'id': 'c1'}
        """
        if self._search is None or not isinstance(event, Mapping):
            return event
        return {key: value if key in NOT_CONTENT else self.value(value) for key, value in event.items()}

    def _without_secrets(self, text: str) -> str:
        is_repeated = self._redaction.secrets and len(text) <= _REMEMBERED
        return _remembered(text) if is_repeated else self._redaction.text(text)


@lru_cache(maxsize=8192)
def _remembered(text: str) -> str:
    """Hide the secrets in a text of a report, of which the same few stand in most runs."""
    return without_secrets(text)


def _taken_out(before: Any, after: Any) -> Iterator[str | int | float]:
    """Yield the texts and numbers of a value that are not shown."""
    if isinstance(before, Mapping) and isinstance(after, Mapping) and len(before) == len(after):
        for one, other in zip(before.values(), after.values(), strict=True):
            yield from _taken_out(one, other)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from _taken_out(one, other)
    elif isinstance(before, str) and isinstance(after, str) and after != HIDDEN:
        if before != after:
            yield from _taken_out_of_json(before, after)
    elif before != after:
        yield from _leaves(before)


def _taken_out_of_json(before: str, after: str) -> Iterator[str | int | float]:
    """Yield what is not shown of a text that is JSON. Of other texts only secrets are hidden, known by their look."""
    try:
        values = json.loads(before), json.loads(after)
    except (ValueError, RecursionError):
        return
    if not isinstance(values[0], str):
        yield from _taken_out(*values)


def _leaves(value: Any) -> Iterator[str | int | float]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield value


def _forms(leaf: str) -> Iterator[str]:
    """Yield a text in the forms in which words, addresses and markup may quote it."""
    if leaf and leaf != HIDDEN:
        yield from {leaf, repr(leaf)[1:-1], json.dumps(leaf)[1:-1], printable(leaf, len(leaf) + 1)}
        yield from {quote(leaf.encode("utf-8", "replace"), safe=""), html.escape(leaf)}

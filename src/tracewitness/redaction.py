"""Hide what must not be shown or written down: places that a person names, and secrets that are known by their look.

What is hidden is gone before anything is written. Where it can't be told whether something would have to be hidden, it
is: a text that should be an object and can't be read, a value that nests too deeply to be looked through.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final

from tracewitness.errors import PathPart
from tracewitness.path_patterns import PathPatterns, Reach
from tracewitness.secret_shapes import HIDDEN, is_card_number, is_secret_name, without_secrets

__all__ = ["HIDDEN", "NOT_CONTENT", "Redaction", "redact_events"]

_MOST_LEVELS: Final = 150
_MOST_TEXTS: Final = 3
_SHORT: Final = 100
#: How the text of an object or a list begins, in JSON or as Python shows it; prose in brackets does not.
_LIKE_OBJECT: Final = re.compile(r"""\s*(?:\{\s*["'{\[}]|\[\s*["'{\[\]])""")
#: So many digits has the number of a card at most; no other number is a secret by its look.
_MOST_DIGITS: Final = 19
#: What says which call an event is about; with these hidden, a result would no longer find its call.
NOT_CONTENT: Final = frozenset({"call", "of", "id", "by", "transfer", "at", "until", "end", "is_error"})
#: What stands for arguments and results that could not be decoded.
_UNDECODED: Final = {"raw_args": "args", "raw_result": "result"}


class Redaction:
    """What is to be hidden.

    Arguments:
        paths: patterns of paths, see `PathPattern`. What stands there is hidden whole. Paths reach into texts that
            are JSON.
        secrets: whether known secrets are hidden as well: the values of keys such as ``password``, and whatever has
            the look of a secret in the middle of any text.

    Errors:
        UsageError: a pattern is malformed.

    >>> Redaction(["args.card"]).value({"args": {"card": 1, "note": "key sk-abcdefghijklmnopqrst1234"}})
    {'args': {'card': '[redacted]', 'note': 'key [redacted]'}}
    """

    __slots__ = ("_patterns", "secrets")

    def __init__(self, paths: Iterable[str] = (), *, secrets: bool = True) -> None:
        self._patterns = PathPatterns(paths)
        self.secrets = secrets

    @classmethod
    def none(cls) -> Redaction:
        """Return what hides nothing."""
        return cls((), secrets=False)

    @property
    def paths(self) -> tuple[str, ...]:
        """The patterns, as they were written."""
        return tuple(pattern.text for pattern in self._patterns.patterns)

    def value(self, value: Any, path: Sequence[PathPart] = ()) -> Any:
        """Return plain data with what is to be hidden replaced by ``[redacted]``.

        Arguments:
            value: mappings, lists, texts and so on; it is not changed. Other objects are left as they are.
            path: where it stands, for the patterns.
        """
        reach = self._patterns.reach()
        for part in path:
            if reach.is_hit:
                return HIDDEN
            reach = reach.into(part)
        is_named = self.secrets and bool(path) and isinstance(path[-1], str) and is_secret_name(path[-1])
        return _Hiding(self).hidden(value, reach, _MOST_LEVELS, is_named=is_named)

    def field(self, name: str, value: Any) -> Any:
        """Return the value of an event's field, such as ``args``, with what is to be hidden replaced.

        Arguments and results that could not be decoded are hidden whole where a pattern reaches into them.
        """
        place = _UNDECODED.get(name)
        if place is not None and value and not self._patterns.reach((place,)).is_over:
            return HIDDEN
        return self.value(value, (place or name,))

    def text(self, text: str) -> str:
        """Return a text with the secrets in it hidden that are known by their look.

        >>> Redaction().text("card 4111 1111 1111 1111, order ORD-42")
        'card [redacted], order ORD-42'
        """
        return without_secrets(text) if self.secrets else text

    def __bool__(self) -> bool:
        return self.secrets or bool(self._patterns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Redaction):
            return NotImplemented
        return (self.paths, self.secrets) == (other.paths, other.secrets)

    def __hash__(self) -> int:
        return hash((self.paths, self.secrets))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Redaction, secrets=self.secrets), (self.paths,)

    def __repr__(self) -> str:
        return f"Redaction({list(self.paths)!r}, secrets={self.secrets!r})"


class _Hiding:
    """A walk through one value."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._secrets = redaction.secrets

    def hidden(self, value: Any, reach: Reach, levels: int, *, is_named: bool = False, texts: int = _MOST_TEXTS) -> Any:
        """Return a value without what is to be hidden.

        Arguments:
            reach: what the patterns say of its place.
            levels: how many levels of it are looked at; what is deeper is hidden.
            is_named: whether its key is the name of a secret.
            texts: how many texts within texts are still opened.
        """
        if reach.is_hit or (is_named and _can_be_secret(value)):
            return HIDDEN
        if isinstance(value, str):
            return self._text(value, reach, levels, texts)
        if isinstance(value, Mapping):
            plain = value if type(value) is dict else _plain(value)
            return HIDDEN if plain is None or not levels else self._mapping(plain, reach, levels, texts)
        if isinstance(value, (list, tuple)):
            return self._items(value, reach, levels, texts) if levels else HIDDEN
        return self._leaf(value)

    def _mapping(self, mapping: dict[Any, Any], reach: Reach, levels: int, texts: int) -> dict[Any, Any]:
        is_header = self._secrets and _is_header(mapping)
        hidden: dict[Any, Any] = {}
        for key, value in mapping.items():
            part = key if isinstance(key, str) else str(key)
            is_named = self._secrets and (is_secret_name(part) or (is_header and part.lower() == "value"))
            shown = self._key(key, hidden)
            hidden[shown] = self.hidden(value, reach.into(part), levels - 1, is_named=is_named, texts=texts)
        return hidden

    def _key(self, key: Any, taken: Mapping[Any, Any]) -> Any:
        """Return a key without secrets. No two of them become one."""
        shown = self._shown_name(key) if isinstance(key, str) else self._leaf(key)
        if shown == key or shown not in taken:
            return shown
        return next(name for number in range(2, len(taken) + 3) if (name := f"{shown} ({number})") not in taken)

    def _shown_name(self, name: str) -> str:
        return (_short_name(name) if len(name) <= _SHORT else without_secrets(name)) if self._secrets else name

    def _items(self, items: Sequence[Any], reach: Reach, levels: int, texts: int) -> Any:
        is_header = self._secrets and len(items) == 2 and isinstance(items[0], str) and is_secret_name(items[0])
        hidden = [
            self.hidden(item, reach.into(index), levels - 1, is_named=is_header and index == 1, texts=texts)
            for index, item in enumerate(items)
        ]
        return hidden if isinstance(items, list) else tuple(hidden)

    def _text(self, text: str, reach: Reach, levels: int, texts: int) -> str:
        if (self._secrets or not reach.is_over) and text.lstrip()[:1] in ("{", "["):
            opened = self._opened(text, reach, levels, texts)
            if opened is not None:
                return opened
        return self._redaction.text(text)

    def _opened(self, text: str, reach: Reach, levels: int, texts: int) -> str | None:
        """Hide what is within a text that is JSON; None where it is none, and nothing within is meant by a pattern."""
        seen_twice: list[str] = []
        try:
            if not texts or not levels:
                raise RecursionError
            value = json.loads(text, object_pairs_hook=lambda pairs: _mapping_of(pairs, seen_twice))
            hidden = self.hidden(value, reach, levels, texts=texts - 1)
            if not seen_twice and _is_same(hidden, value):
                return text
            return json.dumps(hidden, ensure_ascii=False)
        except (ValueError, RecursionError):
            return None if reach.is_over or not _LIKE_OBJECT.match(text) else HIDDEN

    def _leaf(self, value: Any) -> Any:
        if not self._secrets:
            return value
        if type(value) is int:
            return HIDDEN if 0 < value < 10**_MOST_DIGITS and is_card_number(str(value)) else value
        if isinstance(value, (bytes, bytearray)):
            text = bytes(value).decode("latin-1")
            hidden = self._redaction.text(text)
            return value if hidden == text else hidden.encode("latin-1")
        return value


@lru_cache(maxsize=4096)
def _short_name(name: str) -> str:
    """Hide secrets in a key. The same few keys stand in most values."""
    return without_secrets(name)


def _plain(mapping: Mapping[Any, Any]) -> dict[Any, Any] | None:
    """Return a foreign mapping as a plain one; None where it can't be read."""
    try:
        return dict(mapping.items())
    except Exception:  # noqa: BLE001 - a foreign mapping may raise anything, and what can't be seen is hidden
        return None


def _can_be_secret(value: Any) -> bool:
    """Whether a value under a secret's name is one: ``password: true`` or an empty text tells nothing."""
    return not (value is None or isinstance(value, bool) or value in ("", b"", [], {}, ()))


def _is_header(mapping: Mapping[Any, Any]) -> bool:
    """Whether a mapping is a pair of a name and a value, and the name is a secret's."""
    for key in ("name", "Name", "key", "Key"):
        name = mapping.get(key)
        if isinstance(name, str) and is_secret_name(name):
            return True
    return False


def _mapping_of(pairs: list[tuple[str, Any]], seen_twice: list[str]) -> dict[str, Any]:
    """Make a mapping of what JSON has, and note a key that stands twice: the value before would pass unseen."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        seen_twice.append("")
    return mapping


def _is_same(hidden: Any, value: Any) -> bool:
    """Whether nothing was hidden. Comparing is not enough: what is hidden may have been that text before."""
    return repr(hidden) == repr(value)


def redact_events(events: Iterable[Any], redaction: Redaction) -> list[Any]:
    """Return events in neutral form with what is to be hidden replaced.

    Arguments:
        events: as `Trace.to_events` gives them; they are not changed.
        redaction: what is to be hidden. The paths begin with the event's own keys: ``args.card.number``,
            ``result.token``, ``user``, ``metadata.headers``. What could not be decoded is hidden whole where a
            pattern reaches into it. The names of tools and agents, ids and times stay.

    >>> redact_events([{"call": "pay", "args": {"card": "1", "sum": 2}}], Redaction(["args.card"]))
    [{'call': 'pay', 'args': {'card': '[redacted]', 'sum': 2}}]
    """
    return [_redacted_event(event, redaction) for event in events]


def _redacted_event(event: Any, redaction: Redaction) -> Any:
    if not isinstance(event, Mapping):
        return redaction.value(event)
    return {
        key: value if key in NOT_CONTENT else redaction.field(key if isinstance(key, str) else str(key), value)
        for key, value in event.items()
    }

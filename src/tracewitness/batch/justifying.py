"""The words of checks that are not held: made once for each text, and without what must not be shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from tracewitness.display import printable
from tracewitness.hidden_values import HiddenValues
from tracewitness.redaction import Redaction, redact_events
from tracewitness.scoring.plain import json_data
from tracewitness.secret_shapes import is_secret_name, without_secrets
from tracewitness.trace import Trace
from tracewitness.verdict import Checked, Verdict

__all__ = ["Justifier", "WordsOfRun"]

_LONGEST: Final = 1000
_MOST_KNOWN: Final = 65_536
_SECRETS: Final = Redaction()
#: What of a text says that a key could be written in another way than it is read.
_ESCAPED: Final = b"\\u00"
_END_OF_KEY: Final = re.compile(rb'\\*"\s*:')
_LONGEST_KEY: Final = 120
_OBJECTS: Final = (b"{", b"[")


class Justifier:
    """Makes justifications.

    Most say only what the suite has, which tools were called, and where: their texts are few, and each is made once.
    Others quote what a record holds. In these is hidden whatever stands under the name of a secret in the record.
    """

    def __init__(self) -> None:
        self._texts: dict[Any, str] = {}
        self._written: dict[int, tuple[Checked, frozenset[str]]] = {}

    def text(self, verdict: Verdict, words: WordsOfRun) -> str:
        """Return the justification of a verdict.

        Arguments:
            words: of the run that it is about.
        """
        try:
            key = _plain(verdict.words[1:], self._names_of(verdict.check) | words.names)
            if key is None:
                return printable(words.hidden.text(verdict.justification), _LONGEST)
            key = (verdict.words[0], key)
            text = self._texts.get(key)
            return self._made(key, verdict) if text is None else text
        except Exception as error:  # noqa: BLE001 - the words are about what untrusted records hold; the verdict stands
            return f"its words can't be made: {type(error).__name__}"

    def _made(self, key: Any, verdict: Verdict) -> str:
        if len(self._texts) >= _MOST_KNOWN:
            self._texts.clear()
        text = self._texts[key] = printable(without_secrets(verdict.justification), _LONGEST)
        return text

    def _names_of(self, check: Checked) -> frozenset[str]:
        """Return the texts that a check has from its suite."""
        known = self._written.get(id(check))
        if known is None or known[0] is not check:
            known = self._written[id(check)] = check, frozenset(_texts_in(check))
        return known[1]


class WordsOfRun:
    """What the words about a run may show. It is found out when it is needed.

    Arguments:
        trace: the run.
        raw: the record that it was read from.
    """

    def __init__(self, trace: Trace, raw: bytes) -> None:
        self._trace = trace
        self._raw = raw
        self._names: frozenset[str] | None = None
        self._hidden: HiddenValues | None = None

    @property
    def names(self) -> frozenset[str]:
        """The names of the tools that were called."""
        if self._names is None:
            self._names = frozenset(call.name for call in self._trace.index.calls)
        return self._names

    @property
    def hidden(self) -> HiddenValues:
        """What must not be shown."""
        if self._hidden is None:
            before = json_data(self._trace.to_events()) if _may_name_secret(self._raw) else []
            self._hidden = HiddenValues(before, redact_events(before, _SECRETS), _SECRETS)
        return self._hidden


def _may_name_secret(raw: bytes) -> bool:
    """Whether a key of a document, or of JSON in one of its texts, may be the name of a secret."""
    if not raw.lstrip()[:1].startswith(_OBJECTS) or _ESCAPED in raw:
        return True
    ends = [match.start() for match in _END_OF_KEY.finditer(raw)]
    keys = {raw[max(end - _LONGEST_KEY, 0) : end].rpartition(b'"')[2] for end in ends}
    return any(is_secret_name(key.decode("utf-8", "replace")) for key in keys)


def _plain(words: Any, known: frozenset[str]) -> Any:
    """Return what words are made of as a key; None where a text is neither from the suite nor a tool's name."""
    plain = []
    for word in words:
        kind = word.__class__
        if kind is tuple or kind is list:
            word = _plain(word, known)
            if word is None:
                return None
        elif not (kind is int or kind is bool or word is None or (kind is str and (word in known or word in _NOUNS))):
            return None
        plain.append(word)
    return tuple(plain)


#: What checks count.
_NOUNS: Final = frozenset({"call", "turn", "error"})


def _texts_in(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts_in([*value.keys(), *value.values()])
    elif isinstance(value, (list, tuple, frozenset)):
        for item in value:
            yield from _texts_in(item)
    elif isinstance(value, Struct):
        yield from _texts_in([getattr(value, field) for field in value.__struct_fields__])

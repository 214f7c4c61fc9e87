"""Read a mapping of names to runs, each in a format of its own: ``{"first": {…}, "second": […]}``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tracewitness.readers import neutral
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import refuse
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read", "runs"]

SHAPE: Final = "a mapping of names to runs has a run in a known format at each name, or its messages"


# Names of the parts of one exchange, or of one history, which are no runs of their own.
_PARTS: Final = frozenset(
    {
        "answer",
        "candidates",
        "choices",
        "completion",
        "content",
        "contents",
        "events",
        "generation",
        "history",
        "input",
        "items",
        "message",
        "messages",
        "output",
        "parts",
        "prompt",
        "query",
        "question",
        "reply",
        "request",
        "response",
        "result",
        "results",
        "steps",
        "turns",
    }
)
# Of names such as “model_request” and “model_response”, too, the two are parts of one exchange.
_PAIRS: Final = (
    ("request", "response"),
    ("input", "output"),
    ("prompt", "completion"),
    ("prompt", "response"),
    ("question", "answer"),
    ("query", "response"),
    ("query", "answer"),
)


class _Named(NamedTuple):
    """A run and its name."""

    name: str
    run: Any


def detects(document: Any) -> bool:
    """Whether decoded data is of this format: all that it holds are runs, and none is a part of another."""
    if not isinstance(document, Mapping) or not document:
        return False
    for value in document.values():  # nearly every other mapping holds a text or a number
        if not isinstance(value, (Mapping, list)):
            return False
    return not _are_parts(document) and all(isinstance(name, str) and _is_run(run) for name, run in document.items())


def _are_parts(document: Mapping[Any, Any]) -> bool:
    """Whether what a document holds are the parts of one exchange. A mapping that is alone may be called anything."""
    if len(document) == 1:
        return any(isinstance(value, list) and _part(name) in _PARTS for name, value in document.items())
    names = {_part(name) for name in document}
    return not _PARTS.isdisjoint(names) or any(
        first in name and name.replace(first, second) in names for first, second in _PAIRS for name in names
    )


def _part(name: Any) -> str:
    """Return a name in one spelling; one in the plural is of several parts, and no other part than one of them."""
    spelled = str(name).strip("_- ").lower()
    return spelled.removesuffix("s") if spelled.removesuffix("s") in _PARTS else spelled


def _is_run(data: Any) -> bool:
    """Whether data is a run, and no mapping of names to others: that would go on without end."""
    from tracewitness.readers.registry import candidates  # the registry has this module

    if not data or (isinstance(data, Mapping) and all(isinstance(value, Mapping) for value in data.values())):
        return False
    return any(
        reader.detects(data) and not (reader is neutral.READER and isinstance(data, list) and reader.yields(data))
        for reader in candidates(data)
        if reader is not READER
    )


def runs(document: Any) -> Iterator[Any]:
    """Yield each run with its name."""
    if not isinstance(document, Mapping):
        raise refuse(document, SHAPE)
    for name, run in document.items():
        yield _Named(str(name), run)


def read(document: Any, name: str = "") -> Trace:
    """Read a run that has a name.

    Raises:
        ReadError: it is nothing of the kind.

    >>> list(read_all({"first": {"messages": [{"role": "user", "content": "Hello."}]}}))
    [<Trace first: 1 events>]
    """
    from tracewitness.readers.registry import trace_of  # as above

    if not isinstance(document, _Named):
        raise refuse(document, SHAPE)
    return trace_of(document.run, document.name or name)


def _always(_: Any) -> bool:
    return True


READER: Final = Reader("named-runs", detects=detects, read=read, shape=SHAPE, yields=_always, runs=runs)

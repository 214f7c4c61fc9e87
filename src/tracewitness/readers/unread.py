"""Find what stands in a document beside what was read of it and looks like a model's calls: it must not be lost.

A format is known by some keys of a document, and its reader reads those. Programs that log a model's traffic write
the request and the answer side by side, so that the one would be read and the other passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tracewitness.errors import path_text
from tracewitness.trace import Problem, Trace

__all__ = ["problems_beside", "with_problems", "with_unread"]

#: The most values that are looked through; a document that has more beside what was read is doubtful for that.
MAX_VALUES: Final = 1_000_000
# Keys at which calls stand, and types of the mappings that are calls, however a format joins the words.
_CALL_KEY: Final = re.compile(r"(?:tool|function)_?(?:calls?|uses?|invocations?)", re.IGNORECASE).fullmatch
_CALL_TYPE: Final = re.compile(
    r"(?:server[-_])?(?:custom[-_.]?)?(?:mcp[-_.]?)?(?:tool|function|mcp)[-_. ]?(?:calls?|use|invocation)",
    re.IGNORECASE,
).fullmatch
# So deep in a document, and in what it is split into, the same parts are looked for.
_DEPTH: Final = 4
_TYPES: Final = ("type", "part_kind", "kind")
# What a model could call or is told to answer, what was expected of it, and what is told of the run: no recordings.
_NO_RECORDING: Final = re.compile(
    r".*(?:expect|reference|ground_?truth|criteria|schema|metadata|usage|config|settings).*"
    r"|tools|functions|tool_?choice|response_?format|available_tools|tool_definitions|target|labels?|params|kwargs",
    re.IGNORECASE,
).fullmatch
# An item of OpenAI Responses has an id of its own beside that of its call.
_IDS: Final = ("call_id", "tool_call_id", "toolCallId", "toolUseId", "tool_use_id", "id")
_NAMES: Final = ("name", "tool_name", "toolName", "function_name")
_first_key: Final = re.compile(r"\$\.([\w-]+)|\$\['((?:[^'\\]|\\.)*)'\]").match


# Keys, in one spelling, at which a format keeps again what its reader finds elsewhere.
_TOLD_TWICE: Final[Mapping[str, frozenset[str]]] = {
    "openai-agents": frozenset({"context", "currentstep", "lastprocessedresponse", "interruptions", "modelresponses"}),
}


class _Call(NamedTuple):
    """What marks a call, as far as it says which one it is."""

    call_id: Any = None
    name: Any = None


def with_unread(document: Any, trace: Trace, format_name: str, holds_calls: Callable[[Any], bool]) -> Trace:
    """Return a trace of a document with a problem for each of its keys at which calls seem to stand that were not read.

    What was read shows in the places of the events and problems. Where no place says it, nothing is known of it.

    Arguments:
        format_name: the name of the format that it was read in.
        holds_calls: whether data is a recording of some format, in which a tool is called.
    """
    if not isinstance(document, Mapping) or not trace:
        return trace
    told = _TOLD_TWICE.get(format_name, frozenset())
    is_own = format_name == "neutral"  # whose events say no place: they stand in one
    read = {"events"} if is_own else _keys_at((0, len(trace) - 1), trace)
    if read is None or not any(_is_doubtful(key, value, read | told) for key, value in document.items()):
        return trace
    read = {"events"} if is_own else _keys_at(range(len(trace)), trace)
    if read is None:
        return trace
    read |= told | {key for key in (_key_of(problem.place) for problem in trace.problems) if key is not None}
    known = {_Call(call.id, call.name) for call in trace.calls if call.id}
    unread = [
        key
        for key, value in document.items()
        if _is_doubtful(key, value, read) and _is_unread({key: value}, known, holds_calls)
    ]
    return with_problems(trace, list(map(_problem, unread))) if unread else trace


def problems_beside(
    document: Any, runs: Sequence[Any], traces: Callable[[], Iterable[Trace]], holds_calls: Callable[[Any], bool]
) -> list[Problem]:
    """Return a problem for each key of a document of several runs at which calls seem to stand that no run has.

    What was taken shows in the runs: they are parts of the document, or say where in it their parts stand.

    Arguments:
        runs: what the document was split into.
        traces: reads them; it is called only where calls stand that may be in them too.
        holds_calls: as of `with_unread`.
    """
    if not isinstance(document, Mapping):
        return []
    doubtful = {key: value for key, value in document.items() if _is_doubtful(key, value, set())}
    taken = {_spelled(key) for key, _ in zip(_first_keys(runs), range(MAX_VALUES), strict=False)}
    parts = {id(part) for run in runs for part in _parts(run, _DEPTH)}
    beside = {
        key: value
        for key, value in doubtful.items()
        if _spelled(key) not in taken and parts.isdisjoint(map(id, _parts(value, _DEPTH)))
    }
    unread = [key for key, value in beside.items() if _is_unread({key: value}, set(), holds_calls)]
    if not unread:
        return []
    known = {_Call(call.id, call.name) for trace in traces() for call in trace.calls if call.id}
    return [_problem(key) for key in unread if _is_unread({key: beside[key]}, known, holds_calls)]


def _first_keys(runs: Iterable[Any]) -> Iterator[str]:
    """Yield the keys of the document at which runs say that their spans stand."""
    for run in runs:
        for span in getattr(run, "spans", ()):
            if span.path and isinstance(span.path[0], str):
                yield span.path[0]


def _parts(value: Any, depth: int) -> Iterator[Any]:
    """Yield a mapping or list, and those in it, so deep."""
    if isinstance(value, Mapping):
        inside: Iterable[Any] = value.values()
    elif isinstance(value, (list, tuple)):
        inside = value
    else:
        return
    if value.__class__ is not tuple:
        yield value
    for item in inside if depth else ():
        yield from _parts(item, depth - 1)


def _is_doubtful(key: Any, value: Any, read: set[str]) -> bool:
    return bool(value) and isinstance(value, (Mapping, list)) and isinstance(key, str) and _may_be_unread(key, read)


def _may_be_unread(key: str, read: set[str]) -> bool:
    return _spelled(key) not in read and _NO_RECORDING(key) is None


def _keys_at(positions: Any, trace: Trace) -> set[str] | None:
    """Return under which keys of the document events stand; None where one stands in none, or it is not known."""
    place_of: Any = trace._place_of
    if place_of is None:
        return None
    found = {_key_of(place_of(position)) for position in positions}
    return None if None in found else found  # type: ignore[return-value]


def _key_of(place: str) -> str | None:
    matched = _first_key(place)
    return None if matched is None else _spelled(matched[1] or matched[2])


def _spelled(key: str) -> str:
    """Return a key in one spelling: readers give places in that of their format, whichever a recording has."""
    return key.replace("_", "").lower()


def _is_unread(part: Mapping[str, Any], known: set[_Call], holds_calls: Callable[[Any], bool]) -> bool:
    """Whether a part of a document has a call that the trace does not have, or may have one."""
    marked = list(_calls_in(part))
    if marked:
        return not known.issuperset(marked)
    (value,) = part.values()
    return holds_calls(value)


def _calls_in(part: Any) -> Iterator[_Call]:
    """Yield what marks calls anywhere in data, and nothing of what is inside of a call."""
    waiting, count = [part], 0
    while waiting:
        value = waiting.pop()
        count += 1
        if count > MAX_VALUES:
            yield _Call()
            return
        if isinstance(value, Mapping):
            if any(_is_call_type(value.get(key)) for key in _TYPES):
                yield _call_of(value)
                continue
            for key, item in value.items():
                if not isinstance(item, (Mapping, list)) or not item:
                    continue
                if isinstance(key, str) and _CALL_KEY(key):
                    yield from map(_call_of, item if isinstance(item, list) else [item])
                elif not isinstance(key, str) or _NO_RECORDING(key) is None:
                    waiting.append(item)
        elif isinstance(value, list):
            waiting += [item for item in value if isinstance(item, (Mapping, list))]


def _is_call_type(kind: Any) -> bool:
    return isinstance(kind, str) and _CALL_TYPE(kind) is not None


def _call_of(call: Any) -> _Call:
    """Return which call it is; one that does not say is none that is known."""
    if not isinstance(call, Mapping):
        return _Call()
    function = call.get("function")
    named = function if isinstance(function, Mapping) else call
    return _Call(_text_at(call, _IDS), _text_at(named, _NAMES))


def _text_at(mapping: Mapping[Any, Any], keys: tuple[str, ...]) -> str | None:
    return next((mapping[key] for key in keys if isinstance(mapping.get(key), str)), None)


def _problem(key: str) -> Problem:
    reason = (
        f"what stands at {path_text((key,), root='')} looks like a recording and was not read; read it apart, "
        "or name the format of the whole"
    )
    return Problem(reason, place=path_text((key,)))


def with_problems(trace: Trace, problems: Sequence[Problem]) -> Trace:
    """Return a trace with more problems."""
    return Trace(
        trace._records,
        name=trace.name,
        problems=(*trace.reader_problems, *problems),
        no_evidence=trace.no_evidence,
        text_alone=trace.text_alone,
        unreadable=trace.unreadable,
        place_of=trace._place_of,
    )

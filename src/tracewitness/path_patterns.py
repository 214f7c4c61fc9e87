"""Patterns of paths: which places of some data are meant, in the notation in which paths are shown, with wildcards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from tracewitness.display import show
from tracewitness.errors import PathPart, UsageError

__all__ = ["PathPattern", "PathPatterns", "Reach"]


class _Wildcard(Enum):
    """A step that stands for more than one key or index."""

    LEVEL = "*"
    ITEM = "[*]"
    DEPTH = "**"


_Step = PathPart | _Wildcard

#: What a pattern is made of. A key in quotes has the escapes of a Python text, since that is how it is shown.
_STEP: Final = re.compile(
    r"""
    (?P<wildcard>\*\*?)
    | (?P<name>[^\s.\[\]*'"]+)
    | \[ (?P<any>\*) \]
    | \[ (?P<index>0|[1-9][0-9]{0,17}) \]
    | \[ "(?P<double>(?:[^"\\]|\\.)*)" \]
    | \[ '(?P<single>(?:[^'\\]|\\.)*)' \]
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SHORT_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_LAST_CHARACTER: Final = 0x10FFFF
_MOST_KEPT: Final = 1000
_HINT: Final = (
    "a path is written like args.card.number, items[0] or ['odd key'], with * for one level and ** for any number"
)


class PathPattern:
    """A pattern of paths.

    Arguments:
        text: names with dots between them, ``[0]`` for an item of a list, ``["odd key"]`` for a key that is no plain
            word; ``*`` stands for any key or item, ``[*]`` for any item of a list, ``**`` for any number of levels,
            none included. A ``$`` in front is the root, as it is shown in errors.

    Errors:
        UsageError: it is malformed; the message says at which character.

    >>> PathPattern("args.card.*").matches(("args", "card", "number"))
    True
    >>> PathPattern("**.request_id").matches(("result", "items", 0, "request_id"))
    True
    """

    __slots__ = ("_steps", "text")

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise UsageError(f"a pattern of paths is a text, not {show(text)}; {_HINT}")
        self.text = text
        self._steps = _steps_of(text)

    def matches(self, path: Sequence[PathPart]) -> bool:
        """Tell whether just this path is meant."""
        return self._reach(path).is_hit

    def covers(self, path: Sequence[PathPart]) -> bool:
        """Tell whether this path is meant, or one above it.

        >>> PathPattern("args.card").covers(("args", "card", "number"))
        True
        """
        return any(self.matches(path[:length]) for length in range(len(path) + 1))

    def _reach(self, path: Sequence[PathPart]) -> Reach:
        return PathPatterns((self,)).reach(path)

    def __eq__(self, other: object) -> bool:
        return self._steps == other._steps if isinstance(other, PathPattern) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._steps)

    def __reduce__(self) -> tuple[type[PathPattern], tuple[str]]:
        return PathPattern, (self.text,)

    def __repr__(self) -> str:
        return f"PathPattern({self.text!r})"


class PathPatterns:
    """Several patterns, followed together while a value is walked through.

    Arguments:
        patterns: each a `PathPattern` or its text.

    Errors:
        UsageError: one of them is malformed, or what came is no collection of patterns.
    """

    __slots__ = ("_start", "patterns")

    def __init__(self, patterns: Iterable[str | PathPattern] = ()) -> None:
        if isinstance(patterns, str) or not isinstance(patterns, Iterable):
            raise UsageError(f"expected a list of patterns of paths, not {show(patterns)}; {_HINT}")
        self.patterns = tuple(
            pattern if isinstance(pattern, PathPattern) else PathPattern(pattern) for pattern in patterns
        )
        self._start = Reach(frozenset(_after_depths(pattern._steps) for pattern in self.patterns), {})

    def reach(self, path: Sequence[PathPart] = ()) -> Reach:
        """Return what the patterns say of a path, and what of them goes on below it."""
        reach = self._start
        for part in path:
            reach = reach.into(part)
        return reach

    def __bool__(self) -> bool:
        return bool(self.patterns)


class Reach:
    """What is left of patterns at one place of a value.

    Arguments:
        left: the steps that have yet to be met, for each way in which a pattern may go on.
        known: what was made of other places, by what was left there; places in the same state share one.
    """

    __slots__ = ("_known", "_left", "_next", "is_hit", "is_over")

    is_hit: bool
    """Whether a pattern means this place."""
    is_over: bool
    """Whether no pattern means anything here or below."""

    def __init__(self, left: frozenset[tuple[_Step, ...]], known: dict[frozenset[tuple[_Step, ...]], Reach]) -> None:
        self._left = left
        self._known = known
        self._next: dict[PathPart, Reach] = {}
        self.is_hit = any(all(step is _Wildcard.DEPTH for step in steps) for steps in left)
        self.is_over = not left

    def into(self, part: PathPart) -> Reach:
        """Return what is left one level deeper, at a key or index."""
        if self.is_over:
            return self
        found = self._next.get(part)
        return self._find(part) if found is None else found

    def _find(self, part: PathPart) -> Reach:
        """Find it, and keep it for the next value: most have the same few keys."""
        left = frozenset(further for steps in self._left for further in _further(steps, part))
        found = self._known.get(left)
        if found is None:
            found = self._known[left] = Reach(left, self._known)
        if len(self._next) >= _MOST_KEPT:
            self._next.clear()
        self._next[part] = found
        return found


def _after_depths(steps: tuple[_Step, ...]) -> tuple[_Step, ...]:
    """Write several ``**`` in a row as one, which means the same."""
    return tuple(
        step
        for index, step in enumerate(steps)
        if not (step is _Wildcard.DEPTH and index and steps[index - 1] is _Wildcard.DEPTH)
    )


def _further(steps: tuple[_Step, ...], part: PathPart) -> Iterable[tuple[_Step, ...]]:
    """Yield the ways in which a pattern goes on below a key or index."""
    if not steps:
        return
    first, rest = steps[0], steps[1:]
    if first is _Wildcard.DEPTH:
        yield steps
        yield from _further(rest, part)
    elif _meets(first, part):
        yield rest


def _meets(step: _Step, part: PathPart) -> bool:
    if step is _Wildcard.LEVEL:
        return True
    if step is _Wildcard.ITEM:
        return isinstance(part, int)
    return type(step) is type(part) and step == part


def _steps_of(text: str) -> tuple[_Step, ...]:
    at = 1 if text[:2] in ("$", "$.", "$[") else 0
    steps: list[_Step] = []
    while at < len(text):
        at = _after_dot(text, at, is_first=at == 0)
        match = _STEP.match(text, at)
        if match is None or not _is_word(match.group("name") or "_"):
            raise _malformed(text, at)
        steps.append(_step(match))
        at = match.end()
    if not text:
        raise _malformed(text, 0)
    return tuple(steps)


def _after_dot(text: str, at: int, *, is_first: bool) -> int:
    """Return where the next step begins: a dot stands before a name, and before nothing else."""
    if text[at] == "[":
        return at
    if is_first:
        if text[at] == ".":
            raise _malformed(text, at)
        return at
    if text[at] != "." or text[at + 1 : at + 2] in ("", "["):
        raise _malformed(text, at if text[at] != "." else at + 1)
    return at + 1


def _is_word(name: str) -> bool:
    """Tell whether a key is shown without quotes; the rule is that of `path_text`."""
    return name.replace("-", "_").isidentifier()


def _step(match: re.Match[str]) -> _Step:
    kind = str(match.lastgroup)
    found = match.group(kind)
    if kind == "wildcard":
        return _Wildcard(found)
    if kind == "any":
        return _Wildcard.ITEM
    if kind == "index":
        return int(found)
    if kind == "name":
        return str(found)
    return _ESCAPE.sub(lambda escape: _unescaped(escape, match), found)


def _unescaped(escape: re.Match[str], match: re.Match[str]) -> str:
    code = escape.group(1)
    if code in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[code]
    number = int(code[1:], 16) if len(code) > 1 else _LAST_CHARACTER + 1
    if number > _LAST_CHARACTER:
        raise _malformed(match.string, match.start())
    return chr(number)


def _malformed(text: str, at: int) -> UsageError:
    what = f"{show(text[at : at + 12])} at character {at + 1}" if at < len(text) else "its end"
    return UsageError(f"the pattern {show(text)} can't be read from {what} on; {_HINT}")

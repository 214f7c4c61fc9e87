"""What an expectation is compiled to: a fast test, and an explanation for when it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from tracewitness.errors import ExpectationError

from .difference import Difference, Path
from .values import undecided_by

DEPTH: Final = 100  # how deeply an expectation may nest; comparing takes a stack frame a level
TOO_DEEP: Final = f"the expectation nests more than {DEPTH} levels deep, or contains itself; flatten it"

Test = Callable[[object, int], bool]
Explain = Callable[[object, Path, int], Iterable[Difference]]


class Rules(msgspec.Struct, frozen=True):
    """A policy, spelled out.

    Arguments:
        name: the policy's name.
        exact: types count: 1 is not 1.0, a list is not a tuple.
        strips: white space around texts does not count.
        coerces: numeric texts, the texts of bools, and JSON in texts are looked into.
        open_keys: a mapping may have more keys than are expected.
        wildcard: the text ``*`` stands for any value that is not empty.
        literal: nothing is a matcher.
        depth: how many levels of the expectation are above.
    """

    name: str
    exact: bool = False
    strips: bool = False
    coerces: bool = False
    open_keys: bool = False
    wildcard: bool = False
    literal: bool = False
    depth: int = 0

    def below(self) -> Rules:
        """Return the same rules for a part.

        Errors:
            ExpectationError: the expectation nests too deeply, or contains itself.
        """
        if self.depth >= DEPTH:
            raise ExpectationError(TOO_DEEP)
        return msgspec.structs.replace(self, depth=self.depth + 1)

    def strictly(self) -> Rules:
        """Return the rules of ``strict`` for the same place."""
        return msgspec.structs.replace(STRICT, depth=self.depth)

    def taken_literally(self) -> Rules:
        """Return the same rules without matchers and wildcards."""
        return msgspec.structs.replace(self, literal=True, wildcard=False)


STRICT: Final = Rules("strict", exact=True)
LENIENT: Final = Rules("lenient", strips=True)
SUBSET: Final = Rules("subset", coerces=True, open_keys=True, wildcard=True)


class Node:
    """One compiled part of an expectation.

    Arguments:
        test: takes a value and how many JSON texts may still be opened; tells whether the value matches.
            Where that can't be told it raises `UndecidedError`, or whatever a foreign value's methods raise.
        explain: takes a value, its path and the same number; gives its differences, none where it matches. Lists and
            mappings find them one by one, so that who wants only the first does not pay for all.
        absent: what holds for a key that is not there: True if that matches, False if it is denied (so that
            the negation matches), None if nothing is said about it (then neither matches).
        quick: a type and a value such that a value of just this type matches if, and only if, it is equal.
        expected: what a report shows as expected here.
    """

    __slots__ = ("absent", "expected", "explain", "quick", "test")

    def __init__(
        self,
        expected: object,
        test: Test,
        explain: Explain,
        *,
        absent: bool | None = None,
        quick: tuple[type, object] | None = None,
    ) -> None:
        self.expected = expected
        self.test = test
        self.explain = explain
        self.absent = absent
        self.quick = quick


class Buildable:
    """What knows how to compile itself, whatever the policy: a matcher."""

    __slots__ = ()

    def build(self, rules: Rules, /) -> Node:
        """Return the compiled form under a policy's rules."""
        raise NotImplementedError


def leaf(
    expected: object,
    test: Test,
    why: Callable[[object], str],
    *,
    absent: bool | None = None,
    quick: tuple[type, object] | None = None,
) -> Node:
    """Return a node that is explained as a whole.

    Arguments:
        why: takes a value that does not match; returns the reason.
    """

    def explain(actual: object, path: Path, levels: int) -> list[Difference]:
        try:
            if test(actual, levels):
                return []
            reason = why(actual)
        except Exception as error:  # noqa: BLE001  a foreign value may raise anything, and the report must be written
            reason = undecided_by(error).reason
        return [Difference(path, expected, actual, reason)]

    return Node(expected, test, explain, absent=absent, quick=quick)

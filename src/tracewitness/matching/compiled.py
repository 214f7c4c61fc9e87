"""The front of matching: compile an expectation once, then ask about many values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from tracewitness.display import nearest_name, show
from tracewitness.errors import ExpectationError, PathPart

from .difference import Difference
from .jsontext import LEVELS
from .nodes import LENIENT, STRICT, SUBSET, TOO_DEEP, Node
from .notation import parse
from .policies import build
from .values import MISSING, named, undecided_by

POLICIES: Final = {rules.name: rules for rules in (STRICT, LENIENT, SUBSET)}
"""The policies by name."""
_COUNTED: Final = 10_000  # of the differences beyond a limit; to count more of them would take longer than it tells


class Compiled:
    """A compiled expectation; made by `compile_expected`.

    Arguments:
        expected: the expectation, its file notation parsed.
        policy: the name of the policy in force.
        node: what it is compiled to.
    """

    __slots__ = ("_node", "decides", "expected", "matches", "policy")

    matches: Callable[[object], bool]
    """Takes a value; tells whether it matches. Nothing is raised; what can't be told is no match."""
    decides: Callable[[object], bool | None]
    """The same, but None where it can't be told: for who must rule a match out."""

    def __init__(self, expected: object, policy: str, node: Node) -> None:
        self.expected = expected
        self.policy = policy
        self._node = node
        self.matches = _matching(node)
        self.decides = _deciding(node)

    def differences(
        self, actual: object, path: tuple[PathPart, ...] = (), limit: int | None = None
    ) -> list[Difference]:
        """Return where and why a value does not match; the list is empty exactly where `matches` is true.

        Arguments:
            path: where the value stands, for the differences' paths.
            limit: how many are wanted. Where there are more, one that says how many stands at the end for the rest.
        """
        if self.matches(actual):
            return []
        try:
            ahead = iter(self._node.explain(actual, path, LEVELS))
            found = list(islice(ahead, limit))
            found += _rest(ahead, path)
            reason = ""
        except Exception as error:  # noqa: BLE001  a foreign value may raise anything, and the report must be written
            found, reason = [], undecided_by(error).reason
        return found or [Difference(path, self.expected, actual, reason)]

    def __repr__(self) -> str:
        return f"compile_expected({self.expected!r}, {self.policy!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return compile_expected, (self.expected, self.policy)


def _rest(ahead: Iterator[Difference], path: tuple[PathPart, ...]) -> list[Difference]:
    """Return one difference that says how many more there are, or none."""
    count = sum(1 for _ in islice(ahead, _COUNTED + 1))
    if not count:
        return []
    more = f"{count:,}" if count <= _COUNTED else f"more than {_COUNTED:,}"
    return [Difference(path, MISSING, MISSING, f"and {more} more")]


def _matching(node: Node) -> Callable[[object], bool]:
    test = node.test

    def matches(actual: object) -> bool:
        try:
            return test(actual, LEVELS)
        except Exception:  # noqa: BLE001  a foreign value may raise anything
            return False

    return matches


def _deciding(node: Node) -> Callable[[object], bool | None]:
    test = node.test

    def decides(actual: object) -> bool | None:
        try:
            return test(actual, LEVELS)
        except Exception:  # noqa: BLE001  as above
            return None

    return decides


def compile_expected(expected: object, policy: str = "subset") -> Compiled:
    """Compile an expectation, so that many values can be matched against it quickly.

    Arguments:
        expected: plain data, matchers, and matchers in file notation, at any depth.
        policy: ``strict``, ``lenient`` or ``subset``.

    Errors:
        ExpectationError: the policy or a matcher in it is unknown or malformed, or it nests too deeply.

    >>> compile_expected({"quantity": GreaterThan(0)}).matches({"quantity": 2, "gift": True})
    True
    """
    rules = POLICIES.get(policy) if isinstance(policy, str) else None
    if rules is None:
        raise ExpectationError(_unknown_policy(policy))
    try:
        parsed = parse(expected)
        return Compiled(parsed, rules.name, build(parsed, rules))
    except RecursionError as error:
        raise ExpectationError(TOO_DEEP) from error
    except ExpectationError:
        raise
    except Exception as error:
        raise ExpectationError(f"the expectation can't be used; reading it raised {named(error)}") from error


def _unknown_policy(policy: object) -> str:
    near = nearest_name(policy, POLICIES) if isinstance(policy, str) else None
    hint = f"did you mean {near!r}? The" if near else "the"
    return f"unknown policy {show(policy)}; {hint} policies are {', '.join(POLICIES)}"


def matches(expected: object, actual: object, policy: str = "subset") -> bool:
    """Tell whether a value matches an expectation.

    >>> matches({"quantity": 2}, {"quantity": "2", "gift": True})
    True
    """
    return compile_expected(expected, policy).matches(actual)


def differences(expected: object, actual: object, policy: str = "subset", limit: int | None = None) -> list[Difference]:
    """Return where and why a value does not match an expectation; an empty list where it does.

    Arguments:
        limit: how many are wanted, all where it is left out. Where there are more, one that says how many stands at
            the end for the rest.

    >>> print(*differences({"city": "NYC"}, {"city": "LAX"}))
    city: expected 'NYC', got 'LAX'
    """
    return compile_expected(expected, policy).differences(actual, limit=limit)

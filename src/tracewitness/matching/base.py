"""What all matchers have in common, and how they combine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from tracewitness.display import nearest_name, show
from tracewitness.errors import ExpectationError, PathPart

from .difference import Difference, Path
from .keys import strict_key
from .nodes import Buildable, Node, Rules, Test, leaf
from .policies import build
from .values import UndecidedError, kind_of, noun, undecided_by


class Read(Protocol):
    """Parses a part of a file's notation; the path says where the part stands."""

    def __call__(self, part: object, *path: PathPart) -> object: ...


Write = Callable[[object], object]


class Matcher(Buildable):
    """What a value is matched against other than by being the same.

    Matchers are immutable and without state. Two are equal when they were written the same; whether a value
    matches is never asked by ``==``. They combine by ``&``, ``|`` and ``~``.
    """

    __slots__ = ()
    key: ClassVar[str] = ""
    """The matcher's name in files, ``$`` included; empty where it has none."""
    fields: ClassVar[tuple[str, ...]] = ()
    """The attributes that make up its value."""

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} can't be changed; make a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} can't be changed; make a new one")

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.fields)

    def arguments(self) -> tuple[tuple[object, ...], dict[str, object]]:
        """Return the arguments that make an equal matcher, as they would be written."""
        return self._values(), {}

    def __repr__(self) -> str:
        positional, named = self.arguments()
        written = [repr(value) for value in positional]
        written += [f"{name}={value!r}" for name, value in named.items()]
        return f"{type(self).__name__}({', '.join(written)})"

    def __reduce__(self) -> str | tuple[Any, ...]:
        positional, named = self.arguments()
        return _remade, (type(self), positional, named)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, Matcher):
            return NotImplemented
        return strict_key(self._values()) == strict_key(other._values())

    def __hash__(self) -> int:
        return hash((type(self), strict_key(self._values())))

    def __and__(self, other: object) -> AllOf:
        return AllOf(*_flattened(AllOf, self, other))

    def __rand__(self, other: object) -> AllOf:
        return AllOf(*_flattened(AllOf, other, self))

    def __or__(self, other: object) -> AnyOf:
        return AnyOf(*_flattened(AnyOf, self, other))

    def __ror__(self, other: object) -> AnyOf:
        return AnyOf(*_flattened(AnyOf, other, self))

    def __invert__(self) -> Matcher:
        return Not(self)

    def with_parts(self, _change: Callable[[object], object], /) -> Matcher:
        """Return the same matcher with a change applied to each expectation inside it."""
        return self

    @classmethod
    def from_file(cls, value: object, _read: Read, /) -> Matcher:
        """Return the matcher that stands in a file as ``{key: value}``."""
        return cls(value)  # type: ignore[call-arg]

    def to_file(self, write: Write, /) -> dict[str, object]:
        """Return the matcher as it stands in a file.

        Errors:
            ExpectationError: a file can't hold it.
        """
        (value,) = self._values()
        return {self.key: write(value)}


def _remade(matcher: Callable[..., Matcher], positional: Sequence[object], named: Mapping[str, object]) -> Matcher:
    return matcher(*positional, **named)


def _flattened(combination: type[_Combination], *parts: object) -> Iterable[object]:
    for part in parts:
        if type(part) is combination:
            yield from part.parts
        else:
            yield part


class _Combination(Matcher):
    """A matcher made of several expectations."""

    __slots__ = ("parts",)
    fields = ("parts",)
    parts: tuple[object, ...]

    def __init__(self, *parts: object) -> None:
        if not parts:
            raise ExpectationError(f"{type(self).__name__} needs at least one value")
        self._set(parts=parts)

    def arguments(self) -> tuple[tuple[object, ...], dict[str, object]]:
        return self.parts, {}

    def with_parts(self, change: Callable[[object], object], /) -> Matcher:
        return type(self)(*map(change, self.parts))

    @classmethod
    def from_file(cls, value: object, read: Read, /) -> Matcher:
        if not isinstance(value, list | tuple):
            raise ExpectationError(f"{cls.key} needs a list, not {show(value)}")
        return cls(*(read(part, index) for index, part in enumerate(value)))

    def to_file(self, write: Write, /) -> dict[str, object]:
        return {self.key: [write(part) for part in self.parts]}

    def _built(self, rules: Rules) -> list[Node]:
        below = rules.below()
        return [build(part, below) for part in self.parts]


class AllOf(_Combination):
    """Match what every one of ``parts`` matches.

    >>> AllOf(Regex("A.*"), Length(min=2))
    AllOf(Regex('A.*'), Length(min=2))
    """

    __slots__ = ()
    key = "$all_of"

    def build(self, rules: Rules, /) -> Node:
        nodes = self._built(rules)
        denied = any(node.absent is False for node in nodes)
        unsaid = any(node.absent is None for node in nodes)

        def explain(actual: object, path: Path, levels: int) -> Iterable[Difference]:
            return (found for node in nodes for found in node.explain(actual, path, levels))

        test = _test_parts([node.test for node in nodes], decisive=False)
        return Node(self, test, explain, absent=False if denied else None if unsaid else True)


class AnyOf(_Combination):
    """Match what at least one of ``parts`` matches; a part may be `ABSENT`.

    >>> AnyOf(ABSENT, "economy")
    AnyOf(ABSENT, 'economy')
    """

    __slots__ = ()
    key = "$any_of"

    def build(self, rules: Rules, /) -> Node:
        nodes = self._built(rules)
        allowed = any(node.absent is True for node in nodes)
        unsaid = any(node.absent is None for node in nodes)
        test = _test_texts(nodes) or _test_parts([node.test for node in nodes], decisive=True)
        reason = "it does not match" if len(nodes) == 1 else f"none of the {len(nodes)} matches"
        return leaf(
            self,
            test,
            lambda _actual: reason,
            absent=True if allowed else None if unsaid else False,
        )


class OneOf(AnyOf):
    """Match any of ``parts``, plain values being compared by the policy in force.

    >>> OneOf("economy", "business")
    OneOf('economy', 'business')
    """

    __slots__ = ()
    key = "$one_of"


def _test_texts(nodes: Sequence[Node]) -> Test | None:
    """Return a quick test for what is most frequent, alternatives that are all texts; None for others."""
    quick = [node.quick for node in nodes]
    texts = {pair[1] for pair in quick if pair is not None and pair[0] is str}
    if len(texts) < len(nodes):
        return None
    test_slowly = _test_parts([node.test for node in nodes], decisive=True)

    def test(actual: object, levels: int) -> bool:
        return actual in texts if actual.__class__ is str else test_slowly(actual, levels)

    return test


def _test_parts(tests: Sequence[Test], *, decisive: bool) -> Test:
    """Return a test that ends with the first part that gives the decisive answer.

    Where no part does and one of them can't tell, neither can the whole.
    """

    def test(actual: object, levels: int) -> bool:
        undecided: UndecidedError | None = None
        for part_test in tests:
            try:
                if part_test(actual, levels) is decisive:
                    return decisive
            except Exception as error:  # noqa: BLE001  of a foreign value; another part may decide all the same
                undecided = undecided_by(error)
        if undecided is not None:
            raise undecided
        return not decisive

    return test


class Not(Matcher):
    """Match what ``part`` does not match.

    A key has to be there all the same, unless ``part`` speaks of `ABSENT`. Where it can't be told whether
    ``part`` matches (its function raises, say), this does not match either. ``Not(Not(matcher))`` is
    ``matcher``.

    >>> ~Regex("A.*")
    Not(Regex('A.*'))
    """

    __slots__ = ("part",)
    key = "$not"
    fields = ("part",)
    part: object

    def __new__(cls, part: object) -> Matcher:  # type: ignore[misc]  # the double negation is none
        if isinstance(part, Not) and isinstance(part.part, Matcher):
            return part.part
        negation = super().__new__(cls)
        negation._set(part=part)
        return negation

    def with_parts(self, change: Callable[[object], object], /) -> Matcher:
        return Not(change(self.part))

    @classmethod
    def from_file(cls, value: object, read: Read, /) -> Matcher:
        return cls(read(value))

    def build(self, rules: Rules, /) -> Node:
        node = build(self.part, rules.below())

        def test(actual: object, levels: int) -> bool:
            return not node.test(actual, levels)

        return leaf(
            self,
            test,
            lambda _actual: "it matches what it must not",
            absent=None if node.absent is None else not node.absent,
        )


def unless(kind: str, actual: object) -> str:
    """Say that a value of another kind is needed, or nothing if it is of that kind."""
    return "" if kind_of(actual) == kind else f"a {kind} is needed, not {noun(actual)}"


def check_keys(key: str, value: Mapping[Any, object], known: tuple[str, ...]) -> None:
    """Raise an ExpectationError for a key beside the known ones in what stands under a matcher's key."""
    for name in value:
        if name not in known:
            near = nearest_name(str(name), known)
            hint = f"; did you mean {near!r}?" if near else f"; it takes {' and '.join(known)}"
            raise ExpectationError(f"{key} does not know {show(name)}{hint}")

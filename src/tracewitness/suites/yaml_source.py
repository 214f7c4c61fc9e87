"""Read YAML into a tree with places, by the core schema of YAML 1.2.

PyYAML parses; what an unquoted scalar means is decided here, because PyYAML knows only YAML 1.1, where ``no``
is false, ``12:30`` is 750 and ``2024-01-31`` is a date.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import yaml

from tracewitness.display import printable
from tracewitness.suites.nodes import TOO_DEEP, Leaf, TreeBuilder
from tracewitness.suites.numbers import finite_float, whole_number
from tracewitness.suites.places import Lines, Place
from tracewitness.suites.problems import Problems

__all__ = ["build_from_yaml", "core_value"]

_Parser: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{f"{sign}{word}": float("inf") for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **{f"-{word}": float("-inf") for word in (".inf", ".Inf", ".INF")},
}
_NUMBERS: Final[tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...]] = (
    (re.compile(r"\+[0-9]+|-?0[0-9]+"), str),
    (re.compile(r"-?[0-9]+"), whole_number),
    (re.compile(r"0o[0-7]+"), lambda text: whole_number(text, 8)),
    (re.compile(r"0x[0-9a-fA-F]+"), lambda text: whole_number(text, 16)),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"), finite_float),
)

_FIRST: Final = frozenset(["", *"+-.0123456789", *(word[0] for word in _WORDS if word)])

_TAGS: Final[dict[str, tuple[type, ...]]] = {
    "tag:yaml.org,2002:null": (type(None),),
    "tag:yaml.org,2002:bool": (bool,),
    "tag:yaml.org,2002:int": (int,),
    "tag:yaml.org,2002:float": (float,),
}
_TEXT_TAGS: Final = ("!", "tag:yaml.org,2002:str")


def core_value(text: str) -> Any:
    """Return what an unquoted scalar means: null, a bool, a number, else the text itself.

    This is YAML 1.2's core schema but for one thing: a whole number with a leading zero or a plus sign stays
    text. ``007`` and ``+15551234567`` are identifiers; as numbers they would not match what the agent passed.

    Raises:
        ValueError: a number that can't be represented.

    >>> [core_value(text) for text in ("no", "12:30", "007", "0x10", "1e3", "~")]
    ['no', '12:30', '007', 16, 1000.0, None]
    """
    if text[:1] not in _FIRST:
        return text
    if text in _WORDS:
        return _WORDS[text]
    for pattern, read in _NUMBERS:
        if pattern.fullmatch(text):
            return read(text)
    return text


def build_from_yaml(text: str, problems: Problems) -> TreeBuilder:
    """Read one YAML document.

    Raises:
        SuiteError: the text is not YAML, or holds what an eval file can't, such as a second document.
    """
    lines = Lines(text)
    reader = _YamlReader(lines, problems)
    try:
        for event in yaml.parse(text, Loader=_Parser):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = lines.place(mark.index if mark else 0)
        raise problems.fatal(_syntax_problem(error), (), *place) from None
    except yaml.reader.ReaderError as error:
        character = _refused_character(error)
        place = lines.place(text.find(character))  # the error counts bytes or characters, as its parser does
        raise problems.fatal(_character_problem(character), (), *place) from None
    return reader.builder


class _YamlReader:
    """Hands the events of PyYAML's parser on to the builder."""

    def __init__(self, lines: Lines, problems: Problems) -> None:
        self.builder = TreeBuilder(problems)
        self._lines = lines
        self._problems = problems
        self._documents = 0
        self._takers: dict[type[yaml.Event], Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._mapping,
            yaml.SequenceStartEvent: self._sequence,
            yaml.MappingEndEvent: lambda _event: self.builder.close(),
            yaml.SequenceEndEvent: lambda _event: self.builder.close(),
            yaml.AliasEvent: lambda event: self.builder.alias(event.anchor, self._place(event)),
            yaml.DocumentStartEvent: self._document,
        }

    def take(self, event: yaml.Event) -> None:
        """Use one event; the ends of documents and of the stream say nothing."""
        taker = self._takers.get(type(event))
        if taker is not None:
            taker(event)

    def _mapping(self, event: Any) -> None:
        self._check_tag(event, "tag:yaml.org,2002:map")
        self.builder.open_mapping(self._place(event), event.anchor)

    def _sequence(self, event: Any) -> None:
        self._check_tag(event, "tag:yaml.org,2002:seq")
        self.builder.open_list(self._place(event), event.anchor)

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            problem = "a second document begins here; an eval file is one, so split it at the ---"
            raise self._problems.fatal(problem, (), *self._place(event))

    def _scalar(self, event: Any) -> None:
        place, text = self._place(event), event.value
        if self.builder.wants_key() and event.implicit[0]:
            self._check_plain_key(text, place)
        self.builder.leaf(Leaf(place, self._scalar_value(event, place), text), event.anchor)

    def _scalar_value(self, event: Any, place: Place) -> Any:
        if event.tag in _TEXT_TAGS or (event.tag is None and not event.implicit[0]):
            return event.value
        try:
            value = core_value(event.value)
        except ValueError as error:
            self._problems.add(str(error), self.builder.path(), *place)
            return event.value
        if event.tag is not None and not isinstance(value, _TAGS.get(event.tag, ())):
            raise self._bad_tag(event)
        return value

    def _place(self, event: Any) -> Place:
        return self._lines.place(event.start_mark.index)

    def _check_tag(self, event: Any, expected: str) -> None:
        if event.tag not in (None, "!", expected):
            raise self._bad_tag(event)

    def _bad_tag(self, event: Any) -> Exception:
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        problem = f"tag {printable(tag, 60)} is not possible here; leave it out, or put the value in quotes"
        return self._problems.fatal(problem, self.builder.path(), *self._place(event))

    def _check_plain_key(self, text: str, place: Place) -> None:
        """Refuse two unquoted keys that are no names: ``<<`` merges in YAML 1.1, an empty one is a slip."""
        if text == "<<":
            problem = "merge keys (<<) are not supported; write the keys out, or put << in quotes"
            self._problems.add(problem, self.builder.path(), *place)
        elif text == "":
            problem = "a key is missing here; an empty one is written in quotes"
            self._problems.add(problem, self.builder.path(), *place)


def _syntax_problem(error: yaml.MarkedYAMLError) -> str:
    if "nesting depth" in (error.problem or ""):  # the parser looks ahead, and has a limit of its own
        return TOO_DEEP
    context = f" {error.context}" if error.context else ""
    text = printable(f"{error.problem or 'can not be parsed'}{context}")
    return f"not valid YAML: {text}; check indentation, brackets and quotes here"


def _refused_character(error: yaml.reader.ReaderError) -> str:
    return chr(error.character) if isinstance(error.character, int) else str(error.character)


def _character_problem(character: str) -> str:
    return f"character U+{ord(character):04X} is not possible in YAML; write it as an escape in double quotes"

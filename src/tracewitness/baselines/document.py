"""A file of baselines: read with places, changed a call at a time, so that all else in it stays as a person left it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from tracewitness.display import nearest_name, show
from tracewitness.errors import ExpectationError, PathPart, SuiteError, UsageError
from tracewitness.matching import strict_key
from tracewitness.suites.nodes import ListNode, MapNode, Node, place_of, plain_value
from tracewitness.suites.places import NO_CHARACTER, SURROGATE, Lines, Place
from tracewitness.suites.problems import Problems
from tracewitness.suites.yaml_source import build_from_yaml
from tracewitness.suites.yaml_writing import yaml_key, yaml_text

__all__ = ["Document", "Entry", "FileCall", "Item", "NewItem", "parse_document"]

VERSION: Final = 1
_HEADER: Final = """\
# Calls of agents, recorded by tracewitness. Later runs are compared with them exactly. A value may be replaced by a
# matcher, as in eval files: {$regex: "ORD-.*"}; rewriting keeps it as long as it matches.
"""
#: What stands before some baselines that are read by themselves.
_PART: Final = (f"version: {VERSION}", "baselines:")
_PARALLEL: Final = "parallel"
_FIELDS: Final = ("call", "by", "args", "raw_args", "result", "raw_result", "is_error")
_INDENT: Final = "  "
_SPACES: Final = re.compile(" *")


class FileCall(Struct, frozen=True):
    """A call as the file has it.

    Attributes:
        fields: what the file says of it, as plain data: ``call``, and perhaps ``by``, ``args``, ``result`` and so on.
        place: where it begins.
        node: the same with the places of all its parts.
        source: the file's name.
    """

    fields: dict[str, Any]
    place: Place
    node: Node
    source: str

    @property
    def tool(self) -> str:
        """The tool's name."""
        return str(self.fields["call"])

    def located(self, error: ExpectationError, shift: int = 0) -> SuiteError:
        """Return an error in one of the fields with its place in the file; ``shift`` is that of the `Entry`."""
        line, column = place_of(self.node, error.path)
        return SuiteError(error.problem, error.path, self.source, line + shift, column)


class Item(Struct, frozen=True):
    """One step of a baseline: a call, or calls that were made in parallel.

    Attributes:
        calls: the calls; of a group there may be several.
        is_group: whether it is written as a group.
        place: where it begins.
    """

    calls: tuple[FileCall, ...]
    is_group: bool
    place: Place


class Entry(Struct, frozen=True):
    """One baseline.

    Attributes:
        key: what it is called.
        items: its steps.
        place: where its key stands.
        shift: how many lines it, and all that is in it, stands further down by now.
    """

    key: str
    items: tuple[Item, ...]
    place: Place
    shift: int = 0

    @property
    def plain(self) -> list[dict[str, Any]]:
        """The baseline as data."""
        return [_plain(item) for item in self.items]


class NewItem(Struct, frozen=True):
    """One step of a baseline as it is to be.

    Attributes:
        calls: the fields of its calls, as the file is to hold them.
        is_group: whether it is written as a group.
        old: the number of the step of the old baseline in whose place it comes, if there is one.
        is_same: whether it is just that step.
    """

    calls: tuple[dict[str, Any], ...]
    is_group: bool = False
    old: int | None = None
    is_same: bool = False

    @property
    def plain(self) -> dict[str, Any]:
        """The step as data."""
        return {_PARALLEL: list(self.calls)} if self.is_group else self.calls[0]


class Document(Struct, frozen=True):
    """The text of a file of baselines, and what it says.

    Attributes:
        source: the file's name.
        text: what is in it, its lines ended by ``\\n``.
        entries: the baselines, in the order in which they stand.
        body: the line and column of the key ``baselines``, and the line after it that it ends before.
        newline: what ends a line in the file.
        has_anchors: whether values stand in several places by their names.
    """

    source: str
    text: str
    entries: dict[str, Entry]
    body: tuple[int, int, int]
    newline: str = "\n"
    has_anchors: bool = False

    @classmethod
    def empty(cls, source: str) -> Document:
        """Return what a file is that is not there."""
        return cls(source, "", {}, (0, 0, 0))

    def with_entry(self, key: str, items: Sequence[NewItem]) -> Document:
        """Return the document with a baseline put in or replaced; all that stays the same keeps its text.

        Raises:
            UsageError: a file can't hold one of the values.
        """
        try:
            changed = None if self.has_anchors else _Editing(self).put(key, items)
            if changed is not None:
                return changed
            wanted = {name: entry.plain for name, entry in self.entries.items()}
            return self._rewritten({**wanted, key: [item.plain for item in items]})
        except ExpectationError as error:
            what_to_do = "ignore the value, or hand it on as plain data"
            raise UsageError(
                f"{self.source}: the baseline {show(key)} can't be written: {error}; {what_to_do}"
            ) from error

    def without_entries(self, keys: Iterable[str]) -> Document:
        """Return the document without some baselines; itself, where it has none of them."""
        gone = self.entries.keys() & set(keys)
        if not gone:
            return self
        kept = {name: entry for name, entry in self.entries.items() if name not in gone}
        wanted = {name: entry.plain for name, entry in kept.items()}
        return self._reread(_Editing(self).remove(gone), wanted) or self._rewritten(wanted)

    def _reread(self, text: str | None, wanted: Mapping[str, Any]) -> Document | None:
        """Return what a changed text says, if it is just what is wanted: a person may have laid it out in any way."""
        if text is None:
            return None
        try:
            document = parse_document(text, self.source)
        except SuiteError:
            return None
        read = {name: entry.plain for name, entry in document.entries.items()}
        return replace(document, newline=self.newline) if strict_key(read) == strict_key(wanted) else None

    def _rewritten(self, wanted: Mapping[str, Any]) -> Document:
        """Write the whole document anew."""
        for blocks in (True, False):
            lines = [f"version: {VERSION}", "baselines:" if wanted else "baselines: {}"]
            for key, items in sorted(wanted.items()):
                lines += _entry_lines(key, items, len(_INDENT), blocks=blocks)
            text = _HEADER + "\n".join(lines) + "\n"
            document = self._reread(text, wanted)
            if document is not None:
                return document
        parse_document(text, self.source)
        raise ExpectationError("a file can't hold one of the values: it would be read as another one")


def _plain(item: Item) -> dict[str, Any]:
    calls = [call.fields for call in item.calls]
    return {_PARALLEL: calls} if item.is_group else calls[0]


def parse_document(data: str | bytes, source: str) -> Document:
    """Read a file of baselines.

    Raises:
        SuiteError: it is broken; it says at which line and column.
    """
    problems = Problems(source)
    text = _text(data, problems)
    builder = build_from_yaml(text, problems)
    problems.raise_any()
    document = _Reading(problems, text.replace("\r\n", "\n")).document(builder.root)
    return replace(document, newline="\r\n" if "\r\n" in text else "\n", has_anchors=builder.has_anchors)


def _text(data: str | bytes, problems: Problems) -> str:
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        place = Lines(before).place(len(before))
        raise problems.fatal("not UTF-8 from here; save the file as UTF-8", (), *place) from None
    text = text.removeprefix("\ufeff")
    surrogate = SURROGATE.search(text)
    if surrogate:
        raise problems.fatal(NO_CHARACTER, (), *Lines(text).place(surrogate.start()))
    return text


class _Reading:
    """Reads the tree of a file; what is wrong in it ends the reading, since a baseline in parts is none."""

    def __init__(self, problems: Problems, text: str) -> None:
        self._problems = problems
        self._text = text

    def document(self, root: Node | None) -> Document:
        if not isinstance(root, MapNode):
            raise self._wrong("a file of baselines has version and baselines; delete it to record anew", (), root)
        self._check_keys(root, ("version", "baselines"), ())
        version = plain_value(root.entries["version"].node) if "version" in root.entries else None
        if version != VERSION or version is True:
            problem = f"version {VERSION} is expected, not {show(version)}; a newer tracewitness may have written it"
            raise self._wrong(problem, ("version",), root)
        entry = root.entries.get("baselines")
        if entry is None or not isinstance(entry.node, MapNode):
            problem = "baselines has a baseline under each key; delete the file to record anew"
            raise self._wrong(problem, ("baselines",), root)
        entries = {key: self._entry(key, part.node, part.place) for key, part in entry.node.entries.items()}
        after = [other.place.line for other in root.entries.values() if other.place.line > entry.place.line]
        end = min(after, default=self._text.count("\n") + 2)
        source = self._problems.source
        return Document(source, self._text, entries, (*entry.place, end))

    def _entry(self, key: str, node: Node, place: Place) -> Entry:
        path = ("baselines", key)
        if not isinstance(node, ListNode):
            raise self._wrong("a baseline is a list of calls; [] says that none is made", path, place)
        return Entry(key, tuple(self._item(item, (*path, number)) for number, item in enumerate(node.items)), place)

    def _item(self, node: Node, path: tuple[PathPart, ...]) -> Item:
        if not isinstance(node, MapNode):
            raise self._wrong("a call is a mapping with call and args", path, node)
        if _PARALLEL not in node.entries:
            return Item((self._call(node, path),), False, node.place)
        self._check_keys(node, (_PARALLEL,), path)
        group = node.entries[_PARALLEL].node
        if not isinstance(group, ListNode) or not group.items:
            raise self._wrong("parallel has a list of calls", (*path, _PARALLEL), node.entries[_PARALLEL].place)
        calls = (self._call(call, (*path, _PARALLEL, number)) for number, call in enumerate(group.items))
        return Item(tuple(calls), True, node.place)

    def _call(self, node: Node, path: tuple[PathPart, ...]) -> FileCall:
        if not isinstance(node, MapNode) or "call" not in node.entries:
            raise self._wrong("a call is a mapping with the tool's name under call, and args", path, node)
        self._check_keys(node, _FIELDS, path)
        fields = plain_value(node)
        if not isinstance(fields["call"], str):
            problem = f"call is a tool's name, not {show(fields['call'])}; put it in quotes"
            raise self._wrong(problem, (*path, "call"), node.entries["call"].place)
        return FileCall(fields, node.place, node, self._problems.source)

    def _check_keys(self, node: MapNode, known: tuple[str, ...], path: tuple[PathPart, ...]) -> None:
        for key, entry in node.entries.items():
            if key not in known:
                near = nearest_name(key, known)
                meant = f"; {near} was meant" if near else f"; there are {', '.join(known)}"
                raise self._wrong(f"unknown key {show(key, 40)}{meant}", (*path, key), entry.place)

    def _wrong(self, problem: str, path: tuple[PathPart, ...], where: Node | Place | None) -> SuiteError:
        place = Place(1, 1) if where is None else where if isinstance(where, Place) else where.place
        return self._problems.fatal(problem, path, *place)


class _Block(Struct, frozen=True):
    """The lines of one step: from ``begin`` up to ``end``, counted from 0."""

    begin: int
    end: int


class _Editing:
    """Changes the text of a document line by line; each method returns None where its layout does not allow that."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._entries = list(document.entries.values())
        self._lines = document.text.removesuffix("\n").split("\n")
        self._body, _, end = document.body
        self._end = min(end - 1, len(self._lines))

    def put(self, key: str, items: Sequence[NewItem]) -> Document | None:
        """Return the document with a baseline put in or replaced.

        Each baseline has lines of its own. So only what is read back of the changed ones, and of those before and
        after them, can be another than it was.
        """
        if not self._entries or not self._is_laid_out():
            return None
        names = [entry.key for entry in self._entries]
        if key in names:
            number = names.index(key)
            begin, end = self._span(number)
            kept, anew = (
                self._replaced(number, items),
                _entry_lines(key, [item.plain for item in items], self._column()),
            )
            spliced = (self._spliced(begin, end, lines, (number, number + 1), key, items) for lines in (kept, anew))
            return next((document for document in spliced if document is not None), None)
        number = max((number + 1 for number, name in enumerate(names) if name < key), default=0)
        at = self._span(number - 1)[1] if number else self._body
        lines = _entry_lines(key, [item.plain for item in items], self._column())
        return self._spliced(at, at, lines, (number, number), key, items)

    def _spliced(
        self, begin: int, end: int, lines: list[str], replaced: tuple[int, int], key: str, items: Sequence[NewItem]
    ) -> Document | None:
        """Return the document with other lines in one place, if they read back as what they are to say.

        Arguments:
            begin, end: the lines that are replaced.
            replaced: the numbers of the baselines that are, from and up to.
        """
        before, after = max(replaced[0] - 1, 0), min(replaced[1] + 1, len(self._entries))
        first = self._begin(before) if replaced[0] else self._body
        last = self._begin(after)
        part = [*self._lines[first:begin], *lines, *self._lines[end:last]]
        wanted = {entry.key: entry.plain for entry in self._entries[before : replaced[0]]}
        wanted[key] = [item.plain for item in items]
        wanted |= {entry.key: entry.plain for entry in self._entries[replaced[1] : after]}
        read = _read_part(part, self._document.source, wanted)
        if read is None:
            return None
        moved = len(lines) - (end - begin)
        entries = [
            *self._entries[:before],
            *(replace(entry, shift=first - len(_PART)) for entry in read),
            *(replace(entry, shift=entry.shift + moved) for entry in self._entries[after:]),
        ]
        line, column, body_end = self._document.body
        return replace(
            self._document,
            text=self._joined(begin, end, lines),
            entries={entry.key: entry for entry in entries},
            body=(line, column, body_end + moved),
        )

    def _begin(self, number: int) -> int:
        """Return the line at which a baseline begins, that after the last one where there are no more."""
        if number == len(self._entries):
            return self._end
        entry = self._entries[number]
        return entry.place.line + entry.shift - 1

    def remove(self, keys: set[str]) -> str | None:
        """Return the text without some baselines."""
        if not self._is_laid_out() or len(keys) == len(self._entries):
            return None
        lines = self._lines
        for number in range(len(self._entries) - 1, -1, -1):
            if self._entries[number].key in keys:
                begin, end = self._span(number)
                lines = [*lines[:begin], *lines[end:]]
        return "\n".join(lines) + "\n"

    def _joined(self, begin: int, end: int, lines: Sequence[str]) -> str:
        return "\n".join([*self._lines[:begin], *lines, *self._lines[end:]]) + "\n"

    def _column(self) -> int:
        return self._entries[0].place.column - 1

    def _is_laid_out(self) -> bool:
        """Whether each baseline begins on a line of its own, all equally far in."""
        column = self._column()
        return column > 0 and all(
            self._begin(number) >= self._body
            and entry.place.column - 1 == column
            and not self._lines[self._begin(number)][:column].strip()
            for number, entry in enumerate(self._entries)
        )

    def _span(self, number: int) -> tuple[int, int]:
        """Return the lines of a baseline, without what may stand after it before the next."""
        begin = self._begin(number)
        return begin, self._trimmed(begin, self._begin(number + 1), self._column())

    def _trimmed(self, begin: int, end: int, column: int) -> int:
        """Return where lines end, without those at their end that are empty, or comments no further in."""
        while end > begin + 1:
            line = self._lines[end - 1]
            indent = len(_SPACES.match(line).group())  # type: ignore[union-attr]  # it matches everything
            if line.strip() and not (line.lstrip().startswith("#") and indent <= column):
                break
            end -= 1
        return end

    def _replaced(self, number: int, items: Sequence[NewItem]) -> list[str]:
        """Return the lines of a baseline, of which the steps that stay keep theirs.

        The steps that stay are those of the document which the items were made for. Where this is another one, as of
        what waits to be accepted, their lines read back as something else, or are not there.
        """
        entry = self._entries[number]
        begin, end = self._span(number)
        blocks = self._blocks(entry, end)
        if blocks is None or not items or any(item.old is not None and item.old >= len(blocks) for item in items):
            return _entry_lines(entry.key, [item.plain for item in items], self._column())
        column = len(_SPACES.match(self._lines[blocks[0].begin]).group())  # type: ignore[union-attr]
        lines = self._lines[begin : blocks[0].begin]
        for item in items:
            if item.old:  # what stands before the first step stays in any case
                lines += self._lines[blocks[item.old - 1].end : blocks[item.old].begin]
            if item.old is not None and item.is_same:
                lines += self._lines[blocks[item.old].begin : blocks[item.old].end]
            else:
                lines += _item_lines(item.plain, column)
        return lines

    def _blocks(self, entry: Entry, end: int) -> list[_Block] | None:
        """Return the lines of each step, or None where one does not begin on a line of its own."""
        starts = [item.place.line + entry.shift - 1 for item in entry.items]
        if not starts or starts[0] < entry.place.line + entry.shift:
            return None
        for item, start in zip(entry.items, starts, strict=True):
            if self._lines[start][: item.place.column - 1].strip() != "-":
                return None
        columns = {self._lines[start].index("-") for start in starts}
        if len(set(starts)) < len(starts) or len(columns) > 1:
            return None
        ends = [*starts[1:], end]
        (column,) = columns
        return [_Block(start, self._trimmed(start, stop, column)) for start, stop in zip(starts, ends, strict=True)]


def _read_part(lines: Sequence[str], source: str, wanted: Mapping[str, Any]) -> list[Entry] | None:
    """Read the lines of some baselines; None where they are not just what is wanted."""
    try:
        entries = parse_document("\n".join((*_PART, *lines)) + "\n", source).entries
    except SuiteError:
        return None
    read = {name: entry.plain for name, entry in entries.items()}
    return list(entries.values()) if strict_key(read) == strict_key(wanted) else None


def _entry_lines(key: str, items: Sequence[Any], column: int, *, blocks: bool = True) -> list[str]:
    indent = " " * column
    header = f"{indent}{yaml_key(key)}:"
    if not items:
        return [f"{header} []"]
    return [header, *(line for item in items for line in _item_lines(item, column, blocks=blocks))]


def _item_lines(item: Any, column: int, *, blocks: bool = True) -> list[str]:
    indent = " " * column
    text = yaml_text([item], blocks=blocks)
    return [indent + line if line else "" for line in text.removesuffix("\n").split("\n")]

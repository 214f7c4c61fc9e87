"""Read the tree of an eval file into a `Suite`, and say precisely what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET, structs

from tracewitness.display import nearest_name, show
from tracewitness.errors import ExpectationError, PathPart, SuiteError
from tracewitness.expectations import Operator, ValidArguments, parse_operator
from tracewitness.expectations.tool_schemas import with_tools
from tracewitness.scoring.definitions import ToolDefinitions
from tracewitness.suites.beside import read_beside
from tracewitness.suites.model import Case, JudgedExpectation, Step, Suite
from tracewitness.suites.nodes import Leaf, ListNode, MapNode, Node, place_of, plain_value
from tracewitness.suites.places import Place
from tracewitness.suites.problems import Problems
from tracewitness.suites.shapes import CASE, JUDGED, STEP, SUITE, Kind, Shape

__all__ = ["read_suite"]

Path = tuple[PathPart, ...]
Placed = tuple[Operator, Place]


def read_suite(root: Node, problems: Problems) -> Suite:
    """Read a whole file.

    Arguments:
        root: its tree.
        problems: what was found wrong before; all that is found is raised together.

    Raises:
        SuiteError: the first problem, with the others as notes.
    """
    reader = _Reader(problems)
    raw = reader.file(root)
    problems.raise_any()
    return _suite(raw, problems.source, reader.notices())


class _Reader:
    """Reads nodes by their kind. A wrong value becomes a problem and is left out; reading goes on."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._foreign: dict[str, list[int]] = {}
        self._kinds: dict[Kind, Callable[[Node, Path, Place], Any]] = {
            "aliases": self._aliases,
            "cases": self._cases,
            "count": self._count,
            "expectations": self._expectations,
            "name": self._name,
            "operators": self._operators,
            "steps": self._steps,
            "tags": self._tags,
            "text": self._text,
            "tools": self._tools,
            "values": self._values,
        }

    def file(self, root: Node) -> dict[str, Any]:
        """Read the top of a file: a mapping, or the bare list of its evals."""
        if isinstance(root, ListNode):
            raw: dict[str, Any] = {"evals": self._cases(root, (), root.place)}
        elif isinstance(root, MapNode):
            raw = self._mapping(root, (), SUITE)
        else:
            self._wrong("an eval file is a mapping with evals, or a list of evals", root, (), root.place)
            return {}
        nothing = not raw.get("evals") and not raw.get("common_tool_expectations")
        if nothing and not self._problems:
            problem = "there is nothing to check: list at least one case under evals"
            self._problems.add(problem, (), *root.place)
        if "tools" not in raw:
            self._check_defined(raw)
        return raw

    def _check_defined(self, raw: dict[str, Any]) -> None:
        """Refuse checks that need definitions of tools where nobody gives any."""
        placed = [*raw.get("common_tool_expectations", ())]
        placed += [each for case in raw.get("evals", ()) for each in case.get("tool_expectations", ())]
        for operator, place in placed:
            if isinstance(operator, ValidArguments) and operator.tools is UNSET:
                problem = "valid_arguments needs definitions of tools; list them under tools at the top of the file"
                self._problems.add(problem, (), *place)

    def notices(self) -> tuple[str, ...]:
        """Return the one notice about keys of other tools, where there are any."""
        if not self._foreign:
            return ()
        keys = ", ".join(f"{key} ({_lines(lines)})" for key, lines in self._foreign.items())
        return (f"{self._problems.source}: kept, but not used by tracewitness: {keys}",)

    def _wrong(self, expected: str, node: Node, path: Path, place: Place) -> None:
        self._problems.add(f"{expected}; this is {_describe(node)}", path, *place)

    def _mapping(self, node: MapNode, path: Path, shape: Shape) -> dict[str, Any]:
        """Read the keys of a mapping. A key without a value is as if it were not there."""
        kinds = {field.name: field.kind for field in shape.fields}
        read: dict[str, Any] = {}
        for key, entry in node.entries.items():
            if key in shape.foreign:
                self._foreign.setdefault(key, []).append(entry.place.line)
                read.setdefault("extras", {})[key] = plain_value(entry.node)
            elif key not in kinds:
                self._problems.add(_unknown(key, shape), (*path, key), *entry.place)
            elif not _is_null(entry.node):
                read[key] = self._kinds[kinds[key]](entry.node, (*path, key), entry.place)
        self._check_required(node, path, shape)
        return read

    def _check_required(self, node: MapNode, path: Path, shape: Shape) -> None:
        for field in shape.fields:
            entry = node.entries.get(field.name)
            if field.required and (entry is None or _is_null(entry.node)):
                place = entry.place if entry else node.place
                self._problems.add(f"{shape.noun} needs a key {field.name} with a text", path, *place)

    def _shaped(self, node: Node, path: Path, place: Place, shape: Shape) -> dict[str, Any] | None:
        if isinstance(node, MapNode):
            return self._mapping(node, path, shape)
        known = ", ".join(shape.names)
        self._wrong(f"{shape.noun} is a mapping with keys such as {known}", node, path, place)
        return None

    def _items(self, noun: str, node: Node, path: Path, place: Place) -> list[tuple[Node, Path]]:
        if isinstance(node, ListNode):
            return [(item, (*path, index)) for index, item in enumerate(node.items)]
        self._wrong(f"{noun} are a list, each item after a dash", node, path, place)
        return []

    def _text(self, node: Node, path: Path, place: Place) -> str:
        if isinstance(node, Leaf) and isinstance(node.value, str):
            return node.value
        quotes = f"; write {_quoted(node.text)}" if isinstance(node, Leaf) and node.text else ""
        self._problems.add(f"expected a text, this is {_describe(node)}{quotes}", path, *place)
        return ""

    def _name(self, node: Node, path: Path, place: Place) -> str:
        text = self._text(node, path, place)
        if isinstance(node, Leaf) and isinstance(node.value, str) and not text.strip():
            self._problems.add("expected a text that is not empty", path, *place)
        return text

    def _count(self, node: Node, path: Path, place: Place) -> int:
        value = node.value if isinstance(node, Leaf) else None
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self._wrong("expected a whole number of 0 or more", node, path, place)
        return 0

    def _values(self, node: Node, path: Path, place: Place) -> dict[str, Any]:
        if isinstance(node, MapNode):
            return {key: plain_value(entry.node) for key, entry in node.entries.items()}
        self._wrong("expected a mapping of names and values", node, path, place)
        return {}

    def _tags(self, node: Node, path: Path, place: Place) -> tuple[str, ...]:
        items = self._items("tags", node, path, place)
        return tuple(self._name(item, item_path, item.place) for item, item_path in items)

    def _steps(self, node: Node, path: Path, place: Place) -> tuple[Step, ...]:
        items = self._items("steps", node, path, place)
        read = [self._shaped(item, item_path, item.place, STEP) for item, item_path in items]
        return tuple(Step(**fields) for fields in read if fields is not None)

    def _expectations(self, node: Node, path: Path, place: Place) -> tuple[JudgedExpectation, ...]:
        items = self._items("expectations", node, path, place)
        return tuple(self._expectation(item, item_path) for item, item_path in items)

    def _expectation(self, node: Node, path: Path) -> JudgedExpectation:
        if isinstance(node, MapNode):
            fields = self._mapping(node, path, JUDGED)
            return JudgedExpectation(fields.get("expectation", ""), fields.get("title", ""))
        return JudgedExpectation(self._name(node, path, node.place))

    def _operators(self, node: Node, path: Path, place: Place) -> tuple[Placed, ...]:
        items = self._items("tool expectations", node, path, place)
        read = [self._operator(item, item_path) for item, item_path in items]
        return tuple(placed for placed in read if placed is not None)

    def _operator(self, node: Node, path: Path) -> Placed | None:
        if not isinstance(node, MapNode):
            self._wrong("a tool expectation is a mapping with a key type", node, path, node.place)
            return None
        try:
            return parse_operator(plain_value(node)), node.place
        except ExpectationError as error:
            place = place_of(node, error.path)
            self._problems.add(error.problem, (*path, *error.path), *place)
            return None

    def _tools(self, node: Node, path: Path, place: Place) -> Any:
        """Read definitions of tools, from here or from a file beside; they stay as they were written."""
        if isinstance(node, Leaf) and isinstance(node.value, str):
            try:
                given, node = read_beside(self._problems.source, node.value), node
                ToolDefinitions.read(given)
            except (SuiteError, ExpectationError) as error:
                self._problems.add(f"tools of {show(node.value)}: {error}", path, *place)
                return None
            return given
        given = plain_value(node)
        try:
            ToolDefinitions.read(given)
        except ExpectationError as error:
            where = place_of(node, error.path) if error.path and not isinstance(node, Leaf) else place
            self._problems.add(error.problem, (*path, *error.path), *where)
        return given

    def _cases(self, node: Node, path: Path, place: Place) -> list[dict[str, Any]]:
        cases: list[dict[str, Any]] = []
        first: dict[str, Place] = {}
        for item, item_path in self._items("evals", node, path, place):
            fields = self._shaped(item, item_path, item.place, CASE)
            if fields is None:
                continue
            self._check_case_name(item, item_path, fields.get("name", ""), first)
            cases.append({"place": item.place, **fields})
        return cases

    def _check_case_name(self, node: Node, path: Path, name: str, first: dict[str, Place]) -> None:
        place = place_of(node, ("name",))
        earlier = first.setdefault(name, place)
        if name and earlier is not place:
            problem = f"a second case is named {show(name)}, first on line {earlier.line}; rename one of them"
            self._problems.add(problem, (*path, "name"), *place)

    def _aliases(self, node: Node, path: Path, place: Place) -> dict[str, tuple[str, ...]]:
        if not isinstance(node, MapNode):
            self._wrong("aliases are a mapping from a tool to a list of its other names", node, path, place)
            return {}
        aliases: dict[str, tuple[str, ...]] = {}
        stands_for: dict[str, str] = {}
        for tool, entry in node.entries.items():
            names = self._items("the other names of a tool", entry.node, (*path, tool), entry.place)
            if not tool.strip():
                self._problems.add("expected the name of a tool before the colon", (*path, tool), *entry.place)
            if isinstance(entry.node, ListNode) and not names:
                self._problems.add("expected at least one other name", (*path, tool), *entry.place)
            aliases[tool] = tuple(self._name(item, item_path, item.place) for item, item_path in names)
            for (item, item_path), name in zip(names, aliases[tool], strict=True):
                problem = _alias_problem(tool, name, node, stands_for)
                if problem:
                    self._problems.add(problem, item_path, *item.place)
                stands_for.setdefault(name, tool)
        return aliases


def _alias_problem(tool: str, name: str, aliases: MapNode, stands_for: dict[str, str]) -> str | None:
    """Say why ``name`` can't be another name of ``tool``, or return None."""
    if name == tool:
        return f"{show(name)} is given as an alias of itself; take it out"
    if name in aliases.entries:
        line = aliases.entries[name].place.line
        return f"{show(name)} has aliases of its own on line {line}; list all names under one tool"
    other = stands_for.get(name)
    if other == tool:
        return f"{show(name)} is given twice; take one out"
    if other is not None:
        return f"{show(name)} is already an alias of {show(other)}; one name can't stand for two tools"
    return None


def _is_null(node: Node) -> bool:
    return isinstance(node, Leaf) and node.value is None


def _describe(node: Node) -> str:
    if isinstance(node, MapNode):
        return f"a mapping with {show(list(node.entries), 60)}" if node.entries else "an empty mapping"
    if isinstance(node, ListNode):
        return "a list"
    if node.value is None:
        return "nothing (null)"
    nouns = {str: "the text", bool: "the bool", int: "the number", float: "the number"}
    return f"{nouns[type(node.value)]} {show(node.value if isinstance(node.value, str) else node.text, 60)}"


def _quoted(text: str) -> str:
    return show(f'"{text}"', 60)[1:-1]


def _unknown(key: str, shape: Shape) -> str:
    near = nearest_name(key, (*shape.names, *shape.foreign))
    hint = f"{near} was meant" if near else f"{shape.noun} has {', '.join(shape.names)}"
    return f"unknown key {show(key, 60)}; {hint}"


def _lines(lines: list[int]) -> str:
    shown = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
    return f"line {shown}" if len(lines) == 1 else f"lines {shown}"


def _suite(raw: dict[str, Any], source: str, notices: tuple[str, ...]) -> Suite:
    """Merge what is common into every case."""
    operators = _informed(raw.get("common_tool_expectations", ()), raw)
    common = Suite(
        source=source,
        cases=(),
        common_tool_expectations=tuple(
            operator.in_session(raw.get("common_session_parameters", {})) for operator, _ in operators
        ),
        common_places=tuple(place for _, place in operators),
        common_expectations=raw.get("common_expectations", ()),
        common_session_parameters=raw.get("common_session_parameters", {}),
        aliases=raw.get("aliases", {}),
        tools=raw.get("tools"),
        extras=raw.get("extras", {}),
        notices=notices,
    )
    cases = tuple(_case(fields, common, operators, raw) for fields in raw.get("evals", ()))
    return structs.replace(common, cases=cases)


def _informed(placed: tuple[Placed, ...], raw: dict[str, Any]) -> tuple[Placed, ...]:
    """Let checks know the definitions of the tools, where the file has some."""
    if raw.get("tools") is None:
        return placed
    operators = with_tools((operator for operator, _ in placed), raw["tools"], raw.get("aliases"))
    return tuple(zip(operators, (place for _, place in placed), strict=True))


def _case(fields: dict[str, Any], common: Suite, operators: tuple[Placed, ...], raw: dict[str, Any]) -> Case:
    placed = (*operators, *_informed(fields.get("tool_expectations", ()), raw))
    parameters = common.common_session_parameters | fields.get("session_parameters", {})
    parts = {
        "session_parameters": parameters,
        "expectations": (*common.common_expectations, *fields.get("expectations", ())),
        "tool_expectations": tuple(operator.in_session(parameters) for operator, _ in placed),
        "places": tuple(place for _, place in placed),
        "aliases": common.aliases,
    }
    return Case(**{**fields, **parts})

"""Load an eval file: from bytes or a path to a `Suite`, with one kind of error for all that can be wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tracewitness.display import printable
from tracewitness.errors import SuiteError
from tracewitness.suites.json_source import JsonSyntaxError, build_from_json
from tracewitness.suites.model import Suite
from tracewitness.suites.nodes import Leaf, Node
from tracewitness.suites.places import NO_CHARACTER, SURROGATE, Lines
from tracewitness.suites.problems import Problems
from tracewitness.suites.reading import read_suite
from tracewitness.suites.yaml_source import build_from_yaml

__all__ = ["MAX_BYTES", "load_suite", "parse_suite"]

MAX_BYTES: Final = 64 * 1024 * 1024
_BYTE_ORDER_MARK: Final = "\ufeff"


def load_suite(path: str | os.PathLike[str]) -> Suite:
    """Read an eval file, YAML or JSON.

    Arguments:
        path: the file. One that ends in ``.json`` is JSON and nothing else; any other is JSON where it reads
            as JSON, else YAML.

    Raises:
        SuiteError: the file can't be read, or something in it is wrong: its text is one line with file, line,
            column and what to do; ``__notes__`` has a line for each further problem.

    Example::

        suite = load_suite("examples/orders/orders.evals.yaml")
        [case.name for case in suite.cases]
    """
    source = os.fspath(path)
    problems = Problems(source)
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise problems.fatal("this is a folder; name the eval file in it") from None
    except FileNotFoundError:
        raise problems.fatal("there is no such file; check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise problems.fatal(f"the file can't be opened: {printable(str(reason))}") from None
    return parse_suite(data, source=source)


def parse_suite(data: str | bytes, source: str = "<suite>") -> Suite:
    """Read an eval file from memory.

    Arguments:
        data: its content; bytes are UTF-8, with or without a byte order mark.
        source: its name in messages; one that ends in ``.json`` is read as JSON and nothing else.

    Raises:
        SuiteError: as `load_suite`.

    >>> parse_suite("[{name: order, tool_expectations: [{type: tool_called, tool: pay}]}]").cases[0].name
    'order'
    """
    problems = Problems(source)
    text = _text(data, problems)
    root = _root(text, problems) if text.strip() else None
    if root is None or (isinstance(root, Leaf) and root.value is None):
        raise problems.fatal("the file is empty; list cases under evals")
    return read_suite(root, problems)


def _text(data: str | bytes, problems: Problems) -> str:
    if len(data) > MAX_BYTES:
        raise problems.fatal(f"the file is larger than {MAX_BYTES >> 20} MiB; split it")
    text = data if isinstance(data, str) else _decode(data, problems)
    text = text.removeprefix(_BYTE_ORDER_MARK)
    surrogate = SURROGATE.search(text)
    if surrogate:
        raise problems.fatal(NO_CHARACTER, (), *Lines(text).place(surrogate.start()))
    return text


def _decode(data: bytes, problems: Problems) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
        raise problems.fatal(
            "not UTF-8 from here; save the file as UTF-8", (), *Lines(before).place(len(before))
        ) from None


def _root(text: str, problems: Problems) -> Node | None:
    """Read JSON where the text is JSON: YAML has JSON in it, but its parsers stumble over tabs."""
    only_json = problems.source.lower().endswith(".json")
    if not only_json and not text.lstrip().startswith(("{", "[")):
        return build_from_yaml(text, problems).root
    attempt = Problems(problems.source)
    try:
        root = build_from_json(text, attempt).root
    except JsonSyntaxError as error:
        if only_json:
            raise _not_json(error, attempt) from None
        return _yaml_root(text, problems, error, attempt)
    problems.include(attempt)
    return root


def _yaml_root(text: str, problems: Problems, not_json: JsonSyntaxError, attempt: Problems) -> Node | None:
    """Read as YAML what is not JSON. Where it is neither, the reading that came further knows better why."""
    try:
        return build_from_yaml(text, problems).root
    except SuiteError as error:
        if not_json.place < (error.line, error.column):
            raise
    raise _not_json(not_json, attempt)


def _not_json(error: JsonSyntaxError, problems: Problems) -> SuiteError:
    return problems.fatal(f"not valid JSON: {error.problem}", (), *error.place)

"""Read a file of plain data that an eval file names, beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tracewitness.display import printable, show
from tracewitness.errors import ExpectationError
from tracewitness.suites.json_source import JsonSyntaxError, build_from_json
from tracewitness.suites.nodes import plain_value
from tracewitness.suites.problems import Problems
from tracewitness.suites.yaml_source import build_from_yaml

__all__ = ["read_beside"]

_MOST_BYTES: Final = 16 * 1024 * 1024


def read_beside(source: str, name: str) -> Any:
    """Read JSON or YAML.

    Arguments:
        source: the eval file that names it.
        name: its path, from the eval file's folder on.

    Raises:
        ExpectationError: it can't be read, or is no JSON.
        SuiteError: it is no YAML.
    """
    path = Path(source).parent / name
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ExpectationError("the file is not UTF-8; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = printable(str(getattr(error, "strerror", None) or error))
        raise ExpectationError(
            f"the file can't be opened: {reason}; the path is looked up beside the eval file"
        ) from None
    if len(data) > _MOST_BYTES:
        raise ExpectationError(f"the file is larger than {_MOST_BYTES >> 20} MiB")
    problems = Problems(str(path))
    if text.lstrip().startswith(("{", "[")):
        try:
            root = build_from_json(text, problems).root
        except JsonSyntaxError as error:
            line, column = error.place
            raise ExpectationError(f"not valid JSON on line {line}, column {column}: {error.problem}") from None
    else:
        root = build_from_yaml(text, problems).root
    problems.raise_any()
    if root is None:
        raise ExpectationError(f"the file {show(name)} is empty")
    return plain_value(root)

"""What the command line says of an agent behind an address: headers, which may be secret, and instructions."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Final

from tracewitness.display import plural, show
from tracewitness.errors import UsageError

__all__ = ["headers_from", "instructions_from"]

#: What the name of a header may be, and its value: https://www.rfc-editor.org/rfc/rfc9110#name-field-names
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?")
_FROM_FILE: Final = "@"


def headers_from(given: Sequence[str]) -> dict[str, str] | None:
    """Return the headers that are written ``NAME=VALUE``; None where there are none.

    In a value ``$VARIABLE`` and ``${VARIABLE}`` stand for what is in the environment, so that no secret has to be on a
    command line, and ``$$`` for a dollar. No message shows a value.

    Raises:
        UsageError: one is malformed, stands twice, or names a variable that is not there.
    """
    headers: dict[str, str] = {}
    for number, text in enumerate(given, 1):
        name, equals, value = text.partition("=")
        if not equals or not _NAME.fullmatch(name):
            which = f"number {number} of {len(given)}" if len(given) > 1 else "the one given"
            raise UsageError(f"a header is NAME=VALUE, such as 'Authorization=Bearer $TOKEN'; {which} is not")
        if name.lower() in map(str.lower, headers):
            raise UsageError(f"the header {name} is given twice; give it once")
        headers[name] = _filled_in(name, value)
    return headers or None


def _filled_in(name: str, value: str) -> str:
    """Return a header's value with what its variables stand for."""
    try:
        filled = Template(value).substitute(os.environ)
    except KeyError as error:
        variable = error.args[0]
        raise UsageError(f"the header {name} needs the variable {variable}, which is not in the environment") from error
    except ValueError as error:
        raise UsageError(f"the header {name} has a $ that begins no name of a variable; a dollar is $$") from error
    if not _VALUE.fullmatch(filled):
        raise UsageError(f"the value of the header {name} is empty, or has characters that a header can't have")
    return filled


def instructions_from(given: str | None) -> str | None:
    """Return the instructions that are given as a text, or as ``@FILE``; None where none are.

    Raises:
        UsageError: there is no such file, it can't be read, or there is nothing in it.
    """
    if given is None or not given.startswith(_FROM_FILE):
        return _not_empty(given, "--agent-instructions")
    path = Path(given.removeprefix(_FROM_FILE))
    try:
        return _not_empty(path.read_text("utf-8"), str(path))
    except OSError as error:
        raise UsageError(f"the instructions {show(str(path))} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        place = f"at byte {error.start} of {plural(len(error.object), 'byte')}"
        raise UsageError(f"the instructions {show(str(path))} are no UTF-8 {place}") from error


def _not_empty(text: str | None, where: str) -> str | None:
    if text is not None and not text.strip():
        raise UsageError(f"{where} has no instructions in it; leave it out, or write some")
    return text

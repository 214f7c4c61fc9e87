"""The text trace of a simulation as lines of a file, with nothing around them."""

from __future__ import annotations

from typing import Any

from tracewitness.errors import ReadError
from tracewitness.readers.text_trace import begins_entry, entries_of, is_users_entry

__all__ = ["decode", "fits"]


def fits(head: bytes) -> bool:
    """Whether the beginning of a document looks like an entry of a text trace."""
    return begins_entry(head.decode("utf-8-sig", "replace").lstrip())


def decode(data: bytes) -> dict[str, Any]:
    """Decode a text trace, as the result of the simulation has it.

    Raises:
        ReadError: it is not UTF-8, or no line of it is an agent's.

    >>> decode(b"User: hi\\nTool Call: greet with args {}\\nAgent Text: Hello.")
    {'detailed_trace': ['User: hi', 'Tool Call: greet with args {}\\nAgent Text: Hello.']}
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReadError(f"not UTF-8: {error.reason} at byte {error.start}") from error
    entries = entries_of(text.replace("\r\n", "\n").lstrip())
    if all(map(is_users_entry, entries)):
        raise ReadError("not JSON, and as a text trace it has no line of an agent")
    return {"detailed_trace": entries}

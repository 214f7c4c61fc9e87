"""Cassettes in YAML: what programs such as VCR.py recorded of their traffic over HTTP."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["decode", "fits"]

_begins_a_cassette = re.compile(
    rb"\A(?:\xef\xbb\xbf)?(?:---[^\n]*\r?\n|#[^\n]*\n|\s*\n|(?:version|recorded_with): *[^\n]*\n)*"
    rb"(?:http_)?interactions:[ \r\n]"
).match


def fits(head: bytes) -> bool:
    """Whether a document begins as a cassette does."""
    return _begins_a_cassette(head) is not None


def decode(data: bytes) -> Any:
    """Decode a cassette.

    Aliases are allowed, since writers put one where a body stands twice; what they add up to is bounded.

    Raises:
        ReadError: it is broken, or it has tags that make objects, keys that stand twice, or aliases without end.

    >>> decode(b"interactions:\\n- request: {method: GET}\\n")
    {'interactions': [{'request': {'method': 'GET'}}]}
    """
    from tracewitness.readers.encodings.yaml_loading import load  # YAML takes longer to import than all readers

    return load(data)

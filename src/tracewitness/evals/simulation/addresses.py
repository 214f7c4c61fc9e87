"""Addresses of endpoints: whether one can be reached at all, and how it is shown."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

__all__ = ["why_no_address", "without_password"]


def why_no_address(url: str) -> str:
    """Return what is wrong with an address, whatever is behind it; nothing where nothing is.

    >>> why_no_address("http://localhost:80000/v1")
    'has a port that is none: one is between 1 and 65535'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "has no host"
    if not parts.hostname:
        return "has no host"
    try:
        is_port = parts.port != 0
    except ValueError:
        is_port = False
    return "" if is_port else "has a port that is none: one is between 1 and 65535"


def without_password(url: str) -> str:
    """Return an address without the user and password that it may have in it; any other text as it is.

    >>> without_password("https://me:secret@shop.test/v1")
    'https://shop.test/v1'
    """
    return re.sub("^(https?://)[^/?#]*@", r"\1", url)

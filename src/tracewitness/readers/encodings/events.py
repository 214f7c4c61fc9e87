"""What a server sent piece by piece, as one answer."""

from __future__ import annotations

from typing import Any

__all__ = ["Events"]


class Events(list[Any]):
    """The events of one stream, hence of one run. One that is no JSON, or is cut off, stands in it as text."""

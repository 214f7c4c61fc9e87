"""What only some scans need is imported when it is used; where it is not there, one line says what to install."""

from __future__ import annotations

import importlib
from typing import Any

from tracewitness.errors import UsageError

__all__ = ["need", "use_little_memory"]


def use_little_memory() -> None:
    """Have Arrow give memory back at once: its own allocator keeps what it had. For processes that are ours alone."""
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())


def need(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an extra.

    Arguments:
        module: its name.
        extra: the extra that has it.
        purpose: what it is needed for, as the beginning of a sentence.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = (error.name or module).partition(".")[0]
        raise UsageError(f"{purpose} needs {package}: pip install 'tracewitness[{extra}]' ({error})") from error

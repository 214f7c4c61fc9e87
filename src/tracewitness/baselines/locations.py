"""Where baselines are kept, and what they are called.

The baselines of ``tests/test_orders.py`` are in ``tests/__witness__/test_orders.witness.yaml``. Beside that file, in
the folder ``.local``, which keeps itself out of version control, is what only this machine needs: what failed
comparisons have seen, until somebody accepts it, and the locks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = [
    "FOLDER",
    "LOCAL_FOLDER",
    "baseline_path",
    "belongs_to",
    "entry_key",
    "find_baselines",
    "local_path",
    "test_module_of",
]

FOLDER: Final = "__witness__"
LOCAL_FOLDER: Final = ".local"
_SUFFIX: Final = ".witness.yaml"
_BEFORE_NAME: Final = " # "
#: What has no tests of one's own in it, and may have very many files.
_NOT_LOOKED_INTO: Final = frozenset({"node_modules", "site-packages", "__pycache__"})


def baseline_path(test_module: str | os.PathLike[str]) -> Path:
    """Return the file for the baselines of a module of tests.

    >>> baseline_path("tests/test_orders.py").as_posix()
    'tests/__witness__/test_orders.witness.yaml'
    """
    module = Path(test_module)
    return module.parent / FOLDER / f"{module.stem}{_SUFFIX}"


def test_module_of(baseline: str | os.PathLike[str]) -> Path:
    """Return the module of tests that a file of baselines belongs to; whether it is there has to be looked.

    >>> test_module_of("tests/__witness__/test_orders.witness.yaml").as_posix()
    'tests/test_orders.py'
    """
    path = Path(baseline)
    return path.parent.parent / f"{path.name.removesuffix(_SUFFIX)}.py"


def local_path(baseline: Path, kind: str) -> Path:
    """Return the file of a kind that only this machine needs for a file of baselines."""
    return baseline.parent / LOCAL_FOLDER / f"{baseline.name}.{kind}"


def entry_key(test: str, name: str | int | None = None) -> str:
    """Return what the baseline of a test is called in its file.

    Arguments:
        test: the test's id within its module, with its parameters: ``TestRefunds::test_late[eur]``.
        name: what tells the baseline from others of the same test: a name, or its number. None for the first.

    >>> entry_key("test_refund[eur]", "second agent")
    'test_refund[eur] # second agent'
    """
    return test if name is None else f"{test}{_BEFORE_NAME}{name}"


def belongs_to(key: str, test: str) -> bool:
    """Tell whether a baseline is one of a test's, by its key."""
    return key == test or key.startswith(f"{test}{_BEFORE_NAME}")


def find_baselines(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the files of baselines in a folder and all below it, in order. Hidden folders are left out."""
    for parent, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith(".") and name not in _NOT_LOOKED_INTO)
        if Path(parent).name == FOLDER:
            yield from (Path(parent) / name for name in sorted(files) if name.endswith(_SUFFIX))

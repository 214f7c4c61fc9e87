"""Import what a text such as ``shop.agent:reply`` names."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from tracewitness.display import nearest_name, printable, show
from tracewitness.errors import UsageError

__all__ = ["import_attribute"]


def import_attribute(spec: str, what: str, example: str = "shop.agent:reply") -> Any:
    """Import an attribute of a module. From then on modules are looked for in the working directory first.

    Arguments:
        spec: ``module:attribute``; either may have dots.
        what: what it is to be, for messages, such as ``an agent``.
        example: how such a thing is named.

    Raises:
        UsageError: there is no such module or attribute, or the module can't be imported.

    >>> import_attribute("json:JSONDecoder.decode", "an agent").__name__
    'decode'
    """
    module_name, _, attribute = spec.partition(":")
    if not _is_dotted(module_name) or not _is_dotted(attribute) or module_name.endswith(".py"):
        raise UsageError(f"{what} is named module:attribute, such as {example}, not {show(spec)}{_hint(spec, example)}")
    directory = str(Path.cwd())
    if sys.path[0] != directory:
        sys.path.insert(0, directory)
    value: Any = _import(module_name, what)
    for part in attribute.split("."):
        value = _attribute(value, part, spec, what)
    return value


def _is_dotted(name: str) -> bool:
    return bool(name) and all(part.isidentifier() for part in name.split("."))


def _hint(spec: str, example: str) -> str:
    module_name, _, attribute = spec.partition(":")
    name = ".".join(Path(module_name.removesuffix(".py")).parts)
    if not module_name.endswith(".py") or not _is_dotted(name):
        return ""
    return f"; {name}:{attribute or example.partition(':')[2]} was meant"


def _import(name: str, what: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            reason = f"there is no module {printable(error.name)}, neither in the working directory nor installed"
            raise UsageError(f"{what} can't be imported: {reason}") from error
        raise _failed(name, what, error) from error
    except (Exception, SystemExit) as error:  # what a module does when it is imported may raise anything
        raise _failed(name, what, error) from error


def _failed(name: str, what: str, error: BaseException) -> UsageError:
    """Say in one line what importing a module raised, and where."""
    if isinstance(error, SyntaxError):
        file, line, reason = error.filename or name, error.lineno, error.msg
    else:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        file, line, reason = frame.filename, frame.lineno, str(error)
    place = f"{Path(file).name}, line {line}"
    raised = f"{type(error).__name__}: {printable(reason)}"
    return UsageError(f"{what} can't be imported: the module {name} raised {raised} ({place})")


def _attribute(value: Any, part: str, spec: str, what: str) -> Any:
    try:
        return getattr(value, part)
    except AttributeError as error:
        near = nearest_name(part, [name for name in dir(value) if not name.startswith("_")])
        meant = f"; {near} was meant" if near else ""
        owner = getattr(value, "__name__", None) or type(value).__name__
        raise UsageError(f"{what} {printable(spec)}: {printable(str(owner))} has no {part}{meant}") from error

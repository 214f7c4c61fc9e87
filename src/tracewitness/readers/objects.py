"""Turn the objects of providers' SDKs into plain data, without importing an SDK or validating through its types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import SimpleNamespace
from typing import Any, Final

from tracewitness.display import show
from tracewitness.errors import ReadError
from tracewitness.readers.tables import rows_of_table

__all__ = ["Converters", "is_sdk_object", "plain"]

# The top packages whose objects are responses or parts of them. Roots, since everything below them moves.
_SDKS: Final = frozenset(
    {"anthropic", "cohere", "google", "groq", "litellm", "mistralai", "ollama", "openai", "together", "vertexai"}
)
_SCALARS: Final = frozenset({str, int, float, bool, type(None), bytes})
_CONTAINERS: Final = frozenset({dict, list, tuple})


Converters = Mapping[str, Callable[[Any], Any]]
_NO_CONVERTERS: Final[Converters] = {}


def is_sdk_object(value: object, converters: Converters = _NO_CONVERTERS) -> bool:
    """Whether a value is an instance of a class of a known SDK, and can be made data of."""
    kind = type(value)
    return (_is_of_sdk(kind) and _dumper(kind) is not None) or any(root in converters for root in _roots(kind))


def plain(value: Any, converters: Converters = _NO_CONVERTERS) -> Any:
    """Return a value with every SDK object in it, at any depth, as a mapping. Fields that no SDK knows are kept.

    A table is the list of its rows; one that stands in something is left as it is, since a tool may give one back.

    Arguments:
        converters: by the top package of a class, what makes data of its objects; it returns an object as it is
            where that dumps itself well enough.

    Raises:
        ReadError: an object can't be dumped, or it is nested too deeply, perhaps in itself.

    >>> from types import SimpleNamespace
    >>> plain([SimpleNamespace(role="user", content="hi")])
    [{'role': 'user', 'content': 'hi'}]
    """
    try:
        rows = None if type(value) in _CONTAINERS | _SCALARS else rows_of_table(value)
        return _plain(value if rows is None else rows, converters)
    except RecursionError as error:
        raise ReadError("nested too deeply to be read") from error
    except ReadError:
        raise
    except Exception as error:  # the methods of foreign classes may raise anything
        raise ReadError(f"it can't be turned into plain data: {type(error).__name__}: {show(error)}") from error


def _plain(value: Any, converters: Converters) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind not in _CONTAINERS:  # a framework's own kinds of tuples and mappings are objects of it too
        converted = _converted(value, converters)
        if converted is not value:
            return _plain(converted, converters)
    if isinstance(value, Mapping):
        return {key: _plain(item, converters) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, converters) for item in value]
    if isinstance(value, Enum):
        return _plain(value.value, converters)
    if isinstance(value, str):
        return str.__str__(value)  # a subclass may compare as it likes
    if kind is SimpleNamespace:
        return _plain(vars(value), converters)
    dump = _dumper(kind)
    return value if dump is None else _plain(_dumped(value, dump), converters)


def _converted(value: Any, converters: Converters) -> Any:
    if not converters:
        return value
    convert = next((converters[root] for root in _roots(type(value)) if root in converters), None)
    return value if convert is None else _dumped(value, convert, may_stay=True)


def _roots(kind: type) -> Iterator[str]:
    """Yield the top packages that a class and its bases come from."""
    return ((base.__module__ or "").partition(".")[0] for base in kind.__mro__)


def _is_of_sdk(kind: type) -> bool:
    return not _SDKS.isdisjoint(_roots(kind))


def _dumper(kind: type) -> Callable[[Any], Any] | None:
    """Return what makes plain data of an object of a class.

    It is looked for on the class: a mock has every method, its class has none.
    """
    if callable(getattr(kind, "model_dump", None)):
        return _dump_model
    if _is_of_sdk(kind):
        for method in ("to_dict", "to_json_dict"):
            found = getattr(kind, method, None)
            if callable(found):
                return lambda value: found(value)
    return None


def _dump_model(value: Any) -> Any:
    """Dump a pydantic model. A server's odd value in a field is no reason for a warning: readers find it."""
    try:
        return value.model_dump(warnings=False)
    except TypeError:
        return value.model_dump()


def _dumped(value: Any, dump: Callable[[Any], Any], *, may_stay: bool = False) -> Any:
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    try:
        data = dump(value)
    except Exception as error:  # a foreign method may raise anything
        raise ReadError(f"a {name} can't be turned into plain data: {type(error).__name__}: {show(error)}") from error
    if type(data) is kind and not (may_stay and data is value):
        raise ReadError(f"a {name} can't be turned into plain data: its dump is one again")
    return data

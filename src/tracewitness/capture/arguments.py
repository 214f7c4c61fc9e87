"""The arguments of a call by the names of the parameters, as they are when it is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from tracewitness.capture.snapshots import Opaque, snapshot
from tracewitness.display import nearest_name, printable, show
from tracewitness.errors import UsageError, path_text

__all__ = ["GivenArguments", "Parameters"]

_VAR_POSITIONAL: Final = inspect.Parameter.VAR_POSITIONAL
_VAR_KEYWORD: Final = inspect.Parameter.VAR_KEYWORD

#: What frameworks put in themselves, by the top package of its class and the class's name: no model has given it.
_PUT_IN_BY: Final = frozenset(
    {"agents", "autogen_core", "crewai", "fastmcp", "google", "langchain", "langgraph", "llama_index", "mcp"}
    | {"pydantic_ai", "strands", "workflows"}
)
_PUT_IN: Final = frozenset(
    {"CallbackContext", "CancellationToken", "Context", "InvocationContext", "ReadonlyContext", "RunContext"}
    | {"RunContextWrapper", "ToolContext", "ToolRuntime"}
)


class GivenArguments(Struct, frozen=True):
    """What a tool was called with.

    Attributes:
        args: by the names of the parameters, plain data.
        raw_args: a text that shows them, where one of them has no plain form; then `args` is None.
        problems: what has none, and what to do.
    """

    args: dict[str, Any] | None
    raw_args: str = ""
    problems: tuple[str, ...] = ()


class Parameters:
    """The parameters of a tool.

    Arguments:
        function: the tool.
        is_method: whether its first parameter is the object or class that it belongs to, which is left out.
        leave_out: the names of others that are left out.
        plain: as of `snapshot`.

    Raises:
        UsageError: it has no parameter of a name that is to be left out.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        is_method: bool = False,
        leave_out: Collection[str] = (),
        plain: Callable[[Any], Any] | None = None,
    ) -> None:
        self._signature = _signature(function)
        self._plain = plain
        parameters = {} if self._signature is None else self._signature.parameters
        takes_any = self._signature is None or any(each.kind is _VAR_KEYWORD for each in parameters.values())
        for name in () if takes_any else leave_out:
            if name not in parameters:
                near = nearest_name(name, parameters)
                meant = f"{near} was meant" if near else f"it has {', '.join(parameters) or 'none'}"
                raise UsageError(f"leave_out: the tool has no parameter {show(name, 60)}; {meant}")
        self._left_out = frozenset([*leave_out, *(list(parameters)[:1] if is_method else ())])

    def given(self, tool: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> GivenArguments:
        """Copy what the tool is called with, also what it takes by default."""
        copied: dict[str, Any] = {}
        opaque: list[Opaque] = []
        for name, value, is_default in self._by_name(args, kwargs):
            if _is_put_in(value):
                continue
            taken = snapshot(value, (name,), self._plain)
            if taken.opaque and is_default:
                continue  # a mark for “not given”, mostly
            copied[name] = taken.value
            opaque += taken.opaque
        if not opaque:
            return GivenArguments(copied)
        problems = tuple(_problem(tool, each) for each in opaque)
        return GivenArguments(None, show(copied, 20_000), problems)

    def _by_name(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
        """Yield name, value, and whether it is a default."""
        if self._signature is None:
            yield from _unbound(args, kwargs, ())
            return
        try:
            bound = self._signature.bind(*args, **kwargs).arguments
        except TypeError:  # the tool is about to raise the same
            yield from _unbound(args, kwargs, self._left_out)
            return
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is _VAR_KEYWORD:
                yield from self._further(name, bound.get(name, {}))
            elif name in self._left_out or (parameter.kind is _VAR_POSITIONAL and not bound.get(name)):
                continue
            elif name in bound:
                yield name, bound[name], False
            elif parameter.default is not parameter.empty:
                yield name, parameter.default, True

    def _further(self, name: str, further: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
        """Yield what was given by other names; under the parameter's name where one is a parameter's, too."""
        kept = {key: value for key, value in further.items() if key not in self._left_out}
        names = () if self._signature is None else self._signature.parameters
        if any(key in names for key in kept):
            yield name, kept, False
        else:
            yield from ((key, value, False) for key, value in kept.items())


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):  # what is built in may have none
        return None


def _unbound(
    args: Sequence[Any], kwargs: Mapping[str, Any], left_out: Collection[str]
) -> Iterator[tuple[str, Any, bool]]:
    """Yield what was given where it is not known to which parameters."""
    if args:
        yield "*args", list(args), False
    yield from ((name, value, False) for name, value in kwargs.items() if name not in left_out)


def _is_put_in(value: Any) -> bool:
    return any(
        kind.__name__ in _PUT_IN and kind.__module__.partition(".")[0] in _PUT_IN_BY for kind in type(value).__mro__
    )


def _problem(tool: str, opaque: Opaque) -> str:
    argument = str(opaque.path[0])
    return (
        f"the argument {path_text(opaque.path, '')} of {printable(tool, 60)} can't be written down: {opaque.reason}; "
        f"record.tool(leave_out=[{argument!r}]) leaves it out, record.tool(plain=…) makes plain data of it"
    )

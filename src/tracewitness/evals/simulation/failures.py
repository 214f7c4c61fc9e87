"""Whose failure it is when an agent raises: its own, or that of a server that it could not reach.

What an agent's code raises is the agent's failure. But an agent asks models and other servers, and where these fail
nothing is known of what it would have done: that is infrastructure, as it is for the models of a simulation itself. It
is told by what the well-known client libraries raise, and by Python's own errors of connections:

============================================================  ==============  =================
raised in the agent's code                                    whose           tried again
============================================================  ==============  =================
a connection that is refused, reset or lost; no such host     infrastructure  yes
a time-out that a client library raises                       infrastructure  yes
status 408, 409, 425, 429 or 5xx of a server                  infrastructure  yes
status 401, 402 or 403 of a provider of models                infrastructure  no
any other status: the request was wrong                       the agent       no
any other exception, a `TimeoutError` of the agent's own too  the agent       no
============================================================  ==============  =================

An exception that was raised ``from`` one of these counts as it does, and so does a group of nothing but these. One that
was merely raised while another was handled is the agent's own. No library is imported here: its classes are known by
their names.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from tracewitness.display import printable
from tracewitness.errors import InfrastructureError

__all__ = ["AroundAgentError", "around_agent", "is_transient_status", "named"]

#: What a server answers that may do better a little later, beside all from 500 on.
_TRANSIENT_STATUS: Final = frozenset({408, 409, 425, 429})

#: What a provider of models answers where a key or an account is wrong.
_REFUSED_STATUS: Final = frozenset({401, 402, 403})
_PROVIDERS: Final = frozenset(
    {
        "anthropic",
        "cohere",
        "google.genai",
        "groq",
        "huggingface_hub",
        "litellm",
        "mistralai",
        "ollama",
        "openai",
        "pydantic_ai",
    }
)
_CLIENTS: Final = frozenset(
    {"aiohttp", "botocore", "google.api_core", "grpc", "httpcore", "httpcore2", "httpx", "httpx2", "requests"}
    | {"urllib.error", "urllib3"}
)
#: The classes of these libraries that stand for a connection or a time-out; those below them do too.
_UNREACHABLE: Final = frozenset(
    {
        "APIConnectionError",
        "ClientConnectionError",
        "ConnectTimeout",
        "ConnectTimeoutError",
        "ConnectionError",
        "EndpointConnectionError",
        "HTTPClientError",
        "MaxRetryError",
        "ModelConnectionError",
        "ModelRequestTimeout",
        "ModelUnavailableError",
        "NetworkError",
        "NewConnectionError",
        "ProtocolError",
        "ProxyError",
        "ReadTimeout",
        "ReadTimeoutError",
        "RemoteProtocolError",
        "RetryError",
        "Timeout",
        "TimeoutError",
        "TimeoutException",
        "TransportError",
    }
)
#: Those below them that say that the request was wrong.
_WRONG_REQUEST: Final = frozenset({"LocalProtocolError", "UnsupportedProtocol"})
_GRPC_TRANSIENT: Final = frozenset({"ABORTED", "DEADLINE_EXCEEDED", "INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE"})
_MOST_CAUSES: Final = 20


class AroundAgentError(InfrastructureError):
    """What failed around an agent, raised where the agent's own code asked for it."""


def is_transient_status(status: int) -> bool:
    """Whether a server that answers so may do better a little later."""
    return status in _TRANSIENT_STATUS or 500 <= status < 600


def around_agent(error: BaseException) -> AroundAgentError | None:
    """Return what failed around an agent that raised this; None where the agent itself failed.

    >>> around_agent(ConnectionRefusedError(111, "Connection refused"))
    AroundAgentError('what the agent asks failed: ConnectionRefusedError: [Errno 111] Connection refused')
    >>> around_agent(KeyError("stock")) is None
    True
    """
    for cause in _causes(error):
        transient = _transience(cause)
        if transient is not None:
            return AroundAgentError(f"what the agent asks failed: {named(cause)}", transient=transient)
    return None


def named(error: BaseException, limit: int = 300) -> str:
    """Return a foreign error on one line: its class, and what it says, if that can be had.

    >>> named(KeyError("stock"))
    "KeyError: 'stock'"
    """
    try:
        said = printable(" ".join(str(error).split()), limit)
    except Exception:  # noqa: BLE001 - some can't be written as text
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that it was raised from; of a group its first, where all are around the agent."""
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if isinstance(cause, BaseExceptionGroup):
            if any(around_agent(each) is None for each in cause.exceptions):
                return
            cause = cause.exceptions[0]
            continue
        if cause is None:
            return
        yield cause
        reason = _attribute(cause, "reason")  # so urllib tells what happened to a connection
        cause = cause.__cause__ or (reason if isinstance(reason, BaseException) else None)


def _transience(error: BaseException) -> bool | None:
    """Say whether it may go better later; None where it says something of the agent."""
    if isinstance(error, (ConnectionError, socket.gaierror)):
        return True
    libraries = {library for kind in type(error).__mro__ if (library := _library(kind)) is not None}
    if not libraries:
        return None
    status = _status(error)
    if status is not None:
        return _of_status(status, by_provider=not libraries.isdisjoint(_PROVIDERS))
    names = {kind.__name__ for kind in type(error).__mro__ if _library(kind) is not None}
    return True if names & _UNREACHABLE and not names & _WRONG_REQUEST else _of_grpc(error)


def _library(kind: type) -> str | None:
    """Return the known library that a class comes from."""
    parts = kind.__module__.split(".")
    names = (parts[0], ".".join(parts[:2]))
    return next((name for name in names if name in _PROVIDERS or name in _CLIENTS), None)


def _of_status(status: int, *, by_provider: bool) -> bool | None:
    if is_transient_status(status):
        return True
    return False if by_provider and status in _REFUSED_STATUS else None


def _status(error: BaseException) -> int | None:
    """Return the status of HTTP that an error tells: each library has a place of its own for it."""
    response = _attribute(error, "response")
    metadata = response.get("ResponseMetadata") if isinstance(response, Mapping) else None
    places = chain(
        (_attribute(error, name) for name in ("status_code", "status", "code")),
        (_attribute(response, "status_code"),),
        (metadata.get("HTTPStatusCode") if isinstance(metadata, Mapping) else None,),
    )
    return next((int(place) for place in places if isinstance(place, int) and 100 <= place < 600), None)


def _of_grpc(error: BaseException) -> bool | None:
    code = _attribute(error, "code")
    try:
        name = _attribute(code() if callable(code) else code, "name")
    except Exception:  # noqa: BLE001 - a foreign method may raise anything; then it tells nothing
        return None
    return True if name in _GRPC_TRANSIENT else None


def _attribute(value: object, name: str) -> Any:
    """Return an attribute of a foreign object; None where it has none, or raises."""
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001 - a foreign property may raise anything
        return None

"""The requests that `models` makes, in terms of Pydantic AI. Import it only where a model is asked: it is big."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, Generic, TypeVar, cast

from msgspec import UNSET
from pydantic import TypeAdapter, ValidationError
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
    UserError,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings  # noqa: TC002 - Pydantic AI may read the annotations

from tracewitness.display import plural, printable
from tracewitness.errors import InfrastructureError, UsageError
from tracewitness.evals.simulation.addresses import why_no_address, without_password
from tracewitness.evals.simulation.conversation import Usage
from tracewitness.evals.simulation.failures import is_transient_status
from tracewitness.evals.simulation.models import Retries, retrying
from tracewitness.evals.simulation.traffic import Exchange, Part, Response

__all__ = ["Asking", "make_model", "probe"]

T = TypeVar("T")

_ASKED_AGAIN: Final = 2
_PROBE_SECONDS: Final = 10.0
_CAN_LOOK_UP: Final = frozenset({"AsyncAnthropic", "AsyncGroq", "AsyncOpenAI"})
_UNREACHABLE: Final = frozenset({"APIConnectionError", "APITimeoutError"})
#: How Pydantic AI's providers write the name of a variable that is not set.
_VARIABLE: Final = re.compile(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`")
_TRANSIENT: Final = (
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
)


class Asking(Generic[T]):
    """A request that goes on until there is an answer that fits.

    Attributes:
        responses: what the model gave so far.
        interrupted: whether a request failed, so that more might have come.
    """

    def __init__(
        self, instructions: str, prompt: str, output_type: type[T], check: Callable[[T], str | None] | None
    ) -> None:
        self._instructions = instructions
        self._prompt = prompt
        self._output_type: Any = output_type
        self._check = check
        self.responses: list[ModelResponse] = []
        self.interrupted = False

    @property
    def settled(self) -> bool:
        """Whether it ended by what the model gave, be it an answer or none that fits, and can be recorded."""
        return bool(self.responses) and not self.interrupted

    @property
    def usage(self) -> Usage:
        """What the responses took."""
        return sum((_usage(response) for response in self.responses), Usage())

    def output_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the answer."""
        return _output_schema(self._output_type)

    def exchange(self) -> Exchange:
        """Return the responses as they are recorded."""
        return Exchange(tuple(_recorded(response) for response in self.responses), self.usage)

    async def run(
        self,
        model: Model,
        settings: Mapping[str, Any],
        retries: Retries,
        model_name: str,
        purpose: str,
        tell: Callable[[InfrastructureError], None],
    ) -> T:
        """Ask a model.

        Arguments:
            model, settings: what is asked, and how.
            retries: how requests that failed for the moment are tried again.
            model_name, purpose: for messages.
            tell: is told what failed before a request is tried again.

        Raises:
            InfrastructureError: there is no answer that fits.
        """
        kept = _KeepingModel(model, retries, model_name, self, tell)
        # One place decides what is tried again and how long to wait: not the provider's package too.
        once = {} if "max_retries" in model.unsupported_settings else {"max_retries": 0}
        return await self._run(kept, once | dict(settings), model_name, purpose)

    async def replay(self, exchange: Exchange, model_name: str, purpose: str) -> T:
        """Go through the recorded responses again.

        Raises:
            InfrastructureError: they held no answer that fits.
        """
        return await self._run(_ReplayedModel(exchange, model_name), {}, model_name, purpose)

    async def _run(self, model: Model, settings: Mapping[str, Any], model_name: str, purpose: str) -> T:
        with _as_infrastructure_errors(model_name, f"gave no answer that fits for {printable(purpose)}"):
            result = await _agent(self._output_type).run(
                self._prompt,
                model=model,
                instructions=self._instructions,
                model_settings=cast("ModelSettings", settings),
                deps=self._check,
            )
        return cast("T", result.output)


class _KeepingModel(WrapperModel):
    """A model whose requests are tried again, and whose responses are kept."""

    def __init__(
        self,
        wrapped: Model,
        retries: Retries,
        name: str,
        asking: Asking[Any],
        tell: Callable[[InfrastructureError], None],
    ) -> None:
        super().__init__(wrapped)
        self._tell = tell
        self._retries = retries
        self._name = name
        self._asking = asking

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        async def once() -> ModelResponse:
            with _as_infrastructure_errors(self._name, "gave no response that can be understood"):
                return await self.wrapped.request(messages, model_settings, model_request_parameters)

        try:
            response = await retrying(once, self._retries, self._tell)
        except BaseException:
            self._asking.interrupted = True
            raise
        self._asking.responses.append(response)
        return response


class _ReplayedModel(Model):
    """A model that gives the responses of a recorded exchange, one after the other, whatever it is asked."""

    def __init__(self, exchange: Exchange, name: str) -> None:
        super().__init__()
        self._left = iter(exchange.responses)
        self._name = name

    async def request(
        self,
        messages: list[ModelMessage],  # noqa: ARG002 - the names are those of the class above
        model_settings: ModelSettings | None,  # noqa: ARG002
        model_request_parameters: ModelRequestParameters,  # noqa: ARG002
    ) -> ModelResponse:
        response = next(self._left, None)
        if response is None:
            reason = "an answer that fitted when it was recorded does not fit now"
            raise InfrastructureError(f"the recording of {self._name} ends too early: {reason}; record it again")
        return _replayed(response)

    @property
    def model_name(self) -> str:
        return self._name

    @property
    def system(self) -> str:
        return "replay"


def make_model(name: str | Model, base_url: str | None) -> Model:
    """Make the model of a name.

    Raises:
        UsageError: the name is unknown, there is no key, or the provider's package is missing.
    """
    if isinstance(name, Model):
        return name
    try:
        return _compatible_model(name, base_url) if base_url else infer_model(name)
    except ImportError as error:
        raise UsageError(f"{printable(name)} needs a package that is missing: {printable(str(error))}") from error
    except Exception as error:  # providers' own packages raise what they like where a key or a region is missing
        reason = str(error).partition(" To try Pydantic AI")[0].rstrip(".")
        variables = _VARIABLE.findall(reason)
        if variables:
            missing = "a key" if any(re.search("KEY|TOKEN", variable) for variable in variables) else "a setting"
            told = f"the model {printable(name)} needs {missing} that is not there"
            raise UsageError(f"{told}; set the environment variable {_either(variables)}") from error
        hint = "; a name is provider:model, such as openai:gpt-5" if reason.startswith("Unknown model") else ""
        raise UsageError(f"no model {printable(name)}: {printable(reason, 400)}{hint}") from error


def _either(variables: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(variables))


def _compatible_model(name: str, base_url: str) -> Model:
    """Make a model of a server that speaks OpenAI's chat protocol."""
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    if not base_url.startswith(("http://", "https://")):
        raise UserError(f"its base URL begins with http:// or https://, not {base_url!r}")
    reason = why_no_address(base_url)
    if reason:
        raise UserError(f"its base URL {reason}: {without_password(base_url)!r}")
    provider = OpenAICompatibleProvider(
        "openai-compatible", base_url=base_url, api_key=os.environ.get("OPENAI_API_KEY")
    )
    own_name = name.removeprefix("openai:").removeprefix("openai-chat:")
    return OpenAIChatModel(own_name, provider=provider)


async def probe(model: Model, name: str) -> None:
    """Ask a provider for its entry on a model, which costs nothing, where its package can.

    Raises:
        UsageError: there is no such model.
        InfrastructureError: the provider can't be reached, or refuses the key.
    """
    client: Any = getattr(model, "client", None)
    if type(client).__name__ not in _CAN_LOOK_UP:
        return
    try:
        await client.with_options(max_retries=0, timeout=_PROBE_SECONDS).models.retrieve(model.model_name)
    except Exception as error:  # noqa: BLE001 - the packages of the providers share no class of errors
        _judge_probe(error, name, model)


def _judge_probe(error: Exception, name: str, model: Model) -> None:
    """Raise what a failed look-up of a model means; many compatible servers have no look-up, which means nothing."""
    status = getattr(error, "status_code", None)
    address = re.sub("//[^/@]*@", "//", str(model.base_url))
    where = f"{printable(name)} at {printable(address)}"
    if type(error).__name__ in _UNREACHABLE:
        reason = f"{where} can't be reached: {_innermost(error)}"
        raise InfrastructureError(f"{reason}; is the server running, and the address right?", transient=True) from error
    if status in (401, 403):
        reason = f"{where} refuses the key ({status}): {_said(getattr(error, 'body', None), error)}"
        raise InfrastructureError(f"{reason}; set the provider's key in the environment") from error
    if status == 404 and _misses_model(getattr(error, "body", None), model.model_name):
        raise UsageError(f"{where} is unknown: {_said(getattr(error, 'body', None), error)}") from error


def _misses_model(body: Any, model_name: str) -> bool:
    """Whether a 404 is about the model, and not about an address that the server doesn't have."""
    fields = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(fields, Mapping):
        return False
    named = fields.get("type") == "not_found_error" and model_name in str(fields.get("message"))
    return named or fields.get("code") == "model_not_found"


@cache
def _output_schema(output_type: type[Any]) -> dict[str, Any]:
    return TypeAdapter(output_type).json_schema()


@cache
def _agent(output_type: type[Any]) -> Agent[Any, Any]:
    """Return what asks for answers of a type; its dependency is the check of the answer."""
    agent: Agent[Any, Any] = Agent(
        output_type=output_type, retries={"tools": 0, "output": _ASKED_AGAIN}, name="tracewitness"
    )

    @agent.output_validator
    async def checked(context: RunContext[Any], output: Any) -> Any:
        problem = context.deps(output) if context.deps is not None else None
        if problem is not None:
            raise ModelRetry(problem)
        return output

    return agent


@contextmanager
def _as_infrastructure_errors(model_name: str, what: str) -> Iterator[None]:
    """Raise what goes wrong with a model as what it is here: nothing that the agent did."""
    try:
        yield
    except ModelAPIError as error:
        reason = f"the model {printable(model_name)} failed: {_what_failed(error)}"
        raise InfrastructureError(reason, transient=_is_transient(error)) from error
    except (AgentRunError, UserError) as error:
        reason = f"the model {printable(model_name)} {what}: {_what_is_wrong(error.__cause__ or error)}"
        raise InfrastructureError(reason) from error
    except (InfrastructureError, UsageError):
        raise
    except Exception as error:  # a provider's package may trip over an answer that is none
        reason = f"the model {printable(model_name)} {what}: its client library raised {type(error).__name__} at it"
        raise InfrastructureError(f"{reason}; does the server speak its protocol?") from error


def _what_is_wrong(error: BaseException) -> str:
    """Say on one line what a model's answer lacks; of what does not fit a form the first thing."""
    if not isinstance(error, ValidationError):
        return printable(" ".join(str(error).split()), 300)
    first, *others = error.errors(include_url=False, include_context=False, include_input=False)
    place = ".".join(map(str, first["loc"]))
    more = f", and {plural(len(others), 'more thing')}" if others else ""
    return printable(f"{f'{place}: ' if place else ''}{first['msg']}{more}", 300)


def _is_transient(error: ModelAPIError) -> bool:
    if isinstance(error, _TRANSIENT):
        return True
    if isinstance(error, ModelQuotaExceededError) or not isinstance(error, ModelHTTPError):
        return False
    return is_transient_status(error.status_code)


def _what_failed(error: ModelAPIError) -> str:
    """Say what the provider said, and what to do where that is plain."""
    status = f"{error.status_code}: " if isinstance(error, ModelHTTPError) else ""
    said = f"{status}{_said(error.body, error)}"
    if isinstance(error, ModelAuthenticationError):
        return f"{said}; set the provider's key in the environment"
    if isinstance(error, ModelNotFoundError):
        return f"{said}; check the model's name and the address"
    if isinstance(error, ModelConnectionError):
        return f"{said} ({_innermost(error)}); is the server running, and the address right?"
    return said


def _said(body: Any, error: Exception) -> str:
    """Return the message in a provider's error, which is untrusted, in short."""
    for _ in range(2):
        if isinstance(body, Mapping):
            body = body.get("message") or body.get("error") or body
    return printable(str(body or error), 300)


def _innermost(error: BaseException) -> str:
    """Return what began a chain of errors: those of a network say little at the top."""
    while error.__cause__ is not None or (error.__context__ is not None and not error.__suppress_context__):
        error = cast("BaseException", error.__cause__ or error.__context__)
    return printable(str(error) or type(error).__name__, 200)


def _usage(response: ModelResponse) -> Usage:
    tokens = response.usage
    return Usage(1, tokens.input_tokens, tokens.output_tokens, _cost(response))


def _cost(response: ModelResponse) -> float | None:
    """Return what a response cost, or None where no price is known."""
    if response.usage.cost is not None:
        return float(response.usage.cost)
    if not response.model_name:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        return None


def _recorded(response: ModelResponse) -> Response:
    parts = []
    for part in response.parts:
        if isinstance(part, TextPart):
            parts.append(Part(text=part.content))
        elif isinstance(part, ToolCallPart):
            parts.append(Part(call=part.tool_name, args=part.args))
    return Response(tuple(parts), response.finish_reason)


def _replayed(response: Response) -> ModelResponse:
    parts: list[ModelResponsePart] = []
    for number, part in enumerate(response.parts):
        if part.text is not UNSET:
            parts.append(TextPart(part.text))
        elif part.call is not UNSET:
            args = None if part.args is UNSET else part.args
            parts.append(ToolCallPart(part.call, args, tool_call_id=f"replayed-{number}"))
    return ModelResponse(parts=parts, model_name="replay", finish_reason=cast("Any", response.finish_reason))

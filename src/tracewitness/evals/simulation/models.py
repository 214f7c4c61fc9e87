"""Ask a model for a typed answer: any model that Pydantic AI knows, with retries, usage, and recorded traffic."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from tracewitness.errors import InfrastructureError, UsageError
from tracewitness.evals.simulation.conversation import Usage
from tracewitness.evals.simulation.traffic import Request, RunTraffic, Traffic

if TYPE_CHECKING:
    from types import ModuleType

    from pydantic_ai.models import Model

    from tracewitness.evals.simulation.model_requests import Asking

__all__ = ["Answer", "ModelClient", "Retries", "retrying"]

T = TypeVar("T")


class Answer(Struct, Generic[T], frozen=True):
    """What a model answered.

    Attributes:
        output: the answer, of the type that was asked for.
        usage: what it took, answers that did not fit included.
    """

    output: T
    usage: Usage


class Retries(Struct, frozen=True):
    """How often something that failed for the moment is tried again, and how long is waited in between.

    Attributes:
        most: how often it is tried again.
        first_delay: the longest wait before the first time, in seconds; it doubles each time.
        longest_delay: the longest wait of all.
        sleep: waits so many seconds.
        random: returns a number from 0 to 1. Each wait is that part of the longest one ("full jitter"), so that many
            runs that failed at once don't come back at once:
            https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """

    most: int = 5
    first_delay: float = 0.5
    longest_delay: float = 30.0
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep
    random: Callable[[], float] = random.random

    def delay(self, attempt: int, error: InfrastructureError) -> float:
        """Return how long to wait after an attempt (from 0) failed; what the far side asked for, where it did."""
        drawn = self.random() * min(self.longest_delay, self.first_delay * 2.0**attempt)
        asked: float = getattr(error.__cause__, "retry_after", None) or 0.0
        return max(drawn, min(asked, self.longest_delay))


_RETRIES = Retries()


async def retrying(
    action: Callable[[], Awaitable[T]],
    retries: Retries = _RETRIES,
    tell: Callable[[InfrastructureError], None] | None = None,
) -> T:
    """Return what ``action`` returns, trying again where it fails for the moment.

    Arguments:
        action: what is tried.
        retries: how often, and how long is waited in between.
        tell: is told what failed before each wait.

    Raises:
        InfrastructureError: it failed for good, or too often. Other errors pass at once.
    """
    for attempt in range(retries.most):
        try:
            return await action()
        except InfrastructureError as error:
            if not error.transient:
                raise
            delay = retries.delay(attempt, error)
            if tell is not None:
                tell(error)
        await retries.sleep(delay)
    return await action()


class ModelClient:
    """A model to ask. It can be asked by many runs at once.

    Arguments:
        name: a name of Pydantic AI's, such as ``openai:gpt-5`` or ``ollama:qwen3``; with ``base_url``
            the name that the server there has for it, perhaps after ``openai:``. Or a model object of Pydantic AI.
        base_url: a server that speaks OpenAI's chat protocol. Its key is that of the environment variable
            ``OPENAI_API_KEY``, where it needs one.
        traffic: where requests and answers are recorded, or come from.
        settings: settings of Pydantic AI's, such as ``{"temperature": 0.0}``.
        retries: how requests that failed for the moment are tried again.

    Attributes:
        name: the model's name.
        usage: what it was used for through this client, answers that came to nothing included.
        trouble: why the last request that is not answered yet failed; empty where none has.
    """

    def __init__(
        self,
        name: str | Model,
        *,
        base_url: str | None = None,
        traffic: Traffic | None = None,
        settings: Mapping[str, Any] | None = None,
        retries: Retries = _RETRIES,
    ) -> None:
        self.name = name if isinstance(name, str) else name.model_id
        self.usage = Usage()
        self.trouble = ""
        self._traffic = traffic
        self._run_traffic = None if traffic is None else RunTraffic.outside_runs(traffic)
        self._settings = dict(settings or {})
        self._retries = retries
        self._connection = _Connection(name, base_url)

    def within(self, traffic: RunTraffic | None) -> ModelClient:
        """Return a client of the same model for one run, with the run's traffic and a usage of its own."""
        client = copy.copy(self)
        client.usage, client.trouble = Usage(), ""
        client._run_traffic = traffic
        return client

    async def prepare(self) -> None:
        """Find out, as far as that costs nothing, whether the model can be asked.

        Raises:
            UsageError: Pydantic AI or the provider's package is missing, the name is unknown, or there is no key.
            InfrastructureError: the provider can't be reached, or refuses the key.
        """
        requests = _model_requests()
        if self._traffic is None or not self._traffic.replays:
            await requests.probe(await self._connection.open(), self.name)

    async def close(self) -> None:
        """Close the connections to the provider."""
        await self._connection.close()

    async def ask(
        self,
        instructions: str,
        prompt: str,
        output_type: type[T],
        purpose: str,
        check: Callable[[T], str | None] | None = None,
    ) -> Answer[T]:
        """Ask for an answer. One that does not fit the type, or the check, is asked for again, twice at the most.

        Arguments:
            instructions: how to answer.
            prompt: what to answer.
            output_type: a dataclass.
            purpose: what for, for the recording and for messages.
            check: says what is wrong with an answer, or None.

        Raises:
            UsageError: as from `prepare`.
            InfrastructureError: there is no answer, none that fits, or none in the recording.
        """
        requests = _model_requests()
        asking: Asking[T] = requests.Asking(instructions, prompt, output_type, check)
        traffic = self._run_traffic
        if traffic is None:
            return await self._ask_model(asking, purpose)
        request = Request(purpose, self.name, instructions, prompt, asking.output_schema(), self._settings)
        slot = traffic.slot(request)
        if traffic.replays:
            exchange = traffic.load(slot, request)
            self.usage += exchange.usage
            return Answer(await asking.replay(exchange, self.name, purpose), exchange.usage)
        try:
            answer = await self._ask_model(asking, purpose)
        except InfrastructureError:
            if asking.settled:
                traffic.save(slot, request, asking.exchange())
            raise
        traffic.save(slot, request, asking.exchange())
        return answer

    async def _ask_model(self, asking: Asking[T], purpose: str) -> Answer[T]:
        model = await self._connection.open()
        try:
            output = await asking.run(model, self._settings, self._retries, self.name, purpose, self._note_trouble)
        finally:
            self.usage += asking.usage
        self.trouble = ""
        return Answer(output, asking.usage)

    def _note_trouble(self, error: InfrastructureError) -> None:
        self.trouble = error.problem


class _Connection:
    """A model that is made when it is first asked, and shared by the clients of all runs."""

    def __init__(self, name: str | Model, base_url: str | None) -> None:
        self._name = name
        self._base_url = base_url
        self._model: Model | None = None
        self._entered = False

    @property
    def model(self) -> Model:
        """The model, made on first use.

        Raises:
            UsageError: it can't be made.
        """
        if self._model is None:
            self._model = _model_requests().make_model(self._name, self._base_url)
        return self._model

    async def open(self) -> Model:
        """Return the model with its connections kept open until `close`."""
        model = self.model
        if not self._entered:
            self._entered = True
            await model.__aenter__()
        return model

    async def close(self) -> None:
        """Close its connections, if any were opened."""
        if self._model is not None and self._entered:
            self._entered = False
            await self._model.__aexit__(None, None, None)


def _model_requests() -> ModuleType:
    """Return the module that is built on Pydantic AI, which is big, and only simulations need it."""
    try:
        from tracewitness.evals.simulation import model_requests
    except ImportError as error:
        reason = f"models are asked through Pydantic AI, which can't be imported ({error})"
        raise UsageError(f"{reason}; install it: pip install 'tracewitness[simulate]'") from error
    return model_requests

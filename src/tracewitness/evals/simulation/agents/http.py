"""An agent behind an endpoint that speaks OpenAI's chat-completions protocol, perhaps with tools that run here.

Import it only where there is such an agent: it is built on OpenAI's client library.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import UNSET, Struct
from openai import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AsyncOpenAI,
    NotFoundError,
    Omit,
    OpenAIError,
    omit,
)

from tracewitness.display import printable, show
from tracewitness.errors import InfrastructureError, ReadError, UsageError
from tracewitness.evals.simulation.agents.replies import own_events
from tracewitness.evals.simulation.conversation import AgentTurn, Session, Usage, UserTurn
from tracewitness.evals.simulation.failures import is_transient_status
from tracewitness.readers import read
from tracewitness.readers.neutral import decode_plainly
from tracewitness.trace import Problem, Record

if TYPE_CHECKING:
    from tracewitness.evals.simulation.agents.tools import LocalTools

__all__ = ["MOST_REQUESTS", "ChatAgent"]

#: How often a model is asked in one turn, unless it is told otherwise.
MOST_REQUESTS: Final = 20
_PREPARE_SECONDS: Final = 10.0
_PATH: Final = "/chat/completions"
_KEY_HINT: Final = "; set OPENAI_API_KEY to a key that it takes, or give it its own header with --agent-header"
#: What is shorter is no secret, and is in many texts by chance.
_SHORTEST_SECRET: Final = 8
# What stands in a message that is answered and not in one that is sent.
_ONLY_ANSWERED: Final = frozenset({"annotations", "audio", "function_call", "refusal"})


class Completion(Struct, frozen=True):
    """What an endpoint answered.

    Attributes:
        message: as it was given.
        records: what is told in it.
        problems: what could not be made sense of.
        usage: what it took.
    """

    message: dict[str, Any]
    records: tuple[Record, ...]
    problems: tuple[Problem, ...]
    usage: Usage


class ChatAgent:
    """An agent that is asked by ``POST {base_url}/chat/completions``, with the whole conversation each time.

    A request that fails is not tried again: whoever answers may have acted on it, so the run begins anew.

    The protocol has no place for session variables: where there are any, the first message is one of the system, with
    the instructions, if any, and the variables as they are then, as JSON. The session's id is sent as the header
    ``X-Session-Id``. The key is that of the environment variable ``OPENAI_API_KEY``; without one none is sent.

    With tools the model's calls are run here, and the model is asked again until it calls no more. Whatever a tool
    raises is told to the model.

    Arguments:
        base_url: where the endpoint is, such as ``http://localhost:8000/v1``.
        model: the name of the model; by default the only one that the endpoint lists.
        tools: ``module:attribute``, as of `ToolBox`.
        instructions: what the model is told first.
        headers: sent with each request; no message shows their values.
        most_requests: how often the model is asked in one turn; one that calls on and on ends the session.
        name: what it is called in reports; by default its address.

    Raises:
        UsageError: the tools can't be used.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str | None = None,
        tools: str | None = None,
        instructions: str | None = None,
        headers: Mapping[str, str] | None = None,
        most_requests: int = MOST_REQUESTS,
        name: str = "",
    ) -> None:
        self.name = name or base_url
        self._secrets = _secrets(headers or {})
        self.model = model
        self.instructions = instructions
        self.most_requests = most_requests
        self._tools = _tool_box(tools) if tools else None
        key = os.environ.get("OPENAI_API_KEY")
        has_own = any(name.lower() == "authorization" for name in headers or ())
        self._headers: dict[str, str | Omit] = {} if key or has_own else {"Authorization": omit}
        self._client = AsyncOpenAI(
            api_key=key or "none",
            base_url=base_url.rstrip("/").removesuffix(_PATH),
            default_headers=headers,
            max_retries=0,  # who runs the simulation decides what is tried again, and from where
            timeout=None,  # and how long a turn may take
        )

    async def prepare(self) -> None:
        """Find out whether the endpoint is there, takes the key, and has the model.

        Raises:
            InfrastructureError: it can't be reached, or refuses.
            UsageError: no model is named, and the endpoint lists none or several.
        """
        listed = await self._list_models()
        if self.model is None:
            if len(listed) != 1:
                found = ", ".join(map(printable, listed[:10])) or "none"
                raise UsageError(f"name the model of the agent {printable(self.name)}; the endpoint lists {found}")
            self.model = listed[0]

    async def _list_models(self) -> list[str]:
        """Return the names of the models that the endpoint lists; none where it lists none."""
        try:
            with self._as_infrastructure_errors():
                page = await self._client.models.list(extra_headers=self._headers, timeout=_PREPARE_SECONDS)
        except InfrastructureError as error:
            if isinstance(error.__cause__, NotFoundError):
                return []
            raise
        data = getattr(page, "data", None)
        listed = [getattr(model, "id", None) for model in data] if isinstance(data, list) else []
        return [name for name in listed if isinstance(name, str)]

    async def open(self, parameters: Mapping[str, Any], session_id: str) -> Session:
        """Begin a conversation."""
        if self.model is None:
            await self.prepare()
        tools = None if self._tools is None else await self._tools.open(parameters, session_id)
        return _ChatSession(self, tools, parameters, session_id)

    async def complete(self, messages: list[dict[str, Any]], tools: LocalTools | None, session_id: str) -> Completion:
        """Ask for one completion.

        Raises:
            InfrastructureError: there is none.
        """
        with self._as_infrastructure_errors():
            response = await self._client.chat.completions.with_raw_response.create(
                model=self.model or "",
                messages=cast("Any", messages),
                tools=cast("Any", tools.schemas) if tools is not None and tools.schemas else omit,
                extra_headers={"X-Session-Id": session_id, **self._headers},
            )
        return self._read(response.content)

    def _read(self, content: bytes) -> Completion:
        """Read what was answered. It may be anything, so it is read as data, not into the client's types."""
        try:
            answer = decode_plainly(content)
            trace = read(answer, format="openai-chat")
        except ReadError as error:
            shown = show(self._hidden(content[:4000].decode("utf-8", "replace")), 160)
            problem = f"the agent {printable(self.name)} answered what is no chat completion: {shown} ({error})"
            raise InfrastructureError(problem) from error
        message = _message(answer)
        if trace.no_evidence is not None or message is None:
            told = answer.get("error") or answer if isinstance(answer, dict) else answer
            problem = f"the agent {printable(self.name)} answered with no message: {self._hidden(show(told, 160))}"
            raise InfrastructureError(problem)
        return Completion(message, tuple(trace.records), trace.reader_problems, _usage(answer))

    @contextmanager
    def _as_infrastructure_errors(self) -> Iterator[None]:
        """Raise what the client raises as errors of this library."""
        name = printable(self.name)
        try:
            yield
        except APITimeoutError as error:
            raise InfrastructureError(f"the agent {name} did not answer in time", transient=True) from error
        except APIConnectionError as error:
            cause = error.__cause__ or error
            reason = printable(str(cause)) or type(cause).__name__
            problem = f"the agent {name} can't be reached: {reason}; is it running, and is the address right?"
            raise InfrastructureError(problem, transient=True) from error
        except APIStatusError as error:
            transient = is_transient_status(error.status_code)
            said = printable(self._hidden(error.message))
            problem = f"the agent {name} answered with status {error.status_code}: {said}"
            hint = _KEY_HINT if error.status_code in (401, 403) else ""
            raise InfrastructureError(problem + hint, transient=transient) from error
        except (OpenAIError, ValueError, AttributeError) as error:  # the client trips over some garbage
            reason = f"{type(error).__name__}: {printable(str(error))}"
            raise InfrastructureError(f"the agent {name} answered what can't be understood ({reason})") from error

    def _hidden(self, text: str) -> str:
        """Return what was answered without the values of headers, which a server may quote."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


class _ChatSession:
    """A conversation with an endpoint, all of which is kept here."""

    def __init__(
        self, agent: ChatAgent, tools: LocalTools | None, parameters: Mapping[str, Any], session_id: str
    ) -> None:
        self.id = session_id
        self._agent = agent
        self._tools = tools
        self._variables = dict(parameters)
        self._messages: list[dict[str, Any]] = []

    async def send(self, turn: UserTurn) -> AgentTurn:
        """Ask the model, and run its calls, until it calls no more."""
        self._variables |= turn.variables
        self._messages.append({"role": "user", "content": turn.text})
        records: list[Record] = []
        problems: list[Problem] = []
        usage = Usage()
        for _ in range(self._agent.most_requests):
            completion = await self._agent.complete([*self._first(), *self._messages], self._tools, self.id)
            results = await self._answer(completion)
            records += (*completion.records, *results)
            problems += completion.problems
            usage += completion.usage
            if not results:
                kept, ended = own_events(records)
                return AgentTurn(tuple(kept), ended, tuple(problems), usage)
        reason = f"the model called tools in {self._agent.most_requests} answers on end; the session was ended there"
        problems.append(Problem(reason, hides_call=False))
        return AgentTurn(tuple(own_events(records)[0]), True, tuple(problems), usage)

    def _first(self) -> list[dict[str, Any]]:
        """Return the message that comes before the conversation, where there is something to say."""
        parts = [self._agent.instructions] if self._agent.instructions else []
        if self._variables:
            parts.append(f"Session variables: {json.dumps(self._variables, ensure_ascii=False, default=str)}")
        return [{"role": "system", "content": "\n\n".join(parts)}] if parts else []

    async def _answer(self, completion: Completion) -> list[Record]:
        """Keep an answer as it is sent back, run its calls, one after the other, and return the results.

        Calls that are not run here are the server's own: it is not told of them again, since it would miss the results.
        """
        sent = {key: value for key, value in completion.message.items() if key not in _ONLY_ANSWERED}
        if self._tools is None:
            sent.pop("tool_calls", None)
        self._messages.append({"role": "assistant", "content": None, **sent})
        results: list[Record] = []
        for call in completion.records:
            if self._tools is not None and isinstance(call.call, str):
                answer = await self._tools.run(call)
                self._messages.append({"role": "tool", "tool_call_id": call.id or "", "content": answer.text})
                is_error = answer.is_error or UNSET
                results.append(Record(result=answer.payload, of=call.call, id=call.id, is_error=is_error))
        return results

    async def close(self) -> None:
        """Free the tools."""
        if self._tools is not None:
            self._tools.close()


def _secrets(headers: Mapping[str, str]) -> list[str]:
    """Return what must not be shown of headers, the longest first: each value, and what follows ``Bearer`` in it."""
    pieces = {
        piece for value in headers.values() for piece in (value, *value.split()) if len(piece) >= _SHORTEST_SECRET
    }
    return sorted(pieces, key=len, reverse=True)


def _message(answer: Any) -> dict[str, Any] | None:
    """Return the message in an answer, where there is one."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    return message if isinstance(message, dict) else None


def _usage(answer: dict[str, Any]) -> Usage:
    """Return what an answer took. What it cost is not known: an endpoint may charge what it likes."""
    used = answer.get("usage")
    fields = used if isinstance(used, dict) else {}
    counts = (fields.get("prompt_tokens"), fields.get("completion_tokens"))
    incoming, outgoing = (count if isinstance(count, int) else 0 for count in counts)
    return Usage(1, incoming, outgoing, cost=None)


def _tool_box(spec: str) -> Any:
    try:
        from tracewitness.evals.simulation.agents.tools import ToolBox
    except ImportError as error:
        reason = f"local tools need Pydantic AI, which can't be imported ({error})"
        raise UsageError(f"{reason}; install it: pip install 'tracewitness[simulate]'") from error
    return ToolBox(spec)

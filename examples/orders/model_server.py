"""A small server that speaks the chat completions protocol, and answers by rules: no download, no key, no surprises.

It stands in for the models of the order desk's simulation: for who plays the customer (``user``), for who judges
(``judge``), and for the models of the two agents (``careful`` and ``hasty``). What its rules don't understand is
refused, with the reason.

::

    python model_server.py                     serve until it is interrupted
    python model_server.py COMMAND …           serve while the command runs, and exit with its exit status

The command finds the server at OPENAI_BASE_URL, as clients of the protocol do.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

__all__ = ["complete", "serving"]

Message = Mapping[str, Any]


class RequestError(Exception):
    """A request that is refused.

    Arguments:
        reason: what was expected, and what came.
        code: what is wrong, for programs.
        status: the status of the response.
    """

    def __init__(self, reason: str, code: str = "not_understood", status: int = 400) -> None:
        super().__init__(reason)
        self.code = code
        self.status = status


# ------------------------------------------------------------------------------------------------------- the customer


#: What an agent says where a step is done, by what the step's success criteria mention.
_DONE = {
    "out of stock": r"\bout of stock\b",
    "cancelled": r"\bis cancelled\b",
    "order is placed": r"\bplaced your order\b.*\bO-\d+",
}


def play_user(document: Mapping[str, Any]) -> dict[str, Any]:
    """Decide whether the goal is reached, by what the agent said, and what the customer says next."""
    heard = [words for turn in _list(document, "conversation") for words in _said(turn, "agent")]
    criteria, goal = _text(document, "success_criteria"), _text(document, "goal")
    done = [pattern for mentioned, pattern in _DONE.items() if mentioned in criteria]
    if len(done) != 1:
        raise RequestError(f"success_criteria mention one of {', '.join(_DONE)}, not {criteria!r}")
    completed = any(re.search(done[0], words) for words in heard)
    if completed or document.get("over"):
        words = ""
    elif heard and heard[-1].endswith("?") and "Shall I" in heard[-1]:
        words = "Yes, please."
    else:
        words = f"I would like to {goal[:1].lower()}{goal[1:]}, please."
    said = "The agent said so." if completed else "The agent did not say so yet."
    return {"justification": said, "completed": completed, "words": words}


# ---------------------------------------------------------------------------------------------------------- the judge


#: What an agent says where an expectation is met, by what the expectation mentions.
_MET = {
    "number of the order": r"\bO-\d+",
    "polite": r"(?i)\b(please|sorry|thank|goodbye|shall I|would you)\b",
}


def judge(document: Mapping[str, Any]) -> dict[str, Any]:
    """Judge expectations by what the agent said."""
    heard = [words for event in _list(document, "transcript") for words in _said(event, "agent")]
    asked = _list(document, "expectations")
    return {"verdicts": [_verdict(each.get("number"), _text(each, "expectation"), heard) for each in asked]}


def _verdict(number: Any, expectation: str, heard: Sequence[str]) -> dict[str, Any]:
    known = [pattern for mentioned, pattern in _MET.items() if mentioned in expectation]
    if len(known) != 1:
        raise RequestError(f"an expectation mentions one of {', '.join(_MET)}, not {expectation!r}")
    shown = next((words for words in heard if re.search(known[0], words)), None)
    why = "The agent said nothing of this kind." if shown is None else f"The agent said: {shown}"
    return {"number": number, "justification": why, "met": shown is not None}


# ----------------------------------------------------------------------------------------------- the agents' models


_NUMBERS = {"one": 1, "two": 2, "three": 3}


def _call(tool: str, arguments: Mapping[str, Any], words: str | None = None) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": words, "tool_calls": [{"type": "function", "function": function}]}


def _say(words: str) -> dict[str, Any]:
    return {"role": "assistant", "content": words}


def serve_customers(messages: Sequence[Message], *, hasty: bool) -> dict[str, Any]:
    """Take the next step of the order desk's agent: call a tool, or say something.

    Arguments:
        messages: the conversation, with the calls and what they returned.
        hasty: whether an order is only said to be placed.
    """
    last = messages[-1]
    if last.get("role") == "tool":
        return _tell(*_returned(messages))
    words = _content(last)
    if found := re.search(r"(?i)\bcancel\b.*\b(O-\d+)", words):
        return _call("cancel_order", {"order_id": found[1], "reason": "The customer asked for it."})
    if found := re.search(r"\bITEM-\d+", words):
        return _call("check_availability", {"item_id": found[0]})
    if re.match(r"(?i)yes\b", words) and (item := _item_asked_for(messages)):
        if hasty:
            return _say("I have placed your order. Its number is O-1004. Is there anything else?")
        return _call("create_order", {**item, "customer_id": _customer(messages)})
    if re.search(r"(?i)\bgoodbye\b", words):
        return _call("end_session", {"reason": "completed"}, "Thank you. Goodbye!")
    return _say("Welcome to the order desk. What can I do for you, please?")


def _tell(tool: str, asked: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """Tell the customer what a tool returned."""
    if "error" in result:
        return _say(f"I am sorry, that does not work: {result['error']}.")
    if tool == "check_availability" and result["available"]:
        return _say(f"{asked['item_id']} is in stock. Shall I order it for you?")
    if tool == "check_availability":
        return _say(f"I am sorry, {asked['item_id']} is out of stock. Is there anything else?")
    if tool == "create_order":
        return _say(f"I have placed your order. Its number is {result['order_id']}. Is there anything else?")
    if tool == "cancel_order":
        return _say(f"I am sorry to hear that. Your order {asked['order_id']} is cancelled. Is there anything else?")
    raise RequestError(f"a tool of the order desk, not {tool!r}")


def _returned(messages: Sequence[Message]) -> tuple[str, Mapping[str, Any], Mapping[str, Any]]:
    """Return the tool that was called last, its arguments, and what it returned."""
    wanted = messages[-1].get("tool_call_id")
    for message in reversed(messages):
        for call in message.get("tool_calls") or ():
            if call.get("id") == wanted:
                function = call["function"]
                return function["name"], json.loads(function["arguments"]), json.loads(_content(messages[-1]))
    raise RequestError(f"no call has the id {wanted!r}, to which the last message is the answer")


def _item_asked_for(messages: Sequence[Message]) -> dict[str, Any] | None:
    """Return the item that the customer last asked for, and how many of it."""
    for message in reversed(messages):
        if message.get("role") == "user" and (
            found := re.search(r"(?:(\w+) pieces? of )?(ITEM-\d+)", _content(message))
        ):
            return {"item_id": found[2], "quantity": _NUMBERS.get(found[1], 1)}
    return None


def _customer(messages: Sequence[Message]) -> str:
    found = re.search(r'"customer_id": "(\w+)"', _content(messages[0]))
    if not found:
        raise RequestError("the instructions of the order desk's agent name the customer_id; they don't")
    return found[1]


# ------------------------------------------------------------------------------------------------------- the protocol


def complete(request: Any) -> dict[str, Any]:
    """Answer a request for a chat completion.

    Raises:
        RequestError: the rules don't understand it.
    """
    messages = _list(request, "messages")
    if not messages or not all(isinstance(message, dict) for message in messages):
        raise RequestError("messages is a list of at least one object")
    if request.get("stream"):
        raise RequestError("this server does not stream; stream is false or left out")
    model = request.get("model")
    if model not in _MODELS:
        raise RequestError(f"there is no model {model!r}; there are {', '.join(_MODELS)}", "model_not_found", 404)
    message = _MODELS[model](request, messages)
    for number, call in enumerate(message.get("tool_calls", ())):
        call["id"] = f"call-{len(messages)}-{number}"
    return _completion(model, messages, message)


def _completion(model: str, messages: Sequence[Message], message: dict[str, Any]) -> dict[str, Any]:
    # About four characters are a token: enough to see that what is used is counted.
    asked, answered = len(json.dumps(messages)) // 4, len(json.dumps(message)) // 4
    return {
        "id": f"completion-{len(messages)}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
            }
        ],
        "usage": {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered},
    }


def _typed(rules: Callable[[Mapping[str, Any]], dict[str, Any]], *fields: str) -> Callable[..., dict[str, Any]]:
    """Return a model that answers a JSON document by rules, in the form that the request asks for."""

    def answer(request: Mapping[str, Any], messages: Sequence[Message]) -> dict[str, Any]:
        tool, schema = _form(request)
        if not set(fields) <= set(schema.get("properties", {})):
            asked = ", ".join(schema.get("properties", {})) or "nothing"
            raise RequestError(f"{request['model']} answers with {', '.join(fields)}; the request asks for {asked}")
        # What comes later is what an answer that did not fit is told; the rules would only say the same again.
        document = next((_content(message) for message in messages if message.get("role") == "user"), "")
        try:
            parsed = json.loads(document)
        except ValueError as error:
            raise RequestError(f"the first message of the user is a JSON document; {error}") from error
        output = rules(parsed)
        return _say(json.dumps(output)) if tool is None else _call(tool, output)

    return answer


def _form(request: Mapping[str, Any]) -> tuple[str | None, Mapping[str, Any]]:
    """Return the tool by which the answer is to be given, if any, and the schema of the answer."""
    tools = request.get("tools") or []
    if len(tools) == 1:
        return tools[0]["function"]["name"], tools[0]["function"]["parameters"]
    form = request.get("response_format") or {}
    if not tools and form.get("type") == "json_schema":
        return None, form["json_schema"]["schema"]
    raise RequestError("the request has one tool, or a response_format of the type json_schema, for the answer")


def _desk(*, hasty: bool) -> Callable[..., dict[str, Any]]:
    """Return the model of an agent of the order desk."""

    def answer(request: Mapping[str, Any], messages: Sequence[Message]) -> dict[str, Any]:
        names = {tool["function"]["name"] for tool in request.get("tools") or ()}
        if missing := {"check_availability", "create_order", "cancel_order", "end_session"} - names:
            raise RequestError(f"the model of the order desk needs the tools {', '.join(sorted(missing))}")
        return serve_customers(messages, hasty=hasty)

    return answer


_MODELS: dict[str, Callable[..., dict[str, Any]]] = {
    "user": _typed(play_user, "justification", "completed", "words"),
    "judge": _typed(judge, "verdicts"),
    "careful": _desk(hasty=False),
    "hasty": _desk(hasty=True),
}


def _list(document: Any, field: str) -> list[Any]:
    value = document.get(field) if isinstance(document, dict) else None
    if not isinstance(value, list):
        raise RequestError(f"an object with a list {field!r} was expected")
    return value


def _text(document: Any, field: str) -> str:
    value = document.get(field) if isinstance(document, dict) else None
    if not isinstance(value, str):
        raise RequestError(f"an object with a text {field!r} was expected")
    return value


def _said(event: Any, speaker: str) -> list[str]:
    words = event.get(speaker) if isinstance(event, dict) else None
    return [words] if isinstance(words, str) else []


def _content(message: Message) -> str:
    """Return the text of a message, which may come in parts."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


# --------------------------------------------------------------------------------------------------------- the server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Say whether a model is known."""
        self._answer(self._look_up)

    def do_POST(self) -> None:
        """Complete a chat."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.close_connection = True  # where the body ends is not known
            self._refuse(RequestError("the request says how long its body is", "length_required", 411))
            return
        # The body is read first, whatever comes of it: the connection is used again.
        body = self.rfile.read(int(length))
        self._answer(lambda: self._complete(body))

    def _look_up(self) -> dict[str, Any]:
        name = self.path.removeprefix("/v1/models/")
        if name == self.path or name not in _MODELS:
            raise RequestError(f"there is no {self.path}; the models are {', '.join(_MODELS)}", "model_not_found", 404)
        return {"id": name, "object": "model", "created": 0, "owned_by": "orders"}

    def _complete(self, body: bytes) -> dict[str, Any]:
        if self.path != "/v1/chat/completions":
            raise RequestError(f"there is no {self.path}; there is /v1/chat/completions", "not_found", 404)
        try:
            request = json.loads(body)
        except ValueError as error:
            raise RequestError(f"the body is JSON; {error}", "invalid_json") from error
        return complete(request)

    def _answer(self, produce: Callable[[], dict[str, Any]]) -> None:
        try:
            self._send(200, produce())
        except RequestError as error:
            self._refuse(error)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            self._refuse(RequestError(f"a field is missing, or is not what the protocol has there: {error!r}"))

    def _refuse(self, error: RequestError) -> None:
        fields = {"message": str(error), "type": "invalid_request_error", "code": error.code}
        self._send(error.status, {"error": fields})

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is that of the class above
        """Keep quiet."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # as many simulations may knock at once


@contextmanager
def serving(port: int = 0) -> Iterator[str]:
    """Serve on this computer, by default at a free port, and give the base URL."""
    with _Server(("127.0.0.1", port), _Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


def main(command: Sequence[str]) -> int:
    """Serve while a command runs, or until an interruption where there is none."""
    with serving() as url:
        if command:
            variables = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none-is-needed"}
            done = subprocess.run(command, env=os.environ | variables, check=False)  # noqa: S603 - it is the user's own
            return done.returncode
        sys.stdout.write(f"{url}  (models: {', '.join(_MODELS)}; stop with Ctrl-C)\n")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            Event().wait()
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The order desk as a command of its own: it is spoken to in JSON Lines, so it could be written in any language.

What comes on standard input, a line each::

    {"type": "start", "session_id": "…", "parameters": {"channel": "web"}}     once; nothing is answered
    {"type": "user", "text": "Hello", "variables": {}}                         for each turn

What is answered to each turn on standard output, a line each: what happened, then that the turn is over::

    {"call": "check_availability", "args": {"item_id": "ITEM-42"}, "id": "c1"}
    {"result": {"available": true}, "id": "c1"}
    {"agent": "It is in stock. Shall I order it?"}
    {"type": "turn_end", "ended": false}

Everything else that there is to say belongs on standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from agents import CarefulDesk

__all__ = ["main"]


def events_of(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what happened in a message of the chat-completions protocol."""
    if message["role"] == "tool":
        yield {"result": json.loads(message["content"]), "id": message["tool_call_id"]}
    elif message.get("content"):
        yield {"agent": message["content"]}
    for call in message.get("tool_calls", ()):
        function = call["function"]
        yield {"call": function["name"], "args": json.loads(function["arguments"]), "id": call["id"]}


def tell(event: dict[str, Any]) -> None:
    """Write a line, at once: whoever asked waits for it."""
    print(json.dumps(event), flush=True)  # noqa: T201 - this is how it speaks


def main() -> None:
    """Answer turns until standard input is closed, which is the end of the session."""
    desk = CarefulDesk(json.loads(sys.stdin.readline())["parameters"])
    for line in sys.stdin:
        ended = False
        for message in desk.send(json.loads(line)["text"]):
            for event in events_of(message):
                ended = ended or event.get("call") == "end_session"
                tell(event)
        tell({"type": "turn_end", "ended": ended})
    desk.close()


if __name__ == "__main__":
    main()

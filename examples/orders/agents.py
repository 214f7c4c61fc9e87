"""The agent of an order desk: a model and the tools of a shop, in two versions with different models.

The code is the same, and so are the tools. One model places an order when it says so; the other one only says so.

The models are at OPENAI_BASE_URL, with the key OPENAI_API_KEY; see model_server.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openai import OpenAI
from shop import TOOLS, Shop

__all__ = ["CarefulDesk", "HastyDesk", "OrderDesk"]

_INSTRUCTIONS = """\
You work at the order desk of a shop. Be polite. Before you order, check that the item is in stock and ask the customer
whether you shall order it. When the customer has nothing more to ask, say goodbye and call end_session.

The customer: {customer}
"""
_MOST_REQUESTS = 8


class OrderDesk:
    """A conversation with the agent. `tracewitness simulate` makes one for each session.

    Arguments:
        parameters: the session parameters of the case: who the customer is, and so on.
    """

    model: str

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self._models = OpenAI()
        self._shop = Shop()
        customer = json.dumps(dict(parameters), sort_keys=True)
        self._messages: list[Any] = [{"role": "system", "content": _INSTRUCTIONS.format(customer=customer)}]

    def send(self, text: str) -> list[Any]:
        """Answer the customer.

        Returns:
            The messages of this turn, as they went to the model and came from it. That is a format that tracewitness
            reads, so there is nothing to translate.
        """
        self._messages.append({"role": "user", "content": text})
        begin = len(self._messages)
        for _ in range(_MOST_REQUESTS):
            if not self._step():
                return self._messages[begin:]
        raise RuntimeError(f"the model called tools {_MOST_REQUESTS} times in a row and said nothing")

    def _step(self) -> bool:
        """Ask the model once, and call the tools that it wants. Return whether it has to be told what they returned."""
        completion = self._models.chat.completions.create(model=self.model, messages=self._messages, tools=TOOLS)
        message = completion.choices[0].message
        self._messages.append(message.model_dump(exclude_none=True))
        calls = message.tool_calls or []
        for call in calls:
            result = self._shop.call(call.function.name, call.function.arguments)
            self._messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
        return bool(calls) and not any(call.function.name == "end_session" for call in calls)

    def close(self) -> None:
        """Free what the conversation holds."""
        self._models.close()
        self._shop.close()


class CarefulDesk(OrderDesk):
    """The agent that does what it says."""

    model = "careful"


class HastyDesk(OrderDesk):
    """The agent that says “I have placed your order”, and never calls `create_order`."""

    model = "hasty"

"""A shop that takes orders: a small database, and the tools by which an agent works with it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

__all__ = ["TOOLS", "Shop"]

_TABLES = """
CREATE TABLE items (id TEXT PRIMARY KEY, in_stock INTEGER NOT NULL CHECK (in_stock >= 0));
CREATE TABLE orders (
    number INTEGER PRIMARY KEY,
    item_id TEXT NOT NULL REFERENCES items,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    customer_id TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'confirmed'
);
INSERT INTO items VALUES ('ITEM-7', 3), ('ITEM-42', 17), ('ITEM-99', 0);
INSERT INTO orders (number, item_id, quantity, customer_id) VALUES (1003, 'ITEM-7', 1, '0042731');
"""


class RefusedError(Exception):
    """The shop does not do what was asked for. Its text is for the agent to read."""


class Shop:
    """A shop with a database of its own, so that conversations at the same time don't sell each other's stock.

    Arguments:
        database: where it is kept; by default in memory.
    """

    def __init__(self, database: str = ":memory:") -> None:
        self._database = sqlite3.connect(database, isolation_level=None)
        self._database.execute("PRAGMA foreign_keys = ON")
        self._database.executescript(_TABLES)

    def call(self, tool: str, arguments: str) -> dict[str, Any]:
        """Call a tool as a model asks for it, and return what the model is told.

        Arguments:
            tool: the tool's name.
            arguments: its arguments as JSON.
        """
        try:
            if tool not in _NAMES:
                raise RefusedError(f"there is no tool {tool!r}; there are {', '.join(sorted(_NAMES))}")
            result: dict[str, Any] = getattr(self, tool)(**json.loads(arguments or "{}"))
        except (RefusedError, TypeError, ValueError) as error:
            return {"error": str(error)}
        return result

    def check_availability(self, item_id: str) -> dict[str, Any]:
        """Say whether an item is in stock, and how many there are."""
        row = self._one("SELECT in_stock FROM items WHERE id = ?", item_id)
        if row is None:
            raise RefusedError(f"there is no item {item_id!r}")
        return {"item_id": item_id, "available": row[0] > 0, "in_stock": row[0]}

    def create_order(self, item_id: str, quantity: int, customer_id: str) -> dict[str, Any]:
        """Place an order, all of it or nothing."""
        with self._transaction():
            self._take(item_id, quantity)
            values = (item_id, quantity, customer_id)
            row = self._one(
                "INSERT INTO orders (item_id, quantity, customer_id) VALUES (?, ?, ?) RETURNING number", *values
            )
        return {"order_id": f"O-{row[0]}", "status": "confirmed"}

    def cancel_order(self, order_id: str, reason: str) -> dict[str, Any]:  # noqa: ARG002 - the shop does not mind why
        """Cancel an order and put its items back."""
        number = order_id.removeprefix("O-")
        with self._transaction():
            cancelled = "UPDATE orders SET status = 'cancelled' WHERE number = ? AND status = 'confirmed'"
            row = self._one(f"{cancelled} RETURNING item_id, quantity", number)
            if row is None:
                raise RefusedError(f"there is no order {order_id!r} that could be cancelled")
            self._one("UPDATE items SET in_stock = in_stock + ? WHERE id = ?", row[1], row[0])
        return {"order_id": order_id, "status": "cancelled"}

    def end_session(self, reason: str) -> dict[str, Any]:
        """End the conversation."""
        return {"ended": True, "reason": reason}

    def orders(self) -> list[tuple[str, str, int, str]]:
        """Return all orders: number, item, quantity, status."""
        rows = self._database.execute("SELECT number, item_id, quantity, status FROM orders ORDER BY number")
        return [(f"O-{number}", *rest) for number, *rest in rows]

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _take(self, item_id: str, quantity: int) -> None:
        """Take items out of the stock."""
        enough = self._one("SELECT in_stock >= ? FROM items WHERE id = ?", quantity, item_id)
        if enough is None or not enough[0] or quantity < 1:
            raise RefusedError(f"{quantity} of {item_id!r} can't be ordered")
        self._one("UPDATE items SET in_stock = in_stock - ? WHERE id = ?", quantity, item_id)

    def _one(self, statement: str, *values: Any) -> Any:
        with closing(self._database.execute(statement, values)) as cursor:
            return cursor.fetchone()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


def _tool(name: str, description: str, **parameters: dict[str, str]) -> dict[str, Any]:
    """Describe a tool to a model, as the chat completions protocol has it."""
    schema = {"type": "object", "properties": parameters, "required": list(parameters), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


_ITEM = {"type": "string", "description": "For example ITEM-42."}
_ORDER = {"type": "string", "description": "For example O-1003."}
_WHY = {"type": "string"}

#: The tools as a model is told of them. Each is a method of `Shop`.
TOOLS = [
    _tool("check_availability", "Say whether an item is in stock.", item_id=_ITEM),
    _tool(
        "create_order",
        "Place an order.",
        item_id=_ITEM,
        quantity={"type": "integer", "description": "1 or more."},
        customer_id={"type": "string"},
    ),
    _tool("cancel_order", "Cancel an order.", order_id=_ORDER, reason=_WHY),
    _tool("end_session", "End the conversation when the customer has nothing more to ask.", reason=_WHY),
]
_NAMES = frozenset(tool["function"]["name"] for tool in TOOLS)

"""Report documents for the tests of the page: made up, but such as an order desk might leave behind."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["case_run", "demo_document", "document_of", "earlier_documents", "large_runs", "verdict"]

WORDS = [
    *("the", "order", "parcel", "customer", "please", "refund", "address", "invoice", "warehouse", "delivery", "blue"),
    *("tracking", "large", "size", "return", "label", "credit", "card", "billing", "month", "agent", "confirmed"),
    *("available", "stock", "price", "total", "shipping", "today", "tomorrow", "status", "number", "item"),
]


def verdict(
    operator: str,
    status: str = "held",
    evidence: tuple[int, ...] = (),
    justification: str = "as it should be",
    *,
    tool: str = "create_order",
    **more: Any,
) -> dict[str, Any]:
    """Return a verdict as it stands in a document."""
    plain = {
        "operator": operator,
        "label": f"{operator} {tool}".strip(),
        "status": status,
        "evidence": list(evidence),
        "justification": justification,
        "reason": "",
        "tools": [tool] if tool else [],
        "near_miss": None,
        "file": "orders.evals.yaml",
        "line": 12,
        "column": 9,
    }
    return plain | more


def case_run(name: str, run: int = 1, **more: Any) -> dict[str, Any]:
    """Return a run as it stands in a document."""
    verdicts = more.get("verdicts", [])
    held = all(each["status"] == "held" for each in verdicts)
    plain = {
        "source": "results.json",
        "number": run,
        "place": "",
        "name": name,
        "case": name,
        "run": run,
        "tags": [],
        "status": "held" if held else "broken",
        "outcome": "passed" if held else "failed",
        "error": "",
        "verdicts": verdicts,
        "steps": [],
        "judged": [],
        "events": [],
        "problems": [],
    }
    return plain | more


def document_of(runs: list[dict[str, Any]], created_at: str = "2026-03-04T10:20:30Z", **more: Any) -> dict[str, Any]:
    """Return a document with these runs and the counts that belong to them."""
    outcomes = ("passed", "failed", "inconclusive", "infrastructure", "not_run", "unreadable")
    count = {name: sum(run["outcome"] == name for run in runs) for name in outcomes}
    summary = {
        "exit_status": 1 if count["failed"] else 0,
        "runs": len(runs),
        **count,
        "held": sum(run["status"] == "held" for run in runs),
        "broken": sum(run["status"] == "broken" for run in runs),
        "checks": sum(len(run["verdicts"]) for run in runs),
        "checks_held": sum(each["status"] == "held" for run in runs for each in run["verdicts"]),
        "cases": [],
    }
    head = {"version": 2, "tracewitness": "0.1", "suite": "orders.evals.yaml", "command": "simulate"}
    return head | {"created_at": created_at, "runs": runs, "summary": summary, "notices": []} | more


def order_events(*, lies: bool = False, quantity: int = 2) -> list[dict[str, Any]]:
    """Return a session in which two agents order something, with calls at once, an error and a transfer."""
    events: list[dict[str, Any]] = [
        {"system": "You are the order desk of a small shop. Confirm before you order. Never promise a delivery date."},
        {"user": "Hi! I'd like two of ITEM-42 sent to Zürich, and what do I owe you? 你好, 注文をお願いします 👩‍👩‍👧"},
        {"agent": "Let me look that up for you.", "by": "front desk", "at": 0.4},
        {
            "call": "check_availability",
            "args": {"item_id": "ITEM-42", "warehouse": {"country": "CH", "city": "Zürich"}},
            "id": "c1",
            "by": "front desk",
            "at": 0.5,
            "until": 1.9,
        },
        {"call": "get_customer", "args": {"email": "mia@example.org"}, "id": "c2", "by": "front desk", "at": 0.5},
        {
            "call": "quote_shipping",
            "args": {"to": "Zürich", "weights_g": [420, 420], "express": False, "coupon": None},
            "id": "c3",
            "by": "front desk",
            "at": 0.55,
        },
        {"result": {"status": "available", "left": 17}, "id": "c1", "at": 1.9},
        {
            "result": {
                "id": 9007199254740993,
                "name": "Mia Müller",
                "addresses": [
                    {"street": "Langstrasse 1", "city": "Zürich", "zip": "8004"},
                    {"street": "Quai 7", "city": "Genève", "zip": "1201"},
                ],
                "note": "VIP. Prefers e-mail.\nSpeaks German and French.",
            },
            "id": "c2",
            "at": 0.9,
        },
        {"result": "upstream timed out after 3000 ms", "id": "c3", "is_error": True, "at": 3.55},
        {
            "call": "quote_shipping",
            "args": {"to": "Zürich", "weights_g": [420, 420]},
            "id": "c4",
            "by": "front desk",
            "at": 3.7,
            "until": 4.1,
            "metadata": {"attempt": 2, "request_id": "r-81b2"},
        },
        {
            "result": '{"price": 9.5, "currency": "CHF", "options": [{"name": "post", "days": 2}]}',
            "id": "c4",
            "at": 4.1,
        },
        {
            "agent": "It is in stock. Two of them are CHF 89.80 and CHF 9.50 for shipping. Shall I order?",
            "by": "front desk",
            "at": 4.9,
        },
        {"user": "Yes, please."},
        {"transfer": "order agent", "at": 6.0},
    ]
    if not lies:
        events += [
            {
                "call": "create_order",
                "args": {
                    "item_id": "ITEM-42",
                    "quantity": quantity,
                    "address": {"street": "Langstrasse 1", "city": "Zurich"},
                    "comment": "ring twice, the bell is broken",
                },
                "id": "c5",
                "by": "order agent",
                "at": 6.1,
                "until": 8.0,
            },
            {"result": {"order_id": "O-1001", "status": "confirmed"}, "id": "c5", "at": 8.0},
        ]
    events += [
        {
            "agent": "I have placed your order. " + "Thank you for shopping with us! " * (1 if lies else 40),
            "by": "order agent",
            "at": 8.4,
        },
        {"user": "Thanks, bye"},
        {"call": "end_session", "args": {"reason": "resolved"}, "id": "c6", "by": "order agent", "at": 10.0},
        {"end": True},
    ]
    return events


def order_run(run: int) -> dict[str, Any]:
    """Return a run of the case in which something is ordered; every third lies, every fourth gets the number wrong."""
    lies, wrong = run % 3 == 2, run % 4 == 3
    events = order_events(lies=lies, quantity=3 if wrong else 2)
    near = {
        "position": 14,
        "tool": "create_order",
        "differences": [
            {
                "path": "args.quantity",
                "expected": 2,
                "actual": 3,
                "reason": "",
                "text": "args.quantity: expected 2, got 3",
            },
            {
                "path": "args.address.city",
                "expected": "Zürich",
                "actual": "Zurich",
                "reason": "",
                "text": "args.address.city: expected 'Zürich', got 'Zurich'",
            },
            {
                "path": "args.comment",
                "expected": "ring once, the bell is loud",
                "actual": "ring twice, the bell is broken",
                "reason": "",
                "text": "…",
            },
            {
                "path": "args.gift",
                "expected": False,
                "reason": "",
                "text": "args.gift: expected False, but it is missing",
            },
        ],
    }
    called = (
        verdict(
            "tool_called", "broken", (), "create_order was never called", reason="Without a call there is no order."
        )
        if lies
        else verdict("tool_called", "broken", (), "no call to create_order matches", near_miss=near, line=14)
        if wrong
        else verdict("tool_called", "held", (14,), "a matching call to create_order (event 14)")
    )
    said = 14 if lies else 16
    verdicts = [
        called,
        verdict(
            "claim",
            "broken" if lies else "held",
            (said,) if lies else (said, 14),
            f"the agent says 'placed your order' at event {said}"
            + (", and no matching call came before" if lies else ""),
            line=18,
        ),
        verdict(
            "tool_called",
            "held",
            (3,),
            "a matching call to check_availability (event 3)",
            tool="check_availability",
            line=21,
        ),
        verdict("max_errors", "held", (8,), "1 of 1 errors", tool="", line=24),
        verdict("args_from", "held", (14, 7) if not lies else (), "customer_id was seen in event 7", line=27),
        verdict(
            "end_session", "held", (len(events) - 2,), "the last call is to end_session", tool="end_session", line=30
        ),
        verdict(
            "trace_parsed",
            "held",
            (),
            f"{len(events)} events, nothing unreadable",
            tool="",
            file=None,
            line=None,
            column=None,
        ),
    ]
    return case_run(
        "order-in-stock",
        run,
        tags=["P0", "orders"],
        events=events,
        verdicts=verdicts,
        turns=3,
        duration_s=9.7 + run / 7,
        session_id=f"s-{run:04}",
        usage={"requests": 7, "input_tokens": 12_345, "output_tokens": 678},
        steps=[
            {
                "goal": "Order two of ITEM-42 to Zürich.",
                "success_criteria": "The agent confirms the order.",
                "status": "Completed",
                "justification": "The agent says that the order was placed.",
            },
            {
                "goal": "Ask for the price.",
                "success_criteria": "The agent names the price with shipping.",
                "status": "Completed" if run % 5 else "Not Completed",
                "justification": "It names CHF 89.80 and CHF 9.50.",
            },
        ],
        judged=[
            {
                "expectation": "The agent is polite.",
                "status": "Met",
                "justification": "It greets and thanks the customer.",
            },
            {
                "expectation": "The agent confirms the order.",
                "status": "Met",
                "justification": "“I have placed your order.”",
                "votes": ["Met", "Met", "Not Met"],
            },
        ],
    )


def plain_run(name: str, run: int, chance: random.Random) -> dict[str, Any]:
    """Return a short run of some other case."""
    failing = {"refund": 0.3, "track-parcel": 0.05, "change-address-of-a-very-long-named-case-indeed": 0.9}.get(
        name, 0.0
    )
    broken = chance.random() < failing
    events = [
        {"user": f"About my {chance.choice(WORDS)}: {' '.join(chance.choices(WORDS, k=12))}?"},
        {"call": "lookup", "args": {"id": chance.randrange(10**6)}, "id": "a"},
        {"result": {"state": chance.choice(WORDS)}, "id": "a"},
        {"agent": " ".join(chance.choices(WORDS, k=25)) + "."},
        {"end": True},
    ]
    verdicts = [
        verdict("tool_called", "held", (1,), "a matching call to lookup (event 1)", tool="lookup"),
        verdict(
            "tool_not_called",
            "broken" if broken else "held",
            (1,) if broken else (),
            "lookup was called",
            tool="lookup",
        ),
    ]
    return case_run(name, run, tags=["P1"], events=events, verdicts=verdicts, duration_s=chance.uniform(1, 8), turns=1)


def demo_document() -> dict[str, Any]:
    """Return a report such as a simulation leaves behind: good and bad runs, several agents, odd texts."""
    chance = random.Random(7)
    runs = [order_run(run) for run in range(1, 11)]
    for name in (
        "refund",
        "track-parcel",
        "change-address-of-a-very-long-named-case-indeed",
        "opening-hours",
        "取消订单",
    ):
        runs += [plain_run(name, run, chance) for run in range(1, 11)]
    runs[15] |= {
        "outcome": "infrastructure",
        "error": "the endpoint answered 503 three times",
        "error_kind": "http",
        "traceback": 'Traceback (most recent call last):\n  File "agent.py", line 7\nConnectionError',
    }
    runs[33] |= {"outcome": "inconclusive", "error": "the judge gave no verdict"}
    runs[-1] |= {
        "outcome": "unreadable",
        "status": "unreadable",
        "error": "results.json, row 60: no trace",
        "events": None,
        "verdicts": [],
    }
    runs.append(odd_run())
    return document_of(runs, notices=["orders.evals.yaml: 2 checks have no name"])


def odd_run() -> dict[str, Any]:
    """Return a run in which little is as it should be."""
    events: list[Any] = [
        {"agent": "\x1b[31mANSI\x1b[0m, a \u202eright-to-left override\u202c, a zero\u200bwidth space"},
        {"user": "One\nTwo\n\tThree"},
        {"call": "broken_args", "raw_args": '{"city": "NY', "id": "x"},
        {"result": {"late": True}, "id": "nobody"},
        {"nonsense": [1, 2, {"deep": None}]},
        {
            "call": "big",
            "args": {"rows": [{"n": n, "text": f"row {n}"} for n in range(300)], "text": "lorem ipsum " * 300},
            "id": "y",
        },
        {"agent": "While it runs…"},
        {"raw_result": "{not json", "id": "y"},
        {"user": "And?"},
        {"call": "nothing", "args": {}},
    ]
    problems = [
        {"reason": "a result answers no call", "position": 3, "place": "", "hides_call": False, "cut": False},
        {
            "reason": "an event has one of call, result, user, …; this has nonsense",
            "position": 4,
            "place": "",
            "hides_call": True,
            "cut": False,
        },
    ]
    verdicts = [
        verdict("trace_parsed", "broken", (3, 4), "2 problems", tool=""),
        verdict("max_calls", "error", (), "could not be evaluated: ZeroDivisionError", tool=""),
    ]
    return case_run(
        "odd-recording",
        1,
        events=events,
        problems=problems,
        verdicts=verdicts,
        tags=["odd"],
        judged=[{"expectation": "The agent answers.", "status": "Not Met", "justification": "It does not."}],
    )


def earlier_documents() -> list[dict[str, Any]]:
    """Return three reports that came before the demo."""
    made = []
    for month, share in ((1, 0.5), (2, 0.8)):
        chance = random.Random(month)
        runs = [
            plain_run(name, run, chance)
            for name in ("refund", "track-parcel", "opening-hours", "gift-card")
            for run in range(1, 11)
        ]
        runs += [order_run(1 if chance.random() < share else 2) | {"run": run} for run in range(1, 11)]
        made.append(document_of(runs, f"2026-0{month}-04T10:20:30Z"))
    return made


def large_runs(count: int = 10_000) -> list[dict[str, Any]]:
    """Return many runs of about thirty events, with texts that hardly repeat."""
    chance = random.Random(3)
    return [large_run(f"case-{number // 20:03}", number % 20 + 1, chance) for number in range(count)]


def large_run(name: str, run: int, chance: random.Random) -> dict[str, Any]:
    """Return a run of about thirty events."""
    events: list[dict[str, Any]] = []
    for turn in range(4):
        events.append({"user": " ".join(chance.choices(WORDS, k=14))})
        for call in range(3):
            made = f"{turn}-{call}"
            events.append(
                {
                    "call": f"tool_{chance.randrange(20)}",
                    "id": made,
                    "at": turn * 9 + call,
                    "until": turn * 9 + call + chance.random(),
                    "args": {"id": f"{chance.getrandbits(64):x}", "note": " ".join(chance.choices(WORDS, k=6))},
                }
            )
            events.append(
                {"result": {"value": chance.random(), "text": " ".join(chance.choices(WORDS, k=20))}, "id": made}
            )
        events.append({"agent": " ".join(chance.choices(WORDS, k=40))})
    broken = chance.random() < 0.1
    verdicts = [
        verdict("tool_called", "held", (1,), "a matching call (event 1)", tool=f"tool_{number}") for number in range(5)
    ]
    verdicts.append(verdict("claim", "broken" if broken else "held", (8,), "the agent says so", tool="tool_1"))
    return case_run(
        name, run, tags=[f"tag-{run % 5}"], events=events, verdicts=verdicts, duration_s=chance.uniform(5, 60), turns=4
    )

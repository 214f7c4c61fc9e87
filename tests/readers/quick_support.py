"""What the tests of the quick decoders share."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tracewitness.trace import Trace

USUAL_CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "a lamp: é?"},
    {
        "role": "assistant",
        "content": "well",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": {"a": "lamp"}}'}},
            {"id": "c2", "type": "function", "function": {"name": "buy", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "name": "buy", "content": '{"ok": true}'},
    {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "[1]"},
    {"content": "done", "role": "assistant"},
]
USUAL_ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "a lamp: é?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "text", "text": "well"},
            {"type": "tool_use", "id": "c1", "name": "find", "input": {"q": {"a": 1.50}}},
            {"type": "tool_use", "id": "c2", "name": "buy", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c2", "content": '{"ok": true}', "is_error": False},
            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "[1]"}]},
            {"type": "text", "text": "so"},
        ],
    },
    {"role": "assistant", "content": "done"},
]
USUAL_TAU2: dict[str, Any] = {
    "id": "s1",
    "task_id": "7",
    "termination_reason": "user_stop",
    "reward_info": {"reward": 1.0, "checks": [{"a": 1}]},
    "messages": [
        {"role": "user", "content": "a lamp: é?", "tool_calls": None, "turn_idx": 0},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "name": "find", "arguments": {"q": {"a": 1.50}}, "requestor": "assistant"}],
            "usage": {"prompt_tokens": 3},
        },
        {"id": "c1", "role": "tool", "content": "[1]", "requestor": "assistant", "error": False},
    ],
}


def optional(
    fields: dict[str, st.SearchStrategy[Any]], **others: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Generate mappings that have all fields, and any of the others."""
    return st.fixed_dictionaries(fields, optional=others)


def told(trace: Trace) -> tuple[Any, ...]:
    """Return what a trace says of itself."""
    calls = [(call.position, call.answer and call.answer.position, call.id, call.is_error) for call in trace.calls]
    events: list[Any] = list(trace.events)
    shown = [(event.turn, repr(event), event.record) for event in events]
    return trace.to_events(), shown, list(trace.records), calls, trace.index.turn_starts, len(trace)

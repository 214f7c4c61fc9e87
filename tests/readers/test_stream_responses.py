"""Streams of OpenAI Responses: what their last event has decides, else what the events said item by item."""

from __future__ import annotations

from typing import Any

import pytest
from stream_support import read_everywhere, reasons

from tracewitness.readers import read
from tracewitness.trace import MalformedArguments

NAME = "openai-responses-stream"


def _event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


def _item(number: int, arguments: str = "", status: str = "in_progress") -> dict[str, Any]:
    fields = {"id": f"fc_{number}", "call_id": f"c{number}", "name": "search", "status": status}
    return {"type": "function_call", "arguments": arguments, **fields}


def _added(number: int, item: Any) -> dict[str, Any]:
    return _event("output_item.added", output_index=number, item=item)


def _done(number: int, item: Any) -> dict[str, Any]:
    return _event("output_item.done", output_index=number, item=item)


def _delta(number: int, what: str, text: str) -> dict[str, Any]:
    return _event(f"{what}.delta", output_index=number, item_id=f"fc_{number}", delta=text)


def _created() -> dict[str, Any]:
    return _event(
        "created", response={"object": "response", "status": "in_progress", "output": [], "instructions": "Help."}
    )


def _completed(*output: Any, status: str = "completed", **fields: Any) -> dict[str, Any]:
    response = {"object": "response", "status": status, "output": list(output), "instructions": "Help.", **fields}
    return _event(status, response=response)


_CALL = {"call": "search", "args": {"n": 1}, "id": "c0"}
_SYSTEM = {"system": "Help."}


def _pieces(what: str, *texts: str) -> list[dict[str, Any]]:
    return [_delta(0, what, text) for text in texts]


STREAMS: dict[str, tuple[list[Any], list[Any]]] = {
    "its end": (
        [
            _created(),
            _added(0, _item(0)),
            *_pieces("function_call_arguments", '{"n":', " 1}"),
            _completed(_item(0, '{"n": 1}')),
        ],
        [_SYSTEM, _CALL],
    ),
    "items that are done, an end without them": (
        [_created(), _added(0, _item(0)), _done(0, _item(0, '{"n": 1}')), _completed()],
        [_SYSTEM, _CALL],
    ),
    "deltas, nothing that is done": (
        [_created(), _added(0, _item(0)), *_pieces("function_call_arguments", '{"n":', " 1}"), _completed()],
        [_SYSTEM, _CALL],
    ),
    "arguments that are done": (
        [
            _added(0, _item(0)),
            *_pieces("function_call_arguments", "lost"),
            _event("function_call_arguments.done", output_index=0, arguments='{"n": 1}'),
            _completed(instructions=None),
        ],
        [_CALL],
    ),
    "without a beginning": ([_completed(_item(0, '{"n": 1}'))], [_SYSTEM, _CALL]),
    "a custom tool": (
        [
            _added(0, {"type": "custom_tool_call", "call_id": "c0", "name": "sql", "input": ""}),
            *_pieces("custom_tool_call_input", "SELECT", " 1"),
            _completed(instructions=None),
        ],
        [{"call": "sql", "args": {"input": "SELECT 1"}, "id": "c0"}],
    ),
    "a message": (
        [
            _added(0, {"type": "message", "role": "assistant", "content": []}),
            *_pieces("output_text", "Do", "ne."),
            _added(1, {"type": "message", "role": "assistant", "content": []}),
            _event("refusal.delta", output_index=1, delta="N"),
            _event("refusal.done", output_index=1, refusal="No."),
            _completed(instructions=None),
        ],
        [{"agent": "Done."}, {"agent": "No."}],
    ),
    "hosted tools": (
        [
            _added(0, {"type": "code_interpreter_call", "id": "i0", "code": ""}),
            *_pieces("code_interpreter_call_code", "1", "+1"),
            _event("code_interpreter_call.interpreting", output_index=0),
            _added(1, {"type": "apply_patch_call", "call_id": "p", "operation": {"type": "create_file", "path": "a"}}),
            _delta(1, "apply_patch_call_operation_diff", "+x"),
            _added(2, {"type": "shell_call", "call_id": "s", "action": {"commands": []}}),
            _delta(2, "shell_call_command", "ls"),
            _completed(instructions=None),
        ],
        [
            {"call": "code_interpreter_call", "args": {"code": "1+1"}, "id": "i0"},
            {"call": "apply_patch_call", "args": {"type": "create_file", "path": "a", "diff": "+x"}, "id": "p"},
            {"call": "shell_call", "args": {"commands": ["ls"]}, "id": "s"},
        ],
    ),
    "items that come out of order": (
        [_done(1, _item(1, "{}")), _done(0, _item(0, '{"n": 1}')), _completed(instructions=None)],
        [_CALL, {"call": "search", "args": {}, "id": "c1"}],
    ),
    "items without an index": (
        [
            _event("output_item.added", item=_item(0)),
            _event("function_call_arguments.delta", item_id="fc_0", delta='{"n": 1}'),
            _event("output_item.added", item=_item(1)),
            _completed(instructions=None),
        ],
        [_CALL, {"call": "search", "args": {}, "id": "c1"}],
    ),
    "an item that was never done": (
        [_added(0, _item(0, '{"n": 1}')), {"type": "keepalive"}, _completed(status="incomplete", instructions=None)],
        [_CALL],
    ),
}


@pytest.mark.parametrize(("stream", "events"), STREAMS.values(), ids=STREAMS.keys())
def test_what_a_stream_says(stream: list[Any], events: list[Any]) -> None:
    """The response at its end, items that are done, items that were added with their deltas, in that order."""
    trace = read_everywhere(stream, NAME)
    assert trace.to_events() == events
    assert trace.problems == ()


def test_streams_one_after_the_other_and_items_between_them() -> None:
    """Instructions are told once, and a result answers its call."""
    trace = read_everywhere(
        [
            {"role": "user", "content": "Find it."},
            _created(),
            _completed(_item(0, '{"n": 1}')),
            {"type": "function_call_output", "call_id": "c0", "output": "found"},
            _created(),
            _done(0, _item(1, "{}")),
            _completed(),
            _created(),
            _completed({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}),
        ],
        NAME,
    )
    assert [next(iter(event)) for event in trace.to_events()] == ["user", "system", "call", "result", "call", "agent"]
    assert (trace.calls[0].result, trace.problems) == ("found", ())


def test_a_call_that_was_cut_off() -> None:
    """Its arguments stay as far as they came, and the missing end is a problem."""
    trace = read([_created(), _added(0, _item(0)), *_pieces("function_call_arguments", '{"n"')])
    assert isinstance(trace.calls[0].args, MalformedArguments)
    assert reasons(trace)[0] == "the stream breaks off: response.completed is missing"
    assert trace.problems[0].place == "$[2]"


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        ([_created(), _created(), _completed()], "the stream breaks off"),
        ([_created(), {"type": "error", "message": "slow down"}], "the stream failed: 'slow down'"),
        ([_created(), _event("failed", response={"status": "failed", "error": {"code": "x"}})], "the response failed"),
        ([_added(0, _item(0)), _added(1, _item(1)), _completed(_item(0, "{}"))], "fewer items at its end"),
        ([_created(), _added(0, None), _completed()], "an event of an item that has none"),
        ([_created(), _delta(0, "function_call_arguments", "{}"), _completed()], "pieces of an item that is not here"),
        ([_created(), {"kind": "x"}, _completed()], "neither an event nor a message"),
        ([_created(), "{", _completed()], "an event is a mapping"),
    ],
)
def test_what_is_broken_may_hide_a_call(stream: list[Any], reason: str) -> None:
    """A problem says what is wrong."""
    trace = read(stream)
    assert any(problem.reason.startswith(reason) or reason in problem.reason for problem in trace.problems)
    assert all(problem.hides_call for problem in trace.problems)


def test_an_error_alone_is_no_evidence() -> None:
    """Nothing was answered, and the trace says why."""
    trace = read([{"type": "error", "message": "slow down"}], NAME)
    assert trace.no_evidence == "the stream failed: 'slow down'"

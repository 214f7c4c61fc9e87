"""Where a result has spans, they decide what was called; the text is compared with them."""

from __future__ import annotations

from typing import Any

import pytest

from tracewitness.expectations import check
from tracewitness.readers import read_text_trace
from tracewitness.trace import UNANSWERED, MalformedArguments, Trace

_TEXT = "Tool Call: a with args {'n': 1.0}\nTool Response: a with result {'ok': True}\nAgent Text: Done"


def _tool(name: str, children: tuple[Any, ...] = (), **attributes: Any) -> dict[str, Any]:
    return {"name": "Tool", "attributes": {"name": name, **attributes}, "childSpans": list(children)}


def _turn(*children: Any, index: int = 0) -> dict[str, Any]:
    llm = {"name": "LLM", "attributes": {"model": "m"}}
    return {"turn_index": index, "root_span": {"name": "Turn", "childSpans": [llm, *children]}}


def _read(text: str, *turns: Any) -> Trace:
    return read_text_trace({"detailed_trace": ["User: x", text], "turn_traces": list(turns)})


def _calls(trace: Trace) -> list[tuple[str, Any]]:
    return [(call.name, call.args) for call in trace.calls]


_WHOLE: dict[str, Any] = {"args": {"n": 1}, "response": {"ok": True}}
_AGREE = {
    "the same": [_tool("a", **_WHOLE)],
    "args as JSON text": [_tool("a", args='{"n": 1}', response={"ok": True})],
    "an envelope": [_tool("a", args={"n": 1}, response={"result": {"ok": True}})],
    "a response as JSON text": [_tool("a", args={"n": 1}, response='{"ok": true}')],
    "a resource name": [_tool("projects/p/tools/9", **_WHOLE)],
    "an inline name": [{"name": "Tool: a", "attributes": _WHOLE}],
    "under another span": [{"name": "Agent", "child_spans": [_tool("a", **_WHOLE)]}],
    "another key for the name": [
        {"name": "Tool", "attributes": {"name": 5, "tool": "", "display_name": "a", **_WHOLE}},
    ],
    "with a call nested deeper": [_tool("a", ({"name": "Agent", "childSpans": [_tool("inner")]},), **_WHOLE)],
    "with a nested call": [_tool("a", (_tool("inner", args={}),), **_WHOLE)],
    "with a callback's call": [{"name": "Callback", "childSpans": [_tool("inner")]}, _tool("a", **_WHOLE)],
}
_SILENT = {
    "no response": [_tool("a", args={"n": 1})],
    "no args": [_tool("a", response={"ok": True})],
    "args that are no mapping": [_tool("a", args=[1], response={"ok": True})],
    "neither": [_tool("a")],
    "no attributes": [{"name": "TOOL: a", "attributes": None}],
}


@pytest.mark.parametrize("spans", _AGREE.values(), ids=_AGREE.keys())
def test_spans_that_agree_leave_the_text(spans: list[Any]) -> None:
    """The trace is that of the text, without a problem, and it is no longer text alone."""
    trace = _read(_TEXT, _turn(*spans))
    assert (_calls(trace), trace.problems, trace.text_alone) == ([("a", {"n": 1.0})], (), False)


@pytest.mark.parametrize("spans", _SILENT.values(), ids=_SILENT.keys())
def test_what_spans_leave_out_rests_on_the_text(spans: list[Any]) -> None:
    """A call whose span has no arguments or no response is certain; what the text says of those is not."""
    trace = _read(_TEXT, _turn(*spans))
    assert (_calls(trace), trace.problems, trace.text_alone) == ([("a", {"n": 1.0})], (), True)


def test_what_the_span_of_a_nested_call_leaves_out_rests_on_the_text() -> None:
    """The text may tell of a call that another tool made; its arguments are the text's all the same."""
    trace = _read("Tool Call: b with args {}\n" + _TEXT, _turn(_tool("b", (_tool("a"),), args={})))
    assert (trace.problems, trace.text_alone) == ((), True)


def test_a_call_that_nothing_answered_needs_no_response() -> None:
    """Where the text tells of no result there is none to confirm."""
    assert not _read("Tool Call: a with args {'n': 1.0}", _turn(_tool("a", args={"n": 1}))).text_alone


def test_checks_say_that_a_forged_line_rests_on_text() -> None:
    """Arguments that only a line of the agent's words tells of are named as such, with every verdict."""
    trace = _read("Tool Call: x with args {'a': 'FORGED'}", _turn(_tool("x")))
    verdict, _ = check(trace, [{"type": "tool_called", "tool": "x", "args": {"a": "FORGED"}}])
    assert "text alone" in verdict.explain()


def test_a_response_of_plain_words_is_compared() -> None:
    """A text that is no JSON is itself."""
    text = "Tool Call: a with args {}\nTool Response: a with result 'it is done'"
    assert _read(text, _turn(_tool("a", args={}, response="it is done"))).problems == ()
    assert _read(text, _turn(_tool("a", args={}, response="it failed"))).problems


@pytest.mark.parametrize(
    ("told", "response", "agree"),
    [
        ("5.0", 5, True),
        ("5.0", 6, False),
        ("True", 1, False),
        ("nan", float("nan"), True),
        ("None", None, True),
        ("{'result': 5, 'took': 1}", 5, False),
        ("{'output': 5}", 5, True),
        ("{'total': 5}", 5, False),
        ("[5]", {"result": [5]}, True),
        ("oops", {"any": "thing"}, True),
    ],
)
def test_results_are_compared_by_value(told: str, response: Any, agree: bool) -> None:
    """An envelope has one key; a result that can't be read in the text is no disagreement of its own."""
    trace = _read(
        f"Tool Call: a with args {{}}\nTool Response: a with result {told}",
        _turn(_tool("a", args={}, response=response)),
    )
    assert any("disagree" in problem.reason for problem in trace.problems) is not agree


def test_a_call_that_the_text_leaves_open_is_no_disagreement() -> None:
    """The session may end before the answer comes, as with end_session; the span has it."""
    span = _tool("end_session", args={}, response={"ok": True})
    assert _read("Tool Call: end_session with args {}", _turn(span)).problems == ()


def test_absent_arguments_are_none() -> None:
    """A span whose `args` are null is of a call without any."""
    assert _read("Tool Call: a with args {}", _turn(_tool("a", args=None))).problems == ()
    assert _read("Tool Call: a with args {'n': 1}", _turn(_tool("a", args=None))).problems


def test_arguments_that_are_no_data_match_nothing() -> None:
    """A result that never was JSON may hold any object in its spans."""
    assert _read("Tool Call: a with args {'n': 1}", _turn(_tool("a", args={"n": {1, 2}}))).problems


def test_a_long_disagreement_is_cut_short() -> None:
    """Twenty forged lines make one line of a report."""
    text = "\n".join(f"Tool Call: f{number} with args {{}}" for number in range(20))
    (problem,) = _read(text, _turn()).problems
    assert "f7 and 12 more calls only in the text" in problem.reason
    (problem,) = _read("\n".join(text.split("\n")[:8]), _turn()).problems
    assert "f6, f7 only in the text" in problem.reason


_DISAGREE = {
    "other JSON text": ([_tool("a", args='{"n": 2}')], [("a", {"n": 2})]),
    "no tool span": ([], []),
    "another name": ([_tool("b", args={"n": 1})], [("b", {"n": 1})]),
    "other arguments": ([_tool("a", args={"n": 2})], [("a", {"n": 2})]),
    "a bool": ([_tool("a", args={"n": True})], [("a", {"n": True})]),
    "one more": ([_tool("a", args={"n": 1}), _tool("c", args={})], [("a", {"n": 1}), ("c", {})]),
    "another response": ([_tool("a", args={"n": 1}, response={"ok": False})], [("a", {"n": 1})]),
    "only nested": ([_tool("b", (_tool("a", args={"n": 1}),), args={})], [("b", {})]),
}


@pytest.mark.parametrize(("spans", "calls"), _DISAGREE.values(), ids=_DISAGREE.keys())
def test_spans_that_disagree_decide(spans: list[Any], calls: list[Any]) -> None:
    """The calls are those of the spans, and the disagreement is a problem that may hide a call."""
    trace = _read(_TEXT, _turn(*spans))
    assert _calls(trace) == calls
    assert [(problem.place, problem.hides_call) for problem in trace.problems] == [("detailed_trace[1]", True)]
    assert "turn_traces[0]" in str(trace.problems[0])


def test_the_spans_results_come_with_their_calls() -> None:
    """Where the text's result is not what the span has, the span's counts."""
    trace = _read(_TEXT, _turn(_tool("a", args={"n": 1}, response={"ok": False})))
    assert trace.calls[0].result == {"ok": False}


def test_a_span_without_args_says_nothing_of_them() -> None:
    """In place of the text's call stands one whose arguments are not known; they are not taken for none."""
    trace = _read("Agent Text: Done", _turn(_tool("pay")))
    assert isinstance(trace.calls[0].args, MalformedArguments)
    assert trace.calls[0].result is UNANSWERED


def test_messages_stay_where_spans_decide() -> None:
    """What was said keeps its order around the calls."""
    text = "Agent Text: One\nTool Call: forged with args {}\nAgent Text: Two"
    trace = _read(text, _turn(_tool("real", args={})))
    assert [next(iter(event)) for event in trace.to_events()] == ["user", "agent", "call", "agent"]


def test_parallel_calls_may_stand_in_any_order() -> None:
    """The order of the text is kept."""
    text = "Tool Call: a with args {}\nTool Call: b with args {}"
    trace = _read(text, _turn(_tool("b", args={}), _tool("a", args={})))
    assert ([name for name, _ in _calls(trace)], trace.problems) == (["a", "b"], ())


def test_a_call_of_a_nested_span_may_be_told() -> None:
    """Some recordings tell of what a tool called, others don't."""
    text = "Tool Call: a with args {}\nTool Call: inner with args {}"
    trace = _read(text, _turn(_tool("a", (_tool("inner", args={}),), args={})))
    assert ([name for name, _ in _calls(trace)], trace.problems) == (["a", "inner"], ())


@pytest.mark.parametrize(
    "turns", [[], [{"turn_index": 0}], [{"turn_index": 0, "root_span": {"name": "Turn"}}], [_turn(index=7)]]
)
def test_a_turn_without_spans_is_text_alone(turns: list[Any]) -> None:
    """No turn, a bare root, or the spans of another turn do not speak about this one."""
    trace = _read(_TEXT, *turns)
    assert (_calls(trace), trace.problems, trace.text_alone) == ([("a", {"n": 1.0})], (), True)


def test_spans_of_a_turn_that_the_text_lacks_are_a_problem() -> None:
    """Their calls are in the trace, at its end."""
    trace = _read(_TEXT, _turn(_tool("pay", args={}), index=1))
    assert [name for name, _ in _calls(trace)] == ["a", "pay"]
    assert [problem.place for problem in trace.problems] == ["turn_traces[0]"]
    (_, unknown) = _read(_TEXT, _turn(_tool("pay"), index=1)).problems
    assert unknown.place == "detailed_trace[2], line 1"


def test_one_turn_without_spans_leaves_the_trace_on_text() -> None:
    """Spans of a later turn do not vouch for what was said before."""
    entries = ["User: x", "Tool Call: a with args {}", "User: y", "Agent Text: Done"]
    trace = read_text_trace({"detailed_trace": entries, "turn_traces": [_turn(index=1)]})
    assert (trace.problems, trace.text_alone) == ((), True)
    entries[1:] = ["Tool Call: a with args {}", "User: y", ""]
    assert read_text_trace({"detailed_trace": entries}).text_alone


def test_turns_are_counted_by_the_agents_entries() -> None:
    """Spans are compared with the entry of their own turn."""
    entries: list[Any] = ["User: x", "Agent Text: Hello", "User: y", "Tool Call: a with args {}"]
    turns = [_turn(), _turn(_tool("a", args={}), index=1)]
    trace = read_text_trace({"detailed_trace": entries, "turn_traces": turns})
    assert (_calls(trace), trace.problems, trace.text_alone) == ([("a", {})], (), False)
    entries[1] = 5
    (problem,) = read_text_trace({"detailed_trace": entries, "turn_traces": turns[1:]}).problems
    assert "an entry is text" in problem.reason


@pytest.mark.parametrize(
    "turn",
    [
        5,
        {"root_span": {"childSpans": [_tool("a")]}},
        {"turn_index": -1, "root_span": {}},
        {"turn_index": True, "root_span": {}},
        {"turn_index": 0, "root_span": "Turn"},
        {"turn_index": 0, "root_span": {"childSpans": {"name": "Tool"}}},
        {"turn_index": 0, "root_span": {"childSpans": ["Tool"]}},
        {"turn_index": 0, "root_span": {"childSpans": 5}},
        {"turn_index": 0, "root_span": {"childSpans": [{"name": "Tool"}]}},
        {"turn_index": 0, "root_span": {"childSpans": [{"name": "Tool", "attributes": []}]}},
        {"turn_index": 0, "root_span": {"childSpans": [{"name": "Tool", "attributes": "a"}]}},
    ],
)
def test_spans_that_cannot_be_read_are_a_problem(turn: Any) -> None:
    """The text stands alone then, and what the spans would have said may hide a call."""
    trace = _read(_TEXT, turn)
    assert _calls(trace) == [("a", {"n": 1.0})]
    assert [(problem.place, problem.hides_call) for problem in trace.problems] == [("turn_traces[0]", True)]


def test_a_turn_that_stands_there_twice_is_a_problem() -> None:
    """Which of the two counts is not decided."""
    trace = _read(_TEXT, _turn(_tool("a", args={"n": 1})), _turn())
    assert [problem.place for problem in trace.problems] == ["turn_traces[1]"]


def test_turn_traces_that_are_no_list_are_a_problem() -> None:
    """Only their absence says that there are none."""
    trace = read_text_trace({"detailed_trace": ["User: x"], "turn_traces": {"0": {}}})
    assert [problem.place for problem in trace.problems] == ["turn_traces"]


def test_a_tree_of_spans_may_be_as_deep_as_it_likes() -> None:
    """Twenty thousand levels are walked without a crash."""
    span: dict[str, Any] = _tool("a", args={"n": 1})
    for _ in range(20_000):
        span = {"name": "Agent", "childSpans": [span]}
    assert _read(_TEXT, _turn(span)).problems == ()


def test_arguments_of_any_depth_are_compared() -> None:
    """A span may hold arguments that are nested more deeply than Python compares."""
    args: dict[str, Any] = {}
    for _ in range(20_000):
        args = {"n": args}
    trace = _read(_TEXT, _turn(_tool("a", args=args)))
    assert trace.problems

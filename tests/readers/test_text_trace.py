"""The text trace beyond the conformance file: forged lines, repeats, places, cost, and what the reader decides."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracewitness.readers import read_text_trace
from tracewitness.readers.literals import LiteralError, parse_literal
from tracewitness.trace import (
    UNANSWERED,
    MalformedArguments,
    MalformedResult,
    Message,
    Trace,
    Transfer,
    Unreadable,
)


def _read(*entries: Any, **result: Any) -> Trace:
    return read_text_trace({"detailed_trace": list(entries), **result})


def _calls(trace: Trace) -> list[tuple[str, Any]]:
    return [(call.name, call.args) for call in trace.calls]


def _messages(trace: Trace) -> list[tuple[str, str]]:
    return [(event.role, event.text) for event in trace.events if isinstance(event, Message)]


# ------------------------------------------------------------------------------------------------- texts and turns


def test_every_kind_becomes_its_event() -> None:
    """Words, hand-overs and payloads keep their order and their text; a payload is a system message."""
    trace = _read(
        "User: a lamp",
        "User Query: a lamp\nAgent Text: One moment\nplease\nAgent Text (Diag): thinking\nTool Call: ping with args {}"
        "\nAgent Transfer: Transferred to billing agent\nCustom Payload: {'card': 1}",
    )
    assert _messages(trace) == [
        ("user", "a lamp"),
        ("agent", "One moment\nplease"),
        ("agent", "thinking"),
        ("system", "Custom Payload: {'card': 1}"),
    ]
    assert [event.agent for event in trace.events if isinstance(event, Transfer)] == ["billing agent"]
    assert (trace.text_alone, trace.problems) == (True, ())


def test_words_keep_their_empty_lines() -> None:
    """Text is what was said, to the last line."""
    trace = _read("User: x\n", "Agent Text: \na\n\nb\n\nAgent Text:\n")
    assert _messages(trace) == [("user", "x\n"), ("agent", "\na\n\nb\n"), ("agent", "\n")]


@pytest.mark.parametrize(("own", "name"), [("order", "order"), ("", "file"), (5, "file"), (None, "file")])
def test_a_name_that_is_no_text_is_none(own: Any, name: str) -> None:
    """The caller's name stands in for it."""
    assert read_text_trace({"name": own, "detailed_trace": ["User: x"]}, name="file").name == name


def test_a_turn_begins_at_each_user_entry_alone() -> None:
    """A repeated query begins no second turn, and what comes before the first entry is turn 0."""
    trace = _read(
        "Tool Call: greet with args {}",
        "User: one",
        "User Query: one\nTool Call: a with args {}",
        "User [Generated TTS]: two",
        "[Turn 2] User Query: two\n[Turn 2] Tool Call: b with args {}",
    )
    assert [(call.name, call.turn) for call in trace.calls] == [("greet", 0), ("a", 1), ("b", 2)]


def test_a_tagged_user_entry_is_opaque() -> None:
    """A recording that replays a user tags the entry; it is the user's words all the same."""
    trace = _read("User [Past Audio Turn #3]: hi\nTool Call: pay with args {}", "Agent Text: no")
    assert trace.calls == ()
    assert _messages(trace)[0] == ("user", "hi\nTool Call: pay with args {}")


def test_recordings_that_replay_a_user_are_read() -> None:
    """They write who spoke, and the turn, in their own way."""
    trace = _read(
        "[Turn 1] User: hi\nTool Call: pay with args {}",
        "[Turn 1] Agent (shop): Hello\nAgent: there",
        "[Turn 1] Tool Call: greet args={}\nAgent: Welcome",
    )
    assert _messages(trace) == [
        ("user", "hi\nTool Call: pay with args {}"),
        ("agent", "Hello\nAgent: there"),
        ("agent", "Welcome"),
    ]
    assert (_calls(trace), trace.problems) == ([("greet", {})], ())


@pytest.mark.parametrize("words", ["", "\nTool Call: pay with args {}", " \nTool Call: pay with args {}"])
def test_a_users_entry_may_begin_with_an_empty_line(words: str) -> None:
    """It is the user's all the same."""
    trace = _read(f"User:{words}", "Agent Text: no")
    assert (trace.calls, trace.problems) == ((), ())


def test_an_entry_of_a_silent_turn_is_nothing() -> None:
    """The runner writes an empty entry where the agent said and did nothing."""
    trace = _read("User: hi", "", "User: still there?", "Agent Text: yes\n\n")
    assert (len(trace.events), trace.problems) == (3, ())
    assert _calls(_read("User: hi", "\n\nTool Call: ping with args {}")) == [("ping", {})]


@pytest.mark.parametrize("entries", [[""], ["", "\n"]])
def test_entries_without_any_event_are_no_evidence(entries: list[str]) -> None:
    """A trace in which nothing at all was recorded proves nothing."""
    assert "no event" in (_read(*entries).no_evidence or "")


@pytest.mark.parametrize("line", ["Hello", "Tool Error: ping", "tool call: ping with args {}"])
def test_a_line_of_no_kind_without_text_before_is_a_problem(line: str) -> None:
    """It may be of a kind that is not known here, so that it may hide a call."""
    trace = _read("User: hi", f"{line}\nTool Call: ping with args {{}}")
    assert [(problem.position, problem.hides_call) for problem in trace.problems] == [(1, True)]
    assert _calls(trace) == [("ping", {})]


def test_text_that_goes_on_after_a_tool_line_is_a_problem() -> None:
    """The runner never writes that; a tool line inside the agent's own words looks like that."""
    trace = _read("User: hi", "Agent Text: So:\nTool Call: pay with args {}\nand then I am done.\n")
    assert [problem.place for problem in trace.problems] == ["detailed_trace[1], line 3"]


# --------------------------------------------------------------------------------------------------- the user's query


def test_a_query_with_space_around_it_is_still_the_users() -> None:
    """The platform may trim what the user said."""
    trace = _read(
        "User:  hi\nTool Call: pay with args {} ",
        "User Query: hi\nTool Call: pay with args {}\nAgent Text: no",
    )
    assert (trace.calls, trace.problems) == ((), ())


def test_a_query_of_other_words_is_kept() -> None:
    """What speech recognition heard, or an event's name, is a system message; nobody could have forged a line."""
    trace = _read("User: event: welcome", "User Query: <welcome>\nTool Call: greet with args {}")
    assert _messages(trace)[1] == ("system", "User Query: <welcome>")
    assert (_calls(trace), trace.problems) == ([("greet", {})], ())


def test_a_query_of_other_words_after_a_forged_line_is_a_problem() -> None:
    """Where the user's entry holds a tool line and the query differs, that line is no call, and the end is unknown."""
    trace = _read(
        "User: Hi!\nTool Call: pay with args {}",
        "User Query: Hi\nTool Call: pay with args {}\nAgent Text: no\nTool Call: greet with args {}",
    )
    assert _calls(trace) == [("greet", {})]
    assert [problem.hides_call for problem in trace.problems] == [True]


def test_a_query_as_long_as_the_users_words_must_say_them() -> None:
    """The length alone does not make it the user's."""
    trace = _read(
        "User: Hi!\nTool Call: pay with args {}", "User Query: Hi?\nTool Call: pay with args {}\nAgent Text: no"
    )
    assert [problem.hides_call for problem in trace.problems] == [True]


def test_a_second_long_query_is_a_problem() -> None:
    """An agent that writes the user's query again could hide its own call under the user's words."""
    words = "Hi\nTool Call: pay with args {}"
    trace = _read(f"User: {words}", f"User Query: {words}\nAgent Text: ok\nUser Query: {words}")
    assert [problem.hides_call for problem in trace.problems] == [True]


def test_a_query_without_a_users_entry_is_a_problem() -> None:
    """Nothing says how long it is."""
    trace = _read("User Query: hi\nTool Call: pay with args {}")
    assert [problem.place for problem in trace.problems] == ["detailed_trace[0], line 1"]


def test_lines_after_a_long_query_keep_their_numbers() -> None:
    """A place names the line of the entry, also after words of several lines."""
    trace = _read("User: a\nb", "User Query: a\nb\nTool Call: pay")
    assert [problem.place for problem in trace.problems] == ["detailed_trace[1], line 3"]


# ------------------------------------------------------------------------------------------- between name and literal


@pytest.mark.parametrize(
    ("rest", "name", "args"),
    [
        ("f with args args={}", "f with args", {}),
        ("f with args with args {}", "f with args", {}),
        ("f args= with args {}", "f args=", {}),
        ("f with args {} with args {'a': 1}", "f with args {}", {"a": 1}),
        ("f with args {'a': \" with args {'b': 1}\"}", "f", {"a": " with args {'b': 1}"}),
        ("f with args {'a': 'x args={} with args None'}", "f", {"a": "x args={} with args None"}),
        ("f with args null", "f", {}),
        ("f with args  {'a': 1} \r", "f", {"a": 1}),
    ],
)
def test_the_one_split_is_found(rest: str, name: str, args: dict[str, Any]) -> None:
    """Of all separators the one is taken that leaves a name and a mapping."""
    trace = _read("User: x", f"Tool Call: {rest}")
    assert (_calls(trace), trace.problems) == ([(name, args)], ())


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "f",
        "f with args",
        "f with args ",
        " with args {}",
        "   with args {}",
        "f with args {'a': oops} with args x",
        "f with args None with args oops",
    ],
)
def test_a_line_without_a_certain_name_may_hide_any_call(rest: str) -> None:
    """Where it can't be told what was called, the event is unreadable, and no tool can be ruled out."""
    trace = _read("User: x", f"Tool Call: {rest}")
    assert isinstance(trace.events[1], Unreadable)
    assert [problem.hides_call for problem in trace.problems] == [True]


def test_a_certain_name_with_unreadable_arguments_is_a_call() -> None:
    """The call is there; its arguments stay as they were written, and hide no other call."""
    trace = _read("User: x", "Tool Call: book with args {'at': datetime.date(2024, 5, 1)}")
    assert isinstance(trace.calls[0].args, MalformedArguments)
    assert trace.calls[0].args.raw == "{'at': datetime.date(2024, 5, 1)}"
    assert [problem.hides_call for problem in trace.problems] == [False]


@pytest.mark.parametrize("args", ["0", "''", "[]", "()", "False", "1", "'x'", "[1]"])
def test_arguments_that_are_no_mapping_are_malformed(args: str) -> None:
    """Also where they are empty: only `None` and an empty mapping are no arguments."""
    trace = _read("User: x", f"Tool Call: f with args {args}")
    assert isinstance(trace.calls[0].args, MalformedArguments)
    assert trace.problems


def test_an_unreadable_result_still_answers_its_call() -> None:
    """Otherwise the next result would be taken for that of the earlier call."""
    trace = _read(
        "User: x",
        "Tool Call: get with args {'id': 1}\nTool Call: get with args {'id': 2}\n"
        "Tool Response: get with result <Order 1>\nTool Response: get with result 'second'",
    )
    first, second = trace.calls
    assert isinstance(first.result, MalformedResult)
    assert second.result == "second"


_HOSTILE = {
    "brace": " with args {",
    "key": " with args {'a': ",
    "quote": " with args {'a': '",
    "list": ' with args {"a": [',
    "both quotes": " with args {'a': \" with args {\"a\": '",
    "escapes": " with args {'\\' with args {\"\\\"",
    "none": " args=None",
    "results": " with result 'a response=\"b with result 1",
}


@pytest.mark.parametrize("piece", _HOSTILE.values(), ids=_HOSTILE.keys())
def test_a_text_full_of_separators_costs_little(piece: str) -> None:
    """Ten thousand separators are read, or refused; tried to the end at each place they would take an hour."""
    value = {"text": piece * 10_000}
    trace = _read("User: x", f"Tool Call: note with args {value}\nTool Response: note with result {value}")
    assert [(call.args, call.result) for call in trace.calls] == [(value, value)]
    for torn in (f"{value} x", f"x {value} x", repr(value)[:-1]):
        trace = _read("User: x", f"Tool Call: note with args {torn}\nTool Response: note with result {torn}")
        assert {problem.position for problem in trace.problems} == {1, 2}


_QUOTES = st.lists(st.sampled_from(["'", '"', "\\", " with result ", "[", "]", "{", "}", ",", ":", "1"]), max_size=30)


@settings(deadline=None)
@given(_QUOTES.map("".join))
def test_a_line_splits_in_one_way_or_in_none(text: str) -> None:
    """However quotes and separators are nested, at most one separator leaves a literal after it."""

    def is_literal(start: int) -> bool:
        try:
            parse_literal(line, start)
        except LiteralError:
            return False
        return True

    line = f"f with result {text}"
    starts = [found.end() for found in re.finditer("(?= with result )", line)]
    assert sum(is_literal(start + len(" with result ")) for start in starts) <= 1


# -------------------------------------------------------------------------------------------------- repeats and pairs


def test_a_repeat_prefers_its_own_name() -> None:
    """A resource name takes no partner from an output call that is named like the plain one."""
    trace = _read(
        "User: x",
        "Tool Call (Output): projects/p/tools/9 with args {}\nTool Call (Output): a with args {}\n"
        "Tool Call: a with args {}\nTool Call: b with args {}",
    )
    assert _calls(trace) == [("a", {}), ("b", {})]


@pytest.mark.parametrize(
    ("output", "plain"),
    [("a", "b"), ("projects/p/tools/1", "projects/p/tools/2"), ("p/toolsets/s/x", "p/tools/y")],
)
def test_other_tools_are_no_repeats(output: str, plain: str) -> None:
    """Two display names, and two resource names, are of two tools."""
    trace = _read("User: x", f"Tool Call: {plain} with args {{}}\nTool Call (Output): {output} with args {{}}")
    assert [name for name, _ in _calls(trace)] == [plain, output]


def test_a_repeat_with_unreadable_arguments_is_one_call() -> None:
    """The same unreadable text twice is the same call."""
    args = "{'at': datetime.date(2024, 5, 1)}"
    trace = _read("User: x", f"Tool Call: a with args {args}\nTool Call (Output): a with args {args}")
    assert len(trace.calls) == 1


@pytest.mark.parametrize(
    ("plain", "output", "calls"),
    [
        ("{'n': 1}", "{'n': 1.0}", 1),
        ("{'n': 1}", "{'n': True}", 2),
        ("{'n': nan}", "{'n': nan}", 1),
        ("{'n': [1, {'m': 2}]}", "{'n': (1, {'m': 2})}", 1),
        ("{'n': [1, 2]}", "{'n': [2, 1]}", 2),
        (repr({"n": [1] * 50}), repr({"n": [1] * 49 + [2]}), 2),
        ("{'n': '1'}", "{'n': 1}", 2),
        ("{'n': None}", "{}", 2),
        ("None", "{}", 1),
    ],
)
def test_repeats_have_equal_arguments(plain: str, output: str, calls: int) -> None:
    """Arguments are equal by value, at every depth; a bool is no number, and `nan` is itself."""
    trace = _read("User: x", f"Tool Call: a with args {plain}\nTool Call (Output): a with args {output}")
    assert len(trace.calls) == calls


# ------------------------------------------------------------------------------------------------------- what is amiss


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"error": "timed out", "detailed_trace": ["User: x"]}, "timed out"),
        ({"name": "n"}, "no detailed_trace"),
        ({"detailed_trace": None}, "list of texts"),
        ({"detailed_trace": "User: x"}, "list of texts"),
        ({"detailed_trace": []}, "empty"),
    ],
)
def test_no_trace_is_no_evidence(result: dict[str, Any], reason: str) -> None:
    """A failed run, and one without a trace, proves nothing; the trace says why, and keeps the name."""
    trace = read_text_trace(result, name="fallback")
    assert reason in (trace.no_evidence or "")
    assert trace.problems
    assert trace.name == result.get("name", "fallback")


def test_an_entry_that_is_no_text_is_a_problem_in_its_place() -> None:
    """The entries beside it are read."""
    trace = _read("User: x", {"call": "a"}, "Tool Call: b with args {}")
    assert [(problem.position, problem.place) for problem in trace.problems] == [(1, "detailed_trace[1], line 1")]
    assert _calls(trace) == [("b", {})]


def test_every_problem_has_its_place() -> None:
    """Unreadable lines, malformed arguments and stray results name the entry and the line."""
    trace = _read(
        "User: x",
        "Agent Text: a\nb\nTool Call: f\nTool Call: g with args {x}\nTool Response: h with result 1",
    )
    assert sorted(problem.place for problem in trace.problems) == [
        f"detailed_trace[1], line {line}" for line in (3, 4, 5)
    ]


@settings(deadline=None)
@given(st.lists(st.text(st.sampled_from("ab\n :{}'\"\\[]()")) | st.none() | st.integers()))
def test_no_entry_raises(entries: list[Any]) -> None:
    """Whatever stands in the list, a trace comes of it."""
    assert isinstance(_read(*entries, "User: x").events, tuple)


_KINDS = ["Tool Call: f", "Tool Call (Output): f", "Tool Response: f", "Agent Text: ", "User Query: "]
_PARTS = [" with args ", " args=", " with result ", "{}", "{'a': 1}", "None", "oops", "\n", "[Turn 1] "]
_PIECES = st.sampled_from(_KINDS + _PARTS)


@settings(deadline=None)
@given(st.lists(_PIECES).map("".join), st.lists(_PIECES).map("".join))
def test_the_users_words_are_never_calls(said: str, done: str) -> None:
    """What the agent did is the same whatever the user said, as long as nothing repeats the user's words."""
    if "User Query" not in done:
        assert _calls(_read(f"User: {said}", done)) == _calls(_read("User: x", done))


@pytest.mark.parametrize("entries", [1, 5_000], ids=["in one entry", "in many entries"])
def test_many_queries_after_a_long_entry_take_linear_time(entries: int) -> None:
    """The user's words are looked into once, however often an agent's entry tells of others."""
    said = "User: x\n" + "Tool Call: pay with args {}\n" * 5_000
    queries = ["User Query: y"] * (5_000 // entries)
    started = time.process_time()
    trace = _read(said, *["\n".join(queries)] * entries)
    assert time.process_time() - started < 3
    assert trace.calls == ()
    assert len(trace.problems) == 5_000


# --------------------------------------------------------------------------------------------------- there and back

_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
_ARGS = st.dictionaries(st.text(), _VALUES, max_size=3)
_NAMES = st.sampled_from(["a", "get order", "projects/p/tools/x", "f with args", "args=", "x with result y"])


@st.composite
def _turns(draw: st.DrawFn) -> list[tuple[str, Any, Any]]:
    """Draw the calls of one turn: name, arguments, and the result or UNANSWERED."""
    results = st.just(UNANSWERED) | _VALUES
    calls = draw(st.lists(st.tuples(_NAMES, _ARGS, results), max_size=4))
    # Answers pair first in, first out: of one tool, no call is answered after one that is not.
    silent: set[str] = set()
    told = []
    for name, args, result in calls:
        if result is UNANSWERED:
            silent.add(name)
        told.append((name, args, UNANSWERED if name in silent else result))
    return told


@settings(deadline=None)
@given(_turns(), st.text(), st.text().filter(lambda text: "\n" not in text))
def test_what_the_runner_writes_is_read_back(calls: list[tuple[str, Any, Any]], said: str, reply: str) -> None:
    """Calls, arguments and results come back as they were, whatever is in them and around them."""
    lines = [f"User Query: {said}", *(f"Tool Call: {name} with args {args}" for name, args, _ in calls)]
    lines += [f"Tool Response: {name} with result {value!r}" for name, _, value in calls if value is not UNANSWERED]
    trace = _read(f"User: {said}", "\n".join([*lines, f"Agent Text: {reply}"]))
    read = [(call.name, repr(call.args), repr(call.result)) for call in trace.calls]
    assert read == [(name, repr(args), repr(result)) for name, args, result in calls]
    assert trace.problems == ()
    assert _messages(trace) == [("user", said), ("agent", reply)]

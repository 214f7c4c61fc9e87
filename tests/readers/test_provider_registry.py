"""`read`: what it takes, which format it finds, and what it says where it finds none or several."""

from __future__ import annotations

import inspect
import io
import json
import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from enum import Enum
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from tracewitness import check
from tracewitness.errors import ReadError, UsageError
from tracewitness.readers import READERS, Reader, iter_runs, read, read_all, register_reader, trace_of
from tracewitness.readers.objects import is_sdk_object, plain
from tracewitness.trace import Record, Trace

CHAT = [{"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "a", "arguments": "{}"}}]}]
RESPONSES = [{"type": "function_call", "call_id": "c1", "name": "a", "arguments": "{}"}]
ANTHROPIC = [{"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "a", "input": {}}]}]
GEMINI = [{"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}, "id": "c1"}}]}]
NEUTRAL = [{"call": "a", "args": {}, "id": "c1"}]
ALL = {
    "neutral": NEUTRAL,
    "openai-chat": CHAT,
    "openai-responses": RESPONSES,
    "anthropic-messages": ANTHROPIC,
    "gemini": GEMINI,
}
PLAIN = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]


def _as_objects(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{key: _as_objects(item) for key, item in value.items()})
    return [_as_objects(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    "form",
    [
        lambda document: document,
        tuple,
        json.dumps,
        lambda document: json.dumps(document).encode(),
        lambda document: bytearray(json.dumps(document), "utf-8-sig"),
        lambda document: memoryview(json.dumps(document).encode()),
        lambda document: [MappingLike(item) for item in document],
        _as_objects,
    ],
    ids=["list", "tuple", "text", "bytes", "bytearray", "memoryview", "mappings", "objects"],
)
def test_every_format_in_every_form(name: str, form: Any) -> None:
    """The same call comes out, with the format found or named."""
    for trace in (read(form(ALL[name])), read(form(ALL[name]), name)):
        assert trace.to_events() == NEUTRAL
        assert trace.problems == ()


class MappingLike(dict):  # type: ignore[type-arg]
    """A mapping that is no plain one."""


@pytest.mark.parametrize("name", ALL)
def test_one_item_alone(name: str) -> None:
    """A message, an item or a content needs no list around it; an event has one."""
    if name == "neutral":
        with pytest.raises(ReadError, match="no known format: the nearest is neutral"):
            read(NEUTRAL[0])
    else:
        assert read(ALL[name][0]).to_events() == NEUTRAL


def test_a_trace_is_returned_as_it_is() -> None:
    """Whatever format is named."""
    trace = Trace.from_events(NEUTRAL)
    assert read(trace) is read(trace, "gemini") is trace


def test_records_are_events() -> None:
    """A list of them is a trace."""
    assert read([Record(call="a", args={}, id="c1")]).to_events() == NEUTRAL


@pytest.mark.parametrize("document", [PLAIN, {"messages": PLAIN}, {"model": "m", "messages": PLAIN, "tools": []}])
def test_messages_without_calls_fit_one_format(document: Any) -> None:
    """Several providers write them so, and they read the same."""
    assert read(document).to_events() == read(document, "anthropic-messages").to_events()


@pytest.mark.parametrize("other", [name for name in ALL if name != "openai-chat"])
def test_two_formats_at_once_are_an_error(other: str) -> None:
    """It names both, and one may be named to decide."""
    document = CHAT + ALL[other]
    with pytest.raises(ReadError) as raised:
        read(document)
    assert "several formats" in str(raised.value)
    assert "openai-chat" in str(raised.value)
    assert other in str(raised.value)
    assert [call.name for call in read(document, "openai-chat").calls] == ["a"]


def test_keys_of_other_formats_make_no_second_one() -> None:
    """A response of OpenAI has an error and a user, which are null; an item may have a result."""
    response = {"object": "response", "output": RESPONSES, "error": None, "user": None}
    assert read(response).to_events() == read([response]).to_events() == NEUTRAL
    image = {"type": "image_generation_call", "id": "i1", "result": "aGk="}
    assert [call.name for call in read([image, *RESPONSES]).calls] == ["image_generation_call", "a"]
    assert read({"messages": CHAT, "passed": True}).to_events() == NEUTRAL


@pytest.mark.parametrize(
    ("document", "parts"),
    [
        ({"x": 1}, ["this has ['x']"]),
        ([{"x": 1}, {"y": 2}], ["this has ['x', 'y']"]),
        (5, ["this has 5"]),
        ("5", ["this has 5"]),
        ("[1, 2]", ["this has [1, 2]"]),
        (
            {"choices": [{"text": "a completion of old"}]},
            ["the nearest is openai-chat, by choices, but $.choices[0]: a choice has a message"],
        ),
        (
            [{"role": "assistant", "content": [{"novelty": {}}]}],
            ["the nearest is openai-chat, by role, but $[0].content[0]: an unknown part"],
        ),
        ({"candidates": {}}, ["the nearest is gemini, by candidates, but"]),
        ({"messages": []}, ["the nearest is openai-chat, by messages, but a chat completion has choices"]),
    ],
)
def test_no_format_at_all_is_an_error(document: Any, parts: list[str]) -> None:
    """It says which formats were tried, what is there, and why the nearest failed."""
    with pytest.raises(ReadError) as raised:
        read(document)
    told = str(raised.value)
    for part in [*parts, *ALL, "simulation result"]:
        assert part in told
    assert told.startswith("no known format: the nearest is" if "nearest" in parts[0] else "no known format: this has")
    assert max(map(told.index, parts)) < told.index("tracewitness formats") < told.index("openai-responses")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("hello", "not JSON"),
        (b"\xff", "not UTF-8"),
        ("\ud800", "not Unicode"),
        ("[" * 100_000, "nested too deeply"),
        ('{"messages": [], "messages": []}', "stands twice"),
    ],
    ids=["empty", "blank", "words", "bytes", "surrogate", "deep", "twice"],
)
def test_what_is_no_json_is_an_error(text: Any, reason: str) -> None:
    """The reason is that of the decoder."""
    with pytest.raises(ReadError, match=reason):
        read(text)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("openai_chat", "; openai-chat was meant"),
        ("Gemini", "; gemini was meant"),
        ("zzz", "; the formats are"),
        (5, ""),
    ],
)
def test_an_unknown_name_is_an_error(name: Any, hint: str) -> None:
    """The nearest name is given, and all of them."""
    with pytest.raises(ReadError) as raised:
        read(CHAT, name)
    assert f"there is no format {name!r}{hint}" in str(raised.value)
    assert "openai-responses" in str(raised.value)


@pytest.mark.parametrize("name", [name for name in ALL if name != "neutral"])
@pytest.mark.parametrize("document", [{}, {"x": 1}, 5, "5", None, {"events": []}])
def test_a_named_format_that_it_is_nothing_of(name: str, document: Any) -> None:
    """The error says what that format looks like."""
    with pytest.raises(ReadError, match="; this is "):
        read(document, name)


def test_an_error_of_a_provider_is_no_evidence() -> None:
    """It came in place of an answer."""
    trace = read({"error": {"message": "rate limit", "type": "tokens"}})
    assert "rate limit" in str(trace.no_evidence)


def test_an_empty_list_is_no_evidence() -> None:
    """Nothing was recorded."""
    assert read([]).no_evidence == "the recording is empty"


# ------------------------------------------------------------------------------------- what stands beside what was read

_CALL = {"id": "c9", "type": "function", "function": {"name": "delete", "arguments": "{}"}}
_MESSAGE = {"role": "assistant", "content": None, "tool_calls": [_CALL]}
_ANSWER = {"object": "chat.completion", "choices": [{"index": 0, "message": _MESSAGE}]}
_BESIDE = {
    "completion": _ANSWER,
    "message": _MESSAGE,
    "messages": [_MESSAGE],
    "anthropic": {"content": [{"type": "tool_use", "id": "c9", "name": "delete", "input": {}}]},
    "gemini": {"candidates": [{"content": {"parts": [{"functionCall": {"name": "delete"}}]}}]},
    "bedrock": {"message": {"content": [{"toolUse": {"toolUseId": "c9", "name": "delete", "input": {}}}]}},
    "responses": [{"type": "function_call", "call_id": "c9", "name": "delete", "arguments": "{}"}],
    "pydantic": [{"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "delete", "args": {}}]}],
    "vercel": [{"toolCalls": [{"type": "tool-call", "toolCallId": "c9", "toolName": "delete", "input": {}}]}],
    "neutral": [{"call": "delete"}],
    "deep": {"a": [{"b": [{"c": _MESSAGE}]}]},
}


@pytest.mark.parametrize("key", ["reply", "generation", "answers", "new_items", "outputs", "final", "x-y", "next"])
@pytest.mark.parametrize("beside", _BESIDE.values(), ids=_BESIDE)
def test_a_call_beside_what_was_read_is_a_problem(key: str, beside: Any) -> None:
    """The key is named, and nothing says that the tool was not called."""
    _assert_doubted(read({"model": "m", "messages": PLAIN, key: beside}), key)
    _assert_doubted(read({"events": [{"user": "hi"}], key: beside}), key)


def _assert_doubted(trace: Trace, key: str) -> None:
    assert any(problem.hides_call and key in str(problem) for problem in trace.problems)
    assert not any(verdict.held for verdict in check(trace, [{"type": "tool_not_called", "tool": "delete"}]))


_TOOL = {"type": "function", "function": {"name": "a", "parameters": {"properties": {"tool_calls": {"type": "array"}}}}}


@pytest.mark.parametrize(
    "beside",
    [
        {"tools": [_TOOL]},
        {"functions": [{"name": "function_call", "parameters": {"function_call": {"type": "object"}}}]},
        {"toolConfig": {"toolUse": {"x": 1}}},
        {"metadata": {"tool_calls": [1]}},
        {"usage": {"tool_calls": {"a": 1}}},
        {"response_format": {"schema": {"tool_calls": {"type": "array"}}}},
        {"expected": [_MESSAGE]},
        {"scores": [{"tool_calls": 3}], "tool_calls": []},
        {"output": {"text": "Hello.", "tool_calls": None}},
        {"last": CHAT[0]},
    ],
    ids=lambda beside: next(iter(beside)),
)
def test_what_is_no_call_beside_what_was_read_is_none(beside: dict[str, Any]) -> None:
    """Tools that could be called, what was expected, counts, and calls that were read elsewhere."""
    assert read({"messages": PLAIN + CHAT, **beside}).problems == ()


@pytest.mark.parametrize("names", [("request", "response"), ("req", "res"), ("prompt", "completion")])
def test_a_request_and_its_response_are_not_two_runs(names: tuple[str, str]) -> None:
    """Whichever order they stand in."""
    sides = dict(zip(names, ({"messages": PLAIN}, _ANSWER), strict=True))
    for document in (sides, dict(reversed(sides.items()))):
        with pytest.raises(ReadError, match="two sides of one run"):
            list(read_all(document))


# -------------------------------------------------------------------------------------------- data that is no recording


@pytest.mark.parametrize(
    "document",
    [
        [{"type": "message", "user": "U1", "text": "hi", "ts": "1"}],
        {"events": [{"title": "Party", "start": 1, "end": 2}]},
        {"events": [{"cal": "misspelt"}]},
        [{"jsonrpc": "2.0", "id": 1, "result": "0x1"}, {"jsonrpc": "2.0", "id": 2, "result": 5}],
        [{"result": "pass"}, {"result": "fail"}],
        [{"user": "bob", "age": 1}, {"user": "alice", "age": 2}],
        [{"call": "mum", "duration": 3}],
    ],
)
def test_plain_data_is_no_trace(document: Any) -> None:
    """Where no event is as it should be, it is none; the error says what is odd of the first."""
    for source in (document, json.dumps(document)):
        with pytest.raises(ReadError, match=r"no known format: the nearest is neutral, by .*, but event 0: "):
            read(source)


@pytest.mark.parametrize("odd", [{"cal": "misspelt"}, {"call": "a", "arg": {}}, {"title": "Party"}, 5])
def test_one_event_as_it_should_be_makes_a_trace(odd: Any) -> None:
    """The others are problems."""
    for document in ([{"user": "hi"}, odd], {"events": [{"user": "hi"}, odd]}):
        assert len(read(document).problems) == 1


def test_a_reader_can_be_added() -> None:
    """It takes part in detection; a name stands for one."""

    def mine(document: Any, name: str) -> Trace:
        return Trace.from_events([{"call": document["tool_called"]}], name=name)

    reader = Reader("mine", lambda document: isinstance(document, dict) and "tool_called" in document, mine)
    register_reader(reader)
    try:
        assert read({"tool_called": "a"}).calls[0].name == "a"
        assert trace_of({"tool_called": "a"}, "run-1").name == "run-1"
        with pytest.raises(ReadError, match="several formats, openai-chat and mine"):
            read({"tool_called": "a", "messages": CHAT})
        with pytest.raises(UsageError, match="'mine' already"):
            register_reader(reader)
    finally:
        READERS.remove(reader)
    with pytest.raises(ReadError):
        read({"tool_called": "a"})


def test_files_of_provider_answers(tmp_path: Any) -> None:
    """A row of a file may be in any format; its name is the file's."""
    (tmp_path / "answer.jsonl").write_text("\n".join(json.dumps({"messages": PLAIN + CHAT}) for _ in range(2)))
    runs = list(iter_runs([tmp_path]))
    assert [(run.name, [call.name for call in run.trace.calls]) for run in runs if run.trace] == [("answer", ["a"])] * 2


# ------------------------------------------------------------------------------------------------------------- objects


class _Model:
    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


class _Colour(Enum):
    RED = "red"


def test_objects_at_any_depth() -> None:
    """Models, namespaces, tuples and enumerations become plain data; everything else stays what it is."""
    marker = object()
    value = {"a": [_Model(b=_Model(c=(1, _Colour.RED)))], "d": SimpleNamespace(e=marker), "f": b"x"}
    assert plain(value) == {"a": [{"b": {"c": [1, "red"]}}], "d": {"e": marker}, "f": b"x"}


def test_a_mock_is_no_response() -> None:
    """It has every method; its class has none."""
    assert isinstance(plain(MagicMock()), MagicMock)
    with pytest.raises(ReadError):
        read(MagicMock())


class _RaisingMapping(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        raise OSError("items")


class _RaisingList(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        raise OSError("iter")


class _RaisingText(str):
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise OSError("eq")


def _of_nameless_class() -> Any:
    """Return an object of a class that does not tell its module; pytest must not see the class."""

    class Nameless(type):
        @property
        def __module__(cls) -> str:  # type: ignore[override]
            raise RuntimeError("module")

    return Nameless("Odd", (), {})()


@pytest.mark.parametrize(
    "make",
    [lambda: _RaisingMapping(role="user", content="x"), lambda: _RaisingList(PLAIN), _of_nameless_class],
    ids=["map", "list", "class"],
)
@pytest.mark.parametrize("around", [lambda value: value, lambda value: [value], lambda value: {"messages": [value]}])
def test_what_raises_is_a_reading_error(make: Any, around: Any) -> None:
    """Whatever a method of a foreign class raises, wherever it stands."""
    for call in (lambda: read(around(make())), lambda: list(read_all(around(make())))):
        with pytest.raises(ReadError, match="can't be turned into plain data"):
            call()


def test_a_text_of_a_class_of_its_own_is_its_text() -> None:
    """However it compares."""
    message = {"role": _RaisingText("user"), "content": _RaisingText("hi")}
    assert read([message]).to_events() == [{"user": "hi"}]


async def _coroutine() -> None:
    pass


async def _async_generator() -> Any:
    yield PLAIN[0]


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (lambda: (message for message in PLAIN), "read_all reads each, list(…)"),
        (lambda: iter(PLAIN), "read_all reads each, list(…)"),
        (_async_generator, "has to be waited for: read a list"),
        (_coroutine, "has to be awaited"),
        (lambda: io.StringIO(json.dumps(PLAIN)), "what its read() returns"),
        (lambda: io.BytesIO(b"[]"), "what its read() returns"),
        (lambda: deque(PLAIN), "make a list of it first, with list(…)"),
        (lambda: {1: PLAIN}.values(), "make a list of it first, with list(…)"),
        (lambda: {"a", "b"}, "make a list of it first, with list(…)"),
        (MagicMock, "no known format: this has <MagicMock"),
    ],
)
def test_what_holds_a_recording_and_is_none(make: Any, hint: str) -> None:
    """The error says how to get at it; `read_all` takes iterators that are no files."""
    for call in (read, lambda source: list(read_all(source))):
        source = make()
        if isinstance(source, Iterator) and not isinstance(source, io.IOBase) and call is not read:
            continue
        with pytest.raises(ReadError, match=re.escape(hint)):
            call(source)
        if inspect.iscoroutine(source):
            source.close()


def test_objects_of_sdks_by_their_root() -> None:
    """Their classes say where they come from; `to_dict` of others means other things."""

    class Table:
        def to_dict(self) -> Any:
            return {"role": "user", "content": "hi"}

    class Answer(Table):
        pass

    Answer.__module__ = "openai.types.deep.down"
    assert plain(Answer()) == {"role": "user", "content": "hi"}
    assert isinstance(plain(Table()), Table)
    assert [is_sdk_object(value) for value in (Answer(), Table(), _Model(), {})] == [True, False, False, False]


@pytest.mark.parametrize("value", ["itself", "deep"])
def test_data_without_a_bottom_is_an_error(value: str) -> None:
    """Whether it holds itself or is only deep."""
    holder: list[Any] = []
    holder.append(holder)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ReadError, match="nested too deeply"):
        read({"itself": holder, "deep": deep}[value])
    del deep[:]


def test_a_dump_that_is_no_data_is_an_error() -> None:
    """An object that dumps to its like would never end."""

    class Endless:
        def model_dump(self) -> Any:
            return Endless()

    with pytest.raises(ReadError, match="its dump is one again"):
        plain(Endless())


def test_reading_needs_no_sdk() -> None:
    """Not even where an answer is read."""
    script = (
        "import sys; from tracewitness.readers import read; read([{'role': 'user', 'content': 'hi'}]);"
        "print([name for name in sys.modules if name.split('.')[0] in ('openai', 'anthropic', 'google', 'pydantic')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

"""CX Agent Studio: responses, streams and conversations in both spellings, the client library's own messages, text."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from framework_mutations import assert_known_alone, assert_mutants_are_read_or_refused
from provider_support import corpora

from tracewitness.errors import ReadError
from tracewitness.readers import read, read_all
from tracewitness.trace import UNANSWERED

SEARCH = "projects/p/locations/l/apps/a/tools/search"


def _call(**fields: Any) -> dict[str, Any]:
    return {"toolCall": {"displayName": "search", "tool": SEARCH, "args": {"q": "lamp"}, **fields}}


def _answer(**fields: Any) -> dict[str, Any]:
    return {"toolResponse": {"displayName": "search", "tool": SEARCH, "response": {"found": 1.0}, **fields}}


def _message(role: str, *chunks: Any, **fields: Any) -> dict[str, Any]:
    return {"role": role, "chunks": list(chunks), **fields}


def _response(*messages: Any, before: Any = (), **last: Any) -> dict[str, Any]:
    info = {"diagnosticInfo": {"messages": list(messages)}} if messages else {}
    return {"outputs": [*before, {"turnIndex": 1, "turnCompleted": True, **info, **last}]}


def test_a_turn_is_told_once() -> None:
    """What stands on top is in the diagnostic messages too."""
    on_top = {"toolCalls": {"toolCalls": [_call(id="c1")["toolCall"]]}}
    trace = read(
        _response(
            _message("user", {"text": "a lamp"}),
            _message("shop", _call(id="c1"), eventTime="2026-01-01T00:00:00Z"),
            _message("shop", _answer(id="c1")),
            _message("shop", {"text": "Here is one."}),
            before=[{"text": "Here is one."}, on_top],
        )
    )
    assert trace.to_events() == [
        {"user": "a lamp"},
        {
            "call": "search",
            "args": {"q": "lamp"},
            "id": "c1",
            "by": "shop",
            "at": "2026-01-01T00:00:00Z",
            "metadata": {"tool": SEARCH},
        },
        {"result": {"found": 1.0}, "of": "search", "id": "c1"},
        {"agent": "Here is one.", "by": "shop"},
    ]
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("on_top", "names"),
    [
        ([_call(id="c1")], ["search"]),
        ([_call(id="c2")], ["search", "search"]),
        ([_call()], ["search"]),
        ([_call(), _call()], ["search", "search"]),
        ([_call(displayName="")], ["search"]),
        ([_call(args={"q": "desk"})], ["search", "search"]),
        ([_call(displayName="other")], ["search", "other"]),
    ],
)
def test_calls_on_top_and_below(on_top: list[Any], names: list[str]) -> None:
    """They are the same by their ids; without, by their arguments and names."""
    calls = {"toolCalls": {"toolCalls": [chunk["toolCall"] for chunk in on_top]}}
    trace = read(_response(_message("shop", _call(id="c1")), before=[calls]))
    assert [call.name for call in trace.calls] == names
    assert trace.problems == ()


def test_a_turn_without_diagnostic_messages() -> None:
    """What stands on top is all there is."""
    calls = {"toolCalls": {"toolCalls": [_call(id="c1")["toolCall"]]}}
    trace = read({"outputs": [{"text": "One moment."}, calls, {"payload": {"card": 1}}, {"turnCompleted": True}]})
    assert trace.to_events() == [
        {"agent": "One moment."},
        {"call": "search", "args": {"q": "lamp"}, "id": "c1", "metadata": {"tool": SEARCH}},
        {"system": 'Custom Payload: {"card": 1}'},
    ]


def test_both_spellings() -> None:
    """Keys as JSON has them, and as the protocol buffer."""
    call = {"tool_call": {"display_name": "search", "tool": SEARCH, "args": {"q": "lamp", "camelCase": 1}}}
    snake = {"outputs": [{"turn_completed": True, "diagnostic_info": {"messages": [_message("shop", call)]}}]}
    camel = _response(_message("shop", _call(args={"q": "lamp", "camelCase": 1})))
    assert read(snake).to_events() == read(camel).to_events()
    assert read(snake).calls[0].args == {"q": "lamp", "camelCase": 1}


@pytest.mark.parametrize(
    ("fields", "name", "metadata"),
    [
        ({"tool": SEARCH}, SEARCH, None),
        ({"tool": "search"}, "search", None),
        ({"displayName": "search"}, "search", None),
        ({"displayName": "search", "tool": SEARCH}, "search", {"tool": SEARCH}),
        ({"toolsetTool": {"toolset": "t/x", "toolId": "find"}}, "find", {"tool": "t/x"}),
        ({"toolset_tool": {"toolset": "t/x", "tool_id": "find"}, "display_name": "search"}, "search", {"tool": "t/x"}),
    ],
)
def test_what_a_tool_is_called(fields: Any, name: str, metadata: Any) -> None:
    """By its display name where it has one."""
    (call,) = read({"turns": [{"messages": [_message("shop", {"toolCall": fields})]}]}).calls
    assert (call.name, call.args, call.metadata) == (name, {}, metadata)


def test_a_conversation() -> None:
    """Turns with messages; its name is the last part of its resource name."""
    trace = read(
        {
            "name": "projects/p/locations/l/apps/a/conversations/c9",
            "turns": [
                {"messages": [_message("user", {"text": "hi"}), _message("shop", _call(), {"text": "Done."})]},
                {
                    "messages": [
                        _message("user", {"transcript": "and billing?"}),
                        _message("shop", {"agentTransfer": {"targetAgent": "p/agents/b", "displayName": "billing"}}),
                        _message("billing", _answer(), {"updatedVariables": {"x": 1}}, {"image": {}}),
                    ]
                },
            ],
        }
    )
    assert trace.name == "c9"
    assert [next(iter(event)) for event in trace.to_events()] == ["user", "call", "agent", "user", "transfer", "result"]
    assert trace.to_events()[4] == {"transfer": "billing", "by": "shop"}
    assert trace.calls[0].result == {"found": 1.0}
    assert trace.problems == ()
    assert read({"messages": [_message("agent", {"text": "x"})]}).to_events() == [{"agent": "x"}]


def test_a_session_that_ends() -> None:
    """By a tool that says so, or without one; then with what stands beside it."""
    tool = _message("shop", {"toolCall": {"displayName": "end_session", "args": {"reason": "done"}}})
    by_tool = read(_response(tool, endSession={"metadata": {"reason": "done"}}))
    assert [next(iter(event)) for event in by_tool.to_events()] == ["call"]
    alone = read(_response(_message("shop", {"text": "Bye."}), endSession={}))
    assert alone.to_events()[-1] == {"end": True}


def test_requests_and_responses_in_turn() -> None:
    """What a client's own tools gave stands in the request after the call."""
    config = {"session": "projects/p/sessions/s"}
    answered = {"toolResponses": {"toolResponses": [_answer(id="c1")["toolResponse"]]}}
    trace = read(
        [
            {"config": config, "inputs": [{"text": "a lamp"}]},
            {"outputs": [{"toolCalls": {"toolCalls": [_call(id="c1")["toolCall"]]}}]},
            {"config": config, "inputs": [answered]},
            _response(before=[{"text": "Here."}]),
            {"config": config, "inputs": [{"event": {"event": "bye"}}, {"variables": {"x": 1}}, {"audio": "UklG"}]},
        ]
    )
    assert [next(iter(event)) for event in trace.to_events()] == ["user", "call", "result", "agent", "user"]
    assert trace.calls[0].result == {"found": 1.0}
    assert trace.problems == ()


def test_a_stream() -> None:
    """Messages of a session that is spoken."""
    trace = read(
        [
            {"recognitionResult": {"transcript": "a lamp"}},
            {"recognitionResult": {"transcript": "a lamp, please"}},
            {"sessionOutput": {"text": "Here.", "turnIndex": 1}},
            {"sessionOutput": {"turnCompleted": True, "diagnosticInfo": {"messages": [_message("shop", _call())]}}},
            {"interruptionSignal": {"bargeIn": True}},
            {"realtimeInput": {"audio": "UklG"}},
            {"realtimeInput": {"audio": "UklG"}},
            {"endSession": {"metadata": {"reason": "done"}}},
        ]
    )
    assert [next(iter(event)) for event in trace.to_events()] == ["user", "call", "agent", "user", "end"]
    assert trace.to_events()[0] == {"user": "a lamp, please"}
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("document", "hides_call"),
    [
        (_response(_message("shop", {"novelChunk": {}})), True),
        (_response(_message("shop", {"toolCall": {}})), True),
        (_response(_message("shop", {"toolCall": "search"})), True),
        (_response(_message("shop", "text")), True),
        ({"outputs": [{"turnIndex": 1, "diagnosticInfo": 3}]}, True),
        ({"outputs": [{"turnIndex": 1, "novel": 3}]}, True),
        ({"outputs": [{"turnIndex": 1}, {"toolCalls": {"toolCalls": [{"args": {}}]}}]}, True),
        ([{"outputs": [{"turnIndex": 1}]}, {"novel": 1}], True),
        ([{"outputs": [{"turnIndex": 1}]}, {"inputs": [{"novel": 1}]}], False),
        ({"turns": [{"messages": [_message("shop", {"agentTransfer": {}})]}]}, False),
    ],
)
def test_what_is_not_understood_is_a_problem(document: Any, hides_call: bool) -> None:
    """Never an exception, and never passed over."""
    assert [problem.hides_call for problem in read(document).problems] == [hides_call]


@pytest.mark.parametrize(
    "document",
    [
        {"outputs": [{"text": "hi"}]},
        _response(_message("shop", _call())),
        {"outputs": [{"toolCalls": {"toolCalls": []}}]},
        {"turns": [{"messages": [_message("user", {"text": "hi"})]}]},
        {"messages": [_message("user", {"text": "hi"})]},
        [_response(), _response()],
        _response()["outputs"],
        [{"sessionOutput": {"turnIndex": 1}}],
        [_message("user", {"text": "hi"})],
    ],
)
def test_detected_as_this_alone(document: Any) -> None:
    """By what is there."""
    assert_known_alone("cx-agent-studio", document)


def test_mutants() -> None:
    """Of a response, of a stream, and of a conversation."""
    calls = {"toolCalls": {"toolCalls": [_call(id="c1")["toolCall"]]}}
    transfer = {"agentTransfer": {"targetAgent": "p/agents/b", "displayName": "billing"}}
    toolset = {"toolCall": {"toolsetTool": {"toolset": "t/x", "toolId": "find"}, "args": {}}}
    told = [_message("user", {"text": "hi"}), _message("shop", _call(id="c1"), _answer(id="c1"), toolset, transfer)]
    stream = [
        {"recognitionResult": {"transcript": "a lamp"}},
        {"realtimeInput": {"toolResponses": {"toolResponses": [_answer(id="c1")["toolResponse"]]}}},
        {"sessionOutput": {"turnIndex": 1, **calls}},
        {"config": {"session": "s"}, "inputs": [{"text": "x"}, {"event": {"event": "y"}}]},
        {"endSession": {"metadata": {"reason": "done"}}},
    ]
    response = _response(*told, before=[{"text": "Here."}, calls], endSession={"metadata": {"a": 1}})
    for document in (response, stream, {"name": "a/b", "turns": [{"messages": told}]}):
        assert_mutants_are_read_or_refused("cx-agent-studio", document)


def test_mutants_of_the_text() -> None:
    """Whatever stands in a file."""
    randomness = random.Random(1)
    for _ in range(500):
        mutant = bytearray(TEXT.encode())
        for _ in range(3):
            mutant[randomness.randrange(len(mutant))] = randomness.randrange(256)
        with contextlib.suppress(ReadError):
            assert read(bytes(mutant[: randomness.randrange(len(mutant))])).to_events() is not None


@pytest.mark.parametrize("document", [3, {"name": "x"}])
def test_what_is_none_is_refused(document: Any) -> None:
    """With what one looks like."""
    with pytest.raises(ReadError, match="CX Agent Studio"):
        read(document, "cx-agent-studio")


# -------------------------------------------------------------------------------------------------- the text, in a file

TEXT = """User: find a lamp,
please
[Turn 1] Tool Call: search with args {'q': 'lamp'}
Tool Response: search with result {'found': 1.0}
Agent Text: Here is one.
It is blue.

User: bye
Agent Transfer: Transferred to billing
"""
TEXT_EVENTS = [
    {"user": "find a lamp,\nplease"},
    {"call": "search", "args": {"q": "lamp"}},
    {"result": {"found": 1.0}, "of": "search"},
    {"agent": "Here is one.\nIt is blue."},
    {"user": "bye"},
    {"transfer": "billing"},
]


def test_a_text_trace_alone(tmp_path: Path) -> None:
    """As text, as bytes, in a file, written on any system."""
    path = tmp_path / "trace.txt"
    path.write_text(TEXT, "utf-8")
    windows = b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode()
    for source in (TEXT, TEXT.encode(), path, windows):
        trace = read(source)
        assert trace.to_events() == TEXT_EVENTS
        assert trace.problems == ()
        assert trace.text_alone


@pytest.mark.parametrize("text", ["User: hi", "User: x\nName: y\n", "User: hi\n\nUser [text]: bye", "hello", ""])
def test_text_without_a_line_of_an_agent_is_none(text: str) -> None:
    """It tells nothing that an agent did."""
    with pytest.raises(ReadError):
        read(text)


def test_text_that_is_not_unicode() -> None:
    """It is refused."""
    with pytest.raises(ReadError, match="not UTF-8"):
        read(b"Agent Text: \xff")


def test_a_line_of_an_agent_that_can_not_be_read() -> None:
    """It is a problem, as in a list."""
    assert [problem.hides_call for problem in read("User: hi\nTool Call: search\n").problems] == [True]


# ---------------------------------------------------------------------------------------------------------- recordings

#: Files of the client's examples, and why none is read: no agent did any of it.
NO_RECORDINGS = {
    "1D_Test_Cases.json": "names of scenarios alone",
    "compressed_example.yaml": "golden conversations, written by hand: what an agent is to do",
    "cxaslint.yaml": "settings of a linter",
    "example_auth_routing.yaml": "golden conversations",
    "example_escalation.yaml": "golden conversations",
    "example_simulations.yaml": "goals of simulations",
    "example_tool_tests.yaml": "tests of single tools",
    "exported_eval_example.yaml": "a golden conversation of which only the user's side is there",
    "golden_eval_example.yaml": "golden conversations",
    "simulation_eval_example.yaml": "goals of simulations",
    "turn_eval_example.yaml": "checks of single turns",
}


def test_the_clients_examples_hold_no_recording() -> None:
    """Each is an expectation or a setting, and refused as such; none is a run."""
    folder = corpora() / "cxas-scrapi"
    if not folder.exists():
        pytest.skip("the files of cxas-scrapi are not here")
    paths = [path for path in folder.rglob("*") if path.suffix in (".json", ".yaml")]
    assert {path.name for path in paths} == NO_RECORDINGS.keys()
    for path in paths:
        with pytest.raises(ReadError):
            list(read_all(path))


# ---------------------------------------------------------------------------------------------- the client's own types


@pytest.fixture(name="types", params=["ces_v1", "ces_v1beta"])
def _types(request: pytest.FixtureRequest) -> Any:
    """Return the message types of a version of the client library."""
    module = pytest.importorskip(f"google.cloud.{request.param}", reason="google-cloud-ces is not installed")
    return module.types


def _real_response(types: Any) -> Any:
    """Return a response with a turn of calls at once, one of which is asked of the client."""
    lamp = types.ToolCall(id="c1", tool=SEARCH, display_name="search", args={"q": "lamp", "n": 2})
    desk = types.ToolCall(id="c2", toolset_tool={"toolset": "t/x", "tool_id": "f"}, display_name="find", args={})
    found = types.ToolResponse(id="c1", tool=SEARCH, display_name="search", response={"found": [1]})
    transfer = types.AgentTransfer(target_agent="p/agents/b", display_name="billing")
    messages = [
        types.Message(role="user", chunks=[types.Chunk(text="a lamp")], event_time="2026-01-01T00:00:00Z"),
        types.Message(role="shop", chunks=[types.Chunk(tool_call=lamp), types.Chunk(tool_call=desk)]),
        types.Message(role="shop", chunks=[types.Chunk(tool_response=found), types.Chunk(agent_transfer=transfer)]),
        types.Message(role="shop", chunks=[types.Chunk(payload={"a": 1}), types.Chunk(updated_variables={"x": 1})]),
    ]
    info = types.SessionOutput.DiagnosticInfo(messages=messages, root_span=types.Span(name="turn"))
    return types.RunSessionResponse(
        outputs=[
            types.SessionOutput(text="Here is one.", turn_index=1),
            types.SessionOutput(tool_calls=types.ToolCalls(tool_calls=[desk])),
            types.SessionOutput(end_session=types.EndSession(metadata={"reason": "done"})),
            types.SessionOutput(turn_index=1, turn_completed=True, diagnostic_info=info),
        ]
    )


REAL_KINDS = ["user", "call", "call", "result", "transfer", "system", "agent", "end"]


def test_real_messages(types: Any) -> None:
    """The library's objects, the protocol buffers in them, their lists, and JSON in both spellings read the same."""
    from google.protobuf.json_format import MessageToDict, MessageToJson

    response = _real_response(types)
    bare = types.RunSessionResponse.pb(response)
    sources = [
        response,
        bare,
        response.outputs,
        [response],
        MessageToDict(bare),
        MessageToDict(bare, preserving_proto_field_name=True),
        MessageToDict(bare, use_integers_for_enums=True, always_print_fields_with_no_presence=True),
        MessageToJson(bare),
        types.RunSessionResponse.to_dict(response),
        types.RunSessionResponse.to_json(response),
    ]
    for source in sources:
        trace = read(source)
        assert [next(iter(event)) for event in trace.to_events()] == REAL_KINDS
        assert [(call.name, call.args, call.id, call.result) for call in trace.calls] == [
            ("search", {"q": "lamp", "n": 2.0}, "c1", {"found": [1.0]}),
            ("find", {}, "c2", UNANSWERED),
        ]
        assert {call.agent for call in trace.calls} == {"shop"}
        assert trace.to_events()[-1]["metadata"] == {"reason": "done"}
        assert trace.problems == ()


def test_real_conversations(types: Any) -> None:
    """As the service lists them."""
    from google.protobuf.json_format import MessageToDict

    info = _real_response(types).outputs[-1].diagnostic_info
    turn = types.Conversation.Turn(messages=info.messages)
    conversation = types.Conversation(name="projects/p/conversations/c9", turns=[turn, turn], turn_count=2)
    for source in (conversation, MessageToDict(types.Conversation.pb(conversation))):
        trace = read(source)
        assert (trace.name, len(trace.calls), trace.problems) == ("c9", 4, ())
        assert [call.turn for call in trace.calls] == [1, 1, 2, 2]


def test_real_streams(types: Any) -> None:
    """Messages of a spoken session, as they come."""
    outputs = _real_response(types).outputs
    heard = types.BidiSessionServerMessage(recognition_result=types.RecognitionResult(transcript="a lamp"))
    messages = [heard, *(types.BidiSessionServerMessage(session_output=output) for output in outputs)]
    trace = read(messages)
    assert [next(iter(event)) for event in trace.to_events()] == REAL_KINDS
    assert trace.problems == ()


def test_a_real_request_and_its_answer(types: Any) -> None:
    """What was sent, and what came back."""
    config = types.SessionConfig(session="projects/p/sessions/s")
    asked = types.RunSessionRequest(config=config, inputs=[types.SessionInput(text="a lamp")])
    assert [next(iter(event)) for event in read([asked, _real_response(types)]).to_events()] == REAL_KINDS


def test_the_runners_text_tells_the_same_calls() -> None:
    """The text trace that the simulation runner makes of a response has the calls of the response."""
    parser = pytest.importorskip("cxas_scrapi.core.response_parser", reason="cxas-scrapi is not installed")
    types = pytest.importorskip("google.cloud.ces_v1beta").types
    response = _real_response(types)
    lines = parser.ParsedSessionResponse(response).detailed_trace
    text = read("User: a lamp\n" + "\n".join(lines))
    assert [call.args for call in text.calls] == [call.args for call in read(response).calls]
    assert json.dumps(text.to_events())

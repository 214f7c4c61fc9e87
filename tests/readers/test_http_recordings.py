"""Recordings of HTTP traffic: cassettes in YAML and JSON, HAR files, and whatever stands in their bodies."""

from __future__ import annotations

import base64
import contextlib
import gzip
import importlib
import json
import re
import sys
import zlib
from pathlib import Path
from typing import Any

import brotli
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from provider_support import corpora

from tracewitness.errors import ReadError
from tracewitness.readers import read, read_all
from tracewitness.readers.documents import decode_document
from tracewitness.readers.encodings import yaml_cassette
from tracewitness.readers.registry import detected
from tracewitness.trace import Trace

Exchange = dict[str, Any]

zstd: Any = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")

QUESTION = {"role": "user", "content": "Find a lamp."}
CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "lamp"}'}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
FOUND = {"role": "tool", "tool_call_id": "c1", "content": "a lamp"}
EVENTS = [
    {"user": "Find a lamp."},
    {"call": "search", "args": {"q": "lamp"}, "id": "c1"},
    {"result": "a lamp", "id": "c1"},
    {"agent": "Done."},
]


def _answer(message: Any) -> dict[str, Any]:
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message}]}


SAID = _answer({"role": "assistant", "content": "Done."})


def _exchange(sent: Any, came: Any, status: int = 200, method: str = "POST") -> Exchange:
    return {
        "request": {"method": method, "uri": "https://models.example/v1/chat", "parsed_body": sent},
        "response": {"status": {"code": status, "message": "?"}, "parsed_body": came},
    }


def _cassette(*exchanges: Exchange) -> dict[str, Any]:
    return {"version": 1, "interactions": list(exchanges)}


RUN = (
    _exchange({"model": "m", "messages": [QUESTION]}, _answer(CALLING)),
    _exchange({"model": "m", "messages": [QUESTION, CALLING, FOUND]}, SAID),
)


def _reasons(trace: Trace) -> list[str]:
    return [str(problem) for problem in trace.problems]


# ------------------------------------------------------------------------------------------------- bodies and envelopes

_json = json.dumps


def _packed(coding: str, body: bytes | str) -> dict[str, Any]:
    return {"headers": {"Content-Encoding": [coding]}, "body": {"string": body}}


BODIES: dict[str, Any] = {
    "data": lambda data: {"parsed_body": data},
    "text": lambda data: {"body": _json(data)},
    "text of a response": lambda data: {"body": {"string": _json(data)}},
    "bytes": lambda data: {"body": {"string": _json(data).encode()}},
    "gzip": lambda data: {"body": {"string": gzip.compress(_json(data).encode())}},
    "deflate": lambda data: {"body": {"string": zlib.compress(_json(data).encode())}},
    "bare deflate": lambda data: {"body": {"string": zlib.compress(_json(data).encode(), wbits=-15)}},
    "brotli": lambda data: _packed("br", brotli.compress(_json(data).encode())),
    "zstd": lambda data: _packed("zstd", zstd.compress(_json(data).encode())),
    "zstd without a header": lambda data: {"body": {"string": zstd.compress(_json(data).encode())}},
    "several": lambda data: _packed("gzip, br", brotli.compress(gzip.compress(_json(data).encode()))),
    "deflate that says so": lambda data: _packed("deflate", zlib.compress(_json(data).encode(), wbits=-15)),
    "undone already": lambda data: _packed("br", _json(data)),
    "HAR, brotli": lambda data: {
        "headers": [{"name": "content-encoding", "value": "br"}],
        "content": {
            "encoding": "base64",
            "text": base64.b64encode(brotli.compress(_json(data).encode())).decode(),
        },
    },
    "base64": lambda data: {"body": {"base64_string": base64.b64encode(_json(data).encode()).decode()}},
    "with its encoding": lambda data: {"body": {"encoding": "UTF-8", "string": _json(data)}},
    "HAR": lambda data: {"content": {"mimeType": "application/json", "text": _json(data)}},
    "HAR, base64": lambda data: {
        "content": {"encoding": "base64", "text": base64.b64encode(_json(data).encode()).decode()}
    },
    "server-sent events": lambda data: {"body": {"string": f"data: {_json(_as_chunk(data))}\n\ndata: [DONE]\n\n"}},
}


def _as_chunk(response: dict[str, Any]) -> dict[str, Any]:
    if "choices" not in response:
        return response
    (choice,) = response["choices"]
    message = choice["message"]
    calls = [{"index": index, **call} for index, call in enumerate(message.get("tool_calls") or ())]
    delta = {**message, "tool_calls": calls}
    finish = "tool_calls" if calls else "stop"
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": choice["index"], "delta": delta, "finish_reason": finish}],
    }


_NO_JSON = frozenset(
    {"bytes", "gzip", "deflate", "bare deflate", "brotli", "zstd", "zstd without a header", "several"}
) | {"deflate that says so"}


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_a_compression_whose_package_is_missing(coding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the body holds is not known, and the problem says what to install."""
    pack = brotli.compress if coding == "br" else zstd.compress
    exchange = _exchange({"a": 1}, None)
    exchange["response"] |= _packed(coding, pack(_json(_answer(CALLING)).encode()))
    del exchange["response"]["parsed_body"]
    assert [call.name for call in read(_cassette(exchange)).calls] == ["search"]
    for module in ("brotli", "backports.zstd", "compression.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    trace = read(_cassette(RUN[0], exchange))
    (problem,) = trace.problems
    assert problem.hides_call
    assert "install tracewitness[http]" in problem.reason
    assert problem.place == "$.interactions[1].response.body"


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(bytes(1024), mtime=0)[:-4]),
        *((coding, b"\xff\xfe broken") for coding in ("br", "zstd", "gzip", "deflate", "compress")),
        ("br", brotli.compress(b"x" * 1000)[:-3]),
        ("zstd", zstd.compress(bytes(range(256)) * 50)[:-3]),
    ],
)
def test_a_body_that_can_not_be_unpacked_may_hide_a_call(coding: str, body: bytes) -> None:
    """One that is broken, cut off, or larger than any answer, and one in a coding that nobody knows."""
    exchange = _exchange({"a": 1}, None)
    exchange["response"] |= _packed(coding, body)
    del exchange["response"]["parsed_body"]
    assert [problem.hides_call for problem in read(_cassette(RUN[0], exchange)).problems] == [True]


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_a_body_that_unpacks_to_more_than_any_memory_holds(coding: str) -> None:
    """It is given up before."""
    exchange = _exchange({"a": 1}, None)
    data = bytes(300 * 1024 * 1024)
    exchange["response"] |= _packed(coding, brotli.compress(data, quality=1) if coding == "br" else zstd.compress(data))
    del exchange["response"]["parsed_body"]
    (problem,) = read(_cassette(RUN[0], exchange)).problems
    assert problem.hides_call


@pytest.mark.parametrize(
    ("form", "written"),
    [(form, how) for form in BODIES for how in ("data", "YAML", "JSON") if how != "JSON" or form not in _NO_JSON],
)
def test_every_form_of_a_body(form: str, written: str) -> None:
    """However it is packed, in a cassette of any kind."""
    cassette = _cassette(
        *(
            {
                "request": {"method": "POST", **BODIES["text"](exchange["request"]["parsed_body"])},
                "response": {"status": {"code": 200}, **BODIES[form](exchange["response"]["parsed_body"])},
            }
            for exchange in RUN
        )
    )
    source: Any = cassette
    if written == "YAML":
        source = yaml.safe_dump(cassette)
    elif written == "JSON":
        source = json.dumps(cassette)
    trace = read(source)
    assert (trace.to_events(), trace.problems) == (EVENTS, ())


def test_har() -> None:
    """As browsers and proxies export it."""
    entries = [
        {
            "startedDateTime": "2026-01-01T00:00:00Z",
            "request": {
                "method": "POST",
                "url": "x",
                "postData": {"text": json.dumps(exchange["request"]["parsed_body"])},
            },
            "response": {"status": 200, "content": {"text": json.dumps(exchange["response"]["parsed_body"])}},
        }
        for exchange in RUN
    ]
    document = {"log": {"version": "1.2", "entries": entries}}
    assert [reader.name for reader in detected(document)] == ["http-recording"]
    assert read(document).to_events() == EVENTS
    assert read(json.dumps(document)).to_events() == EVENTS


@pytest.mark.parametrize(
    "status", [{"code": 500, "message": "?"}, {"code": "500"}, "500 Internal Server Error", 500, "500"]
)
def test_every_form_of_a_status(status: Any) -> None:
    """A failed answer is told with its place."""
    exchange = _exchange(RUN[0]["request"]["parsed_body"], {"error": "no"})
    exchange["response"]["status"] = status
    trace = read(_cassette(exchange))
    (problem,) = trace.problems
    assert (problem.place, problem.hides_call) == ("$.interactions[0].response.parsed_body", True)
    assert "failed with status 500: {'error': 'no'}" in problem.reason


def test_the_status_of_other_recorders() -> None:
    """Beside the response's line."""
    exchange = _exchange(RUN[0]["request"]["parsed_body"], {"error": "no"})
    exchange["response"].update(status="429 Too Many Requests", code=429)
    assert "status 429" in _reasons(read({"http_interactions": [exchange]}))[0]


def test_a_cassette_as_a_file(tmp_path: Path) -> None:
    """Whatever it is called; its name is the run's."""
    path = tmp_path / "order-1.yaml"
    path.write_text("# recorded\n---\n" + yaml.safe_dump(_cassette(*RUN)), "utf-8")
    trace = read(path)
    assert (trace.to_events(), trace.name) == (EVENTS, "order-1")
    path = tmp_path / "order-2.json"
    path.write_text(json.dumps(_cassette(*RUN)), "utf-8")
    assert [(trace.to_events(), trace.name) for trace in read_all(path)] == [(EVENTS, "order-2")]


# ------------------------------------------------------------------------------------------------------------- traffic


def test_a_failure_before_an_answer_hides_nothing() -> None:
    """It was asked again."""
    failed = _exchange(RUN[0]["request"]["parsed_body"], {"error": "busy"}, 429)
    trace = read(_cassette(failed, *RUN))
    assert trace.to_events() == EVENTS
    assert [problem.hides_call for problem in trace.problems] == [False]


def test_a_failure_that_tells_of_a_call_hides_it() -> None:
    """A server that refuses what its own model wrote shows it in the error."""
    failed = _exchange(RUN[0]["request"]["parsed_body"], {"error": {"failed_generation": '{"name": "x"}'}}, 400)
    failed["response"]["body"] = {"string": json.dumps(failed["response"].pop("parsed_body"))}
    assert [problem.hides_call for problem in read(_cassette(failed, *RUN)).problems] == [True]


def test_only_failures_are_no_evidence() -> None:
    """Nothing came back, so nothing was shown."""
    failed = _exchange({"model": "m", "inferenceConfig": {}, "messages": []}, {"error": "busy"}, 500)
    trace = read(_cassette(failed))
    assert trace.no_evidence is not None
    assert "status 500" in trace.no_evidence


OTHER_TRAFFIC = {
    "embeddings": _exchange({"model": "e", "input": "lamp"}, {"object": "list", "data": [{"embedding": [0.1]}]}),
    "a page": {"request": {"method": "GET", "body": ""}, "response": {"body": {"string": "<html></html>"}}},
    "a file": {"request": {"method": "GET", "body": None}, "response": {"body": {"string": b"%PDF-1.4 \xff\xfe"}}},
    "nothing": {"request": {"method": "DELETE"}, "response": {"status": {"code": 204}, "body": {"string": ""}}},
    "a token": _exchange("grant_type=client_credentials", {"access_token": "x"}),
    "a tool's server": _exchange(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "a lamp"}]}},
    ),
    "telemetry": _exchange(
        {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "execute_tool search", "attributes": []}]}]}]}, {}
    ),
    "a failure": _exchange({"x": 1}, {"error": "no"}, 404),
    "events of our own": _exchange({"events": [{"call": "track"}]}, {"events": []}),
}


@pytest.mark.parametrize("name", OTHER_TRAFFIC)
def test_other_traffic_is_passed_over(name: str) -> None:
    """It neither calls nor hides a call of a model."""
    trace = read(_cassette(RUN[0], OTHER_TRAFFIC[name], RUN[1]))
    assert (trace.to_events(), trace.problems) == (EVENTS, ())
    alone = read(_cassette(OTHER_TRAFFIC[name]))
    assert (len(alone), alone.no_evidence) == (0, "none of the 1 requests in it was to a model")


@pytest.mark.parametrize(
    ("exchange", "reason"),
    [
        (_exchange({"x": 1}, {"answer": {"tool_calls": [{"tool": "search"}]}}), "an answer of a model"),
        (_exchange({"x": 1}, {"answer": [[{"type": "tool_use"}]]}), "an answer of a model"),
        (_exchange(RUN[0]["request"]["parsed_body"], {"novelty": 1}), "an answer of a model"),
        (
            {"request": {"body": "?"}, "response": {"body": {"string": b'{"tool_calls": [{"id": \xff'}}},
            "an answer of a model",
        ),
        (_exchange({"messages": [{"novelty": 1}]}, SAID), ""),
        (_exchange({"messages": "Find a lamp."}, SAID), "a request that can't be read"),
        ("x", "an exchange is a mapping"),
        ({"request": {}}, "an exchange has a request and a response"),
    ],
)
def test_what_can_not_be_read_may_hide_a_call(exchange: Any, reason: str) -> None:
    """The model's traffic beside it is read."""
    trace = read(_cassette(RUN[0], exchange))
    assert [call.name for call in trace.calls] == ["search"]
    assert any(reason in problem.reason and problem.hides_call for problem in trace.problems), trace.problems
    assert all(problem.place.startswith("$.interactions[1]") for problem in trace.problems)


def test_formats_may_change_on_the_way() -> None:
    """What one provider called is not told again by the next."""
    given = [
        QUESTION,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "lamp"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a lamp"}]},
    ]
    said = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Done."}], "stop_reason": None}
    trace = read(_cassette(RUN[0], _exchange({"messages": given}, said)))
    assert (trace.to_events(), trace.problems) == (EVENTS, ())


STREAMED = (
    'event: message_start\ndata: {"type": "message_start", "message": {"role": "assistant", "content": []}}\n\n'
    'data: {"type": "content_block_start", "index": 0, "content_block": '
    '{"type": "tool_use", "id": "c1", "name": "search", "input": {}}}\n\n'
    'data: {"type": "content_block_delta", "index": 0, "delta": '
    '{"type": "input_json_delta", "partial_json": "{\\"q\\": \\"lamp\\"}"}}\n\n'
    'data: {"type": "content_block_stop", "index": 0}\n\n'
    'data: {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}\n\n'
    'data: {"type": "message_stop"}\n\n'
)


def test_a_request_that_shows_by_its_answer_what_it_is() -> None:
    """A picture beside the words is written in a way that several formats share."""
    picture = {"type": "image", "source": {"type": "url", "url": "x"}}
    sent = {"messages": [{"role": "user", "content": [picture, {"type": "text", "text": "Find a lamp."}]}]}
    called = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "lamp"}}],
    }
    whole = _exchange(sent, called)
    streamed = {"request": {"parsed_body": sent}, "response": {"body": {"string": STREAMED}}}
    for exchange in (whole, streamed):
        trace = read(_cassette(exchange))
        assert (trace.to_events(), trace.problems) == (EVENTS[:2], ())
    plain = {"model": "m", "input": "Find a lamp."}
    answer = {
        "object": "response",
        "output": [{"type": "function_call", "call_id": "c1", "name": "a", "arguments": ""}],
    }
    assert read(_cassette(_exchange(plain, answer))).to_events()[0] == EVENTS[0]


def test_a_history_that_the_provider_keeps() -> None:
    """Only what is new is sent, and the same words are said twice."""
    called = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"q": "lamp"}'}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
    sent = {"model": "m", "instructions": "Help.", "previous_response_id": "r0"}
    exchanges = [
        _exchange({**sent, "previous_response_id": None, "input": "yes"}, {"object": "response", "output": [called]}),
        _exchange(
            {**sent, "input": [{"type": "function_call_output", "call_id": "c1", "output": "a lamp"}]},
            {"object": "response", "output": [said]},
        ),
        _exchange({**sent, "input": [{"role": "user", "content": "yes"}]}, {"object": "response", "output": [said]}),
    ]
    assert read(_cassette(*exchanges)).to_events() == [
        {"system": "Help."},
        {"user": "yes"},
        *EVENTS[1:],
        {"user": "yes"},
        {"agent": "Done."},
    ]


def test_an_answer_that_was_waited_for() -> None:
    """It is asked for under its id until it is there; what is asked for once more is no new answer."""
    called = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"q": "lamp"}'}
    waiting = {"id": "r1", "object": "response", "status": "queued", "output": []}
    ready = {"id": "r1", "object": "response", "status": "completed", "output": [called]}
    exchanges = [
        _exchange({"model": "m", "input": [QUESTION]}, waiting),
        *(_exchange("", answer, method="GET") for answer in (waiting, ready, ready)),
    ]
    trace = read(_cassette(*exchanges))
    assert (trace.to_events(), trace.problems) == (EVENTS[:2], ())
    unfinished = read(_cassette(*exchanges[:2]))
    assert _reasons(unfinished) == ["$.interactions[1].response.parsed_body: the response is queued"]


def test_assistants() -> None:
    """Runs are watched, and outputs of tools are handed in on their own."""
    asked = {"submit_tool_outputs": {"tool_calls": [CALL]}}
    run = {"id": "r1", "object": "thread.run", "status": "queued", "required_action": None}
    text = [{"type": "text", "text": {"value": "Find a lamp."}}]
    exchanges = [
        _exchange(QUESTION, {"id": "m1", "object": "thread.message", "role": "user", "content": text}),
        _exchange({"assistant_id": "a1"}, run),
        _exchange("", {**run, "status": "requires_action", "required_action": asked}, method="GET"),
        _exchange("", {**run, "status": "requires_action", "required_action": asked}, method="GET"),
        _exchange({"tool_outputs": [{"tool_call_id": "c1", "output": "a lamp"}]}, run),
        _exchange("", {**run, "status": "completed"}, method="GET"),
        _exchange(
            "",
            {
                "object": "list",
                "data": [
                    {
                        "object": "thread.message",
                        "created_at": 2,
                        "role": "assistant",
                        "content": [{"type": "text", "text": {"value": "Done."}}],
                    },
                    {"object": "thread.message", "created_at": 1, "role": "user", "content": text},
                ],
            },
            method="GET",
        ),
    ]
    trace = read(_cassette(*exchanges))
    assert (trace.to_events(), trace.problems) == (EVENTS, ())


def test_places() -> None:
    """Each event tells where it stands in the recording."""
    broken = {**CALL, "function": {"name": "search", "arguments": "{"}}
    trace = read(_cassette(_exchange({"messages": [QUESTION]}, _answer({**CALLING, "tool_calls": [broken]}))))
    assert trace.problems[0].place == "$.interactions[0].response.parsed_body.choices[0].message.tool_calls[0]"


@pytest.mark.parametrize(
    "document",
    [
        {"interactions": []},
        {"interactions": [{"id": 1}]},
        {"interactions": {}},
        {"log": {"entries": [1]}},
        {"log": "x"},
    ],
)
def test_what_is_no_recording(document: Any) -> None:
    """Other programs have such keys too."""
    assert detected(document) == []


def test_what_is_named_a_recording_and_is_none() -> None:
    """It says what was expected."""
    with pytest.raises(ReadError, match="a recording of HTTP traffic has interactions"):
        read({"x": 1}, "http-recording")
    assert read({"interactions": []}, "http-recording").no_evidence == "none of the 0 requests in it was to a model"


# ---------------------------------------------------------------------------------------------------------------- YAML


@pytest.mark.parametrize(
    "text",
    [
        "interactions:\n- request: {}\n",
        "---\ninteractions:\n- request: {}\n",
        "# recorded\n\n---\nversion: 2\ninteractions:\n- request: {}\n",
        "http_interactions:\n- request: {}\nrecorded_with: VCR 6\n",
        "\ufeffversion: 1\r\ninteractions:\r\n- request: {}\r\n",
        "interactions: []\n",
    ],
)
def test_how_a_cassette_begins(text: str) -> None:
    """Whatever its file is called."""
    assert yaml_cassette.fits(text.encode())
    assert isinstance(decode_document(text.encode()), dict)


@pytest.mark.parametrize(
    "text", ["", "version: 1\n", '{"interactions": []}', "interactions of a kind", "[USER] interactions:"]
)
def test_what_begins_otherwise(text: str) -> None:
    """It is left to others."""
    assert not yaml_cassette.fits(text.encode())


def test_values_are_as_they_were_dumped() -> None:
    """Texts that look like times or numbers in base 60 stay texts; keys called ``<<`` are keys."""
    text = (
        "interactions:\n- {a: 2026-01-01, b: 1:30, c: 1.5, d: 7, e: null, f: yes, g: 1:30.5, h: 0x1F, '<<': {x: 1}}\n"
    )
    assert yaml_cassette.decode(text.encode())["interactions"][0] == {
        "a": "2026-01-01",
        "b": "1:30",
        "c": 1.5,
        "d": 7,
        "e": None,
        "f": True,
        "g": "1:30.5",
        "h": 31,
        "<<": {"x": 1},
    }


def test_aliases_are_read() -> None:
    """Writers put one where the same body stands twice."""
    cassette = _cassette(*RUN)
    cassette["interactions"].append(cassette["interactions"][1])
    text = yaml.safe_dump(cassette)
    assert "&id001" in text
    assert read(text).to_events() == [*EVENTS, {"agent": "Done."}]


def _bomb(depth: int) -> bytes:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]" for number in range(1, depth)]
    return ("interactions:\n- request:\n    " + "\n    ".join(lines) + "\n").encode()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (_bomb(12), "its aliases add up to"),
        (_bomb(300), "its aliases add up to"),
        (b"interactions: &a\n- *a\n", "an alias of what it stands in"),
        (b"interactions:\n- !!python/object/apply:os.system [x]\n", "broken YAML"),
        (b"interactions:\n- {a: 1, a: 2}\n", "a key that stands twice"),
        (b"interactions:\n- [" + b"[" * 30_000, "broken YAML|nested too deeply"),
        (b"interactions:\n- " + b"[" * 900 + b"]" * 900, "nested too deeply"),
        (b"interactions:\n- {a: 'x", "broken YAML"),
        (b"interactions:\n- {[a]: 1}\n", "broken YAML"),
        (b"interactions:\n- \xff\xfe\n", "broken YAML"),
        (b"interactions:\n- {a: !!int 'x'}\n", "broken YAML"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_broken_yaml(data: bytes, reason: str) -> None:
    """Nothing but a `ReadError`, and soon."""
    with pytest.raises(ReadError, match=reason):
        read(data)


def test_merged_keys_do_not_multiply() -> None:
    """They are read as keys."""
    lines = ["- &a0 {x: 1}"]
    lines += [f"- &a{number} {{'k': 1, <<: [{', '.join([f'*a{number - 1}'] * 10)}]}}" for number in range(1, 6)]
    decoded = yaml_cassette.decode(("interactions:\n" + "\n".join(lines) + "\n").encode())
    assert decoded["interactions"][1]["<<"] == [{"x": 1}] * 10


# ------------------------------------------------------------------------------------------------------------- mutants


@given(st.data())
@settings(max_examples=300)
def test_cut_and_flipped_bytes_raise_nothing_else(data: st.DataObject) -> None:
    """A cassette that ends early, or in which a byte is another."""
    encoded = bytearray(yaml.safe_dump(_cassette(*RUN)).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(encoded)) | st.just(len(encoded)))
    with contextlib.suppress(ReadError):
        trace = read(bytes(encoded[:end]))
        assert len(trace.events) == len(trace.to_events())


# ------------------------------------------------------------------------------------------------------ real recordings

_CALL_TYPES = frozenset(
    {"function_call", "custom_tool_call", "mcp_call", "tool_use", "server_tool_use", "mcp_tool_use"}
    | {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "tool_search_call"}
    | {"shell_call", "local_shell_call", "apply_patch_call", "computer_call"}
)
_HISTORIES = ("input", "messages", "contents", "tool_outputs")
#: By folder: how many cassettes there are, and how many calls were made in them.
CASSETTES = {"pydantic-ai": (272, 421), "openllmetry": (63, 137)}
#: Where a history has other calls than were made: what it has beyond them, and why.
BESIDE = {
    # The framework left out the id of a call and rewrote its arguments: nothing shows that it is the same.
    "test_openai_hosted_tool_search_stateless_continuation_without_item_ids.yaml": 1,
}


def _marks(node: Any) -> list[tuple[Any, str]]:
    """Return the id and the name of every call that is marked as one in an answer or a history."""
    if isinstance(node, list):
        return [mark for item in node for mark in _marks(item)]
    if not isinstance(node, dict):
        return []
    found = []
    kind = node.get("type")
    if kind in _CALL_TYPES:
        call_id = node.get("call_id") if kind in ("function_call", "custom_tool_call") else node.get("id")
        found.append((call_id or node.get("id"), str(node.get("name", kind))))
    for key, value in node.items():
        if key in ("functionCall", "toolUse"):
            found.append((value.get("toolUseId", value.get("id")), value["name"]))
        elif key in ("executableCode", "toolCall"):
            found.append((value.get("id"), key))
        elif key == "tool_calls":
            found += [(call.get("id"), call.get("function", call).get("name", "?")) for call in value or ()]
        elif key == "function_call" and isinstance(value, dict) and any(value.values()):
            found.append((None, value["name"]))
        elif key not in ("tools", "input", "args", "arguments"):
            found += _marks(value)
    return found


def _is_own(call_id: Any) -> bool:
    """Whether an id is a model's: the framework gives one to the calls that have none."""
    return bool(call_id) and not str(call_id).startswith("pyd_ai_")


def _events(body: bytes) -> list[dict[str, Any]]:
    lines = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    return [json.loads(line) for line in lines if line.startswith(b"{")]


def _marks_of_stream(events: list[dict[str, Any]]) -> list[tuple[Any, str]]:
    """Return the calls that are begun in a stream."""
    found: list[tuple[Any, str]] = []
    for event in events:
        kind = event.get("type", "")
        if kind == "content_block_start":
            found += _marks(event["content_block"])
        elif kind == "response.output_item.done":
            found += _marks(event["item"])
        elif event.get("object") == "thread.run.step" and event["status"] == "completed":
            calls = event["step_details"].get("tool_calls", ())
            found += [(call["id"], call["type"]) for call in calls]
        elif "candidates" in event:
            found += _marks(event)
        for choice in event.get("choices", ()):
            for call in choice.get("delta", {}).get("tool_calls") or ():
                found += [(call.get("id"), call["function"]["name"])] if call["function"].get("name") else []
    return found


def _body(side: dict[str, Any]) -> tuple[Any, bytes]:
    if "parsed_body" in side:
        return side["parsed_body"], b""
    body = side.get("body")
    body = body.get("string") if isinstance(body, dict) else body
    raw = body.encode() if isinstance(body, str) else body or b""
    raw = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    try:
        return json.loads(raw or b"null"), raw
    except ValueError:
        return None, raw


def _count(cassette: dict[str, Any]) -> int:
    """Count the calls that were made: those that answers have, and those that only histories have."""
    count = 0
    seen: set[Any] = set()
    for exchange in cassette["interactions"]:
        sent, _ = _body(exchange["request"])
        if isinstance(sent, dict) and "jsonrpc" not in sent:
            told = [mark for key in _HISTORIES if key in sent for mark in _marks(sent[key])]
            new = [mark for mark in told if mark not in seen and (_is_own(mark[0]) or not count)]
            count += len(new)
            seen.update(new)
        came, raw = _body(exchange["response"])
        if exchange["response"]["status"]["code"] >= 400 or (
            isinstance(came, dict) and "tools" in came and "object" in came and came["object"] == "assistant"
        ):
            continue
        made = _marks(came) if came is not None else _marks_of_stream(_events(raw))
        if raw and came is None and b"contentBlockStart" in raw:
            found = re.findall(rb'"toolUse":\{"name":"([^"]+)","toolUseId":"([^"]+)"', raw)
            made = [(call_id.decode(), name.decode()) for name, call_id in found]
        if exchange["request"]["method"] == "GET" or (
            isinstance(came, dict) and str(came.get("object", "")).startswith("thread")
        ):
            made = [mark for mark in made if mark not in seen]
        count += len(made)
        seen |= set(made)
    return count


@pytest.mark.parametrize("name", CASSETTES)
def test_real_cassettes(name: str) -> None:
    """Every one is read by detection alone, with as many calls as its own markers tell of."""
    folder = corpora() / name
    if not folder.exists():
        pytest.skip(f"the recordings of {name} are not here")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    files = calls = 0
    wrong = []
    for path in sorted(folder.rglob("*.y*ml")):
        trace = read(path)
        expected = _count(yaml.load(path.read_bytes(), Loader=loader)) + BESIDE.get(path.name, 0)  # noqa: S506
        if len(trace.calls) != expected:
            wrong.append((path.name, len(trace.calls), expected))
        for call in trace.calls:
            of = call.answer.record.of if call.answer is not None else None
            assert of in (None, call.name) or not isinstance(of, str), path.name
        files += 1
        calls += len(trace.calls)
    assert wrong == []
    assert (files, calls) == CASSETTES[name]

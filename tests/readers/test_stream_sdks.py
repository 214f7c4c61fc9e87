"""The real SDKs, streaming over a transport inside the process: what is read is what the tools were called with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from provider_support import PLAN, WHEEL, Tools, assert_as_planned
from stream_support import server_sent

from tracewitness.readers import read

httpx = pytest.importorskip("httpx2", reason="the clients of the providers' SDKs need it")

QUESTIONS = ("Find a lamp and a desk.", "Turn the wheel.")


def _streaming(answers: list[str]) -> Any:
    """Return a client of which each request gets the next answer, as server-sent events."""
    headers = {"content-type": "text/event-stream"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text=answers.pop(0), headers=headers))
    return httpx.Client(transport=transport)


def _halves(number: int) -> tuple[str, str]:
    """Return the arguments of a call in two pieces."""
    text = json.dumps(PLAN[number][1])
    return text[:7], text[7:]


# --------------------------------------------------------------------------------------------- OpenAI, chat completions


def _chat_chunks(*deltas: Any, finish: str) -> str:
    common = {"id": f"chatcmpl-{id(deltas)}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas = ({"role": "assistant", "content": None}, *deltas, {})
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices[-1]["finish_reason"] = finish
    usage = {**common, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
    return server_sent([*({**common, "choices": [choice]} for choice in choices), usage], done=True)


def _chat_calls(*numbers: int) -> Iterator[Any]:
    """Yield the deltas of calls, whose fragments interleave."""
    for index, number in enumerate(numbers):
        function = {"name": PLAN[number][0], "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": f"call_{number}", "type": "function", "function": function}]}
    for half in (0, 1):
        for index, number in enumerate(numbers):
            yield {"tool_calls": [{"index": index, "function": {"arguments": _halves(number)[half]}}]}


def _chat_answers() -> list[str]:
    return [
        _chat_chunks(*_chat_calls(0, 1), finish="tool_calls"),
        _chat_chunks({"content": "A lamp "}, {"content": "and a desk."}, finish="stop"),
        _chat_chunks({"content": "I try."}, *_chat_calls(2), finish="tool_calls"),
        _chat_chunks({"content": "It is stuck."}, finish="stop"),
    ]


@pytest.mark.parametrize("helper", [False, True], ids=["chunks", "events of the helper"])
def test_chat_chunks_of_the_client(helper: bool) -> None:
    """What iterating over a stream gives, collected over two turns, with messages between the streams."""
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(api_key="none", http_client=_streaming(_chat_answers()), max_retries=0)
    tools = Tools()
    history: list[Any] = []
    messages: list[Any] = []
    for question in QUESTIONS:
        messages.append({"role": "user", "content": question})
        history.append(messages[-1])
        calls: list[Any] = [None]
        while calls:
            with client.chat.completions.stream(model="m", messages=messages) as stream:
                events = list(stream)
                message = stream.get_final_completion().choices[0].message
            history += events if helper else [event.chunk for event in events if event.type == "chunk"]
            messages.append(message.model_dump(exclude_none=True))
            calls = message.tool_calls or []
            for call in calls:
                text, _ = tools.run(call.function.name, json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
                history.append(messages[-1])
    trace = read(history)
    assert_as_planned(trace, tools)
    assert [call.id for call in trace.calls] == ["call_0", "call_1", "call_2"]
    assert [event["agent"] for event in trace.to_events() if "agent" in event] == [
        "A lamp and a desk.",
        "I try.",
        "It is stuck.",
    ]


def test_a_stream_of_the_client_that_was_collected() -> None:
    """A list of one stream's chunks, as it is."""
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(api_key="none", http_client=_streaming(_chat_answers()), max_retries=0)
    chunks = list(client.chat.completions.create(model="m", messages=[], stream=True))
    trace = read(chunks)
    assert [(call.name, call.args) for call in trace.calls] == list(PLAN[:2])
    assert trace.problems == ()
    assert read(chunks[:-3]).problems


# ---------------------------------------------------------------------------------------------------- OpenAI, Responses


def _response(number: int, *output: Any, status: str) -> dict[str, Any]:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "instructions": "You help.",
        "model": "m",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _function_call(number: int, arguments: str, status: str) -> dict[str, Any]:
    fields = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": PLAN[number][0], "status": status}
    return {"type": "function_call", "arguments": arguments, **fields}


def _calls_of_a_response(*numbers: int) -> Iterator[dict[str, Any]]:
    """Yield the events of calls."""
    for index, number in enumerate(numbers):
        yield {
            "type": "response.output_item.added",
            "output_index": index,
            "item": _function_call(number, "", "in_progress"),
        }
        place = {"output_index": index, "item_id": f"fc_{number}"}
        for half in _halves(number):
            yield {"type": "response.function_call_arguments.delta", "delta": half, **place}
        whole = "".join(_halves(number))
        yield {"type": "response.function_call_arguments.done", "arguments": whole, "name": PLAN[number][0], **place}
        yield {
            "type": "response.output_item.done",
            "output_index": index,
            "item": _function_call(number, whole, "completed"),
        }


def _said(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def _response_events(number: int, *calls: int, text: str = "", whole: bool) -> str:
    """Return the events of a response, which has its output at its end, or leaves it to the events before."""
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": _response(number, status="in_progress")},
        *_calls_of_a_response(*calls),
    ]
    output = [_function_call(call, "".join(_halves(call)), "completed") for call in calls] if whole else []
    if text:
        events.append({"type": "response.output_item.done", "output_index": 0, "item": _said(text)})
        output = [_said(text)]
    events.append({"type": "response.completed", "response": _response(number, *output, status="completed")})
    return server_sent([{**event, "sequence_number": place} for place, event in enumerate(events)], named=True)


@pytest.mark.parametrize("whole", [True, False])
def test_response_events_of_the_client(whole: bool) -> None:
    """Events of the client, collected over two turns, with what the tools gave back between the streams."""
    openai = pytest.importorskip("openai")
    answers = [
        _response_events(0, 0, 1, whole=whole),
        _response_events(1, text="A lamp and a desk.", whole=whole),
        _response_events(2, 2, whole=whole),
        _response_events(3, text="It is stuck.", whole=whole),
    ]
    client = openai.OpenAI(api_key="none", http_client=_streaming(answers), max_retries=0)
    tools = Tools()
    history: list[Any] = []
    for question in QUESTIONS:
        history.append({"role": "user", "content": question})
        calls: list[Any] = [None]
        while calls:
            events = list(client.responses.create(model="m", input=question, stream=True))
            history += events
            done = [event.item for event in events if event.type == "response.output_item.done"]
            calls = [item for item in done if item.type == "function_call"]
            for call in calls:
                text, _ = tools.run(call.name, json.loads(call.arguments))
                history.append({"type": "function_call_output", "call_id": call.call_id, "output": text})
    trace = read(history)
    assert_as_planned(trace, tools)
    assert [event for event in trace.to_events() if "system" in event] == [{"system": "You help."}]


# ----------------------------------------------------------------------------------------------------------- Anthropic


def _anthropic_events(stop: str, *numbers: int, text: str = "") -> str:
    """Return the events of a message with a text, where there is one, and calls."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    usage = {"input_tokens": 1, "output_tokens": 1}
    begin = {
        "type": "message_start",
        "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage},
    }
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if text:
        deltas = [{"type": "text_delta", "text": piece} for piece in (text[:3], text[3:])]
        blocks.append(({"type": "text", "text": ""}, deltas))
    for number in numbers:
        deltas = [{"type": "input_json_delta", "partial_json": half} for half in ("", *_halves(number))]
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": PLAN[number][0], "input": {}}
        blocks.append((use, deltas))
    events: list[dict[str, Any]] = [begin, {"type": "ping"}]
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    end = {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    return server_sent([*events, end, {"type": "message_stop"}], named=True)


@pytest.mark.parametrize("helper", [False, True], ids=["raw events", "events of the helper"])
def test_anthropic_events_of_the_client(helper: bool) -> None:
    """Events of the client, collected over two turns, with messages between the streams."""
    anthropic = pytest.importorskip("anthropic")
    answers = [
        _anthropic_events("tool_use", 0, 1, text="I look."),
        _anthropic_events("end_turn", text="A lamp and a desk."),
        _anthropic_events("tool_use", 2),
        _anthropic_events("end_turn"),
    ]
    client = anthropic.Anthropic(api_key="none", http_client=_streaming(answers), max_retries=0)
    tools = Tools()
    history: list[Any] = []
    for question in QUESTIONS:
        history.append({"role": "user", "content": question})
        uses: list[Any] = [None]
        while uses:
            asked: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [history[0]]}
            if helper:
                with client.messages.stream(**asked) as stream:
                    history += list(stream)
                    content = stream.get_final_message().content
                uses = [(block.id, block.name, block.input) for block in content if block.type == "tool_use"]
            else:
                events = list(client.messages.create(**asked, stream=True))
                history += events
                uses = list(_uses(events))
            results = []
            for use_id, name, arguments in uses:
                text, failed = tools.run(name, arguments)
                results.append({"type": "tool_result", "tool_use_id": use_id, "content": text, "is_error": failed})
            history += [{"role": "user", "content": results}] if results else []
    trace = read(history)
    assert_as_planned(trace, tools)
    assert [call.is_error for call in trace.calls] == [False, False, True]
    assert {"agent": "A lamp and a desk."} in trace.to_events()


def _uses(events: list[Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield the calls of raw events, as their arguments add up."""
    texts: dict[int, str] = {}
    blocks: dict[int, Any] = {}
    for event in events:
        if event.type == "content_block_start" and event.content_block.type == "tool_use":
            blocks[event.index], texts[event.index] = event.content_block, ""
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            texts[event.index] += event.delta.partial_json
    yield from ((block.id, block.name, json.loads(texts[index])) for index, block in blocks.items())


# -------------------------------------------------------------------------------------------------------------- Gemini


def _gemini_chunks(*parts: Any) -> str:
    """Return chunks with a part each, of which the last says how they end."""
    chunks = []
    for number, part in enumerate((*parts, {"text": ""})):
        candidate = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if number == len(parts):
            candidate["finishReason"] = "STOP"
        usage = {"totalTokenCount": number}
        chunks.append({"candidates": [candidate], "modelVersion": "m", "responseId": "r", "usageMetadata": usage})
    return server_sent(chunks)


def _gemini_call(number: int) -> dict[str, Any]:
    return {"functionCall": {"name": PLAN[number][0], "args": PLAN[number][1]}, "thoughtSignature": "aGk="}


def _gemini() -> tuple[Any, Any]:
    genai = pytest.importorskip("google.genai")
    answers = [
        _gemini_chunks({"text": "hm", "thought": True}, _gemini_call(0), _gemini_call(1)),
        _gemini_chunks({"text": "A lamp "}, {"text": "and a desk."}),
        _gemini_chunks(_gemini_call(2)),
        _gemini_chunks({"text": "It is stuck."}),
    ]
    options = genai.types.HttpOptions(httpx_client=_streaming(answers))
    return genai.Client(api_key="none", http_options=options), genai.types


def _gemini_payload(payload: Any) -> Any:
    """Open what the client wraps results in; it tells of an error in more words."""
    if "error" in payload:
        assert payload["error"].endswith(WHEEL)
        return f"Error: {WHEEL}"
    return payload.get("result", payload)


def test_gemini_chunks_of_the_client() -> None:
    """Chunks of the client, collected over two turns, with contents between the streams."""
    client, types = _gemini()
    tools = Tools()
    history: list[Any] = []
    for question in QUESTIONS:
        history.append(types.Content(role="user", parts=[types.Part(text=question)]))
        calls: list[Any] = [None]
        while calls:
            chunks = list(client.models.generate_content_stream(model="m", contents=question))
            history += chunks
            calls = [call for chunk in chunks for call in chunk.function_calls or ()]
            results = []
            for call in calls:
                text, failed = tools.run(call.name, call.args)
                given = {"error": text.removeprefix("Error: ")} if failed else {"result": json.loads(text)}
                results.append(types.Part.from_function_response(name=call.name, response=given))
            history += [types.Content(role="user", parts=results)] if results else []
    trace = read(history)
    assert_as_planned(trace, tools, decode=_gemini_payload)
    assert {"agent": "A lamp and a desk."} in trace.to_events()


def test_gemini_chunks_with_automatic_calls() -> None:
    """Chunks after calls that the client made tell again what was asked, called and given back; it is told once."""
    client, types = _gemini()
    tools = Tools()
    config = types.GenerateContentConfig(tools=[tools.search, tools.steer])
    chunks: list[Any] = []
    contents: list[Any] = []
    for question in QUESTIONS:
        contents.append(types.Content(role="user", parts=[types.Part(text=question)]))
        chunks += client.models.generate_content_stream(model="m", contents=contents, config=config)
        contents = list(chunks[-1].automatic_function_calling_history)
        contents.append(types.Content(role="model", parts=[types.Part(text="So it is.")]))
    trace = read(chunks)
    assert_as_planned(trace, tools, decode=_gemini_payload)
    assert [event["user"] for event in trace.to_events() if "user" in event] == list(QUESTIONS)
    assert trace.to_events()[-1] == {"agent": "It is stuck."}


def test_gemini_chunks_of_a_chat() -> None:
    """They lack what the chat sent by itself, so that calls have no results."""
    client, types = _gemini()
    tools = Tools()
    chat = client.chats.create(model="m", config=types.GenerateContentConfig(tools=[tools.search, tools.steer]))
    chunks = [chunk for question in QUESTIONS for chunk in chat.send_message_stream(question)]
    trace = read(chunks)
    assert [(call.name, call.args) for call in trace.calls] == tools.made == list(PLAN)
    assert trace.problems == ()


def _interaction_events(*numbers: int, text: str = "") -> str:
    """Return the events of an interaction with a text, where there is one, and calls."""
    interaction = {"id": "i1", "object": "interaction", "model": "m"}
    begin = {"event_type": "interaction.created", "interaction": {**interaction, "status": "in_progress"}}
    steps: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if text:
        steps.append(({"type": "model_output"}, [{"type": "text", "text": piece} for piece in (text[:3], text[3:])]))
    for number in numbers:
        step = {"type": "function_call", "id": f"call_{number}", "name": PLAN[number][0], "arguments": {}}
        steps.append((step, [{"type": "arguments_delta", "arguments": half} for half in _halves(number)]))
    events: list[dict[str, Any]] = [begin]
    for index, (step, deltas) in enumerate(steps):
        events.append({"event_type": "step.start", "index": index, "step": step})
        events += [{"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"event_type": "step.stop", "index": index})
    status = "requires_action" if numbers else "completed"
    end = {"event_type": "interaction.completed", "interaction": {**interaction, "status": status}}
    return server_sent([*events, end])


def test_interactions_of_the_client() -> None:
    """Events of the client, collected over two turns, with steps between the streams."""
    genai = pytest.importorskip("google.genai")
    answers = [
        _interaction_events(0, 1),
        _interaction_events(text="A lamp and a desk."),
        _interaction_events(2, text="I try."),
        _interaction_events(text="It is stuck."),
    ]
    options = genai.types.HttpOptions(httpx_client=_streaming(answers))
    client = genai.Client(api_key="none", http_options=options)
    tools = Tools()
    history: list[Any] = []
    for question in QUESTIONS:
        history.append({"type": "user_input", "content": [{"type": "text", "text": question}]})
        calls: list[Any] = [None]
        while calls:
            events = list(client.interactions.create(model="m", input=question, stream=True))
            history += events
            steps = [event.step for event in events if event.event_type == "step.start"]
            calls = [step for step in steps if step.type == "function_call"]
            for call in calls:
                name, arguments = PLAN[int(call.id[-1])]
                text, failed = tools.run(name, arguments)
                result = {"call_id": call.id, "name": name, "result": text, "is_error": failed}
                history.append({"type": "function_result", **result})
    trace = read(history)
    assert_as_planned(trace, tools)
    assert [call.is_error for call in trace.calls] == [False, False, True]
    assert trace.to_events()[-1] == {"agent": "It is stuck."}


# --------------------------------------------------------------------------------------------------- OpenAI Assistants


def _run_events(run_id: str, *numbers: int, text: str = "") -> str:
    """Return the events of a run that wants tools to be called, or says something."""
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": PLAN[number][0], "arguments": json.dumps(PLAN[number][1])},
        }
        for number in numbers
    ]
    action = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": calls}} if calls else None
    run = {"id": run_id, "object": "thread.run", "required_action": None}
    details = {"type": "tool_calls", "tool_calls": [{"index": place, **call} for place, call in enumerate(calls)]}
    step = {"id": f"step_{numbers}", "object": "thread.run.step.delta", "delta": {"step_details": details}}
    content = [{"index": 0, "type": "text", "text": {"value": text}}]
    message = {"id": f"msg_{text}", "object": "thread.message.delta", "delta": {"content": content}}
    status = "requires_action" if calls else "completed"
    events = [
        ("thread.run.in_progress", {**run, "status": "in_progress"}),
        ("thread.run.step.delta", step) if calls else ("thread.message.delta", message),
        (f"thread.run.{status}", {**run, "status": status, "required_action": action}),
    ]
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events) + "data: [DONE]\n\n"


@pytest.mark.filterwarnings("ignore:The Assistants API is deprecated:DeprecationWarning")
def test_assistants_of_the_client() -> None:
    """Events of the client, collected over two turns, with outputs of tools between the streams."""
    openai = pytest.importorskip("openai")
    answers = [
        _run_events("r1", 0, 1),
        _run_events("r1", text="A lamp and a desk."),
        _run_events("r2", 2),
        _run_events("r2", text="It is stuck."),
    ]
    client = openai.OpenAI(api_key="none", http_client=_streaming(answers), max_retries=0)
    tools = Tools()
    history: list[Any] = []
    for question in QUESTIONS:
        history.append(
            {"object": "thread.message", "role": "user", "content": [{"type": "text", "text": {"value": question}}]}
        )
        calls: list[Any] = [None]
        while calls:
            events = list(client.beta.threads.runs.create(thread_id="t", assistant_id="a", stream=True))
            history += events
            action = events[-1].data.required_action
            calls = action.submit_tool_outputs.tool_calls if action else []
            outputs = []
            for call in calls:
                text, _ = tools.run(call.function.name, json.loads(call.function.arguments))
                outputs.append({"tool_call_id": call.id, "output": text})
            history += [{"tool_outputs": outputs}] if outputs else []
    trace = read(history)
    assert_as_planned(trace, tools)
    assert trace.to_events()[-1] == {"agent": "It is stuck."}

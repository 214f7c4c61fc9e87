"""Recorded spans of real agents: by detection alone, as many calls as a plain count of their markers gives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from provider_support import corpora

from tracewitness.readers import read_all
from tracewitness.trace import UNANSWERED

_FOLDER = corpora() / "strands-evals" / "tests" / "strands_evals" / "mappers" / "fixtures"
_FILES = sorted(_FOLDER.glob("*_spans.json"))
# What is wrong with a recording, by the file: the instrumentation left something out.
_PROBLEMS = {
    "autogen_live_spans.json": ["the arguments were not recorded"],
    "openai_agents_genai_adot_spans.json": ["'transfer_to_research_specialist' that only a text tells of"],
}
_ANSWER_ID = re.compile(r"llm\.output_messages\.(\d+)\.message\.tool_calls\.(\d+)\.tool_call\.id")


def _spans(file: Path) -> list[dict[str, Any]]:
    document = json.loads(file.read_bytes())
    found: list[dict[str, Any]] = document if isinstance(document, list) else document["spans"]
    return found


def _tool_name(span: dict[str, Any]) -> str | None:
    """Return the name of the tool that a span says it is the run of."""
    attributes = span["attributes"]
    is_tool = "execute_tool" in attributes.values() or attributes.get("openinference.span.kind") == "TOOL"
    if is_tool:
        return attributes.get("gen_ai.tool.name") or attributes.get("tool.name")
    for event in span["span_events"]:
        found = re.search(r'"name": "(\w+)", "type": "tool"', json.dumps(event.get("body")).replace('\\"', '"'))
        if found:
            return found[1]
    return None


def _answer_ids(span: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield ids and names of the calls in a model's answer."""
    attributes = span["attributes"]
    for key, value in attributes.items():
        if _ANSWER_ID.fullmatch(key):
            yield value, attributes[key.replace(".id", ".function.name")]
    answers = attributes.get("gen_ai.output.messages", "[]")
    for message in json.loads(answers) if isinstance(answers, str) else answers:
        yield from ((part["id"], part["name"]) for part in message["parts"] if part["type"] == "tool_call")


def _count(file: Path) -> int:
    """Count the runs of tools, and the calls in answers to tools that have no span."""
    spans = _spans(file)
    ran = [name for name in map(_tool_name, spans) if name]
    asked = {call_id: name for span in spans for call_id, name in _answer_ids(span)}
    return len(ran) + sum(name not in ran for name in asked.values())


@pytest.mark.skipif(not _FILES, reason="the recordings of strands-evals are not there")
def test_every_recording_is_read() -> None:
    """None raises; each has the calls that its markers tell of."""
    assert len(_FILES) == 13
    counted = 0
    for file in _FILES:
        traces = list(read_all(file))
        calls = [call for trace in traces for call in trace.calls]
        assert len(calls) == _count(file), file.name
        problems = [problem.reason for trace in traces for problem in trace.problems]
        wanted = _PROBLEMS.get(file.name, [])
        assert len(problems) == len(wanted), (file.name, problems)
        assert all(want in problem for want, problem in zip(wanted, problems, strict=True)), (file.name, problems)
        assert all(trace.no_evidence is None for trace in traces)
        counted += len(calls)
    assert counted == 33


@pytest.mark.skipif(not _FILES, reason="the recordings of strands-evals are not there")
def test_what_a_sub_agent_did_stands_under_its_parents_call() -> None:
    """After the call, before its result, and its prompt is not the user's."""
    (trace,) = read_all(_FOLDER / "openai_agents_genai_live_spans.json")
    asked, looked_up, *_ = trace.calls
    assert (asked.name, asked.agent) == ("ask_research_specialist", "coordinator")
    assert (looked_up.name, looked_up.agent) == ("lookup_stock_price", "research_specialist")
    assert asked.answer is not None
    assert asked.position < looked_up.position < asked.answer.position
    assert sum("user" in event for event in trace.to_events()) == 1
    assert all(call.result is not UNANSWERED for call in trace.calls)


@pytest.mark.skipif(not _FILES, reason="the recordings of strands-evals are not there")
def test_a_session_is_one_run_and_two_traces_are_two() -> None:
    """Traces without a model, an agent or a tool are none."""
    names = {file.name: [trace.name for trace in read_all(file)] for file in _FILES}
    assert names.pop("openinference_adot_spans.json") == ["adot-trace-1", "adot-trace-2"]
    assert all(own == [Path(name).stem] for name, own in names.items())

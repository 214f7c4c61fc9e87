"""Read Google ADK: events, sessions, and evaluation sets of both schemas, in JSON's spelling and in the SDK's.

What is decided here:

- A fragment of a streamed answer (``partial``) is told over again by the event that ends it. One that no event ends
  is a problem: it may be the beginning of a call.
- A tool that takes long, or that a person has to agree to, answers a call more than once. What it says last is the
  result. Of another tool every answer is kept: that there are two is a problem.
- Calls by which the framework asks a person (for a confirmation, a credential, an input) are no calls of the agent.
- A call that was made before a session was rewound was made all the same.
- In an evaluation set, which tells calls and results apart and not how they alternated, the results come after the
  calls of their turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.frameworks.stamps import stamp
from tracewitness.readers.providers import gemini
from tracewitness.readers.providers.gemini import fields_of
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Trace

__all__ = ["READER", "SHAPE", "detects", "read", "runs"]

SHAPE: Final = "a run of Google ADK is a list of events with an author, a session with events, or an evaluation set"

_INVOCATION: Final = ("invocation_id", "invocationId")
_EVENTS: Final = "events"
_CASES: Final = ("eval_cases", "evalCases", "eval_case_results", "evalCaseResults")
_RESULTS: Final = ("eval_metric_result_per_invocation", "evalMetricResultPerInvocation")
_ASKS_A_PERSON: Final = frozenset({"adk_request_confirmation", "adk_request_credential", "adk_request_input"})
# What an event's actions hold by the ids of the calls that wait for a person.
_WAITING: Final = ("requested_tool_confirmations", "requested_auth_configs")
# Stands in the place of a part that is passed over, so that the parts after it keep their places.
_NOTHING: Final = {"text": "", "thought": True}


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, Mapping):
        return _is_session(document) or _is_set(document) or _is_case(document)
    return isinstance(document, list) and any(_is_event(item) or _is_turn(item) or _is_case(item) for item in document)


def runs(document: Any) -> Iterator[Any]:
    """Yield the cases of an evaluation set, or the document itself where it is one run."""
    if isinstance(document, Mapping) and _is_set(document):
        yield from next(document[key] for key in _CASES if isinstance(document.get(key), list))
    elif isinstance(document, list) and any(map(_is_case, document)):
        yield from document
    else:
        yield document


def read(document: Any, name: str = "") -> Trace:
    """Read a list of events, a session, or a case of an evaluation set.

    Raises:
        ReadError: it is nothing of the kind.

    >>> part = {"functionCall": {"name": "search", "args": {"q": "lamp"}}}
    >>> event = {"author": "shop", "invocationId": "i1", "content": {"role": "model", "parts": [part]}}
    >>> read({"id": "s1", "events": [event]})
    <Trace s1: 1 events>
    """
    recording = Recording()
    if isinstance(document, list):
        if any(map(_is_turn, document)):
            _read_turns(recording, document, ())
        else:
            _Events(recording, document, ()).read()
        return recording.trace(name)
    if not isinstance(document, Mapping):
        raise refuse(document, SHAPE)
    fields = fields_of(document)
    name = word(fields, "eval_id") or word(fields, "id") or word(fields, "name") or name
    if _EVENTS in document:
        _Events(recording, document[_EVENTS], (_EVENTS,)).read()
    elif isinstance(document.get("data"), list):
        _read_turns(recording, document["data"], ("data",))
    else:
        _read_case(recording, document, fields)
    return recording.trace(name)


# ----------------------------------------------------------------------------------------------------------- detection


def _is_event(item: Any) -> bool:
    if not isinstance(item, Mapping) or not isinstance(item.get("author"), str):
        return False
    return any(isinstance(item.get(key), str) for key in _INVOCATION)


def _is_session(document: Mapping[str, Any]) -> bool:
    events = document.get(_EVENTS)
    if not isinstance(events, list):
        return False
    has_owner = ("appName" in document and "userId" in document) or ("app_name" in document and "user_id" in document)
    return has_owner or any(map(_is_event, events))


def _is_set(document: Mapping[str, Any]) -> bool:
    return any(isinstance(document.get(key), list) for key in _CASES)


def _is_case(item: Any) -> bool:
    """Whether something is one case of an evaluation set, in either schema, or of its results."""
    if not isinstance(item, Mapping):
        return False
    data, turns = item.get("data"), item.get("conversation")
    if isinstance(data, list):
        return any(map(_is_turn, data))
    if any(isinstance(item.get(key), list) for key in _RESULTS):
        return True
    return isinstance(turns, list) and any(map(_is_invocation, turns))


def _is_invocation(item: Any) -> bool:
    return isinstance(item, Mapping) and ("user_content" in item or "userContent" in item)


def _is_turn(item: Any) -> bool:
    """Whether something is a turn in the older schema of evaluation sets."""
    return isinstance(item, Mapping) and isinstance(item.get("query"), str) and "expected_tool_use" in item


# -------------------------------------------------------------------------------------------------------------- events


class _Events:
    """Reads events in order.

    Arguments:
        recording: the trace in the making.
        items: the events.
        path: where they stand.
    """

    def __init__(self, recording: Recording, items: Any, path: Path) -> None:
        self._recording = recording
        self._items = [(fields_of(item), place) for item, place in each_mapping(recording, items, path, "an event")]
        self._calls = Counter(_ids(self._items, "function_call"))
        self._answers_left = Counter(_ids(self._items, "function_response"))
        self._waiting = _ids_of_waiting(self._items)
        self._fragments: dict[tuple[str, str, str], Path] = {}

    def read(self) -> None:
        """Read all events."""
        for fields, path in self._items:
            self._read_event(fields, path)
        for path in self._fragments.values():
            self._recording.doubt("a fragment of an answer that no event ends", path, cut=True)

    def _read_event(self, fields: dict[str, Any], path: Path) -> None:
        begin = len(self._recording)
        author = word(fields, "author")
        content = fields.get("content")
        if not self._is_fragment(fields, path):
            if isinstance(content, Mapping):
                self._read_content(fields, content, (*path, "content"))
            elif content is not None:
                self._recording.doubt(f"a content is a mapping, not {show(content)}", path)
            self._read_speech(fields, path)
        self._read_actions(fields, path)
        if fields.get("error_code") or fields.get("error_message"):
            code, message = fields.get("error_code"), fields.get("error_message")
            self._recording.doubt(f"the model failed: {show(code)}: {show(message)}", path)
        if not author:
            self._recording.doubt("an event without an author", path, hides_call=False)
        stamp(self._recording, begin, by=author, at=fields.get("timestamp"))

    def _is_fragment(self, fields: dict[str, Any], path: Path) -> bool:
        """Whether an event is a fragment of an answer, which a later one tells whole."""
        stream = (word(fields, "invocation_id"), word(fields, "author"), word(fields, "branch"))
        has_content = isinstance(fields.get("content"), Mapping)
        if fields.get("partial") is True:
            if has_content:
                self._fragments.setdefault(stream, path)
            return True
        if has_content or fields.get("error_code"):
            self._fragments.pop(stream, None)
        return False

    def _read_content(self, fields: dict[str, Any], content: Mapping[str, Any], path: Path) -> None:
        parts = content.get("parts")
        if isinstance(parts, list) and parts:
            parts = [_NOTHING if self._is_aside(part) else part for part in parts]
            if all(part is _NOTHING for part in parts):
                return
        role = "user" if word(fields, "author") == "user" else "model"
        begin = len(self._recording)
        gemini.read_item(self._recording, {"role": role, "parts": parts}, path)
        ids = fields.get("long_running_tool_ids")
        if isinstance(ids, list):
            stamp(self._recording, begin, metadata=lambda call: {"long_running": True} if call.id in ids else {})

    def _is_aside(self, part: Any) -> bool:
        """Whether a part is what the framework asks a person, or what a tool says before its last word."""
        for kind, value in fields_of(part).items() if isinstance(part, Mapping) else ():
            if not isinstance(value, Mapping):
                continue
            if kind in ("function_call", "function_response") and word(value, "name") in _ASKS_A_PERSON:
                return True
            call_id = value.get("id")
            if kind == "function_response" and isinstance(call_id, str):
                self._answers_left[call_id] -= 1
                return self._answers_left[call_id] > 0 and self._may_answer_again(call_id)
        return False

    def _may_answer_again(self, call_id: str) -> bool:
        """Whether what answers a call may be said on the way: only of some, and not where ids are used again."""
        return self._calls[call_id] == 1 and (call_id in self._waiting or _ANY_CALL in self._waiting)

    def _read_speech(self, fields: dict[str, Any], path: Path) -> None:
        """Read what was said aloud, which stands beside the content."""
        for key in ("input_transcription", "output_transcription"):
            said = fields.get(key)
            text = word(said, "text") if isinstance(said, Mapping) else ""
            if text:
                self._recording.say("user" if key.startswith("input") else "agent", text, (*path, key))

    def _read_actions(self, fields: dict[str, Any], path: Path) -> None:
        actions = fields.get("actions")
        agent = fields_of(actions).get("transfer_to_agent") if isinstance(actions, Mapping) else None
        if agent:
            self._recording.transfer(agent, (*path, "actions"))


def _parts(items: list[tuple[dict[str, Any], Path]], kind: str) -> Iterator[Mapping[str, Any]]:
    """Yield all parts of a kind, fragments left aside."""
    for fields, _ in items:
        content = fields.get("content")
        parts = content.get("parts") if isinstance(content, Mapping) and fields.get("partial") is not True else None
        for part in parts if isinstance(parts, list) else ():
            value = fields_of(part).get(kind) if isinstance(part, Mapping) else None
            if isinstance(value, Mapping):
                yield value


def _ids(items: list[tuple[dict[str, Any], Path]], kind: str) -> Iterator[str]:
    """Yield the ids of all parts of a kind."""
    return (part["id"] for part in _parts(items, kind) if isinstance(part.get("id"), str))


# Stands among the ids of the calls that wait where a person is asked and it is not recorded for which call.
_ANY_CALL: Final = ""


def _ids_of_waiting(items: list[tuple[dict[str, Any], Path]]) -> set[str]:
    """Return the ids of the calls that were answered before they were done: they take long, or wait for a person."""
    found: set[Any] = set()
    for fields, _ in items:
        ids, actions = fields.get("long_running_tool_ids"), fields.get("actions")
        asked = fields_of(actions) if isinstance(actions, Mapping) else {}
        for told in (ids, *map(asked.get, _WAITING)):
            found.update(filter(_is_text, told if isinstance(told, (list, Mapping)) else ()))
    asking = filter(_asks_for_call, _parts(items, "function_call"))
    return (found - {_ANY_CALL}) | set(map(_id_asked_for, asking))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _asks_for_call(part: Mapping[str, Any]) -> bool:
    return word(part, "name") in _ASKS_A_PERSON - {"adk_request_input"}  # which is asked for by no call


def _id_asked_for(part: Mapping[str, Any]) -> str:
    """Return the id of the call for which a person is asked."""
    args = part.get("args")
    asked = fields_of(args) if isinstance(args, Mapping) else {}
    call = asked.get("original_function_call")
    return word(asked, "function_call_id") or (word(call, "id") if isinstance(call, Mapping) else "") or _ANY_CALL


# ----------------------------------------------------------------------------------------------------- evaluation sets


def _read_case(recording: Recording, case: Mapping[str, Any], fields: dict[str, Any]) -> None:
    """Read one case: its conversation, or the one that was had when it was evaluated."""
    results = fields.get(_RESULTS[0])
    if isinstance(results, list):
        for result, path in each_mapping(recording, results, (_RESULTS[0],), "a result"):
            own = fields_of(result).get("actual_invocation")
            _read_invocation_or_doubt(recording, own, (*path, "actual_invocation"))
        return
    turns = fields.get("conversation")
    if turns is None and "conversation_scenario" in fields:
        recording.failure = "a scenario, and no conversation that was had"
    elif turns is None:
        raise refuse(case, SHAPE)
    for turn, path in each_mapping(recording, turns, ("conversation",), "an invocation"):
        _read_invocation_or_doubt(recording, turn, path)


def _read_invocation_or_doubt(recording: Recording, invocation: Any, path: Path) -> None:
    if isinstance(invocation, Mapping):
        _read_invocation(recording, fields_of(invocation), path)
    else:
        recording.doubt(f"an invocation is a mapping, not {show(invocation)}", path)


def _read_invocation(recording: Recording, fields: dict[str, Any], path: Path) -> None:
    begin = len(recording)
    _read_said(recording, fields.get("user_content"), "user", (*path, "user_content"))
    between = fields.get("intermediate_data")
    place = (*path, "intermediate_data")
    told: list[Any] = []
    if isinstance(between, Mapping):
        steps = fields_of(between)
        if "invocation_events" in steps:
            told = _read_steps(recording, steps["invocation_events"], (*place, "invocation_events"))
        else:
            _read_uses(recording, steps, place)
    elif between is not None:
        recording.doubt(f"intermediate data is a mapping, not {show(between)}", place)
    final = fields.get("final_response")
    if final is not None and final not in told:  # an answer that calls a tool as well stands there twice
        _read_said(recording, final, "model", (*path, "final_response"))
    stamp(recording, begin, at=fields.get("creation_timestamp") or None)


def _read_steps(recording: Recording, steps: Any, path: Path) -> list[Any]:
    """Read the events of a turn, and return their contents."""
    told = []
    for step, place in each_mapping(recording, steps, path, "an event"):
        begin = len(recording)
        content = step.get("content")
        if content is not None:
            told.append(content)
            _read_said(recording, content, "model", (*place, "content"))
        stamp(recording, begin, by=step.get("author"))
    return told


def _read_said(recording: Recording, content: Any, role: str, path: Path) -> None:
    if isinstance(content, Mapping):
        gemini.read_item(recording, {"role": role, "parts": content.get("parts")}, path)
    elif content is not None:
        recording.doubt(f"a content is a mapping, not {show(content)}", path)


def _read_uses(recording: Recording, steps: dict[str, Any], path: Path) -> None:
    """Read calls, results and what was said between, which are told apart."""
    for use, place in each_mapping(recording, steps.get("tool_uses"), (*path, "tool_uses"), "a call"):
        recording.call(use.get("name"), use.get("args"), use.get("id"), place)
    answers = steps.get("tool_responses")
    for answer, place in each_mapping(recording, answers, (*path, "tool_responses"), "a result"):
        recording.answer(answer.get("response"), answer.get("id"), place, of=answer.get("name"))
    said = steps.get("intermediate_responses")
    for index, pair in enumerate(said if isinstance(said, list) else ()):
        place = (*path, "intermediate_responses", index)
        if isinstance(pair, (list, tuple)) and len(pair) == 2:
            begin = len(recording)
            _read_said(recording, {"parts": pair[1]}, "model", place)
            stamp(recording, begin, by=pair[0])
        else:
            recording.doubt(f"a response between is an author and parts, not {show(pair)}", place)


def _read_turns(recording: Recording, turns: Any, path: Path) -> None:
    """Read the turns of the older schema."""
    for turn, place in each_mapping(recording, turns, path, "a turn"):
        if isinstance(turn.get("query"), str):
            recording.say("user", turn["query"], (*place, "query"))
        else:
            recording.doubt(f"a turn has a query, this has {show(list(turn))}", place)
        uses = (*place, "expected_tool_use")
        for use, use_place in each_mapping(recording, turn.get("expected_tool_use"), uses, "a call"):
            recording.call(use.get("tool_name"), use.get("tool_input"), None, use_place)
            if "mock_tool_output" in use:
                recording.answer(use["mock_tool_output"], None, use_place, of=use.get("tool_name"))
        key = "expected_intermediate_agent_responses"
        for said, said_place in each_mapping(recording, turn.get(key), (*place, key), "a response"):
            recording.say("agent", word(said, "text"), said_place, said.get("author"))
        if isinstance(turn.get("reference"), str):
            recording.say("agent", turn["reference"], (*place, "reference"))


READER: Final = Reader(
    "google-adk",
    detects=detects,
    read=read,
    shape=SHAPE,
    keys=frozenset({"author", _EVENTS, "conversation", "query", "data", *_CASES, *_RESULTS}),
    runs=runs,
)

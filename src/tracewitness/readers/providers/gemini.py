"""Read Gemini: responses with ``candidates``, contents, their parts, requests with ``contents``, and histories.

Keys are read as JSON writes them (``functionCall``) and as the SDK does (``function_call``), each for itself.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Final

from tracewitness.display import show
from tracewitness.readers.providers.shared import (
    doubt_cut,
    doubt_foreign_calls,
    doubt_others,
    give_back,
    take_answer,
    told_trace,
)
from tracewitness.readers.reader import Reader
from tracewitness.readers.recording import Path, Recording, each_mapping, refuse, word
from tracewitness.trace import Role, Trace

__all__ = ["READER", "SHAPE", "detects", "fields_of", "holds_chunks", "is_response", "read", "read_item", "read_items"]

SHAPE: Final = "an answer of Gemini has candidates with a content, or is a list of contents with role and parts"

CODE: Final = "code_execution"
_ROLES: Final[dict[str, Role]] = {"model": "agent", "user": "user", "function": "user", "system": "system", "": "user"}
# Parts, by the field that makes one: what calls and answers, and what does neither.
_CALLING: Final = ("function_call", "tool_call", "executable_code")
_ANSWERING: Final = ("function_response", "tool_response", "code_execution_result")
_SILENT: Final = frozenset(
    {
        "audio_metadata",
        "audio_transcription",
        "document_metadata",
        "file_data",
        "inline_data",
        "media_processing",
        "media_resolution",
        "part_metadata",
        "speech_metadata",
        "spreadsheet_metadata",
        "text",
        "thought",
        "thought_signature",
        "video_metadata",
    }
)
_MARKS: Final = frozenset({*_CALLING, *_ANSWERING})
_KNOWN: Final = _MARKS | _SILENT
_PARTS: Final = _MARKS | {"text", "inline_data", "file_data"}
# What a server writes beside its candidates, and nobody else.
_SERVED: Final = frozenset({"model_version", "response_id", "usage_metadata"})
# How an answer ends of which nothing is kept back. Older clients write the numbers.
_WHOLE: Final = frozenset({None, 0, 1, 2, "STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED"})
_CUT_NUMBER: Final = 2
_OUTCOMES: Final[dict[Any, bool]] = {
    "OUTCOME_OK": False,
    "OUTCOME_FAILED": True,
    "OUTCOME_DEADLINE_EXCEEDED": True,
    1: False,
    2: True,
    3: True,
}


def detects(document: Any) -> bool:
    """Whether decoded data is of this format."""
    if isinstance(document, Mapping):
        contents = fields_of(document).get("contents")
        return _is_marked(document) or (isinstance(contents, list) and any(map(_is_marked, contents)))
    return isinstance(document, list) and any(map(_is_marked, document))


def read(document: Any, name: str = "", *, choice: int | None = None) -> Trace:
    """Read a response, a content, a list of them, or a request with ``contents``.

    Arguments:
        choice: which candidate is read where a response has several, by its index. Where none is told it is the first,
            and that others call tools is noted.

    Raises:
        ReadError: it is nothing of the kind.

    >>> read({"role": "model", "parts": [{"functionCall": {"name": "search", "args": {"q": "lamp"}}}]}).to_events()
    [{'call': 'search', 'args': {'q': 'lamp'}}]
    """
    recording = Recording()
    if isinstance(document, list):
        read_items(recording, document, (), choice)
    elif isinstance(document, Mapping) and _is_readable(document):
        read_item(recording, document, (), choice)
    else:
        raise refuse(document, SHAPE)
    return told_trace(recording, document, name, detects, SHAPE)


@functools.lru_cache(maxsize=1024)
def _snake(key: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", key)


def fields_of(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a mapping has, in the SDK's spelling; what is null is not there."""
    return {_snake(key): value for key, value in mapping.items() if value is not None and isinstance(key, str)}


# ----------------------------------------------------------------------------------------------------------- detection


def _is_readable(document: Mapping[str, Any]) -> bool:
    fields = fields_of(document)
    return is_response(document) or not fields.keys().isdisjoint({"contents", "parts"}) or _is_part_alone(fields)


def _is_marked(item: Any) -> bool:
    """Whether an item is of this format and of no other."""
    if not isinstance(item, Mapping):
        return False
    if is_response(item):
        return True
    if "parts" not in item:
        return _is_part_alone(fields_of(item))
    parts = item["parts"]
    return (
        isinstance(parts, list)
        and (item.get("role") is None or word(item, "role") in _ROLES)
        and any(map(_is_part, parts))
    )


def _is_part_alone(fields: dict[str, Any]) -> bool:
    """Whether a mapping is a part that calls or answers, and nothing else."""
    return fields.keys() <= _KNOWN and any(isinstance(fields.get(mark), Mapping) for mark in _MARKS)


def _is_part(part: Any) -> bool:
    """Whether something is a part. Those of other formats say their type."""
    return (
        isinstance(part, Mapping)
        and part.keys().isdisjoint({"type", "kind"})
        and not _PARTS.isdisjoint(fields_of(part))
    )


def is_response(item: Mapping[str, Any]) -> bool:
    """Whether a mapping is a response, or a chunk of one."""
    fields = fields_of(item)
    return (
        isinstance(fields.get("candidates"), list)
        or isinstance(fields.get("prompt_feedback"), Mapping)
        or {"usage_metadata", "model_version"} <= fields.keys()
    )


def holds_chunks(document: Any) -> bool:
    """Whether a list holds a chunk of a stream: all of them but the last are responses that don't say how they end.

    One that nobody served may have been written by hand without its end; it is a chunk where another one follows.
    """
    if not isinstance(document, list):
        return False
    return any(map(_is_unfinished, document, (*document[1:], None)))


def _is_unfinished(item: Any, next_item: Any) -> bool:
    if not isinstance(item, Mapping) or "role" in item:
        return False
    fields = fields_of(item)
    candidates = fields.get("candidates")
    if not isinstance(candidates, list) or "contents" in fields:
        return False
    is_followed = isinstance(next_item, Mapping) and is_response(next_item) and "contents" not in next_item
    return (is_followed or not _SERVED.isdisjoint(fields)) and any(
        isinstance(candidate, Mapping) and "finish_reason" not in fields_of(candidate) for candidate in candidates
    )


# ------------------------------------------------------------------------------------------------------------- reading


def read_items(recording: Recording, items: Any, path: Path, choice: int | None = None) -> None:
    """Read a list of what `read_item` reads."""
    for item, place in each_mapping(recording, items, path, "a content"):
        read_item(recording, item, place, choice)


def read_item(recording: Recording, item: Mapping[str, Any], path: Path, choice: int | None = None) -> None:
    """Read a response, a request, a content, or a part that stands alone."""
    fields = fields_of(item)
    if "contents" in fields:
        _read_request(recording, fields, path)
        if is_response(item):
            _read_answer(recording, fields, path, choice)
    elif is_response(item):
        _read_response(recording, fields, path, choice)
    elif "parts" in fields:
        _read_content(recording, fields, path, "user")
    elif not _PARTS.isdisjoint(fields):  # the client takes parts alone too
        _read_content(recording, {"parts": [item]}, path, "user")
    elif fields.keys() <= {"role"}:
        recording.say(_role(recording, fields, path, "user"), "", path)
    else:
        recording.doubt(f"neither a content nor a response: {show(list(item))}", path)


def _read_request(recording: Recording, fields: dict[str, Any], path: Path) -> None:
    instruction = fields.get("system_instruction")
    if isinstance(instruction, str):
        recording.say("system", instruction, (*path, "systemInstruction"))
    elif isinstance(instruction, Mapping):
        _read_content(recording, {**fields_of(instruction), "role": "system"}, (*path, "systemInstruction"), "system")
    read_items(recording, fields["contents"], (*path, "contents"))


def _read_answer(recording: Recording, fields: dict[str, Any], path: Path, choice: int | None) -> None:
    """Read the answer to the contents before it. The history of automatic calls, where it has one, repeats these."""
    if fields.get("automatic_function_calling_history"):
        _read_response(recording, fields, path, choice)
    else:
        answer = Recording()
        _read_response(answer, fields, path, choice)
        take_answer(recording, answer)


def _read_response(recording: Recording, fields: dict[str, Any], path: Path, wanted: int | None) -> None:
    """Read what the client did by itself before the answer, then the candidate that is wanted."""
    _read_own_calls(recording, fields, path)
    feedback = fields_of(fields["prompt_feedback"]) if isinstance(fields.get("prompt_feedback"), Mapping) else {}
    if feedback.get("block_reason"):
        recording.doubt(f"the request was blocked: {show(feedback['block_reason'])}", path)
    candidates = [
        (fields_of(candidate), place)
        for candidate, place in each_mapping(recording, fields.get("candidates"), (*path, "candidates"), "a candidate")
    ]
    if not candidates:
        recording.failure = "the response has no candidate"
        recording.doubt(recording.failure, path)
        return
    numbered: dict[int, tuple[dict[str, Any], Path]] = {}
    for number, found in enumerate(candidates):
        numbered.setdefault(_index_of(found[0], number), found)
    if wanted is not None and wanted not in numbered:
        recording.failure = f"the response has no candidate {wanted}"
        recording.doubt(recording.failure, path)
        return
    candidate, place = numbered[min(numbered) if wanted is None else wanted]
    _read_candidate(recording, candidate, place)
    if wanted is None:
        doubt_others(recording, [at for other, at in candidates if at != place and _calls(other)], "candidate")


def _calls(candidate: dict[str, Any]) -> bool:
    content = candidate.get("content")
    parts = fields_of(content).get("parts") if isinstance(content, Mapping) else None
    found = [fields_of(part) for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    return any(part.get("function_call") or part.get("executable_code") for part in found)


def _index_of(candidate: dict[str, Any], number: int) -> int:
    """Return a candidate's index; where it has none, its number in the list."""
    index = candidate.get("index")
    return index if isinstance(index, int) else number


def _read_own_calls(recording: Recording, fields: dict[str, Any], path: Path) -> None:
    """Read the history of automatic calls. It begins with what was sent, which may have been read already."""
    history = fields.get("automatic_function_calling_history")
    if not history:
        return
    place = (*path, "automaticFunctionCallingHistory")
    own = Recording()
    read_items(own, history, place)
    sent = recording.records
    if own.records[: len(sent)] != sent:
        recording.doubt("the history of automatic calls does not begin with what stands before it", place)
        sent = []
    recording.take(own, len(sent))


def _read_candidate(recording: Recording, candidate: dict[str, Any], path: Path) -> None:
    content = candidate.get("content")
    events_before = len(recording)
    if isinstance(content, Mapping):
        _read_content(recording, {"role": "model", **fields_of(content)}, (*path, "content"), "agent")
    elif content is not None:
        recording.doubt(f"a content is a mapping, not {show(content)}", path)
    reason = candidate.get("finish_reason")
    if not isinstance(reason, (str, int)) and reason is not None:
        recording.doubt(f"an unknown finishReason {show(reason)}", path)
    elif reason not in _WHOLE:
        message = candidate.get("finish_message")
        recording.doubt(f"finishReason {show(reason)}" + (f": {show(message, 200)}" if message else ""), path)
    if len(recording) == events_before:
        recording.say("agent", "", path)  # an empty answer is an answer
    doubt_cut(recording, events_before, "MAX_TOKENS" if reason == _CUT_NUMBER else reason, None, path)


def _role(recording: Recording, fields: dict[str, Any], path: Path, default: Role) -> Role:
    if "role" not in fields:
        return default
    speaker = _ROLES.get(word(fields, "role")) if isinstance(fields["role"], str) else None
    if speaker is None:
        recording.doubt(f"an unknown role {show(fields['role'])}", path)
    return speaker or default


def _read_content(recording: Recording, fields: dict[str, Any], path: Path, default: Role) -> None:
    """Read parts in order. Texts that stand together are pieces of one message; thoughts are not said."""
    doubt_foreign_calls(recording, fields, path)
    speaker = _role(recording, fields, path, default)
    events_before = len(recording)
    texts: list[str] = []
    parts = fields.get("parts")
    for part, place in each_mapping(recording, parts, (*path, "parts"), "a part"):
        own = fields_of(part)
        text = own.get("text")
        is_marked = not _MARKS.isdisjoint(own)
        if isinstance(text, str):
            texts += [] if own.get("thought") or (is_marked and not text) else [text]
        if isinstance(text, str) and not is_marked:
            continue
        if speaker == "agent":
            _say(recording, speaker, texts, path)
        _read_part(recording, own, place, may_call=speaker == "agent")
    _say(recording, speaker, texts, path)
    if len(recording) == events_before and speaker == "user" and parts:
        recording.say(speaker, "", path)  # an image, say, is a message too


def _say(recording: Recording, speaker: Role, texts: list[str], path: Path) -> None:
    if texts:
        recording.say(speaker, "".join(texts), path)
        texts.clear()


def _read_part(recording: Recording, fields: dict[str, Any], path: Path, *, may_call: bool) -> None:
    for kind in (*_CALLING, *_ANSWERING):
        if kind not in fields:
            continue
        value = fields[kind]
        if not isinstance(value, Mapping):
            recording.doubt(f"a {kind} is a mapping, not {show(value)}", path)
        elif kind in _CALLING:
            _read_call(recording, kind, fields_of(value), path)
        else:
            _read_result(recording, kind, fields_of(value), path)
    unknown = fields.keys() - _KNOWN
    if "text" in fields and not isinstance(fields["text"], str):
        recording.doubt(f"a text is none: {show(fields['text'])}", path, hides_call=may_call)
    if unknown:
        recording.doubt(f"an unknown part with {show(sorted(unknown))}", path, hides_call=may_call)


def _read_call(recording: Recording, kind: str, call: dict[str, Any], path: Path) -> None:
    if kind == "executable_code":
        arguments = {key: call[key] for key in ("code", "language") if key in call}
        recording.call(CODE, arguments, call.get("id"), path)
        return
    name = call.get("name") if kind == "function_call" else call.get("tool_type")
    recording.call(name, call.get("args"), call.get("id"), path)
    if call.get("partial_args") or call.get("will_continue"):
        recording.doubt(f"a call to {show(name)} that is not complete", path)


def _read_result(recording: Recording, kind: str, result: dict[str, Any], path: Path) -> None:
    """Read a result. Only executed code says whether it failed."""
    if kind == "code_execution_result":
        outcome = result.get("outcome")
        is_error = _OUTCOMES.get(outcome) if isinstance(outcome, (str, int)) else None
        give_back(recording, result, result.get("output"), result.get("id"), path, of=CODE, is_error=is_error)
        return
    name = result.get("name") if kind == "function_response" else result.get("tool_type")
    give_back(recording, result, result.get("response"), result.get("id"), path, of=name)


READER: Final = Reader(
    "gemini",
    detects=detects,
    read=read,
    shape=SHAPE,
    yields=holds_chunks,
    keys=frozenset(
        {"candidates", "contents", "parts"}
        | {"promptFeedback", "prompt_feedback", "usageMetadata", "usage_metadata", "modelVersion", "model_version"}
        | {"functionCall", "toolCall", "executableCode", "functionResponse", "toolResponse", "codeExecutionResult"}
        | _MARKS
    ),
)

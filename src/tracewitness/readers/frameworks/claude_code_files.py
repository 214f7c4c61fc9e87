"""Find the transcripts of sub-agents, which Claude Code keeps in files beside that of their session.

``<session>.jsonl`` has those of its sub-agents in ``<session>/subagents``, or, as older versions wrote them, beside
itself; there the first line says whose they are. What a file beside a transcript tells is read with that transcript,
and not a second time as a run of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from tracewitness.errors import ReadError
from tracewitness.readers.documents import MAX_DOCUMENT, Lines, decode_document
from tracewitness.readers.recording import word

__all__ = ["MESSAGES", "SUB_AGENTS", "TOOL_USE_ID", "is_read_with_another", "with_sub_agents"]

#: Keys of a session with its sub-agents: the session's lines, the sub-agents by file, and of each the call that began
#: it, where that is known, and its lines.
MESSAGES: Final = "messages"
SUB_AGENTS: Final = "sub_agents"
TOOL_USE_ID: Final = "toolUseId"

_FOLDER: Final = "subagents"
_FILES: Final = "agent-*.jsonl"
_ABOUT: Final = ".meta.json"
# How much of a file is read to learn whose it is, and of what is told about it.
_HEAD: Final = 1024 * 1024


def with_sub_agents(lines: Any, path: Path) -> Any:
    """Return the lines of a session's transcript with those of its sub-agents; the lines alone where there are none.

    Arguments:
        lines: as they were decoded.
        path: of their file.
    """
    found = _sub_agents_of(path)
    if not found:
        return lines
    left = MAX_DOCUMENT
    sub_agents: dict[str, Any] = {}
    for file in found:
        own, size = _lines_of(file, left)
        left -= size
        sub_agents[file.name] = {TOOL_USE_ID: _began(file), MESSAGES: own}
    return {MESSAGES: lines, SUB_AGENTS: sub_agents}


def is_read_with_another(path: Path, others: Collection[Path]) -> bool:
    """Whether a file of a folder is one of a sub-agent that is read with its session's, or tells about one.

    Arguments:
        others: all files of the folder that are read.
    """
    if path.name.endswith(_ABOUT) and path.match(f"agent-*{_ABOUT}"):
        return path.with_name(path.name.removesuffix(_ABOUT) + ".jsonl").is_file()
    session = _session_of(path) if path.match(_FILES) else None
    return session is not None and session in others


def _sub_agents_of(path: Path) -> list[Path]:
    """Return the transcripts of a session's sub-agents, sorted."""
    if path.suffix != ".jsonl" or path.match(_FILES):
        return []
    try:
        inside = sorted((path.with_suffix("") / _FOLDER).rglob(_FILES))
        beside = [file for file, session in _sessions_in(path.parent, _changed(path.parent)) if session == path.stem]
    except OSError:
        return []
    return [*inside, *beside]


def _session_of(path: Path) -> Path | None:
    """Return the transcript of the session that a sub-agent's belongs to; None where it is not known."""
    for folder in path.parents:
        if folder.name == _FOLDER:
            return folder.parent.with_name(f"{folder.parent.name}.jsonl")
    session = dict(_sessions_in(path.parent, _changed(path.parent))).get(path)
    return path.with_name(f"{session}.jsonl") if session else None


def _changed(folder: Path) -> int:
    return folder.stat().st_mtime_ns


@functools.lru_cache(maxsize=16)
def _sessions_in(folder: Path, _changed: int) -> tuple[tuple[Path, str], ...]:
    """Return the transcripts of sub-agents that stand beside those of sessions, with the names of their sessions."""
    return tuple((file, _session_named_in(file)) for file in sorted(folder.glob(_FILES)))


def _session_named_in(file: Path) -> str:
    """Return the session that the first lines of a sub-agent's transcript name; an empty text where they don't."""
    try:
        with file.open("rb") as opened:
            head = list(islice(opened, 8))
        lines = [decode_document(line[:_HEAD]) for line in head if line.strip()]
    except (OSError, ReadError):
        return ""
    return next((word(line, "sessionId") for line in lines if isinstance(line, Mapping) and "sessionId" in line), "")


def _lines_of(file: Path, limit: int) -> tuple[list[Any], int]:
    """Return the lines of a file, and its size. One that can't be read stands there as what is wrong with it."""
    try:
        with file.open("rb") as opened:
            data = opened.read(limit + 1)
        if len(data) > limit:
            return ["it is too long to be read with its session"], 0
        decoded = decode_document(data)
    except OSError as error:
        return [f"it can't be read: {error.strerror or error}"], 0
    except ReadError as error:
        return [f"it can't be read: {error.problem}"], 0
    return list(decoded if isinstance(decoded, Lines) else [decoded]), len(data)


def _began(file: Path) -> str | None:
    """Return the id of the call that began a sub-agent, from the file that tells about its own."""
    try:
        with file.with_name(file.name.removesuffix(".jsonl") + _ABOUT).open("rb") as opened:
            about = decode_document(opened.read(_HEAD))
    except (OSError, ReadError):
        return None
    return (word(about, TOOL_USE_ID) or None) if isinstance(about, Mapping) else None

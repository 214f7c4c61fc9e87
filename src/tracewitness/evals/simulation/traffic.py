"""Record what models were asked and what they answered, and replay it without a network, a key or a provider's package.

Each request is a file of its own in the folder of its run, named by what it is for, what was asked, and how often the
same was asked before in that run. So it doesn't matter in which order runs that go on at the same time ask.

::

    DIR/order-a-phone-1f0c2a9b/run-0001/user-turn-1-6a1f0c9d2b3e4f50-1.json
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from tracewitness.display import plural, printable, show
from tracewitness.errors import InfrastructureError, UsageError
from tracewitness.evals.simulation.conversation import Usage

__all__ = ["Exchange", "Part", "Request", "Response", "RunTraffic", "Slot", "Traffic"]

_VERSION: Final = 1
_FILES: Final = "*-*.json"
#: What can hold a key, or says only how long to wait and how often to try.
_NOT_RECORDED: Final = frozenset({"extra_headers", "first_event_timeout", "max_retries", "request_timeout", "timeout"})


class Request(Struct, frozen=True):
    """What a model is asked.

    Attributes:
        purpose: what for, for example ``user turn 3``; it tells requests apart, and the model doesn't see it.
        model: the model's name, as the user gave it.
        instructions, prompt: the two texts that the model gets.
        output_schema: the JSON Schema of the answer.
        settings: what else bears on the answer, such as a temperature.
    """

    purpose: str
    model: str
    instructions: str
    prompt: str
    output_schema: Mapping[str, Any]
    settings: Mapping[str, Any] = {}

    def digest(self) -> str:
        """Return a short name for what is asked; equal requests have equal ones."""
        return sha256(_canonical(self.to_file()).encode()).hexdigest()[:16]

    def to_file(self) -> dict[str, Any]:
        """Return the request as it is written down: no key, no header, no time, no random id."""
        settings = {name: value for name, value in self.settings.items() if name not in _NOT_RECORDED}
        return structs.asdict(self) | {"settings": settings, "prompt": _opened(self.prompt)}


class Part(Struct, frozen=True, omit_defaults=True):
    """A piece of a model's response: a text, or a call of the tool that stands for the answer."""

    text: str | UnsetType = UNSET
    call: str | UnsetType = UNSET
    args: Any = UNSET


class Response(Struct, frozen=True, omit_defaults=True):
    """One response of a model; thoughts and times are left out."""

    parts: tuple[Part, ...]
    finish_reason: str | None = None


class Exchange(Struct, frozen=True):
    """All that came of one request: more than one response where the first did not fit and was asked for again."""

    responses: tuple[Response, ...]
    usage: Usage


class Slot(Struct, frozen=True):
    """Where a request's file is.

    Attributes:
        path: the file.
        number: the how-manieth of the same requests it is, from 1.
    """

    path: Path
    number: int


class Traffic:
    """A folder of model traffic, to record into or to replay from. Make one with `record` or `replay`.

    Attributes:
        directory: the folder.
        replays: whether answers come from it.
    """

    def __init__(self, directory: Path, *, replays: bool) -> None:
        self.directory = directory
        self.replays = replays

    @classmethod
    def record(cls, directory: str | Path) -> Traffic:
        """Record into a folder, which is made where there is none.

        Raises:
            UsageError: it can't be made or written to.
        """
        path = Path(directory)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{path}: no folder to record into: {error.strerror}; name another one") from error
        if not os.access(path, os.W_OK):
            raise UsageError(f"{path}: nothing can be written into this folder; name another one")
        return cls(path.absolute(), replays=False)

    @classmethod
    def replay(cls, directory: str | Path) -> Traffic:
        """Replay from a folder that was recorded into.

        Raises:
            UsageError: nothing was recorded there.
        """
        path = Path(directory)
        if next(path.glob(f"*/run-*/{_FILES}"), None) is None:
            raise UsageError(f"{path}: no model traffic was recorded here; record it first with --record {path}")
        return cls(path.absolute(), replays=True)

    def of_run(self, case: str, run: int) -> RunTraffic:
        """Begin with the traffic of a run: all counts start again.

        When recording, what an earlier attempt at the same run left is removed: the run's last attempt is what its
        result was made of, and what a replay is to give.

        Arguments:
            case: the case's name.
            run: its number.
        """
        folder = self.directory / _slug(case) / f"run-{run:04}"
        if not self.replays:
            for path in folder.glob(_FILES):
                path.unlink(missing_ok=True)
        return RunTraffic(folder, f"run {run} of {show(case)}", replays=self.replays)


class RunTraffic:
    """The traffic of one run.

    Attributes:
        replays: whether answers come from it.
    """

    def __init__(self, folder: Path, label: str, *, replays: bool) -> None:
        self._folder = folder
        self._label = label
        self._counts: Counter[str] = Counter()
        self.replays = replays

    @classmethod
    def outside_runs(cls, traffic: Traffic) -> RunTraffic:
        """Make the traffic of requests that belong to no run."""
        return cls(traffic.directory / "no-case" / "run-0000", "no run", replays=traffic.replays)

    def slot(self, request: Request) -> Slot:
        """Return where a request belongs. Call it when the request begins, since it counts."""
        stem = f"{_slug(request.purpose, hashed=False)}-{request.digest()}"
        self._counts[stem] += 1
        number = self._counts[stem]
        return Slot(self._folder / f"{stem}-{number}.json", number)

    def save(self, slot: Slot, request: Request, exchange: Exchange) -> None:
        """Write what came of a request: wholly, or not at all.

        Raises:
            InfrastructureError: it can't be written.
        """
        document = {
            "version": _VERSION,
            "request": request.to_file(),
            "responses": msgspec.to_builtins(exchange.responses),
            "usage": msgspec.to_builtins(exchange.usage),
        }
        text = json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True, default=show)
        try:
            _write_whole(slot.path, text.encode("utf-8", "backslashreplace") + b"\n")
        except OSError as error:
            reason = f"{slot.path}: the model's answer can't be recorded: {error.strerror}"
            raise InfrastructureError(f"{reason}; make room, or record elsewhere") from error

    def load(self, slot: Slot, request: Request) -> Exchange:
        """Return what came of a request when it was recorded.

        Raises:
            InfrastructureError: it was not recorded, or its file is no recording.
        """
        try:
            document = json.loads(slot.path.read_bytes())
            if document.get("version") != _VERSION:
                raise ValueError(f"its version is {show(document.get('version'))}, expected {_VERSION}")
            return msgspec.convert(document, Exchange)
        except FileNotFoundError:
            raise InfrastructureError(self._why_missing(slot, request)) from None
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            reason = f"{slot.path}: no recorded model traffic: {printable(str(error))}"
            raise InfrastructureError(f"{reason}; record it again with --record") from error

    def _why_missing(self, slot: Slot, request: Request) -> str:
        """Say which request is not in the recording, and what comes nearest to it."""
        asked = f"{request.purpose} of {self._label} ({show(request.prompt, 60)})"
        if slot.number > 1:
            times = plural(slot.number - 1, "time")
            return f"{asked} was recorded {times} and is asked for once more; record it again with --record"
        return f"{asked} is not in the recording; {self._nearest(request)}; record it again with --record"

    def _nearest(self, request: Request) -> str:
        """Name the recorded request of the same purpose that has the most in common with one that is not there."""
        asked = request.to_file()
        found: list[tuple[int, int, str, str]] = []
        for path in sorted(self._folder.glob(f"{_slug(request.purpose, hashed=False)}-*.json")):
            recorded = _recorded_request(path)
            differing = [name for name in asked if _canonical(recorded.get(name)) != _canonical(asked[name])]
            place = _first_difference(request.prompt, recorded.get("prompt")) if "prompt" in differing else 0
            found.append((-len(differing), place, path.name, " and ".join(differing)))
        if not found:
            return f"nothing is recorded for {request.purpose} in {self._folder}"
        *_, name, fields = max(found)
        return f"the nearest is {name}, which differs in its {fields}"


def _recorded_request(path: Path) -> Mapping[str, Any]:
    """Return the request in a file, or an empty one where the file is none."""
    try:
        request = json.loads(path.read_bytes())["request"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return request if isinstance(request, Mapping) else {}


def _first_difference(prompt: str, recorded: Any) -> int:
    """Return how many characters two prompts have in common at their beginning."""
    pairs = zip(_canonical(_opened(prompt)), _canonical(recorded), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=show)


def _opened(prompt: str) -> Any:
    """Return a prompt that is JSON as what it says, so that it can be read in the file."""
    try:
        document = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    return document if isinstance(document, dict) else prompt


def _slug(name: str, *, hashed: bool = True) -> str:
    """Return a file's name for any name; with the beginning of its hash, since different names can look alike."""
    words = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "unnamed"
    return f"{words}-{sha256(name.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}" if hashed else words


def _write_whole(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)  # noqa: PTH105 - mkstemp gives a text
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

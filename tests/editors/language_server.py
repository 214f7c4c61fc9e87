"""A client of the language server that editors use for YAML, as far as the tests need one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class LanguageServer:
    """A running server, told to take one schema for all eval files.

    Arguments:
        command: how it is started.
        schema: the schema's file.
    """

    def __init__(self, command: list[str], schema: Path) -> None:
        self._command = command
        self._schema = schema
        self._number = 0
        self._published: dict[str, list[Any]] = {}

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        folder = {"uri": self._schema.parent.as_uri(), "name": "project"}
        hover = {"contentFormat": ["markdown", "plaintext"]}
        completion = {"completionItem": {"snippetSupport": False}}
        document = {"hover": hover, "completion": completion, "publishDiagnostics": {}}
        abilities = {"workspace": {"configuration": True}, "textDocument": document}
        self.ask("initialize", processId=None, rootUri=folder["uri"], workspaceFolders=[folder], capabilities=abilities)
        self._tell("initialized")
        self._tell("workspace/didChangeConfiguration", settings=self._settings())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def open(self, path: Path) -> list[Any]:
        """Open a file and return what is wrong with it, as the editor would underline it."""
        self._published.pop(path.as_uri(), None)
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1, "text": path.read_text("utf-8")}
        self._tell("textDocument/didOpen", textDocument=document)
        while path.as_uri() not in self._published:
            self._take(self._read())
        return self._published[path.as_uri()]

    def hover(self, path: Path, line: int, character: int) -> str:
        """Return what is shown where the pointer rests; line and character begin at 0."""
        found = self._at("textDocument/hover", path, line, character)
        return "" if found is None else str(found["contents"]["value"])

    def complete(self, path: Path, line: int, character: int) -> list[str]:
        """Return what is offered there."""
        return [item["label"] for item in self._at("textDocument/completion", path, line, character)["items"]]

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request and return the answer's result."""
        self._number += 1
        number = self._number
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._read()
            if message.get("id") == number and "method" not in message:
                assert "error" not in message, message["error"]
                return message["result"]
            self._take(message)

    def _at(self, method: str, path: Path, line: int, character: int) -> Any:
        place = {"line": line, "character": character}
        return self.ask(method, textDocument={"uri": path.as_uri()}, position=place)

    def _settings(self) -> dict[str, Any]:
        schemas = {self._schema.as_uri(): "*.evals.yaml"}
        return {
            "yaml": {
                "schemas": schemas,
                "validate": True,
                "hover": True,
                "completion": True,
                "schemaStore": {"enable": False},
            }
        }

    def _take(self, message: dict[str, Any]) -> None:
        """Answer what the server asks, and keep what it publishes."""
        if message.get("method") == "textDocument/publishDiagnostics":
            self._published[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "id" in message and "method" in message:
            self._send({"id": message["id"], "result": self._answer(message)})

    def _answer(self, message: dict[str, Any]) -> Any:
        if message["method"] != "workspace/configuration":
            return None
        return [self._settings().get(item.get("section"), {}) for item in message["params"]["items"]]

    def _tell(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server has ended"
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message

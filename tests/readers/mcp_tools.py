"""A server of the tools of `framework_support` for programs that start theirs: JSON-RPC over standard input and output.

Run as a program with the path of a file, to which it adds a line of JSON for each call.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from framework_support import Tools

_TYPES = {"query": "string", "limit": "integer", "angle": "number", "city": "string"}
_PARAMETERS = {"search": ["query", "limit"], "steer": ["angle"], "weather": ["city"]}


def _listed(name: str) -> dict[str, Any]:
    properties = {parameter: {"type": _TYPES[parameter]} for parameter in _PARAMETERS[name]}
    schema = {"type": "object", "properties": properties, "required": _PARAMETERS[name]}
    # Programs ask before they call what may change something.
    return {"name": name, "description": name, "inputSchema": schema, "annotations": {"readOnlyHint": True}}


def _call(tools: Tools, notes: Path, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        result = getattr(tools, name)(**arguments)
        text, is_error = result if isinstance(result, str) else json.dumps(result), False
    except RuntimeError as error:
        text, is_error = str(error), True
    with notes.open("a", encoding="utf-8") as file:
        file.write(json.dumps(tools.made[-1]._asdict()) + "\n")
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _answer(tools: Tools, notes: Path, method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        version = params.get("protocolVersion")
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    if method == "tools/list":
        return {"tools": [_listed(name) for name in _PARAMETERS]}
    return _call(tools, notes, params["name"], params["arguments"]) if method == "tools/call" else {}


def main() -> None:
    """Answer requests until there are no more."""
    tools, notes = Tools(), Path(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = _answer(tools, notes, request["method"], request.get("params") or {})
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

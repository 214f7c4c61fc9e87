"""The page itself: its skeleton, its style and its script, from the small files in ``static``."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

__all__ = ["page_parts"]

_STYLES = ("base", "summary", "list", "run", "timeline", "values", "print")
#: In this order: what stands at the top level of a file may use the files before it.
_SCRIPTS = (
    "text",
    "dom",
    "data",
    "address",
    "choose",
    "search",
    "summary",
    "charts",
    "list",
    "matrix",
    "difference",
    "values",
    "checks",
    "clock",
    "lanes",
    "timeline",
    "find",
    "run",
    "theme",
    "main",
)
_POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


@cache
def page_parts() -> tuple[str, str, str]:
    """Return the page up to its data, its script element, and its end.

    The policy allows this style and this script by their hashes and nothing else: no other script, no attribute with
    code, no request.
    """
    style = "\n".join(_part(f"{name}.css") for name in _STYLES)
    script = '"use strict";\n{\n' + "\n".join(_part(f"{name}.js") for name in _SCRIPTS) + "\n}\n"
    policy = _POLICY.format(script=_hash(script), style=_hash(style))
    before, after = _part("page.html").split("<!-- data -->")
    head = before.replace("<!-- policy -->", policy).replace("/* style */", style)
    return head, f"<script>{script}</script>\n", after


def _part(name: str) -> str:
    return resources.files(__package__).joinpath("static", name).read_text("utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""A comparison as Markdown, as a small page, and as JSON."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from typing import Final

from tracewitness.display import printable
from tracewitness.reports.json_file import json_line
from tracewitness.reports.markdown import MOST_BYTES, code

from .model import Comparison
from .telling import TITLES, Line, Told, heading, notes, told_cases, totals

__all__ = ["as_html", "as_json", "as_markdown"]

_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .2rem; }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
ul { margin: .2rem 0; padding-left: 1.4rem; }
.kind { display: inline-block; min-width: 7.5em; font-weight: 600; }
.newly_broken, .vanished, .undecided { color: light-dark(#b3261e, #ff8a80); }
.newly_held, .new { color: light-dark(#1b6e2b, #7fd88f); }
.flaky { color: light-dark(#7a5200, #f2c14e); }
"""


def as_json(comparison: Comparison) -> str:
    """Return a comparison as JSON (`tracewitness schema --of comparison`)."""
    return json_line(comparison) + "\n"


def as_markdown(comparison: Comparison) -> str:
    """Return a comparison as GitHub Flavored Markdown of at most 1 MiB."""
    mark = "✅" if comparison.exit_status == 0 else "❌"
    lines = [f"## tracewitness: {mark} {heading(comparison)}", "", totals(comparison), ""]
    lines += [line for note in notes(comparison) for line in (code(note), "")]
    room = MOST_BYTES - sum(len(line.encode()) + 1 for line in lines) - 100
    cases = list(told_cases(comparison))
    for number, case in enumerate(cases):
        block = "\n".join(_markdown_of(case))
        room -= len(block.encode("utf-8", "backslashreplace")) + 1
        if room < 0:
            lines.append(f"… and {len(cases) - number} more cases")
            break
        lines.append(block)
    return "\n".join(lines) + "\n"


def _markdown_of(case: Told) -> Iterator[str]:
    yield f"- **{TITLES[case.kind]}** {code(case.case.title)} {case.case.text}"
    for kind, check in case.checks:
        yield f"  - **{TITLES[kind]}** {code(check.title)} {check.text}"
        for line in check.more:
            yield f"    - {code(line)}"
    if case.calls is not None:
        yield f"  - calls, {case.calls.text}"
        for line in case.calls.more:
            yield f"    - {code(line)}"


def as_html(comparison: Comparison) -> str:
    """Return a comparison as a page that opens from disk. It has no script, and its policy allows none."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    cases = "\n".join("\n".join(_html_of(case)) for case in told_cases(comparison))
    between = f"{_named(comparison.base.suite)} {comparison.base.created_at} → {comparison.new.created_at}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tracewitness: comparison</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{escape(heading(comparison).capitalize())}</h1>
<p>{escape(printable(between))}</p>
<p>{escape(totals(comparison))}</p>
{"".join(f"<p>{escape(note)}</p>" for note in notes(comparison))}
{cases}
</main>
</body>
</html>
"""


def _named(suite: str) -> str:
    return f"{suite}," if suite else ""


def _html_of(case: Told) -> Iterator[str]:
    yield f"<h2>{_kind(case.kind)} <code>{escape(case.case.title)}</code></h2>"
    yield f"<p>{escape(case.case.text)}</p>"
    yield "<ul>"
    for kind, check in case.checks:
        yield f"<li>{_kind(kind)} <code>{escape(check.title)}</code> {escape(check.text)}{_list(check)}</li>"
    if case.calls is not None:
        yield f"<li><strong>calls</strong>, {escape(case.calls.text)}{_list(case.calls)}</li>"
    yield "</ul>"


def _kind(kind: str) -> str:
    return f'<span class="kind {kind}">{escape(TITLES[kind])}</span>'  # type: ignore[index]


def _list(line: Line) -> str:
    items = "".join(f"<li><code>{escape(each)}</code></li>" for each in line.more)
    return f"<ul>{items}</ul>" if items else ""

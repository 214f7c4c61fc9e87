"""Everything in a report is untrusted: what stands in any field is shown as text, and nothing is run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from page_support import OpenedPage, opened
from report_documents import case_run, document_of, verdict

from tracewitness.reports.html import write_html

PAYLOADS = {
    "script": "<script>window.hacked = 1</script>",
    "closing script": "</script><script>window.hacked = 1</script>",
    "closing script, odd": "</ScRiPt\t><script>window.hacked=1</script >",
    "comment": "<!--<script>",
    "comment end": "--><script>window.hacked = 1</script><!--",
    "cdata": "]]><script>window.hacked = 1</script>",
    "image": '<img src=x onerror="window.hacked=1">',
    "image from afar": '<img src="https://example.invalid/pixel.png">',
    "svg": "<svg/onload=window.hacked=1>",
    "svg script": "<svg><script href=data:,window.hacked=1 /></svg>",
    "math": '<math><mi//xlink:href="data:x,<script>window.hacked=1</script>">',
    "body": "<body onload=window.hacked=1>",
    "details": "<details open ontoggle=window.hacked=1>x",
    "input": "<input autofocus onfocus=window.hacked=1>",
    "video": "<video><source onerror=window.hacked=1></video>",
    "iframe": '<iframe srcdoc="<script>top.hacked=1</script>"></iframe>',
    "object": '<object data="javascript:window.hacked=1"></object>',
    "embed": '<embed src="https://example.invalid/">',
    "base": '<base href="https://example.invalid/">',
    "meta": '<meta http-equiv=refresh content="0;url=https://example.invalid/">',
    "link": "<link rel=stylesheet href=https://example.invalid/x.css>",
    "style": "</style><style>*{background:url(https://example.invalid/)}</style>",
    "style attribute": '" style="background:url(https://example.invalid/)" x="',
    "attribute": '" onmouseover="window.hacked=1" x="',
    "attribute, single": "' onfocus='window.hacked=1' autofocus tabindex=1 x='",
    "javascript url": "javascript:window.hacked=1//",
    "javascript url, split": "java\nscript:window.hacked=1",
    "data url": "data:text/html,<script>window.hacked=1</script>",
    "anchor": '<a href="javascript:window.hacked=1">x</a>',
    "form": "<form action=https://example.invalid/><button>x</button></form>",
    "template element": "<template><script>window.hacked=1</script></template>",
    "noscript": '<noscript><p title="</noscript><img src=x onerror=window.hacked=1>">',
    "curly template": "{{constructor.constructor('window.hacked=1')()}}",
    "dollar template": "${window.hacked=1}",
    "erb template": "<%= system('id') %>",
    "python template": "{0.__class__.__init__.__globals__} %(x)s $report <!-- data -->",
    "entity": "&lt;script&gt;window.hacked=1&lt;/script&gt;",
    "prototype": "__proto__",
    "constructor": "constructor",
    "json": '"}],"hacked":[{"',
    "address": "&status=failed#run=1&q=%00",
    "percent": "%3Cscript%3Ewindow.hacked%3D1%3C/script%3E %",
    "formula": '=HYPERLINK("https://example.invalid/","x")',
    "ansi": "\x1b[31mred\x1b]8;;https://example.invalid/\x07link",
    "nul": "a\0b",
    "nul first": "\0NaN",
    "two nuls first": "\0\0123",
    "bidi": "\u202eevil\u2066x\u2069\u202c",
    "line separators": "a\u2028b\u2029c",
    "tags": "x\U000e0041\U000e0042",
    "lone surrogate": "\ud800x\udfff",
    "backslashes": "\\u003cscript\\u003e\\",
    "no-break space": "a\u00a0b\u3000c",
    "carriage returns": "a\rb\r\nc",
    "huge": "<b>" * 100_000,
    "many lines": "\n" * 5_000 + "<b>",
    "empty": "",
    "blank": " ",
}


def everywhere(text: str) -> dict[str, Any]:
    """Return a run that has a text in each of its fields."""
    near = {
        "position": 1,
        "tool": text,
        "differences": [
            {"path": text, "expected": text, "actual": text + "!", "reason": text, "text": text},
            {"path": "args.value", "expected": {text: text}, "actual": text, "reason": text, "text": text},
            {"path": f"args[{text!r}]", "expected": text, "reason": "", "text": text},
            {"path": "", "reason": text, "text": text},
        ],
    }
    events: list[Any] = [
        {"user": text, "by": text, "at": text, "metadata": {text: text}},
        {
            "call": text,
            "args": {"value": text, text: {text: [text, {text: text}]}},
            "id": text,
            "by": text,
            "at": text,
            "until": text,
            "metadata": {text: text},
        },
        {"call": text, "raw_args": text, "id": "2"},
        {"result": {text: [text]}, "of": text, "id": text, "is_error": True},
        {"result": json.dumps({text: text}), "id": "2"},
        {"raw_result": text},
        {"agent": text, "by": text},
        {"system": text},
        {"transfer": text, "by": text},
        {text: text},
        text,
        {"end": True, "metadata": {text: text}},
    ]
    return case_run(
        text,
        source=text,
        place=text,
        case=text,
        tags=[text],
        error=text,
        error_kind=text,
        traceback=text,
        session_id=text,
        usage={text: 1, "text": text},
        events=events,
        verdicts=[
            verdict(text, "broken", (0, 1, 99), text, label=text, reason=text, tools=[text], file=text, near_miss=near),
            verdict(text, "error", (), text, label=text, reason=text, tools=[text], file=text),
        ],
        steps=[{"goal": text, "success_criteria": text, "status": text, "justification": text}],
        judged=[{"title": text, "expectation": text, "status": text, "justification": text, "votes": [text]}],
        problems=[{"reason": text, "position": 9, "place": text, "hides_call": True}],
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page with one run for each payload, all names of which are payloads as well."""
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    all_at_once = "".join(text for name, text in PAYLOADS.items() if name not in ("huge", "many lines"))
    document = document_of(
        [everywhere(text) for text in PAYLOADS.values()], suite=all_at_once, notices=list(PAYLOADS.values())
    )
    document |= {"created_at": all_at_once, "tracewitness": all_at_once}
    document["summary"] |= {"missing": list(PAYLOADS.values()), "without_case": list(PAYLOADS.values())}
    gone = [case_run(f"gone {text}", verdicts=[verdict(text)]) for text in PAYLOADS.values()]
    better = [case_run(text, verdicts=[verdict(text, label=text)]) for text in PAYLOADS.values()]
    write_html(document, path, earlier=[document_of([*gone, *better], all_at_once, suite=all_at_once)])
    return path


@pytest.fixture(scope="module")
def hostile(browser: Any, report: Path) -> Iterator[OpenedPage]:
    """Return that page, opened; when all is done, nothing else was asked for, and nothing complained."""
    with opened(browser, report) as page:
        yield page.open()


def as_shown(text: str) -> str:
    """Return a text as the page shows it: what would not be seen is escaped as in Python, lines and tabs are kept."""
    return "".join(each if each.isprintable() or each in "\n\t" else repr(each)[1:-1] for each in text)


NO_CODE = """() => {
    const all = [...document.querySelectorAll("*")];
    const attributes = all.flatMap((each) => [...each.attributes]);
    return {
        hacked: window.hacked ?? ({}).hacked ?? null,
        odd: all.filter((each) => /^(img|iframe|object|embed|base|link|video|template|math|form)$/i.test(each.localName)
            && each.id !== "filter").map((each) => each.outerHTML.slice(0, 200)),
        handlers: attributes.filter(({ name }) => name.startsWith("on")).map(({ name }) => name),
        styles: all.filter((each) => each.localName === "style").length,
        scripts: document.scripts.length,
        addresses: [...document.querySelectorAll("[href], [src], [action]")]
            .map((each) => each.getAttribute("href") ?? each.getAttribute("src") ?? each.getAttribute("action"))
            .filter((address) => !address.startsWith("#")),
    };
}"""


def nothing_ran(page: OpenedPage, scripts: int) -> None:
    """Assert that the page has no element, attribute or address but its own."""
    found = page.page.evaluate(NO_CODE)
    assert found == {"hacked": None, "odd": [], "handlers": [], "styles": 1, "scripts": scripts, "addresses": []}


@pytest.fixture(scope="module")
def scripts(report: Path) -> int:
    """Return how many script elements the file has, by a parser that knows nothing of the page."""
    return len(Elements(report.read_text("utf-8")).of("script"))


class Elements(HTMLParser):
    """The elements of a file."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of each element of a kind."""
        return [attributes for name, attributes in self.found if name == tag]


def test_the_file(report: Path) -> None:
    """It has its own elements alone; data stands in elements that are not run; the policy names its script by hash."""
    text = report.read_text("utf-8")
    elements = Elements(text)
    kinds = [each.get("type") for each in elements.of("script")]
    assert kinds.count(None) == 1
    assert set(kinds) == {None, "application/json", "text/plain"}
    assert [
        name for _, attributes in elements.found for name in attributes if name.startswith("on") or name == "style"
    ] == []
    assert re.search(r"\b(?:src|href|action)=\"(?!#\")", text.partition("<script")[0]) is None
    policy = next(
        each["content"] for each in elements.of("meta") if each.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert re.fullmatch(
        r"default-src 'none'; script-src 'sha256-[\w+/]{43}='; style-src 'sha256-[\w+/]{43}='; img-src data:; "
        r"base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        policy,
    )


def test_the_script_makes_no_markup() -> None:
    """Nowhere in it is a text read as markup or code."""
    folder = Path(write_html.__code__.co_filename).parent / "static"
    code = "\n".join(path.read_text("utf-8") for path in folder.glob("*.js"))
    assert len(code) > 10_000
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "DOMParser",
        "eval(",
        "Function(",
        "fetch(",
        "XMLHttp",
        "import(",
        "createContextual",
        'setTimeout("',
        "localStorage.setItem(text",
        "window.open",
    ):
        assert word not in code, word


def test_the_list(hostile: OpenedPage, scripts: int) -> None:
    """All names, notices, choices and changes are texts."""
    for state in ("view=", "view=matrix", "view=matrix&page=2", "page=2"):
        hostile.show(state)
        hostile.page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        nothing_ran(hostile, scripts)
        assert hostile.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    told = hostile.page.inner_text("body")
    for name in ("script", "image", "ansi", "bidi", "nul", "lone surrogate", "curly template", "entity"):
        assert as_shown(PAYLOADS[name]) in told, name


@pytest.mark.parametrize("name", PAYLOADS)
def test_an_opened_run(name: str, hostile: OpenedPage, scripts: int) -> None:
    """Every field is shown as it is, unfolded, pointed at and searched; nothing is run."""
    number = list(PAYLOADS).index(name) + 1
    hostile.show(f"run={number}&n={name}")
    hostile.until(lambda: hostile.page.locator(".step").inner_text().split()[1:2] == [str(number)])
    hostile.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    hostile.page.locator("#check-1 .label").click()
    hostile.page.fill("#find", PAYLOADS[name][:50].replace("\n", " "))
    nothing_ran(hostile, scripts)
    assert hostile.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for place in ("#event-0 .said", "#event-6 .said", "#event-7 .said", "#event-2 .part .v", "#event-5 .v"):
        text = hostile.page.locator(place).first.evaluate("element => element.textContent")
        shown = text.removesuffix(" Show less").removeprefix("“").removesuffix("”").removesuffix(" Show less")
        assert shown == as_shown(PAYLOADS[name]), place


@pytest.mark.parametrize("name", ["script", "address", "percent", "prototype", "json", "bidi", "nul", "ansi"])
def test_filtered_by(name: str, hostile: OpenedPage, scripts: int) -> None:
    """Such names can be chosen and searched for as any other; the address has them escaped."""
    hostile.show(f"n={name}")
    position = list(PAYLOADS).index(name)
    option = (
        "(text) => [...document.querySelector('#choose-tag').options].findIndex((each) => each.dataset.value === text)"
    )
    hostile.page.select_option("#choose-tag", index=hostile.page.evaluate(option, PAYLOADS[name]))
    hostile.until(lambda: hostile.count.startswith("1 of"))
    assert hostile.page.locator(f"#run-{position + 1}").count() == 1
    assert re.fullmatch(r"[\w=&%+.*-]*", hostile.state)
    nothing_ran(hostile, scripts)


def test_keys_that_objects_have(browser: Any, tmp_path: Path) -> None:
    """Keys such as those of a prototype are shown as any other and change nothing."""
    args = {
        "__proto__": {"hacked": 1},
        "constructor": {"prototype": {"hacked": 2}},
        "toString": 3,
        "hasOwnProperty": None,
    }
    run = case_run(
        "__proto__", tags=["constructor"], events=[{"call": "__proto__", "args": args}, {"transfer": "__proto__"}]
    )
    write_html(document_of([run, case_run("toString")]), tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as page:
        page.open("case=__proto__&tag=constructor&tool=__proto__")
        assert page.count == "1 of 2 runs"
        page.show("run=1")
        page.page.wait_for_selector("#event-0")
        keys = page.page.locator("#event-0 .tree").first.locator(":scope > li > .key").all_inner_texts()
        assert keys == list(args)
        assert page.page.evaluate("({}).hacked ?? null") is None


def test_numbers_and_depth(browser: Any, tmp_path: Path) -> None:
    """Numbers that a browser can't hold keep their digits; what is nested very deep is cut, and says so."""
    deep: Any = "the bottom"
    for _ in range(400):
        deep = [deep]
    args = {
        "big": 10**400,
        "odd": 2**53 + 1,
        "small": -(2**63),
        "nan": float("nan"),
        "inf": float("-inf"),
        "deep": deep,
        "float": 1e300,
        "text": "\0" + "1" * 20,
    }
    write_html(document_of([case_run("a", events=[{"call": "t", "args": args}])]), tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as page:
        page.open("run=1")
        told = page.page.inner_text("#event-0")
        for text in (
            str(10**400),
            "9007199254740993",
            str(-(2**63)),
            "nan: NaN",
            "inf: -Infinity",
            "1e+300",
            "“\\x00" + "1" * 20,
        ):
            assert text in told, text
        page.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert "nested deeper than 200 levels" in page.page.inner_text("#event-0")

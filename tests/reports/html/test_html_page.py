"""The report page in a real browser, as people use it: filter, open, follow evidence, go back, print."""

from __future__ import annotations

import unicodedata
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from page_support import OpenedPage, opened
from report_documents import case_run, document_of, order_run, verdict

from tracewitness.reports.html import write_html


def test_the_top(page: OpenedPage) -> None:
    """It has the rate of what was decided, the counts, what changed, and both charts with their tables."""
    page.open()
    assert "43 of 59 runs passed" in page.page.inner_text("#pass")
    assert "72.9 %" in page.page.inner_text("#pass")
    changes = page.page.inner_text("#changes")
    assert "order-in-stock 8/10 → 5/10" in changes
    assert "Vanished cases (1)\ngift-card" in changes
    assert "Pass rates, the oldest first: 84 %, 90 %, 72.9 %" in page.page.get_attribute("#history svg", "aria-label")
    page.page.click("#history summary")
    assert "this report 72.9 % 43 of 59" in " ".join(page.page.inner_text("#history table").split())
    tools = page.page.inner_text("#tools tbody tr:nth-child(2)")
    assert tools.split() == ["quote_shipping", "20", "10", "0", "10"]
    assert "2 checks have no name" in page.page.inner_text("#notices")


@pytest.mark.parametrize(
    ("state", "count"),
    [
        ("", "61 runs, 1 to 50 shown"),
        ("status=passed", "43 of 61 runs"),
        ("status=failed", "15 of 61 runs"),
        ("status=broken", "16 of 61 runs"),
        ("status=held", "44 of 61 runs"),
        ("status=infrastructure", "1 of 61 runs"),
        ("tag=P0", "10 of 61 runs"),
        ("operator=claim", "10 of 61 runs"),
        ("broken=claim", "3 of 61 runs"),
        ("tool=create_order", "10 of 61 runs"),
        ("tool=broken_args", "1 of 61 runs"),
        ("case=refund", "10 of 61 runs"),
        ("case=refund&status=failed", "0 of 61 runs"),
        ("tag=P0&status=failed", "5 of 61 runs"),
        ("q=ITEM-42", "10 of 61 runs"),
        ("q=item-42&broken=claim", "3 of 61 runs"),
        ("q=weights_g", "10 of 61 runs"),
        ("q=9007199254740993", "10 of 61 runs"),
        ("q=503 three", "1 of 61 runs"),
        ("q=注文", "10 of 61 runs"),
        ("q=ring twice, the", "7 of 61 runs"),
        ("q=justification", "0 of 61 runs"),
        ("q=kinds", "0 of 61 runs"),
        ("q=\\", "0 of 61 runs"),
        ('q="city', "1 of 61 runs"),
        ("tag=nothing has this", "0 of 61 runs"),
        ("page=2", "61 runs, 51 to 61 shown"),
        ("page=99", "61 runs, 51 to 61 shown"),
        ("page=x&run=0&view=no&sort=no&nonsense=1", "61 runs, 1 to 50 shown"),
        ("run=62", "61 runs, 1 to 50 shown"),
        ("view=matrix&tag=P1", "50 of 61 runs"),
    ],
)
def test_filters_in_the_address(state: str, count: str, same_page: OpenedPage) -> None:
    """An address shows what it says, and what makes no sense in it is left out."""
    same_page.show(f"{state}&")
    same_page.until(lambda: "searched" not in same_page.count)
    assert same_page.count.startswith(count)


def test_filters_by_hand(page: OpenedPage) -> None:
    """What is chosen goes into the address; the way back takes it away again, step by step."""
    page.open()
    page.page.select_option("#choose-status", label="failed (15)")
    page.until(lambda: page.count.startswith("15 of"))
    assert page.state == "status=failed"
    page.page.select_option("#choose-check", label="claim (3)")
    page.until(lambda: page.count.startswith("3 of"))
    assert page.state == "status=failed&broken=claim"
    page.page.select_option("#choose-sort", label="longest first")
    page.until(lambda: page.listed[0] == "order-in-stock, run 8")
    page.page.click("#chosen button:has-text('broken check')")
    page.until(lambda: page.count.startswith("15 of"))
    for state, count in [
        ("broken=claim", "3 of"),
        ("broken=claim", "3 of"),
        ("status=failed", "15 of"),
        ("", "61 runs"),
    ]:
        page.page.go_back()
        page.until(lambda count=count: page.count.startswith(count))
        assert state in page.state
    page.page.go_forward()
    page.until(lambda: page.count.startswith("15 of"))
    assert page.page.locator("#choose-status option:checked").inner_text() == "failed (15)"


def test_searching(page: OpenedPage) -> None:
    """Free text finds what stands in any recording, and is one entry of the history, however long it is typed."""
    page.open()
    page.page.locator("#q").press_sequentially("zürich", delay=60)
    page.until(lambda: page.count == "10 of 61 runs")
    page.until(lambda: page.state == "q=z%C3%BCrich")
    page.page.click("#run-3")
    page.page.wait_for_selector("#opened-title")
    assert page.page.input_value("#find") == "zürich"
    assert page.page.locator(".event.hit").count() == 5
    page.page.go_back()
    page.until(lambda: page.count == "10 of 61 runs")
    page.page.go_back()
    page.until(lambda: page.count.startswith("61 runs"))
    assert page.page.input_value("#q") == ""


def test_matrix(page: OpenedPage) -> None:
    """Each case has its runs as links that say in words what the colour says."""
    page.open("view=matrix")
    line = page.page.locator(".matrix tbody tr").first
    assert line.locator("th").inner_text() == "order-in-stock"
    assert "5/10" in line.inner_text()
    assert "flaky" in line.inner_text()
    cells = line.locator(".cell")
    assert cells.nth(1).get_attribute("aria-label") == "order-in-stock, run 2: failed, 5 of 7 checks held"
    cells.nth(1).click()
    page.page.wait_for_selector("#opened-title")
    assert page.page.inner_text("#opened-title") == "order-in-stock, run 2"
    assert page.state == "view=matrix&run=2"
    page.page.go_back()
    page.page.wait_for_selector(".matrix")


def test_an_opened_run(page: OpenedPage) -> None:
    """It has steps, judged expectations and tool checks beside each other, and the timeline."""
    page.open("run=3")
    told = page.page.inner_text("#opened")
    assert "Order two of ITEM-42 to Zürich." in told
    assert "2 of 2 met" in told
    assert "6 of 7 held" in told
    assert "12,345 input tokens" in told
    assert "5 calls over 9.60 s, up to 3 at once" in told
    tops = [page.page.locator(name).bounding_box() for name in ("#steps-title", "#checks-title", "#trace-title")]
    assert max(top["y"] for top in tops) - min(top["y"] for top in tops) < 20
    assert tops[0]["x"] < tops[1]["x"] < tops[2]["x"]
    assert page.page.locator(".siblings .cell").count() == 10
    assert page.page.locator(".siblings [aria-current]").get_attribute("aria-label").startswith("order-in-stock, run 3")
    assert page.page.title() == "✗ order-in-stock, run 3 \N{EN DASH} orders.evals.yaml"


def test_calls_at_once(page: OpenedPage) -> None:
    """Parallel calls stand beside each other, each with what it returned, and bars show to scale how long they took."""
    page.open("run=1")
    boxes = [page.page.locator(f"#event-{position}").bounding_box() for position in (3, 4, 5)]
    assert len({box["y"] for box in boxes}) == 1
    assert boxes[0]["x"] < boxes[1]["x"] < boxes[2]["x"]
    for call, result in ((3, 6), (4, 7), (5, 8)):
        assert page.page.locator(f"#event-{call} #event-{result}").count() == 1
    # The second attempt is not at once with the first.
    assert page.page.locator(".parallel #event-9").count() == 0
    widths = [page.page.locator(f"#event-{call} > .span rect:last-child").get_attribute("width") for call in (3, 4, 5)]
    assert [float(width.rstrip("%")) for width in widths] == pytest.approx(
        [100 * each / 9.6 for each in (1.4, 0.4, 3.0)]
    )


def test_lanes(page: OpenedPage) -> None:
    """The user and each agent have a lane; a transfer leads from one to the other."""
    page.open("run=1")
    assert page.page.locator(".lanes li").all_inner_texts() == [" user", " front desk", " order agent"]
    transfer = page.page.locator("li.block:has(> #event-13)")
    assert transfer.locator(".rail circle.lane-1").count() == 1
    assert transfer.locator(".rail circle.lane-2").count() == 1
    assert (
        page.page.locator("#event-14 > header")
        .inner_text()
        .replace("\n", " ")
        .startswith("create_order by order agent")
    )


@pytest.mark.parametrize("how", ["hover", "focus", "click"])
def test_pointing_at_a_check(how: str, page: OpenedPage) -> None:
    """Its evidence lights up and comes into view, whichever way it is pointed at."""
    page.open("run=3")
    assert not in_view(page, "#event-14")
    getattr(page.page.locator("#check-1 .label"), how)()
    assert page.page.locator(".event.lit").evaluate_all("all => all.map(each => each.id)") == ["event-14"]
    assert page.page.locator("#event-14.broken").count() == 1
    assert in_view(page, "#event-14")
    page.page.locator("#suite").hover()
    page.page.locator("#theme").focus()
    assert page.page.locator(".event.lit").count() == (1 if how == "click" else 0)
    assert page.page.get_attribute("#check-1 .label", "aria-pressed") == str(how == "click").lower()


def in_view(page: OpenedPage, selector: str) -> bool:
    """Whether an element is within what is seen of the timeline."""
    found = """element => {
        const [inner, outer] = [element, document.getElementById("trace")].map((each) => each.getBoundingClientRect());
        return inner.top >= outer.top && inner.top < Math.min(outer.bottom, innerHeight);
    }"""
    return bool(page.page.locator(selector).evaluate(found))


def test_from_an_event_to_its_checks(page: OpenedPage) -> None:
    """An event says which checks are about it, and leads to them."""
    page.open("run=3")
    cites = page.page.locator("#event-14 > header .cite")
    assert [each.get_attribute("aria-label") for each in cites.all()] == [
        "Check 1, broken",
        "Check 2, held",
        "Check 5, held",
    ]
    cites.nth(1).click()
    assert page.page.locator("#check-2.lit").count() == 1
    assert page.page.locator(".event.lit").evaluate_all("all => all.map(each => each.id)") == ["event-14", "event-16"]
    page.page.click("#check-2 .links button:has-text('#16')")
    assert page.page.evaluate("document.activeElement.id") == "event-16"


def test_tapping_on_a_small_screen(browser: Any, demo: Path) -> None:
    """There, a tap on a check goes to its evidence."""
    with opened(browser, demo, viewport={"width": 360, "height": 740}, has_touch=True) as page:
        page.open("run=3")
        page.page.tap("#check-1 .label")
        page.until(lambda: in_view(page, "#event-14"))
        assert page.page.evaluate("scrollX") == 0
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_nearest_miss(page: OpenedPage) -> None:
    """It is shown with the check and within the arguments: what came and what not, the words that differ marked."""
    page.open("run=3")
    expected = [
        ("quantity", "3", "2"),
        ("city", "“Zurich”", "“Zürich”"),
        ("comment", "“ring twice, the bell is broken”", "“ring once, the bell is loud”"),
        ("gift", "missing", "false"),
    ]
    for place in ("#check-1 .nearest li", "#event-14 .part .miss"):
        lines = page.page.locator(place)
        found = []
        for line in lines.all():
            key = line.locator("code, .key").first.inner_text().rpartition(".")[2]
            came, wanted = (line.locator(each).inner_text() for each in ("del", "ins"))
            found.append((key, came.removeprefix("came").strip(), wanted.removeprefix("expected").strip()))
        assert found == expected
    marks = page.page.locator("#event-14 .miss:has-text('ring') mark").all_inner_texts()
    assert marks == ["twice", "broken", "once", "loud"]


@pytest.mark.parametrize(
    ("path", "args", "shown"),
    [
        ("args['odd key'][1].deep", {"odd key": [0, {"deep": "no"}]}, "deep"),
        ("args['it\\'s'].x", {"it's": {"x": "no"}}, "x"),
        ("args.text.city", {"text": '{"city": "no"}'}, "city"),
        ("args.rows[150]", {"rows": ["no"] * 200}, None),
        ("args.missing.deeper", {"missing": 1}, None),
        ("nothing of the kind", {"a": 1}, None),
        ("args…", {"a": 1}, None),
    ],
)
def test_paths_of_misses(path: str, args: dict[str, Any], shown: str | None, browser: Any, tmp_path: Path) -> None:
    """Where a path leads is unfolded and marked; one that leads nowhere is shown with the check all the same."""
    difference = {"path": path, "expected": "yes", "actual": "no", "reason": "", "text": ""}
    near = {"position": 0, "tool": "t", "differences": [difference]}
    run = case_run(
        "a", events=[{"call": "t", "args": args}], verdicts=[verdict("tool_called", "broken", near_miss=near)]
    )
    write_html(document_of([run]), tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as page:
        page.open("run=1")
        assert path in page.page.inner_text("#check-1 .nearest")
        marked = page.page.locator("#event-0 .miss > .key")
        assert marked.all_inner_texts() == ([shown] if shown else [])


def test_values(page: OpenedPage) -> None:
    """Numbers keep their digits, texts that hold JSON are unfolded, long lists come in parts."""
    page.open("run=1")
    assert "id: 9007199254740993" in page.page.inner_text("#event-7")
    assert page.page.inner_text("#event-10 .inside .tree > li:first-child") == "price: 9.5"
    page.page.click("#event-10 button:has-text('As text')")
    assert '“{"price": 9.5, "currency"' in page.page.inner_text("#event-10")
    page.show("run=61")
    page.until(lambda: "odd-recording" in page.page.inner_text("#opened-title"))
    rows = page.page.locator("#event-5 .tree > li").first
    assert rows.locator(".tree > li").count() == 0  # not made before it is unfolded
    rows.locator("summary").first.click()
    page.until(lambda: rows.locator(":scope > details > .tree > li").count() == 101)
    rows.locator("button:has-text('Show 200 more entries')").click()
    assert rows.locator(":scope > details > .tree > li").count() == 300
    more = page.page.locator("#event-5 button:has-text('Show all 3,600 characters')")
    more.click()
    assert page.page.locator("#event-5 button:has-text('Show less')").get_attribute("aria-expanded") == "true"


def test_what_could_not_be_read(page: OpenedPage) -> None:
    """Problems, events and texts that make no sense are said to be that, and shown as they are."""
    page.open("run=61")
    told = page.page.inner_text("#opened")
    for text in (
        "2 problems in this recording",
        "It may hide a call.",
        "a result that answers no call",
        "Unreadable event",
        "Arguments, not readable",
        "Could not be decoded",
        "No result.",
        "Its result came later, at #7",
        "\\x1b[31mANSI",
        "\\u202eright-to-left",
    ):
        assert text in told, text
    page.page.click(".failure button:has-text('#4')")
    assert page.page.evaluate("document.activeElement.id") == "event-4"


@pytest.mark.parametrize(
    ("number", "texts"),
    [
        (16, ["infrastructure", "Error (http): the endpoint answered 503", "Traceback"]),
        (34, ["inconclusive", "the judge gave no verdict"]),
        (60, ["unreadable", "results.json, row 60: no trace", "There is no recording of what happened."]),
    ],
)
def test_runs_without_a_verdict(number: int, texts: list[str], page: OpenedPage) -> None:
    """What ended them is at the top."""
    told = page.open(f"run={number}").page.inner_text("#opened")
    assert [text for text in texts if text not in told] == []


def test_finding_within_a_run(page: OpenedPage) -> None:
    """Matches are counted, unfolded and stepped through; also keys and what is folded are found."""
    page.open("run=3")
    page.page.fill("#find", "genève")
    page.until(lambda: "1 of 1 event" in page.page.inner_text(".find"))
    assert page.page.locator(".event.hit").evaluate_all("all => all.map(each => each.id)") == ["event-7"]
    assert "Genève" in page.page.inner_text("#event-7")
    page.page.fill("#find", "quantity")
    page.until(lambda: page.page.locator("#event-14.hit").count() == 1)
    assert in_view(page, "#event-14")
    page.page.fill("#find", "zürich")
    page.until(lambda: "1 of 5 events" in page.page.inner_text(".find"))
    page.page.press("#find", "Enter")
    assert "2 of 5 events" in page.page.inner_text(".find")
    page.page.press("#find", "Shift+Enter")
    page.page.press("#find", "Shift+Enter")
    assert "5 of 5 events" in page.page.inner_text(".find")
    assert page.page.evaluate("CSS.highlights.get('found').size") > 4
    page.page.fill("#find", "")
    page.until(lambda: page.page.locator(".event.hit").count() == 0)


def test_the_keyboard_alone(page: OpenedPage) -> None:
    """All of it works without a pointer, and the focus is always somewhere sensible."""
    page.open()
    keys = page.page.keyboard
    keys.press("Tab")
    assert page.focused == "Skip to the report"
    keys.press("Enter")
    assert page.page.evaluate("document.activeElement.id") == "main"
    keys.press("/")
    assert page.page.evaluate("document.activeElement.id") == "q"
    keys.type("item-42")
    page.until(lambda: page.count == "10 of 61 runs")
    tab_to(page, "#run-1")
    keys.press("Tab")
    keys.press("Enter")
    page.page.wait_for_selector("#opened-title")
    assert page.focused == "order-in-stock, run 2"
    keys.press("j")
    page.until(lambda: page.focused == "order-in-stock, run 3")
    tab_to(page, "#check-1 .label")
    assert page.page.locator("#event-14.lit").count() == 1
    keys.press("Enter")
    tab_to(page, "#check-1 .links button")
    keys.press("Enter")
    assert page.page.evaluate("document.activeElement.id") == "event-14"
    keys.press("k")
    page.until(lambda: page.focused == "order-in-stock, run 2")
    keys.press("Escape")
    page.until(lambda: page.page.evaluate("document.activeElement.id") == "run-2")
    assert page.count == "10 of 61 runs"
    assert page.page.evaluate("getComputedStyle(document.activeElement.closest('.run')).outlineStyle") == "solid"


def tab_to(page: OpenedPage, selector: str) -> None:
    """Press the tabulator until an element has the focus."""
    wanted = page.page.locator(selector).first
    for _ in range(80):
        page.page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"{selector} can't be reached")


def test_back_to_the_same_place(page: OpenedPage) -> None:
    """The way back from a run leads to where the list was."""
    page.open()
    page.page.locator("#run-45").scroll_into_view_if_needed()
    before = page.page.evaluate("scrollY")
    assert before > 200
    page.page.click("#run-45")
    page.page.wait_for_selector("#opened-title")
    assert page.page.evaluate("scrollY") == 0
    page.page.go_back()
    page.page.wait_for_selector("#run-45")
    page.until(lambda: page.page.evaluate("scrollY") == before)
    page.page.go_forward()
    page.page.wait_for_selector("#opened-title")


def test_themes(page: OpenedPage) -> None:
    """The page is as the system is, until somebody chooses."""
    back = "getComputedStyle(document.body).backgroundColor"
    page.page.emulate_media(color_scheme="dark")
    page.open()
    dark = page.page.evaluate(back)
    assert page.page.inner_text("#theme").startswith("Light")
    page.page.click("#theme")
    light = page.page.evaluate(back)
    assert light != dark
    page.page.emulate_media(color_scheme="light")
    assert page.page.evaluate(back) == light
    page.page.click("#theme")
    assert page.page.evaluate(back) == dark


@pytest.mark.parametrize(
    ("state", "texts", "hidden"),
    [
        (
            "run=3",
            ["order-in-stock, run 3", "ring", "Quai 7", "request_id", "Thank you for shopping with us! ”".rstrip("”")],
            ["Find in"],
        ),
        ("", ["43 of 59 runs passed", "2026-02-04", "refund, run 7"], ["Order\n"]),
        ("view=matrix", ["order-in-stock", "flaky"], []),
    ],
)
def test_printing(state: str, texts: list[str], hidden: list[str], page: OpenedPage) -> None:
    """What is on the screen comes on paper, unfolded, in light colours, without what can only be pressed."""
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed")
    page.page.emulate_media(color_scheme="dark", media="print")
    page.open(state)
    assert page.page.evaluate("getComputedStyle(document.documentElement).colorScheme").startswith("light")
    document = pypdf.PdfReader(BytesIO(page.page.pdf(format="A4")))
    told = " ".join(each.extract_text() for each in document.pages)
    flat = " ".join(unicodedata.normalize("NFKC", told).split())  # in a PDF there may be ligatures
    assert [text for text in texts if text.strip() not in flat] == []
    assert [text for text in hidden if text in told] == []
    assert 1 <= len(document.pages) <= 8


def test_many_runs_of_one_case(browser: Any, tmp_path: Path) -> None:
    """The matrix shows the first ones and leads to all; an opened run shows those around it."""
    runs = [case_run("only", run, verdicts=[verdict("claim")]) for run in range(1, 601)]
    write_html(document_of(runs), tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as page:
        page.open("view=matrix")
        assert page.page.locator(".cell").count() == 200
        page.page.click("a:has-text('400 more')")
        page.until(lambda: page.count == "600 runs, 1 to 50 shown")
        page.page.click(".pages a:has-text('12')")
        page.until(lambda: page.count == "600 runs, 551 to 600 shown")
        page.page.click("#run-590")
        page.page.wait_for_selector("#opened-title")
        assert page.page.locator(".siblings .cell").count() == 60
        assert page.page.locator(".siblings [aria-current]").count() == 1


def test_no_runs(browser: Any, tmp_path: Path) -> None:
    """An empty report says so, and nothing of it is passed."""
    document = document_of([], notices=["nothing was checked"])
    document["summary"]["missing"] = ["order-in-stock"]
    write_html(document, tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as page:
        page.open()
        assert page.page.inner_text("#pass .rate").split()[0] == "\N{EN DASH}"
        assert "There is no run in this report." in page.page.inner_text("#runs")
        assert "No run of 1 case: order-in-stock" in page.page.inner_text("#notices")
        page.show("view=matrix&run=1")
        assert "There is no run in this report." in page.page.inner_text("#runs")


def test_runs_in_several_pieces(browser: Any, tmp_path: Path) -> None:
    """Each run is found in its piece of the data, also when one after the other is opened quickly."""
    runs = [order_run(run) | {"session_id": f"session {run}"} for run in range(1, 201)]
    write_html(document_of(runs), tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as page:
        page.open()
        assert page.page.locator("script[id^=chunk-]").count() > 2
        for run in (200, 1, 97, 150, 3):
            page.show(f"run={run}")
        page.until(lambda: "session 3" in page.page.inner_text("#opened"))
        for run in (200, 97):
            page.show(f"run={run}")
            page.until(lambda run=run: f"session {run}" in page.page.inner_text("#opened"))


def test_names_that_can_not_be_seen(browser: Any, tmp_path: Path) -> None:
    """A case without a name has links that can be seen and read; who speaks without a name is the agent."""
    events = [{"user": "Hello"}, {"agent": "Hello"}, {"agent": "And I", "by": "clerk"}]
    runs = [case_run("", case="", events=events), case_run(" ", case=" ", outcome="failed")]
    path = tmp_path / "report.html"
    write_html(document_of(runs), path, earlier=[document_of([case_run(" ", case=" ")])])
    with opened(browser, path) as page:
        page.open()
        assert page.listed == ["(no name), run 1"] * 2
        assert page.page.locator("#changes a").all_inner_texts() == ["(no name)"] * 2
        page.open("view=matrix")
        assert page.page.locator(".matrix th a").all_inner_texts() == ["(no name)"] * 2
        page.open("run=1")
        assert page.page.inner_text("#opened-title").startswith("(no name), run 1")
        assert page.page.locator(".message strong").all_inner_texts() == ["User", "Agent", "clerk"]

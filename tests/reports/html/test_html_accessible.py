"""The page in the eyes of axe-core: no serious finding in either theme, on a small and on a large screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from page_support import opened

VIEWS = {
    "list": "",
    "filtered": "status=failed&q=order&tag=P0",
    "nothing left": "tag=nothing",
    "matrix": "view=matrix",
    "run": "run=3",
    "odd run": "run=61",
    "unreadable run": "run=60",
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_accessible(theme: str, width: int, browser: Any, demo: Path) -> None:
    """Each view passes as it is, unfolded, and with evidence lit up."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    # The page's policy would not let axe-core run in it.
    context = {"viewport": {"width": width, "height": 800}, "color_scheme": theme, "bypass_csp": True}
    found = []
    with opened(browser, demo, **context) as page:
        for view, state in VIEWS.items():
            page.open(state)
            if state.startswith("run="):
                page.page.evaluate("document.querySelectorAll('#opened details').forEach((each) => each.unfold())")
                page.page.locator("#check-1 .label, #trace").first.click()
            findings = axe.Axe().run(page.page, options={"resultTypes": ["violations"]}).response["violations"]
            found += [(view, each["id"], each["impact"], each["nodes"][0]["html"][:200]) for each in findings]
    assert found == []


@pytest.mark.parametrize("width", [320, 360, 800, 1100, 1440, 2200])
def test_nothing_sticks_out(width: int, browser: Any, demo: Path) -> None:
    """At no width does the page scroll sideways."""
    with opened(browser, demo, viewport={"width": width, "height": 800}) as page:
        page.open()
        for state in VIEWS.values():
            page.show(f"{state}&")
            page.until(lambda state=state: page.page.locator("#opened").is_visible() == state.startswith("run="))
            assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), state


def test_landmarks_and_headings(browser: Any, demo: Path) -> None:
    """A screen reader finds its way: landmarks with names, headings in order, counts that are told."""
    with opened(browser, demo) as page:
        page.open("run=3")
        tree = page.page.locator("body").aria_snapshot()
        for line in (
            "- banner:",
            "- main:",
            "- contentinfo:",
            '- navigation "Runs":',
            '- heading "order-in-stock, run 3" [level=2]',
            '- region "Tool checks 6 of 7 held":',
            '- region "Trace 20 events":',
            '- heading "Turn 1" [level=4]',
            '- region "Event 14":',
            '- button "broken 1 tool_called create_order"',
        ):
            assert line in tree, f"{line} is not in\n{tree}"
        page.open()
        tree = page.page.locator("body").aria_snapshot()
        for line in (
            '- search "Filter the runs":',
            '- region "Pass rate":',
            "- status: 61 runs",
            '- searchbox "Search"',
            '- combobox "Status"',
        ):
            assert line in tree, f"{line} is not in\n{tree}"

"""The report page of 10,000 runs: how large it is, and how soon something is seen, opened and found."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "reports" / "html"))
from page_support import LAUNCH, OpenedPage, opened
from report_documents import document_of, large_runs

from tracewitness.reports.html import write_html

RUNS = 10_000
MOST_MEGABYTES = 60
MOST_SECONDS_TO_PAINT = 1.0
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, say: Any) -> Path:
    """Return the page of 10,000 runs of some thirty events each."""
    document = document_of(large_runs(RUNS))
    path = tmp_path_factory.mktemp("large") / "report.html"
    start = time.perf_counter()
    write_html(document, path)
    size = path.stat().st_size / 1e6
    say(f"HTML report of {RUNS:,} runs: {size:.1f} MB, written in {time.perf_counter() - start:.1f} s")
    assert size < MOST_MEGABYTES
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a running Chromium; without one, skip."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed; on Debian: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=LAUNCH)
        yield running
        running.close()


def test_opening_a_large_report(browser: Any, large: Path, say: Any) -> None:
    """Something is seen in less than a second; the median of five."""
    paints, ready = [], []
    for _ in range(5):
        with opened(browser, large) as page:
            start = time.perf_counter()
            page.open()
            ready.append(time.perf_counter() - start)
            page.until(lambda page=page: page.page.evaluate("performance.getEntriesByType('paint').length") == 2)
            paints.append(page.page.evaluate(PAINT) / 1000)
    paint = sorted(paints)[2]
    say(f"HTML report: first paint {paint:.2f} s, list ready {sorted(ready)[2]:.2f} s")
    assert paint < MOST_SECONDS_TO_PAINT


def test_using_a_large_report(browser: Any, large: Path, say: Any) -> None:
    """Runs are opened, filtered and searched in the page."""
    with opened(browser, large) as page:
        page.open()
        last = timed(lambda: page.show(f"run={RUNS}").page.wait_for_selector("#event-20"))
        filtered = timed(lambda: listed(page, "status=failed&tag=tag-1", " of 10,000 runs"))
        matrix = timed(lambda: page.show("view=matrix").page.wait_for_selector(".matrix"))
        searched = timed(lambda: listed(page, "q=no such words", "0 of 10,000 runs"))
    say(f"HTML report: a run opened in {last:.2f} s, filtered {filtered:.2f} s, matrix {matrix:.2f} s, ")
    say(f"HTML report: all recordings searched in {searched:.2f} s")


def listed(page: OpenedPage, state: str, count: str) -> None:
    """Show something, and wait until all is counted."""
    page.show(state)
    page.until(lambda: count in page.count and "searched" not in page.count)


def timed(action: Any) -> float:
    """Return how long something takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start

"""A browser for the tests of the page: Debian's Chromium, driven by Playwright, which brings none of its own here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_support import LAUNCH, OpenedPage, opened
from report_documents import demo_document, earlier_documents

from tracewitness.reports.html import write_html


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a running Chromium; without one, skip.

    Playwright keeps an event loop running in the thread, so it is stopped before tests of other modules, which may be
    asynchronous, get their turn.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("TRACEWITNESS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("chromium is not installed; on Debian: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=LAUNCH)
        yield running
        running.close()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of the demo report."""
    path = tmp_path_factory.mktemp("demo") / "report.html"
    write_html(demo_document(), path, earlier=earlier_documents())
    return path


@pytest.fixture(scope="module")
def same_page(browser: Any, demo: Path) -> Iterator[OpenedPage]:
    """Return the demo report in a window that tests share, which only look at it."""
    with opened(browser, demo) as made:
        yield made.open()


@pytest.fixture
def page(browser: Any, demo: Path) -> Iterator[OpenedPage]:
    """Return the demo report in a browser window of its own."""
    with opened(browser, demo) as made:
        yield made

"""A report page, opened from disk in a browser that notes whatever should not happen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["LAUNCH", "OpenedPage", "opened"]

LAUNCH = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_PATIENCE = 20.0
_CHANGE = """state => new Promise((seen) => {
    addEventListener("hashchange", () => seen(), { once: true });
    location.hash = state;
})"""


class OpenedPage:
    """A page, and what it did: requests, messages on the console, errors, dialogs."""

    def __init__(self, page: Any, path: Path) -> None:
        self.page = page
        self.address = path.as_uri()
        self.requests: list[str] = []
        self.troubles: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.troubles.append(message.text))
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Any) -> None:
        self.troubles.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, state: str = "") -> OpenedPage:
        """Open the page from disk, with what its address says, and wait until it is there."""
        self.page.goto(f"{self.address}{f'#{state}' if state else ''}")
        self.page.wait_for_selector("html[data-ready]", state="attached")
        self.page.wait_for_selector(":is(#opened-title, #runs-title):visible")
        return self

    def show(self, state: str) -> OpenedPage:
        """Change the address of the open page to another one, and wait until the page has seen it."""
        self.page.evaluate(_CHANGE, state)
        return self

    def until(self, condition: Callable[[], Any]) -> None:
        """Wait until something holds. (The page's policy forbids what Playwright would do for that.)"""
        end = time.monotonic() + _PATIENCE
        while not condition():
            assert time.monotonic() < end, "it never came to hold"
            self.page.wait_for_timeout(20)

    @property
    def count(self) -> str:
        """What the page says of how many runs are shown."""
        return str(self.page.inner_text("#count"))

    @property
    def state(self) -> str:
        """What stands in the address."""
        return str(self.page.evaluate("location.hash")).lstrip("#")

    @property
    def listed(self) -> list[str]:
        """The titles of the listed runs."""
        return [str(each) for each in self.page.locator(".runs .name > a").all_inner_texts()]

    @property
    def focused(self) -> str:
        """The words of the element that has the focus."""
        return str(self.page.evaluate("document.activeElement.textContent"))


@contextmanager
def opened(browser: Any, path: Path, **context: Any) -> Iterator[OpenedPage]:
    """Yield a page in a window of its own; afterwards, nothing may have been asked for but the file."""
    made = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce", **context})
    try:
        page = OpenedPage(made.new_page(), path)
        yield page
        assert page.troubles == []
        assert {request.partition("#")[0] for request in page.requests} <= {page.address}
    finally:
        made.close()

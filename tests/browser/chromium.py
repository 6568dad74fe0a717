"""A real browser for tests, and the errors and warnings that it reported."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

# Debian's build without a browser's own windows needs a fifth less CPU.
EXECUTABLE = shutil.which("chromium-headless-shell") or "/usr/bin/chromium"
LONGEST_WAIT = 20_000  # milliseconds, on a busy machine: a test that passes doesn't wait so long
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # texts are as wide as in a browser with windows
]


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        expect.set_options(timeout=LONGEST_WAIT)
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """A page, with its console messages, failed requests and requested origins."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    origins: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.page.on("console", self._record_message)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self._note(request.url))
        self.page.on("requestfailed", self._note_failed)

    def _record_message(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def _note_failed(self, request: Request) -> None:
        # Leaving a page cancels its pending requests, such as the one for the icon.
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"failed: {request.url}")

    def _note(self, url: str) -> None:
        parts = urlsplit(url)
        self.origins.add(f"{parts.scheme}://{parts.netloc}")


@contextmanager
def visit(browser: Browser, **options: Any) -> Iterator[Visit]:
    """Open a fresh browser context with one page. Options are Playwright's: viewport, color_scheme, ..."""
    context = browser.new_context(**options)
    try:
        yield Visit(context.new_page())
    finally:
        context.close()

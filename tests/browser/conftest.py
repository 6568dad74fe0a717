"""Tests with a real browser. They are skipped without Playwright, except in CI, where it is required if they
are selected.
"""

import importlib.util
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.journeys.service import Service, start_service

PAGE = b"<!doctype html><html lang=en><title>Shop</title><link rel=icon href=data:,><h1>Thank you</h1>"


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    if importlib.util.find_spec("playwright") is not None:
        return None
    if os.environ.get("CI") and "not e2e" not in config.option.markexpr:
        raise pytest.UsageError("The browser tests need Playwright: uv sync --group e2e")
    return True


# As `make screenshots` visits them. They take the longest of all, so that they begin first.
PAGES = [f"test_pages_of_{name}.py" for name in ("visitors", "money", "business", "staff")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: PAGES.index(item.path.name) if item.path.name in PAGES else len(PAGES))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from tests.browser.chromium import chromium  # noqa: PLC0415  (Playwright may be missing)

    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service of its own with data on every page. Personas may share it, as they do in `make screenshots`."""
    from tests.browser.sample_data import create_sample_data  # noqa: PLC0415  (Playwright may be missing)

    with start_service(tmp_path_factory.mktemp("service")) as service, create_sample_data(service) as data:
        yield data


@pytest.fixture
def owner(service: Service) -> Any:
    """A new owner for each test, because endpoints, keys and second factors must not be shared."""
    from tests.browser.people import open_business  # noqa: PLC0415  (Playwright may be missing)

    return open_business(service)


@pytest.fixture(params=["on a phone", "without JavaScript"])
def seen(request: pytest.FixtureRequest, browser: Any) -> Iterator[Any]:
    """A page on a phone in dark mode, and on a desktop without JavaScript."""
    from tests.browser.chromium import visit  # noqa: PLC0415  (Playwright may be missing)

    options = {
        "on a phone": {
            "viewport": {"width": 390, "height": 844},
            "color_scheme": "dark",
            "is_mobile": True,
            "has_touch": True,
        },
        "without JavaScript": {"java_script_enabled": False},
    }
    with visit(browser, **options[request.param]) as visited:
        yield visited


@dataclass
class Shop:
    """A merchant's web server on its own origin, and the requests that it received."""

    origin: str
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def shop() -> Iterator[Shop]:
    """A shop that serves a page at every path except /moved, which redirects to a third origin."""
    with Serving() as (elsewhere, _), Serving(moved_to=elsewhere) as (origin, requests):
        yield Shop(origin, requests)


class Serving:
    """Serve PAGE on a free port while the block runs."""

    def __init__(self, moved_to: str = "") -> None:
        self.requests: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(moved_to))
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self) -> tuple[str, list[str]]:
        self.thread.start()
        return f"http://127.0.0.1:{self.server.server_port}", self.requests

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def _handler(self, moved_to: str) -> type[BaseHTTPRequestHandler]:
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append(self.path)
                if self.path.startswith("/moved"):
                    self.send_response(302)
                    self.send_header("Location", f"{moved_to}/home")
                    self.end_headers()
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(PAGE)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler

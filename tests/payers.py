"""Payers at payment links, as browsers without JavaScript use the pages: in this process, or over HTTP."""

import re
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import requests
from django.test import Client

from tests import orders
from tests.orders import FRICTIONLESS_CARD

AGENT = "Mozilla/5.0 (Linux; Android 14) Chrome/120"
ONE_TIME_CODE = "123456"


@dataclass
class Payer:
    """A payer with an address of their own. Needs PROXIES_IN_FRONT=1. Without a base URL, calls this process."""

    address: str
    base_url: str = ""
    _browser: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        headers = {"X-Forwarded-For": self.address, "User-Agent": AGENT}
        self._browser = requests.Session() if self.base_url else Client(headers=headers)
        if self.base_url:  # the server may close an idle connection just when a form is sent
            self._browser.headers.update(headers | {"Connection": "close"})

    def get(self, path: str) -> Any:
        if self.base_url:
            return self._browser.get(self.base_url + path, timeout=120, allow_redirects=False)
        return self._browser.get(path)

    def post(self, path: str, form: dict[str, str] | None = None) -> Any:
        if self.base_url:
            return self._browser.post(self.base_url + path, data=form, timeout=120, allow_redirects=False)
        return self._browser.post(path, form or {})

    def begin(self, link_url: str, **changes: str) -> str:
        """Enter the details at a link, and return the path of the checkout."""
        details = {"name": "Ada Obi", "email": "ada@example.com", "method": "card"}
        answer = self.post(urlsplit(link_url).path, details | changes)
        assert answer.status_code == 303, answer.content
        return str(answer.headers["Location"])

    def pay_by_card(self, checkout: str, number: str = FRICTIONLESS_CARD, *, attempt: int = 0) -> Any:
        return self.post(f"{checkout}/card", orders.card_form(number, attempt=str(attempt)))

    def pay_by_transfer(self, checkout: str, *, attempt: int = 0) -> Any:
        return self.post(f"{checkout}/transfer", {"attempt": str(attempt)})

    def confirm(self, answer: Any, code: str = ONE_TIME_CODE) -> Any:
        """Enter the code on the page of the bank that an answer leads to."""
        return self.post(urlsplit(answer.headers["Location"]).path, {"code": code, "action": "approve"})

    def end(self, checkout: str) -> Any:
        return self.post(f"{checkout}/end", {"step": "confirmed"})

    def state(self, checkout: str) -> str:
        return str(self.get(f"{checkout}/state").json()["state"])


def refreshed_to(page: Any, *, escaped: bool = False) -> str:
    """Return the address that a page leads to without a click, or an empty string."""
    text = page.content.decode()
    found = re.search(r'<meta http-equiv="refresh" content="0; url=([^"]*)">', text)
    address = found[1] if found else ""
    return address if escaped else unescape(address)


def address_of(turn: int) -> str:
    """Return an address that no other payer has."""
    return f"198.18.{turn // 250}.{turn % 250 + 1}"


def card_number(turn: int) -> str:
    """Return a valid number of a card of its own, for which the sandbox's issuer asks for a code."""
    digits = f"411111{turn:09d}"
    doubled = [int(each) * (2 - place % 2) for place, each in enumerate(reversed(digits))]
    return f"{digits}{-sum(sum(divmod(each, 10)) for each in doubled) % 10}"

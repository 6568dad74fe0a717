"""Photograph every page, light and dark, on a desk and on a phone: `make screenshots` fills screenshots/."""

import json
import tempfile
import time
from pathlib import Path

import requests
from playwright.sync_api import Browser, Page

from tests import orders
from tests.browser.chromium import chromium, visit
from tests.clients import HttpClient
from tests.journeys.service import PROJECT, Service, start_service

FOLDER = PROJECT / "screenshots"
WIDTHS = {"desk": 1280, "phone": 390}
LONG_NAME = "Ọmọlará & Sons <Fine Furniture, Upholstery and Interior Works> of Abeokuta Ltd"

PAGES = {
    "front": "/",
    "docs": "/docs/",
    "guide-signing": "/docs/signing",
    "guide-card-payments": "/docs/card-payments",
    "guide-limits": "/docs/limits",
    "guide-operations": "/docs/operations",
    "test-data": "/docs/test-data",
    "errors": "/docs/errors/",
    "error": "/docs/errors/rate_limited",
    "404": "/nothing/here",
    "sign-in": "/dashboard/login/",
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        with start_service(Path(folder)) as service:
            photograph(browser, {name: service.base_url + path for name, path in PAGES.items()})
            photograph(browser, challenges(service))
            photograph_wrong_code(browser, challenge(service.client))
            photograph_dashboard(browser, service)
            photograph_merchant_pages(browser, service)
            photograph_people(browser, service)
        with start_service(Path(folder), CHALLENGE_LIFETIME="1") as hasty:
            expired = challenge(hasty.client)
            time.sleep(1.5)
            photograph(browser, {"challenge-expired": expired})
    print(f"{len(list(FOLDER.glob('*.png')))} pictures in {FOLDER}")


def challenges(service: Service) -> dict[str, str]:
    long_named = service.open_business(LONG_NAME)
    declined = challenge(service.client)
    paid = challenge(long_named)
    answer(declined, action="decline")
    answer(paid, action="approve", code="123456")
    return {
        "challenge": challenge(service.client),
        "challenge-long": challenge(long_named, amount=10**12),
        "challenge-declined": declined,
        "challenge-paid": paid,
    }


def challenge(client: HttpClient, amount: int = 12_345_600) -> str:
    order = orders.card_payment(amount=amount, source=orders.card_source(pan=orders.CHALLENGED_CARD))
    address: str = client.post("/api/payments", order).json()["redirect_link"]
    return address


def answer(address: str, **form: str) -> None:
    requests.post(address, data=form, allow_redirects=False, timeout=10)


def photograph(browser: Browser, addresses: dict[str, str]) -> None:
    for name, address in addresses.items():
        for label, width in WIDTHS.items():
            for scheme in ("light", "dark"):
                with visit(browser, viewport={"width": width, "height": 844}, color_scheme=scheme) as seen:
                    seen.page.goto(address)
                    seen.page.screenshot(path=FOLDER / f"{name}-{label}-{scheme}.png", full_page=True)


def photograph_wrong_code(browser: Browser, address: str) -> None:
    with visit(browser, viewport={"width": 390, "height": 844}) as seen:
        seen.page.goto(address)
        seen.page.get_by_label("One-time code").fill("000000")
        seen.page.get_by_role("button", name="Approve").click()
        for scheme in ("light", "dark"):
            seen.page.emulate_media(color_scheme=scheme)
            seen.page.screenshot(path=FOLDER / f"challenge-wrong-phone-{scheme}.png", full_page=True)


def photograph_dashboard(browser: Browser, service: Service) -> None:
    """The demo business with what the other pictures made, a new one with nothing, and staff without any."""
    demo = json.loads((service.folder / "credentials.json").read_text())
    email = "new@example.com"
    made = service.command("create_business", "--name", LONG_NAME, "--email", email, "--json")
    service.client.post("/api/payments", orders.card_payment(reference="x" * 100, amount=10**12))
    service.client.post("/api/payments", orders.payout())
    people = {
        "overview": (demo["email"], demo["password"]),
        "overview-empty": (email, json.loads(made.stdout)["password"]),
        "overview-staff": (demo["admin_email"], demo["admin_password"]),
        "sign-in-refused": (demo["email"], "wrong"),
    }
    for name, (person, password) in people.items():
        for label, width in WIDTHS.items():
            with visit(browser, viewport={"width": width, "height": 844}) as seen:
                sign_in(seen.page, f"{service.base_url}/dashboard/", person, password)
                for scheme in ("light", "dark"):
                    seen.page.emulate_media(color_scheme=scheme)
                    seen.page.screenshot(path=FOLDER / f"{name}-{label}-{scheme}.png", full_page=True)


# What merchants see of their money, and of what they are told.
MERCHANT_PAGES = {
    "payments": "payments/",
    "payouts": "payouts/",
    "payouts-new": "payouts/new/",
    "virtual-accounts": "virtual-accounts/",
    "virtual-accounts-new": "virtual-accounts/new/?kind=static",
    "unapplied": "virtual-accounts/unapplied/",
    "webhooks": "webhooks/",
    "deliveries": "webhooks/deliveries/",
    "settlements": "settlements/",
    "movements": "settlements/movements/",
    "sandbox": "sandbox/",
}


def photograph_merchant_pages(browser: Browser, service: Service) -> None:
    """Every area, and the page of the newest payment, as the demo business sees them."""
    demo = json.loads((service.folder / "credentials.json").read_text())
    for label, width in WIDTHS.items():
        with visit(browser, viewport={"width": width, "height": 844}) as seen:
            sign_in(seen.page, f"{service.base_url}/dashboard/", demo["email"], demo["password"])
            for name, path in MERCHANT_PAGES.items():
                seen.page.goto(f"{service.base_url}/dashboard/{path}")
                in_both_schemes(seen.page, f"{name}-{label}")
            seen.page.goto(f"{service.base_url}/dashboard/payments/")
            seen.page.locator(".table__link").first.click()
            in_both_schemes(seen.page, f"payment-{label}")


def in_both_schemes(page: Page, name: str) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.screenshot(path=FOLDER / f"{name}-{scheme}.png", full_page=True)


# What people see of keys, requests, colleagues and their own account.
PEOPLE_PAGES = {
    "account": "account/",
    "account-password": "account/password/",
    "account-app": "account/app/",
    "account-passkey": "account/passkeys/new/",
    "confirm": "confirm/",
    "developers": "developers/",
    "developers-new-key": "developers/keys/new/",
    "developers-requests": "developers/requests/",
    "developers-signature": "developers/signature/",
    "team": "team/",
    "team-invite": "team/invite/",
    "activity": "activity/",
}


def photograph_people(browser: Browser, service: Service) -> None:
    demo = json.loads((service.folder / "credentials.json").read_text())
    photograph(browser, {"forgotten": f"{service.base_url}/dashboard/login/forgotten/"})
    with visit(browser, viewport={"width": 1280, "height": 844}) as seen:
        page = seen.page
        sign_in(page, f"{service.base_url}/dashboard/", demo["email"], demo["password"])
        page.goto(f"{service.base_url}/dashboard/team/invite/")
        page.get_by_label("Email").fill(f"{'long' * 12}@example.com")
        page.get_by_label("Finance").check()
        with page.expect_navigation():
            page.get_by_role("button", name="Invite").click()
        photograph_as_it_is(page, "team-invited")
        invitation = page.locator("[data-secret=invitation]").inner_text()
        for name, path in PEOPLE_PAGES.items():
            page.goto(f"{service.base_url}/dashboard/{path}")
            photograph_as_it_is(page, name)
    photograph(browser, {"invitation": invitation})


def photograph_as_it_is(page: Page, name: str) -> None:
    for label, width in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": 844})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=FOLDER / f"{name}-{label}-{scheme}.png", full_page=True)


def sign_in(page: Page, address: str, email: str, password: str) -> None:
    page.goto(address)
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    with page.expect_navigation():
        page.get_by_role("button", name="Sign in").click()


if __name__ == "__main__":
    main()

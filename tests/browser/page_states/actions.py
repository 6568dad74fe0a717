"""Actions that lead to a page state, and signing in."""

import time
from collections.abc import Callable

from playwright.sync_api import Locator, Page

from tests.browser.page_states.state import Action
from tests.browser.people import code_of, press, sign_in
from tests.browser.sample_data import PASSWORD, TOTP_SECRET, SampleData

AN_HOUR_LATER = """
from django.contrib.sessions.models import Session
for row in Session.objects.all():
    session = row.get_session_store_class()(row.session_key)
    for record in session.get("account_authentication_methods", []):
        record["at"] -= 3600
        session.modified = True
    session.save()
"""


LET_THE_SERVER_VALIDATE = "for (const form of document.forms) form.noValidate = true"


def pressing(name: str, **fields: str) -> Action:
    """Return the action of filling labelled fields (underscores are spaces) and pressing a button."""

    def action(page: Page) -> None:
        page.evaluate(LET_THE_SERVER_VALIDATE)
        for label, text in fields.items():
            # Buttons may have such words in their names too.
            named = page.get_by_label(label.replace("_", " "))
            named.and_(page.locator("input, textarea")).first.fill(text)
        press(page, name)

    return action


def opening(summary: str) -> Action:
    """Return the action of opening the menu with this summary."""
    return lambda page: page.locator("summary", has_text=summary).first.click()


def signing_in(email: str, password: str = PASSWORD) -> Action:
    return lambda page: sign_in(page, email, password)


def signed_in_as(email: str) -> Callable[[SampleData, Page], None]:
    def prepare(data: SampleData, page: Page) -> None:
        page.goto(f"{data.service.base_url}/dashboard/login/")
        sign_in(page, email, data.password if email == data.email else PASSWORD)

    return prepare


def sign_in_with_a_code(data: SampleData, page: Page) -> None:
    signed_in_as("mfa@example.com")(data, page)
    page.get_by_label("Code").fill(code_of(TOTP_SECRET))
    press(page, "Continue")


def for_another_business(button: str) -> Action:
    """Return the action of submitting a form that was rendered for another business than the selected one."""

    def action(page: Page) -> None:
        page.locator("input[name=for_business]").evaluate_all(
            "all => all.forEach(each => each.value = 'other')"
        )
        press(page, button)

    return action


def examine(page: Page) -> None:
    """Start an exam. If the limit is reached, the page shows the one before."""
    press(page, "Examine my receiver")
    page.locator("[data-exam=failed]").wait_for()


def invite(page: Page) -> None:
    page.get_by_label("Email").fill(f"{'long' * 12}@example.com")
    page.get_by_label("Finance").check()
    press(page, "Invite member")
    if page.locator("[data-secret=invitation]").count() == 0:  # this address was already invited
        page.get_by_label("Email").fill(f"{time.monotonic_ns()}@example.com")
        page.get_by_label("Finance").check()
        press(page, "Invite member")


def hrefs(links: Locator) -> list[str]:
    found: list[str] = links.evaluate_all("links => links.map(each => each.getAttribute('href'))")
    return found


def link_on(
    data: SampleData, page: Page, path: str, selector: str = ".table__link", *, number: int = 0
) -> str:
    page.goto(data.service.base_url + path)
    address = page.locator(selector).nth(number).get_attribute("href")
    assert address, path
    return address

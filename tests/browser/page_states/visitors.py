"""Page states of users who aren't signed in: visitors, payers, invited users and those in the middle of signing in."""

import re

import requests
from playwright.sync_api import Page

from tests import orders
from tests.browser.page_states.actions import hrefs, invite, pressing, signed_in_as, signing_in
from tests.browser.page_states.state import Action, PageState, Persona, go
from tests.browser.people import press, sign_in
from tests.browser.sample_data import PASSWORD, SampleData, mailed_link


def without_its_token(page: Page) -> None:
    page.context.clear_cookies()
    sign_in(page, "ada@example.com", PASSWORD)


def with_too_much(page: Page) -> None:
    page.get_by_label("Email").evaluate("field => { field.type = 'text'; field.maxLength = 99999 }")
    sign_in(page, "x" * 70_000, PASSWORD)


def open_contents(page: Page) -> None:
    page.get_by_role("button", name="Contents").click()


def failing(data: SampleData) -> Action:
    """Return the action that shows the page of a server error. No URL causes one, so the response is
    replaced.
    """
    render = "from django.template import loader; print(loader.render_to_string('500.html', {'request_id': 'req_1'}))"
    document = data.service.command("shell", "--no-imports", "-c", render).stdout

    def action(page: Page) -> None:
        page.route(page.url, lambda route: route.fulfill(status=500, content_type="text/html", body=document))
        page.reload()
        page.get_by_role("heading", name="Something went wrong").wait_for()
        page.unroute(page.url)

    return action


def too_often(page: Page) -> None:
    for _ in range(4):
        page.goto(page.url.split("/sent/")[0].rstrip("/") + "/")
        page.get_by_label("Email").fill("ada@example.com")
        press(page, "Send link")
        if page.locator("form").count() == 0 and "Too many" in page.content():
            return


def for_anonymous_visitors(data: SampleData, page: Page) -> list[PageState]:
    login = "/dashboard/login/"
    page.goto(f"{data.service.base_url}/docs/")
    listed = page.locator(".link-list a[href^='/docs/']")
    guides = sorted(
        {each.removeprefix("/docs/") for each in hrefs(listed)} - {"test-data", "events", "errors/"}
    )
    assert guides
    return [
        PageState("front", "/"),
        PageState("docs", "/docs/"),
        *[PageState(f"guide-{slug}", f"/docs/{slug}") for slug in guides],
        PageState("test-data", "/docs/test-data"),
        PageState("components", "/docs/components"),
        PageState("errors", "/docs/errors/"),
        PageState("error", "/docs/errors/rate_limited"),
        PageState("events", "/docs/events"),
        PageState("search", "/docs/search"),
        PageState("search-results", "/docs/search?q=refund"),
        PageState("search-none", "/docs/search?q=duplicat_reference"),
        PageState("reference", "/api/docs"),
        PageState("reference-operation", "/api/docs/create-payment"),
        PageState("reference-list", "/api/docs/list-payments"),
        PageState("reference-event", "/api/docs/payment.failed?example=card_payment_that_is_voided"),
        PageState("reference-object", "/api/docs/payment-object"),
        PageState("reference-menu", "/api/docs/create-payment", open_contents, is_for_phones=True),
        PageState("failure-404", "/nothing/here"),
        PageState("failure-400", login, with_too_much),
        PageState("failure-403-forged", login, without_its_token),
        PageState("failure-500", "/docs/", failing(data)),
        PageState("sign-in", login),
        PageState("sign-in-refused", login, signing_in("unknown@example.com")),
        PageState("forgotten", f"{login}forgotten/"),
        PageState("forgotten-sent", f"{login}forgotten/sent/"),
        PageState("new-password-no-longer", f"{login}new-password/1/nonsense/"),
        PageState("new-password-set", f"{login}new-password/set/"),
    ]


def for_password_resets(data: SampleData, page: Page) -> list[PageState]:
    """A user with a reset link, who then exceeds the limit of links."""
    go(
        data,
        page,
        PageState("", "/dashboard/login/forgotten/", pressing("Send link", Email="mfa@example.com")),
    )
    link = mailed_link(data.service.folder / "service.log")
    return [
        PageState("new-password", link),
        PageState(
            "new-password-refused",
            link,
            pressing("Set password", New_password="short", Repeat_new_password="other"),
        ),
        PageState("failure-429", "/dashboard/login/forgotten/", too_often),
    ]


def for_payers(data: SampleData, _page: Page) -> list[PageState]:
    ids, challenges = data.ids, data.ids["challenges"]
    return [
        PageState("challenge", challenges[0]),
        PageState("challenge-wrong", challenges[0], pressing("Approve", **{"One-time_code": "000000"})),
        PageState("challenge-declined", challenges[1], decline),
        PageState("challenge-approved", challenges[2], approve),
        PageState("challenge-expired", ids["expired_challenge"]),
        PageState("challenge-return", f"{challenges[0]}/return"),
        PageState("pay", f"/pay/{ids['waiting']}"),
        PageState("pay-received", f"/pay/{ids['transferred']}"),
        PageState("pay-mismatch", f"/pay/{ids['mismatched']}"),
        PageState("pay-expired", f"/pay/{ids['expired']}"),
        PageState("link", ids["link"]),
        PageState("link-errors", ids["link"], pressing("Continue", Email="nonsense")),
        PageState("link-of-range", ids["link_of_range"]),
        PageState("checkout-card", ids["checkout"]),
        PageState("checkout-card-errors", ids["checkout"], press_pay),
        PageState("checkout-card-rests", ids["checkout"], paying_by_card(orders.DECLINED_CARD)),
        PageState("checkout-asking", ids["checkout_without_answer"], lose_the_answer),
        PageState("checkout-closed", ids["checkout_closed"]),
        PageState("checkout-choose-transfer", f"{ids['checkout']}?method=virtual_account"),
        PageState("checkout-declined", ids["checkout_declined"]),
        PageState("checkout-challenge", ids["checkout_challenged"]),
        PageState("checkout-transfer", ids["checkout_transfer"]),
        PageState("checkout-end", ids["checkout_transfer"], pressing("Pay another way")),
        PageState("checkout-mismatch", ids["checkout_mismatched"]),
        PageState("receipt", ids["receipt"]),
        PageState("link-off", ids["link_off"]),
        PageState("link-used-up", ids["link_used_up"]),
        PageState("link-held", ids["link_held"]),
        PageState("link-blocked", ids["link_blocked"]),
        PageState("checkout-cards-rest", ids["checkout"], after_many_declines(data)),
    ]


def press_pay(page: Page) -> None:
    """Press the button of the card page with an empty form."""
    page.locator("[data-paying]").click()
    page.locator("#number-error").wait_for()


def paying_by_card(number: str) -> Action:
    """Return the action of paying with a card."""

    def action(page: Page) -> None:
        given = {"Card number": number, "Expiry date": "12/35", "Name on card": "Ada", "Security code": "408"}
        for label, text in given.items():
            page.get_by_label(label).fill(text)
        with page.expect_navigation():
            page.locator("[data-paying]").click()

    return action


def lose_the_answer(page: Page) -> None:
    """Pay with a card, and confirm at the bank, whose answer is lost."""
    paying_by_card(orders.GOOD_CARD)(page)
    page.get_by_label("One-time code").fill("123456")
    press(page, "Approve")
    page.locator("[data-state=paying]").wait_for()


def after_many_declines(data: SampleData) -> Action:
    """Return the action of paying with a card from an address that has given up many others."""

    def post(path: str, form: dict[str, str]) -> None:
        address = f"{data.service.base_url}{data.ids['checkout']}/{path}"
        assert requests.post(address, data=form, allow_redirects=False, timeout=60).status_code == 303

    def action(page: Page) -> None:
        for attempt, number in enumerate([orders.CHALLENGED_CARD, orders.GOOD_CARD] * 2):
            post("card", orders.card_form(number, attempt=str(attempt)))
            post("end", {})
        page.reload()
        paying_by_card(orders.FRICTIONLESS_CARD)(page)

    return action


MERCHANT = re.compile(r"[?&]reference=")  # where payers of a challenge return to


def decline(page: Page) -> None:
    """Decline, and open the page again."""
    address = page.url
    press(page, "Decline")
    page.wait_for_url(MERCHANT)
    page.goto(address)


def approve(page: Page) -> None:
    """Approve, and open the page again."""
    address = page.url
    page.get_by_label("One-time code").fill("123456")
    press(page, "Approve")
    page.wait_for_url(MERCHANT)
    page.goto(address)


def for_invitees(data: SampleData, page: Page) -> list[PageState]:
    """An invited user. The owner creates the link and signs out."""
    page.goto(f"{data.service.base_url}/dashboard/team/invite/")
    sign_in(page, data.email, data.password)
    invite(page)
    shown = page.locator("[data-secret=invitation]").inner_text().removeprefix(data.service.base_url)
    path = mailed_link(data.service.folder / "service.log", "invitation")
    page.context.clear_cookies()
    return [
        PageState("invitation-unproven", shown),
        PageState("invitation", path),
        PageState("invitation-refused", path, pressing("Join business", Your_name="Chidi", Password="short")),
        PageState("invitation-gone", "/dashboard/invitation/nonsense/"),
    ]


def for_guests(data: SampleData, _page: Page) -> list[PageState]:
    """An accountant with a guest link."""
    link, month = data.ids["guest_link"], data.ids["month"]
    return [
        PageState("guest-statement", link),
        PageState("guest-statement-month", f"{link}{month}/"),
        PageState("guest-statement-gone", "/statement/nonsense/"),
    ]


def for_the_mfa_step(_data: SampleData, page: Page) -> list[PageState]:
    path = "/dashboard/login/code/"
    return [
        PageState("second-step", path),
        PageState("second-step-refused", path, pressing("Continue", Code="000000")),
    ]


VISITORS = {
    "anonymous visitors": Persona(for_anonymous_visitors),
    "password resets": Persona(for_password_resets),
    "payers": Persona(for_payers),
    "invitees": Persona(for_invitees),
    "guests": Persona(for_guests),
    "the MFA step": Persona(for_the_mfa_step, signed_in_as("mfa@example.com")),
}

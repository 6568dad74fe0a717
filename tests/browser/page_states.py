"""Every page of the product, by persona: captured by `screenshots` and checked by tests.

A page state is a URL, and an action performed there first. A URL of `config.urls` that no page state visits
fails `test_every_page`.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, Locator, Page

from tests.browser.chromium import Visit, visit
from tests.browser.people import code_of, press, sign_in
from tests.browser.sample_data import LONG_NAME, PASSWORD, TOTP_SECRET, SampleData, mailed_link

Action = Callable[[Page], None]


@dataclass(frozen=True)
class PageState:
    """A page as opened, or as it is after an action."""

    name: str
    path: str
    action: Action | None = None


@dataclass(frozen=True)
class Persona:
    """A kind of user with its own browser, and the pages it sees."""

    states: Callable[[SampleData, Page], Iterable[PageState]]
    prepare: Callable[[SampleData, Page], None] = lambda *_: None


@contextmanager
def on(browser: Browser, persona: Persona, data: SampleData) -> Iterator[tuple[Visit, list[PageState]]]:
    """Open a browser as the persona. Yield it with the page states."""
    with visit(browser, viewport={"width": 1280, "height": 844}) as seen:
        persona.prepare(data, seen.page)
        yield seen, list(persona.states(data, seen.page))


def go(data: SampleData, page: Page, state: PageState) -> None:
    page.goto(data.service.base_url + state.path)
    if state.action is not None:
        state.action(page)


# Actions ---------------------------------------------------------------------------------------------


def pressing(name: str, **fields: str) -> Action:
    """Return the action of filling labelled fields (underscores are spaces) and pressing a button."""

    def action(page: Page) -> None:
        for label, text in fields.items():
            page.get_by_label(label.replace("_", " ")).first.fill(text)
        press(page, name)

    return action


def signing_in(email: str, password: str = PASSWORD) -> Action:
    return lambda page: sign_in(page, email, password)


def without_its_token(page: Page) -> None:
    page.context.clear_cookies()
    sign_in(page, "ada@example.com", PASSWORD)


def with_too_much(page: Page) -> None:
    page.get_by_label("Email").evaluate("field => { field.type = 'text'; field.maxLength = 99999 }")
    sign_in(page, "x" * 70_000, PASSWORD)


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


def write_a_payout(page: Page, **changes: str) -> None:
    given = {"Amount": "2500.00", "Account number": "0123456789", "Beneficiary": LONG_NAME[:60]} | changes
    page.get_by_label("Bank").select_option("058")
    for label, text in given.items():
        page.get_by_label(label).fill(text)
    press(page, "Review payout")


def open_the_menu(page: Page) -> None:
    page.locator("summary.person__button").click()


def follow(selector: str) -> Action:
    def action(page: Page) -> None:
        with page.expect_navigation():
            page.locator(selector).first.click()

    return action


# Page states of each persona -------------------------------------------------------------------------


def for_anonymous_visitors(data: SampleData, page: Page) -> list[PageState]:
    login = "/dashboard/login/"
    page.goto(f"{data.service.base_url}/docs/")
    listed = page.locator(".link-list a[href^='/docs/']")
    guides = sorted({each.removeprefix("/docs/") for each in hrefs(listed)} - {"test-data", "errors/"})
    assert guides
    return [
        PageState("front", "/"),
        PageState("docs", "/docs/"),
        *[PageState(f"guide-{slug}", f"/docs/{slug}") for slug in guides],
        PageState("test-data", "/docs/test-data"),
        PageState("errors", "/docs/errors/"),
        PageState("error", "/docs/errors/rate_limited"),
        PageState("api-docs", "/api/docs", lambda page: page.locator(".opblock").first.wait_for()),
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
    ids = data.ids
    return [
        PageState("challenge", ids["challenge"]),
        PageState("challenge-wrong", ids["challenge"], pressing("Approve", **{"One-time_code": "000000"})),
        PageState("challenge-declined", ids["declined"], decline),
        PageState("pay", f"/pay/{ids['waiting']}"),
        PageState("pay-received", f"/pay/{ids['transferred']}"),
        PageState("pay-mismatch", f"/pay/{ids['mismatched']}"),
    ]


def decline(page: Page) -> None:
    """Decline, and open the page again."""
    address = page.url
    if page.get_by_role("button", name="Decline").count():
        press(page, "Decline")
    page.goto(address)


def for_owners(data: SampleData, page: Page) -> list[PageState]:
    ids, payments, accounts = data.ids, "/dashboard/payments/", "/dashboard/virtual-accounts/"
    webhooks, developers, team = "/dashboard/webhooks/", "/dashboard/developers/", "/dashboard/team/"
    account = "/dashboard/account/"
    replayed = f"{webhooks}replay/?state=delivered&since=2026-01-01&until=2036-01-01"
    return [
        PageState("overview", "/dashboard/"),
        PageState("overview-menu", "/dashboard/", open_the_menu),
        PageState("payments", payments),
        PageState("payments-none", f"{payments}?q=nothing-like-it"),
        PageState("payment", f"{payments}{ids['paid']}/"),
        PageState("payment-refunded", f"{payments}{ids['refunded']}/"),
        PageState("payment-authorised", f"{payments}{ids['authorised']}/"),
        PageState("payment-transfer", f"{payments}{ids['transferred']}/"),
        PageState("capture", f"{payments}{ids['authorised']}/capture/"),
        PageState(
            "capture-refused",
            f"{payments}{ids['authorised']}/capture/",
            pressing("Capture payment", Amount="1,0"),
        ),
        PageState("void", f"{payments}{ids['authorised']}/void/"),
        PageState("cancel", f"{payments}{ids['waiting']}/cancel/"),
        PageState("refund", f"{payments}{ids['paid']}/refund/"),
        PageState("refund-transfer", f"{payments}{ids['transferred']}/refund/"),
        PageState("payouts", "/dashboard/payouts/"),
        PageState("payout", f"/dashboard/payouts/{ids['payout']}/"),
        PageState("payouts-new", "/dashboard/payouts/new/"),
        PageState(
            "payouts-new-refused", "/dashboard/payouts/new/", lambda page: write_a_payout(page, Amount="none")
        ),
        PageState("payouts-confirm", "/dashboard/payouts/new/", write_a_payout),
        PageState("virtual-accounts", accounts),
        PageState("virtual-accounts-new", f"{accounts}new/"),
        PageState("virtual-accounts-new-static", f"{accounts}new/?kind=static"),
        PageState("virtual-account", f"{accounts}{ids['account']}/"),
        PageState("virtual-account-off", f"{accounts}{ids['account']}/deactivate/"),
        PageState("unapplied", f"{accounts}unapplied/"),
        PageState("unapplied-item", link_on(data, page, f"{accounts}unapplied/", ".table__link")),
        PageState("webhooks", webhooks),
        PageState("webhooks-rotate", f"{webhooks}rotate/"),
        PageState("webhooks-new-key", f"{webhooks}rotate/", pressing("Rotate signing key")),
        PageState("deliveries", f"{webhooks}deliveries/"),
        PageState("delivery", link_on(data, page, f"{webhooks}deliveries/?state=delivered", ".table__link")),
        PageState(
            "delivery-failing", link_on(data, page, f"{webhooks}deliveries/?state=waiting", ".table__link")
        ),
        PageState("replay-range", f"{webhooks}replay/"),
        PageState("replay-range-counted", replayed),
        PageState("settlements", "/dashboard/settlements/"),
        PageState("settlement", f"/dashboard/settlements/{ids['batch']}/"),
        PageState("balance", "/dashboard/balance/"),
        PageState("sandbox", "/dashboard/sandbox/"),
        PageState("sandbox-answered", "/dashboard/sandbox/", pressing("Send request")),
        PageState("developers", developers),
        PageState("developers-new-key", f"{developers}keys/new/"),
        PageState(
            "developers-key-made", f"{developers}keys/new/", pressing("Create API key", Name="Web shop")
        ),
        PageState("developers-rotate-key", f"{developers}keys/{ids['key']}/rotate/"),
        PageState("developers-revoke-key", f"{developers}keys/{ids['key']}/revoke/"),
        PageState("developers-requests", f"{developers}requests/"),
        PageState("developers-signature", f"{developers}signature/"),
        PageState(
            "developers-signature-checked",
            f"{developers}signature/",
            pressing("Check request", Headers="X-Api-Key: none"),
        ),
        PageState("team-invite", f"{team}invite/"),
        PageState("team-invited", f"{team}invite/", invite),
        PageState("team", team),
        PageState("team-member", f"{team}{ids['viewer']}/"),
        PageState("activity", "/dashboard/activity/"),
        PageState("account", account),
        PageState("account-password", f"{account}password/"),
        PageState("account-app", f"{account}app/"),
        PageState("account-app-refused", f"{account}app/", pressing("Turn on", Code="000000")),
        PageState("account-passkey", f"{account}passkeys/new/"),
        PageState("confirm", "/dashboard/confirm/"),
        PageState("kept-form", "/dashboard/confirm/form/", inviting_an_hour_later(data)),
    ]


AN_HOUR_LATER = """
from django.contrib.sessions.models import Session
for row in Session.objects.all():
    session = row.get_session_store_class()(row.session_key)
    for record in session.get("account_authentication_methods", []):
        record["at"] -= 3600
        session.modified = True
    session.save()
"""


def inviting_an_hour_later(data: SampleData) -> Action:
    """Return the action of inviting a member long after signing in, up to the page with the kept form."""

    def action(page: Page) -> None:
        page.goto(f"{data.service.base_url}/dashboard/team/invite/")
        assert data.service.command("shell", "-c", AN_HOUR_LATER).returncode == 0
        page.get_by_label("Email").fill(f"{'long' * 12}@example.com")
        page.get_by_label("Finance").check()
        press(page, "Invite member")
        page.get_by_label("Password").fill(data.password)
        press(page, "Confirm")

    return action


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


def link_on(data: SampleData, page: Page, path: str, selector: str) -> str:
    page.goto(data.service.base_url + path)
    address = page.locator(selector).first.get_attribute("href")
    assert address, path
    return address


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


def for_users_with_mfa(data: SampleData, _page: Page) -> list[PageState]:
    account = "/dashboard/account/"
    return [
        PageState("mfa-account", account),
        PageState("mfa-codes", f"{account}codes/"),
        PageState("mfa-new-codes", f"{account}codes/new/"),
        PageState("mfa-app-off", f"{account}app/off/"),
        PageState("mfa-passkey-off", f"{account}passkeys/{data.ids['passkey']}/off/"),
        PageState("mfa-confirm-code", "/dashboard/confirm/code/"),
        PageState("mfa-confirm-passkey", "/dashboard/confirm/passkey/"),
    ]


def for_viewers(data: SampleData, _page: Page) -> list[PageState]:
    return [
        PageState("viewer-developers", "/dashboard/developers/"),
        PageState("viewer-webhooks", "/dashboard/webhooks/"),
        PageState("viewer-team", "/dashboard/team/"),
        PageState("failure-403", "/dashboard/developers/keys/new/"),
    ]


def for_new_owners(_data: SampleData, _page: Page) -> list[PageState]:
    areas = ["payments", "payouts", "virtual-accounts", "virtual-accounts/unapplied", "webhooks",
             "webhooks/deliveries", "settlements", "balance", "developers/requests"]  # fmt: skip
    return [
        PageState("empty-overview", "/dashboard/"),
        *[PageState(f"empty-{area.replace('/', '-')}", f"/dashboard/{area}/") for area in areas],
    ]


def for_staff(data: SampleData, page: Page) -> list[PageState]:
    """The administration: the models listed on its first page, and the newest row of each."""
    page.goto(f"{data.service.base_url}/admin/")
    lists = hrefs(page.locator("#content-main th[scope=row] a[href^='/admin/']"))
    states = [PageState("staff-no-business", "/dashboard/"), PageState("admin", "/admin/")]
    states.append(PageState("admin-unanswered", "/admin/payments/transaction/?unanswered=all"))
    for path in dict.fromkeys(each.partition("?")[0] for each in lists):
        name = "admin-" + path.strip("/").split("/")[-1]
        states.append(PageState(name, path))
        page.goto(data.service.base_url + path)
        newest = page.locator("#result_list tbody th a").first
        if newest.count():
            states.append(PageState(f"{name}-one", newest.get_attribute("href") or ""))
    return states


def signed_in_as(email: str) -> Callable[[SampleData, Page], None]:
    def prepare(data: SampleData, page: Page) -> None:
        page.goto(f"{data.service.base_url}/dashboard/login/")
        sign_in(page, email, data.password if email == data.email else PASSWORD)

    return prepare


def sign_in_with_a_code(data: SampleData, page: Page) -> None:
    signed_in_as("mfa@example.com")(data, page)
    page.get_by_label("Code").fill(code_of(TOTP_SECRET))
    press(page, "Continue")


def for_the_mfa_step(_data: SampleData, page: Page) -> list[PageState]:
    path = "/dashboard/login/code/"
    return [
        PageState("second-step", path),
        PageState("second-step-refused", path, pressing("Continue", Code="000000")),
    ]


PERSONAS = {
    "anonymous visitors": Persona(for_anonymous_visitors),
    "password resets": Persona(for_password_resets),
    "payers": Persona(for_payers),
    "owners": Persona(for_owners, signed_in_as("ada@example.com")),
    "invitees": Persona(for_invitees),
    "the MFA step": Persona(for_the_mfa_step, signed_in_as("mfa@example.com")),
    "users with MFA": Persona(for_users_with_mfa, sign_in_with_a_code),
    "viewers": Persona(for_viewers, signed_in_as("viewer@example.com")),
    "new owners": Persona(for_new_owners, signed_in_as("new@example.com")),
    "staff": Persona(for_staff, signed_in_as("staff@example.com")),
}

"""Every page of the product, and who gets to see it: photographed by `screenshots`, examined by tests.

A stop is an address, and what is done there before it is looked at. An address that `config.urls` gains and
no stop visits fails `test_every_page`.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, Locator, Page

from tests.browser.chromium import Visit, visit
from tests.browser.people import code_of, press, sign_in
from tests.browser.stage import LONG_NAME, PASSWORD, TOTP_SECRET, Stage, mailed_link

Act = Callable[[Page], None]


@dataclass(frozen=True)
class Stop:
    """A page as it is opened; with an act, as it is after that."""

    name: str
    path: str
    act: Act | None = None


@dataclass(frozen=True)
class Leg:
    """What one person sees, in a browser of their own."""

    stops: Callable[[Stage, Page], Iterable[Stop]]
    arrive: Callable[[Stage, Page], None] = lambda *_: None


@contextmanager
def on(browser: Browser, leg: Leg, stage: Stage) -> Iterator[tuple[Visit, list[Stop]]]:
    """Open a browser as the leg's person, and say what there is to see."""
    with visit(browser, viewport={"width": 1280, "height": 844}) as seen:
        leg.arrive(stage, seen.page)
        yield seen, list(leg.stops(stage, seen.page))


def go(stage: Stage, page: Page, stop: Stop) -> None:
    page.goto(stage.service.base_url + stop.path)
    if stop.act is not None:
        stop.act(page)


# What is done ----------------------------------------------------------------------------------------


def pressing(name: str, **fields: str) -> Act:
    """Return the act of filling labelled fields (underscores are spaces) and pressing a button."""

    def act(page: Page) -> None:
        for label, text in fields.items():
            page.get_by_label(label.replace("_", " ")).first.fill(text)
        press(page, name)

    return act


def signing_in(email: str, password: str = PASSWORD) -> Act:
    return lambda page: sign_in(page, email, password)


def without_its_token(page: Page) -> None:
    page.context.clear_cookies()
    sign_in(page, "ada@example.com", PASSWORD)


def with_too_much(page: Page) -> None:
    page.get_by_label("Email").evaluate("field => { field.type = 'text'; field.maxLength = 99999 }")
    sign_in(page, "x" * 70_000, PASSWORD)


def failing(stage: Stage) -> Act:
    """Return the act of meeting a mistake of ours. No address makes one, so its page is put in one's place."""
    render = "from django.template import loader; print(loader.render_to_string('500.html', {'request_id': 'req_1'}))"
    document = stage.service.command("shell", "--no-imports", "-c", render).stdout

    def act(page: Page) -> None:
        page.route(page.url, lambda route: route.fulfill(status=500, content_type="text/html", body=document))
        page.reload()
        page.get_by_role("heading", name="Something went wrong").wait_for()
        page.unroute(page.url)

    return act


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


def follow(selector: str) -> Act:
    def act(page: Page) -> None:
        with page.expect_navigation():
            page.locator(selector).first.click()

    return act


# Who sees what ---------------------------------------------------------------------------------------


def for_anybody(stage: Stage, page: Page) -> list[Stop]:
    login = "/dashboard/login/"
    page.goto(f"{stage.service.base_url}/docs/")
    listed = page.locator(".link-list a[href^='/docs/']")
    guides = sorted({each.removeprefix("/docs/") for each in hrefs(listed)} - {"test-data", "errors/"})
    assert guides
    return [
        Stop("front", "/"),
        Stop("docs", "/docs/"),
        *[Stop(f"guide-{slug}", f"/docs/{slug}") for slug in guides],
        Stop("test-data", "/docs/test-data"),
        Stop("errors", "/docs/errors/"),
        Stop("error", "/docs/errors/rate_limited"),
        Stop("api-docs", "/api/docs", lambda page: page.locator(".opblock").first.wait_for()),
        Stop("failure-404", "/nothing/here"),
        Stop("failure-400", login, with_too_much),
        Stop("failure-403-forged", login, without_its_token),
        Stop("failure-500", "/docs/", failing(stage)),
        Stop("sign-in", login),
        Stop("sign-in-refused", login, signing_in("unknown@example.com")),
        Stop("forgotten", f"{login}forgotten/"),
        Stop("forgotten-sent", f"{login}forgotten/sent/"),
        Stop("new-password-no-longer", f"{login}new-password/1/nonsense/"),
        Stop("new-password-set", f"{login}new-password/set/"),
    ]


def for_the_forgetful(stage: Stage, page: Page) -> list[Stop]:
    """Who asked for a link, and asks once too often."""
    go(
        stage,
        page,
        Stop("", "/dashboard/login/forgotten/", pressing("Send link", Email="careful@example.com")),
    )
    link = mailed_link(stage.service.folder / "service.log")
    return [
        Stop("new-password", link),
        Stop(
            "new-password-refused",
            link,
            pressing("Set password", New_password="short", Repeat_new_password="other"),
        ),
        Stop("failure-429", "/dashboard/login/forgotten/", too_often),
    ]


def for_payers(stage: Stage, _page: Page) -> list[Stop]:
    ids = stage.ids
    return [
        Stop("challenge", ids["challenge"]),
        Stop("challenge-wrong", ids["challenge"], pressing("Approve", **{"One-time_code": "000000"})),
        Stop("challenge-declined", ids["declined"], pay_nothing),
        Stop("pay", f"/pay/{ids['waiting']}"),
        Stop("pay-received", f"/pay/{ids['transferred']}"),
        Stop("pay-mismatch", f"/pay/{ids['mismatched']}"),
    ]


def pay_nothing(page: Page) -> None:
    """Decline, and come back to look."""
    address = page.url
    if page.get_by_role("button", name="Decline").count():
        press(page, "Decline")
    page.goto(address)


def for_owners(stage: Stage, page: Page) -> list[Stop]:
    ids, payments, accounts = stage.ids, "/dashboard/payments/", "/dashboard/virtual-accounts/"
    webhooks, developers, team = "/dashboard/webhooks/", "/dashboard/developers/", "/dashboard/team/"
    account = "/dashboard/account/"
    replayed = f"{webhooks}replay/?state=delivered&since=2026-01-01&until=2036-01-01"
    return [
        Stop("overview", "/dashboard/"),
        Stop("overview-menu", "/dashboard/", open_the_menu),
        Stop("payments", payments),
        Stop("payments-none", f"{payments}?q=nothing-like-it"),
        Stop("payment", f"{payments}{ids['paid']}/"),
        Stop("payment-refunded", f"{payments}{ids['refunded']}/"),
        Stop("payment-authorised", f"{payments}{ids['authorised']}/"),
        Stop("payment-transfer", f"{payments}{ids['transferred']}/"),
        Stop("capture", f"{payments}{ids['authorised']}/capture/"),
        Stop(
            "capture-refused",
            f"{payments}{ids['authorised']}/capture/",
            pressing("Capture payment", Amount="1,0"),
        ),
        Stop("void", f"{payments}{ids['authorised']}/void/"),
        Stop("cancel", f"{payments}{ids['waiting']}/cancel/"),
        Stop("refund", f"{payments}{ids['paid']}/refund/"),
        Stop("refund-transfer", f"{payments}{ids['transferred']}/refund/"),
        Stop("payouts", "/dashboard/payouts/"),
        Stop("payout", f"/dashboard/payouts/{ids['payout']}/"),
        Stop("payouts-new", "/dashboard/payouts/new/"),
        Stop(
            "payouts-new-refused", "/dashboard/payouts/new/", lambda page: write_a_payout(page, Amount="none")
        ),
        Stop("payouts-confirm", "/dashboard/payouts/new/", write_a_payout),
        Stop("virtual-accounts", accounts),
        Stop("virtual-accounts-new", f"{accounts}new/"),
        Stop("virtual-accounts-new-static", f"{accounts}new/?kind=static"),
        Stop("virtual-account", f"{accounts}{ids['account']}/"),
        Stop("virtual-account-off", f"{accounts}{ids['account']}/deactivate/"),
        Stop("unapplied", f"{accounts}unapplied/"),
        Stop("unapplied-item", link_on(stage, page, f"{accounts}unapplied/", ".table__link")),
        Stop("webhooks", webhooks),
        Stop("webhooks-rotate", f"{webhooks}rotate/"),
        Stop("webhooks-new-key", f"{webhooks}rotate/", pressing("Rotate signing key")),
        Stop("deliveries", f"{webhooks}deliveries/"),
        Stop("delivery", link_on(stage, page, f"{webhooks}deliveries/?state=delivered", ".table__link")),
        Stop(
            "delivery-failing", link_on(stage, page, f"{webhooks}deliveries/?state=waiting", ".table__link")
        ),
        Stop("replay-range", f"{webhooks}replay/"),
        Stop("replay-range-counted", replayed),
        Stop("settlements", "/dashboard/settlements/"),
        Stop("settlement", f"/dashboard/settlements/{ids['batch']}/"),
        Stop("balance", "/dashboard/balance/"),
        Stop("sandbox", "/dashboard/sandbox/"),
        Stop("sandbox-answered", "/dashboard/sandbox/", pressing("Send request")),
        Stop("developers", developers),
        Stop("developers-new-key", f"{developers}keys/new/"),
        Stop("developers-key-made", f"{developers}keys/new/", pressing("Create API key", Name="Web shop")),
        Stop("developers-rotate-key", f"{developers}keys/{ids['key']}/rotate/"),
        Stop("developers-revoke-key", f"{developers}keys/{ids['key']}/revoke/"),
        Stop("developers-requests", f"{developers}requests/"),
        Stop("developers-signature", f"{developers}signature/"),
        Stop(
            "developers-signature-checked",
            f"{developers}signature/",
            pressing("Check request", Headers="X-Api-Key: none"),
        ),
        Stop("team-invite", f"{team}invite/"),
        Stop("team-invited", f"{team}invite/", invite),
        Stop("team", team),
        Stop("team-member", f"{team}{ids['viewer']}/"),
        Stop("activity", "/dashboard/activity/"),
        Stop("account", account),
        Stop("account-password", f"{account}password/"),
        Stop("account-app", f"{account}app/"),
        Stop("account-app-refused", f"{account}app/", pressing("Turn on", Code="000000")),
        Stop("account-passkey", f"{account}passkeys/new/"),
        Stop("confirm", "/dashboard/confirm/"),
        Stop("kept-form", "/dashboard/confirm/form/", inviting_an_hour_later(stage)),
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


def inviting_an_hour_later(stage: Stage) -> Act:
    """Return the action of inviting a member long after signing in, up to the page with the kept form."""

    def act(page: Page) -> None:
        page.goto(f"{stage.service.base_url}/dashboard/team/invite/")
        assert stage.service.command("shell", "-c", AN_HOUR_LATER).returncode == 0
        page.get_by_label("Email").fill(f"{'long' * 12}@example.com")
        page.get_by_label("Finance").check()
        press(page, "Invite member")
        page.get_by_label("Password").fill(stage.password)
        press(page, "Confirm")

    return act


def invite(page: Page) -> None:
    page.get_by_label("Email").fill(f"{'long' * 12}@example.com")
    page.get_by_label("Finance").check()
    press(page, "Invite member")
    if page.locator("[data-secret=invitation]").count() == 0:  # invited already: the address is taken
        page.get_by_label("Email").fill(f"{time.monotonic_ns()}@example.com")
        page.get_by_label("Finance").check()
        press(page, "Invite member")


def hrefs(links: Locator) -> list[str]:
    found: list[str] = links.evaluate_all("links => links.map(each => each.getAttribute('href'))")
    return found


def link_on(stage: Stage, page: Page, path: str, selector: str) -> str:
    page.goto(stage.service.base_url + path)
    address = page.locator(selector).first.get_attribute("href")
    assert address, path
    return address


def for_guests(stage: Stage, page: Page) -> list[Stop]:
    """Who was invited. The owner makes the link, and leaves."""
    page.goto(f"{stage.service.base_url}/dashboard/team/invite/")
    sign_in(page, stage.email, stage.password)
    invite(page)
    shown = page.locator("[data-secret=invitation]").inner_text().removeprefix(stage.service.base_url)
    path = mailed_link(stage.service.folder / "service.log", "invitation")
    page.context.clear_cookies()
    return [
        Stop("invitation-unproven", shown),
        Stop("invitation", path),
        Stop("invitation-refused", path, pressing("Join business", Your_name="Chidi", Password="short")),
        Stop("invitation-gone", "/dashboard/invitation/nonsense/"),
    ]


def for_the_careful(stage: Stage, _page: Page) -> list[Stop]:
    account = "/dashboard/account/"
    return [
        Stop("careful-account", account),
        Stop("careful-codes", f"{account}codes/"),
        Stop("careful-new-codes", f"{account}codes/new/"),
        Stop("careful-app-off", f"{account}app/off/"),
        Stop("careful-passkey-off", f"{account}passkeys/{stage.ids['passkey']}/off/"),
        Stop("careful-confirm-code", "/dashboard/confirm/code/"),
        Stop("careful-confirm-passkey", "/dashboard/confirm/passkey/"),
    ]


def for_viewers(stage: Stage, _page: Page) -> list[Stop]:
    return [
        Stop("viewer-developers", "/dashboard/developers/"),
        Stop("viewer-webhooks", "/dashboard/webhooks/"),
        Stop("viewer-team", "/dashboard/team/"),
        Stop("failure-403", "/dashboard/developers/keys/new/"),
    ]


def for_newcomers(_stage: Stage, _page: Page) -> list[Stop]:
    areas = ["payments", "payouts", "virtual-accounts", "virtual-accounts/unapplied", "webhooks",
             "webhooks/deliveries", "settlements", "balance", "developers/requests"]  # fmt: skip
    return [
        Stop("empty-overview", "/dashboard/"),
        *[Stop(f"empty-{area.replace('/', '-')}", f"/dashboard/{area}/") for area in areas],
    ]


def for_staff(stage: Stage, page: Page) -> list[Stop]:
    """The administration: what its first page lists, and the newest of everything."""
    page.goto(f"{stage.service.base_url}/admin/")
    lists = hrefs(page.locator("#content-main th[scope=row] a[href^='/admin/']"))
    stops = [Stop("staff-no-business", "/dashboard/"), Stop("admin", "/admin/")]
    stops.append(Stop("admin-unanswered", "/admin/payments/transaction/?unanswered=all"))
    for path in dict.fromkeys(each.partition("?")[0] for each in lists):
        name = "admin-" + path.strip("/").split("/")[-1]
        stops.append(Stop(name, path))
        page.goto(stage.service.base_url + path)
        newest = page.locator("#result_list tbody th a").first
        if newest.count():
            stops.append(Stop(f"{name}-one", newest.get_attribute("href") or ""))
    return stops


def arrive_as(email: str) -> Callable[[Stage, Page], None]:
    def arrive(stage: Stage, page: Page) -> None:
        page.goto(f"{stage.service.base_url}/dashboard/login/")
        sign_in(page, email, stage.password if email == stage.email else PASSWORD)

    return arrive


def arrive_with_a_code(stage: Stage, page: Page) -> None:
    arrive_as("careful@example.com")(stage, page)
    page.get_by_label("Code").fill(code_of(TOTP_SECRET))
    press(page, "Continue")


def for_the_second_step(_stage: Stage, page: Page) -> list[Stop]:
    path = "/dashboard/login/code/"
    return [Stop("second-step", path), Stop("second-step-refused", path, pressing("Continue", Code="000000"))]


LEGS = {
    "anybody": Leg(for_anybody),
    "the forgetful": Leg(for_the_forgetful),
    "payers": Leg(for_payers),
    "owners": Leg(for_owners, arrive_as("ada@example.com")),
    "guests": Leg(for_guests),
    "the user with a second factor": Leg(for_the_second_step, arrive_as("careful@example.com")),
    "the careful": Leg(for_the_careful, arrive_with_a_code),
    "viewers": Leg(for_viewers, arrive_as("viewer@example.com")),
    "newcomers": Leg(for_newcomers, arrive_as("new@example.com")),
    "staff": Leg(for_staff, arrive_as("staff@example.com")),
}

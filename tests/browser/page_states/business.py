"""Page states of members: webhooks, developers, team, settings and the own account."""

from playwright.sync_api import Page

from tests.browser.page_states.actions import (
    AN_HOUR_LATER,
    examine,
    invite,
    link_on,
    pressing,
    sign_in_with_a_code,
    signed_in_as,
)
from tests.browser.page_states.state import Action, PageState, Persona
from tests.browser.people import press
from tests.browser.sample_data import SampleData

WEBHOOKS, DEVELOPERS, TEAM = "/dashboard/webhooks/", "/dashboard/developers/", "/dashboard/team/"
ACCOUNT, SETTINGS, SANDBOX = "/dashboard/account/", "/dashboard/settings/", "/dashboard/sandbox/"


def inviting_an_hour_later(data: SampleData) -> Action:
    """Return the action of inviting a member long after signing in, up to the page with the refused form."""

    def action(page: Page) -> None:
        page.goto(f"{data.service.base_url}/dashboard/team/invite/")
        assert data.service.command("shell", "-c", AN_HOUR_LATER).returncode == 0
        page.get_by_label("Email").fill(f"{'long' * 12}@example.com")
        page.get_by_label("Finance").check()
        press(page, "Invite member")

    return action


def confirming(data: SampleData) -> Action:
    def action(page: Page) -> None:
        page.get_by_label("Password").fill(data.password)
        press(page, "Confirm")

    return action


def send_half_an_object(page: Page) -> None:
    page.locator("#body").fill("{")
    press(page, "Send request")


def show_code(page: Page) -> None:
    page.get_by_text("Python", exact=True).click()


def select_two(page: Page) -> None:
    for number in range(2):
        page.get_by_role("checkbox").nth(number).check()


def resend_two(page: Page) -> None:
    select_two(page)
    press(page, "Resend selected")


def turn_off(page: Page) -> None:
    page.get_by_label("Enabled").uncheck()
    press(page, "Save")


def for_owners(data: SampleData, page: Page) -> list[PageState]:
    return [
        *webhooks(data, page),
        *developers(data, page),
        PageState("sandbox", SANDBOX),
        PageState("sandbox-answered", SANDBOX, pressing("Send request")),
        PageState("sandbox-refused", SANDBOX, send_half_an_object),
        PageState("sandbox-step", f"{SANDBOX}?scenario=payment.3ds.approved", pressing("Send request")),
        PageState("sandbox-whole", f"{SANDBOX}?scenario=refund.part", pressing("Play all steps")),
        PageState("sandbox-code", SANDBOX, show_code),
        PageState("sandbox-found", f"{SANDBOX}?q=lost"),
        PageState("sandbox-none", f"{SANDBOX}?q=nothing+like+it"),
        PageState("settings", SETTINGS),
        PageState("settings-payments", f"{SETTINGS}payments/"),
        PageState("notifications", f"{SETTINGS}notifications/"),
        PageState("settings-payouts", f"{SETTINGS}payouts/"),
        PageState(
            "settings-payouts-refused",
            f"{SETTINGS}payouts/",
            pressing("Save", Per_day="much"),
        ),
        PageState("settlement-account", f"{SETTINGS}settlement-account/"),
        PageState("settings-close", f"{SETTINGS}close/"),
        PageState("settings-close-requested", f"{SETTINGS}close/", pressing("Request closing")),
        PageState("settings-saved", SETTINGS, pressing("Save time zone")),
        PageState("settings-refused", SETTINGS, pressing("Save name and look", Accent_colour="#ffff00")),
        PageState("team-invite", f"{TEAM}invite/"),
        PageState("team-invite-refused", f"{TEAM}invite/", pressing("Invite member", Email="ada")),
        PageState("team-invited", f"{TEAM}invite/", invite),
        PageState("team", TEAM),
        PageState("team-member", f"{TEAM}{data.ids['viewer']}/"),
        PageState("team-remove", f"{TEAM}{data.ids['viewer']}/remove/"),
        PageState("activity", "/dashboard/activity/"),
        PageState("activity-none", "/dashboard/activity/?since=2020-01-01&until=2020-01-02"),
        PageState("account", ACCOUNT),
        PageState("account-password", f"{ACCOUNT}password/"),
        PageState("account-app", f"{ACCOUNT}app/"),
        PageState("account-app-refused", f"{ACCOUNT}app/", pressing("Turn on", Code="000000")),
        PageState("account-passkey", f"{ACCOUNT}passkeys/new/"),
        PageState("confirm", "/dashboard/confirm/"),
        PageState("refused-form", "/dashboard/team/invite/", inviting_an_hour_later(data)),
        PageState("confirmed", "/dashboard/confirm/done/", confirming(data)),
    ]


def webhooks(data: SampleData, page: Page) -> list[PageState]:
    deliveries, endpoints = f"{WEBHOOKS}deliveries/", f"{WEBHOOKS}endpoints/"
    endpoint = f"{endpoints}{data.ids['endpoint']}/"
    replayed = f"{WEBHOOKS}replay/?state=delivered&since=2026-01-01&until=2036-01-01"
    return [
        PageState("webhooks-failing", f"{WEBHOOKS}health/"),
        PageState("webhooks-settings", WEBHOOKS),
        PageState("webhooks-refused", WEBHOOKS, pressing("Save", Webhook_URL="shop")),
        PageState("webhooks-exam", f"{WEBHOOKS}exam/"),
        PageState("webhooks-exam-failed", f"{WEBHOOKS}exam/", examine),
        PageState("webhooks-rotate", f"{WEBHOOKS}rotate/"),
        PageState("webhooks-new-key", f"{WEBHOOKS}rotate/", pressing("Rotate signing key")),
        PageState("webhook-endpoints", endpoints),
        PageState("webhook-endpoint-new", f"{endpoints}new/"),
        PageState(
            "webhook-endpoint-refused", f"{endpoints}new/", pressing("Add endpoint", Webhook_URL="shop")
        ),
        PageState("webhook-endpoint", endpoint),
        PageState("webhook-endpoint-edit", f"{endpoint}edit/"),
        PageState("webhook-endpoint-delete", f"{endpoint}delete/"),
        PageState("webhook-endpoint-rotate", f"{endpoint}rotate/"),
        PageState("deliveries", deliveries),
        PageState("deliveries-none", f"{deliveries}?q=nothing-like-it"),
        PageState("deliveries-selected", f"{deliveries}?state=delivered", select_two),
        PageState("delivery", link_on(data, page, f"{deliveries}?state=delivered")),
        PageState("delivery-failing", link_on(data, page, f"{deliveries}?state=waiting")),
        PageState("deliveries-resent", f"{deliveries}?state=delivered", resend_two),
        PageState("replay-range", f"{WEBHOOKS}replay/"),
        PageState("replay-range-counted", replayed),
        PageState("webhooks-saved", WEBHOOKS, turn_off),
        PageState("webhooks-off", f"{WEBHOOKS}health/"),
    ]


def developers(data: SampleData, page: Page) -> list[PageState]:
    key = data.ids["key"]
    signature, requests = f"{DEVELOPERS}signature/", f"{DEVELOPERS}requests/"
    return [
        PageState("developers", DEVELOPERS),
        PageState("developers-new-key", f"{DEVELOPERS}keys/new/"),
        PageState(
            "developers-key-made", f"{DEVELOPERS}keys/new/", pressing("Create API key", Name="Web shop")
        ),
        PageState("developers-rotate-key", f"{DEVELOPERS}keys/{key}/rotate/"),
        PageState("developers-revoke-key", f"{DEVELOPERS}keys/{key}/revoke/"),
        PageState("developers-requests", requests),
        PageState("developers-request", link_on(data, page, f"{requests}?status=2")),
        PageState("developers-request-refused", link_on(data, page, f"{requests}?status=4")),
        PageState("developers-signature", signature),
        PageState(
            "developers-signature-checked", signature, pressing("Check request", Headers="X-Api-Key: none")
        ),
    ]


def for_users_with_mfa(data: SampleData, _page: Page) -> list[PageState]:
    return [
        PageState("mfa-account", ACCOUNT),
        PageState("mfa-codes", f"{ACCOUNT}codes/"),
        PageState("mfa-new-codes", f"{ACCOUNT}codes/new/"),
        PageState("mfa-app-off", f"{ACCOUNT}app/off/"),
        PageState("mfa-passkey-off", f"{ACCOUNT}passkeys/{data.ids['passkey']}/off/"),
        PageState("mfa-confirm-code", "/dashboard/confirm/code/"),
        PageState("mfa-confirm-passkey", "/dashboard/confirm/passkey/"),
    ]


def for_viewers(data: SampleData, page: Page) -> list[PageState]:
    unapplied = "/dashboard/virtual-accounts/unapplied/?state=open"
    return [
        PageState("viewer-developers", DEVELOPERS),
        PageState("viewer-webhooks", f"{WEBHOOKS}health/"),
        PageState("viewer-webhooks-settings", WEBHOOKS),
        PageState("viewer-team", TEAM),
        PageState("viewer-settings", SETTINGS),
        PageState("viewer-notifications", f"{SETTINGS}notifications/"),
        PageState("viewer-sandbox", SANDBOX),
        PageState("viewer-payment", f"/dashboard/payments/{data.ids['paid']}/"),
        PageState("viewer-unapplied", link_on(data, page, unapplied)),
        PageState("failure-403", f"{DEVELOPERS}keys/new/"),
    ]


BUSINESS = {
    "owners: business": Persona(for_owners, signed_in_as("ada@example.com")),
    "users with MFA": Persona(for_users_with_mfa, sign_in_with_a_code),
    "viewers": Persona(for_viewers, signed_in_as("viewer@example.com")),
}

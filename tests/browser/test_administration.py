"""Staff in a real browser: sign-in with a second factor, settlements, unapplied money and deliveries."""

import json
import secrets
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from payments.rules.settlement.business_days import business_day
from tests import orders
from tests.browser.chromium import visit
from tests.browser.page_states.actions import AN_HOUR_LATER
from tests.browser.people import attach_authenticator, code_of, credentials_of_new, press, sign_in
from tests.browser.sample_data import TOTP_SECRET
from tests.browser.test_support_journeys import Hands
from tests.clients import Credentials, HttpClient
from tests.receiver import running_receiver

pytestmark = pytest.mark.e2e

TEN = 10
PASSWORD = "correct horse battery staple"

MAKE_STAFF = """
from allauth.mfa.totp.internal.auth import TOTP
from merchants.models import User
TOTP.activate(User.objects.create_superuser("{email}", "{password}"), "{secret}")
"""


@pytest.fixture
def business(service):
    return credentials_of_new(service)


@pytest.fixture
def client(service, business):
    return HttpClient(service.base_url, Credentials(business["api_key"], business["secret_key"]))


@pytest.fixture
def seen(service, browser):
    """A member of staff, signed in with password and code."""
    email = f"{secrets.token_hex(5)}@staff.example"
    making = MAKE_STAFF.format(email=email, password=PASSWORD, secret=TOTP_SECRET)
    assert service.command("shell", "-c", making).returncode == 0
    with visit(browser, viewport={"width": 1280, "height": 844}) as visited:
        page = visited.page
        page.goto(f"{service.base_url}/admin/")
        sign_in(page, email, PASSWORD)
        page.get_by_label("Code").fill(code_of(TOTP_SECRET))
        press(page, "Continue")
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        yield visited
        assert visited.complaints == []
        assert visited.origins == {service.base_url}


class TestStaff:
    def test_open_the_summary_and_every_list(self, service, seen):
        links = seen.page.locator("#content-main :is(th[scope=row], .todo, .zeros) a[href^='/admin/']")
        for path in sorted({each.get_attribute("href") for each in links.all()}):
            answer = seen.page.goto(service.base_url + path)

            assert answer.status == 200, path

    def test_approve_and_release_a_settlement(self, service, client, business, seen):
        order = orders.card_payment(amount=52_000)
        client.post("/api/payments", order)
        day = business_day(datetime.now(tz=UTC)).isoformat()
        batches = json.loads(service.command("settle", "--date", day, "--unfinished", "--json").stdout)[
            "batches"
        ]
        (batch,) = [one for one in batches if one["business"] == business["business"]]
        page = seen.page
        page.goto(f"{service.base_url}/admin/payments/settlementbatch/{batch['id']}/change/")

        for decision, button in [("approved", "Approve"), ("released", "Release")]:
            page.locator(f"#reason-{decision}").fill("The bank has received the money.")
            press(page, button)
            expect(page.get_by_text(f"The batch is {decision}.")).to_be_visible()

        expect(page.get_by_text("The bank has received the money.").first).to_be_visible()
        assert client.get(f"/api/payments/{order['reference']}").json()["settle_status"] == "released"

    @pytest.mark.timeout(600)  # seconds: ten commands that settle, each a process
    def test_approve_ten_batches_in_four_clicks(self, service, client, business, seen):
        """The first release that approved batches took 30: one to the list, two for each batch, and nine back."""
        made = 0
        while made < TEN:
            client.post("/api/payments", orders.card_payment(amount=52_000))
            day = business_day(datetime.now(tz=UTC)).isoformat()
            settled = json.loads(service.command("settle", "--date", day, "--unfinished", "--json").stdout)[
                "batches"
            ]
            made += len([one for one in settled if one["business"] == business["business"]])
        page, hands = seen.page, Hands(seen.page)
        page.goto(f"{service.base_url}/admin/")

        hands.click("link", "Batches awaiting approval")
        hands.choose("Select all objects on this page for an action")
        hands.click("button", "Approve batches")
        count, sums = page.locator(".sum-line strong").all_inner_texts()
        hands.type("Reason", "The bank has received the money.")
        hands.click("button", "Approve batches")

        expect(page.get_by_text(f"Approved {count}: {sums}.")).to_be_visible()
        shown = [f"/admin/payments/settlementbatch/?state__exact={state}&q={business['business']}" for state in
                 ("approved", "pending")]  # fmt: skip
        for path, rows in zip(shown, (TEN, 0), strict=True):
            page.goto(service.base_url + path)
            expect(page.locator("#result_list tbody tr")).to_have_count(rows)
        assert (hands.clicks, hands.fields) == (4, 1)

    def test_credit_unapplied_money_to_its_business(self, service, client, seen):
        account = client.post("/api/virtual-accounts", orders.dynamic_account()).json()
        payment = client.post("/api/payments", orders.transfer_payment(account["id"], amount=40_000)).json()
        number = payment["virtual_account_details"]["account_number"]
        client.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 40_100})
        page = seen.page
        page.goto(f"{service.base_url}/admin/virtual_accounts/unappliedmoney/")
        with page.expect_navigation():
            page.locator("#result_list tbody th a").first.click()

        credit = page.locator("form", has=page.get_by_role("button", name="Review credit"))
        credit.get_by_label("Reason").fill("The customer pays the rest in cash")
        press(page, "Review credit")
        press(page, "Credit business")

        expect(page.get_by_text("The customer pays the rest in cash").first).to_be_visible()
        (naira,) = [one for one in client.get("/api/balance").json()["data"] if one["currency"] == "NGN"]
        assert naira["available"] == 40_100

    def test_resend_a_delivery(self, service, client, business, seen):
        with running_receiver() as receiver:
            endpoint = ["--url", receiver.url, "--events", "payment"]
            service.command("configure_webhook", "--business", business["business"], *endpoint)
            order = orders.card_payment()
            payment = client.post("/api/payments", order).json()
            receiver.wait_for(1)
            page = seen.page
            page.goto(f"{service.base_url}/admin/webhooks/delivery/?q={payment['id']}")
            with page.expect_navigation():
                page.locator("#result_list tbody th a").first.click()

            page.get_by_label("Reason").fill("They lost it")
            press(page, "Resend delivery")

            first, second = receiver.wait_for(2)
            assert first.body == second.body


class TestReauthentication:
    """In a session that is an hour old, a user can be changed after reauthentication with a passkey or a
    code.
    """

    @pytest.fixture
    def person(self, service):
        email = f"{secrets.token_hex(5)}@example.com"
        making = f"from merchants.models import User; print(User.objects.create_user('{email}', 'x').pk)"
        return email, int(service.command("shell", "-c", making).stdout.split()[-1])

    def change(self, service, page, here, person):
        """Close the user's account in a session that is an hour old."""
        page.goto(f"{here}/admin/merchants/user/{person[1]}/change/")
        page.get_by_label("Is active").uncheck()
        page.get_by_label("Reason").fill("Left the company")
        assert service.command("shell", "-c", AN_HOUR_LATER).returncode == 0
        press(page, "Save")
        expect(page.get_by_role("heading", level=1)).to_have_text("Confirm it's you")

    def check_and_continue(self, service, page, person):
        email, pk = person
        expect(page.get_by_text(f"You asked to change the user {email}.")).to_be_visible()
        expect(page.get_by_text("No (was Yes)")).to_be_visible()
        assert self.is_active(service, pk)
        press(page, "Continue")
        assert not self.is_active(service, pk)

    def is_active(self, service, pk):
        asked = service.command(
            "shell", "-c", f"from merchants.models import User; print(User.objects.get(pk={pk}).is_active)"
        )
        return asked.stdout.split()[-1] == "True"

    def test_works_with_a_passkey(self, service, browser, person):
        here = service.base_url.replace("127.0.0.1", "localhost")  # browsers require a host name
        email = f"{secrets.token_hex(5)}@staff.example"
        making = MAKE_STAFF.format(email=email, password=PASSWORD, secret=TOTP_SECRET)
        assert service.command("shell", "-c", making).returncode == 0
        with visit(browser) as seen:
            page, tab = seen.page, seen.page.context.new_page()
            attach_authenticator(tab)
            page.goto(f"{here}/admin/")
            sign_in(page, email, PASSWORD)
            page.get_by_label("Code").fill(code_of(TOTP_SECRET))
            press(page, "Continue")
            tab.goto(f"{here}/dashboard/account/passkeys/new/")
            tab.get_by_label("Name").fill("Laptop")
            press(tab, "Create passkey")

            self.change(service, page, here, person)
            confirmation = page.get_by_role("link", name="Confirm in a new tab")
            tab.goto(f"{here}{confirmation.get_attribute('href')}")
            if "passkey" not in tab.url:
                press(tab, "Use a passkey", "link")
            press(tab, "Use a passkey")

            self.check_and_continue(service, page, person)
            assert seen.complaints == []

    def test_works_with_a_code(self, service, seen, person):
        page = seen.page

        self.change(service, page, service.base_url, person)
        with page.expect_popup() as opened:
            page.get_by_role("link", name="Confirm in a new tab").click()
        tab = opened.value
        if "code" not in tab.url:
            press(tab, "Use authenticator app or code", "link", exact=False)
        tab.get_by_label("Code").fill(code_of(TOTP_SECRET, steps=1))  # the current code was used to sign in
        press(tab, "Confirm")

        self.check_and_continue(service, page, person)

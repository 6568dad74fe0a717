"""What a support person does most, in a real browser, with the number of clicks for each.

Each journey starts on the overview. `docs/decisions/0083-count-the-clicks-of-each-main-job.md` compares the
numbers with those before the redesign. A page that adds a click to a main job fails its journey.
"""

import re
import secrets
import time

import pytest
from playwright.sync_api import expect

from tests import orders
from tests.browser.chromium import visit
from tests.browser.people import press, sign_in
from tests.browser.sample_data import PASSWORD, create_sample_data, mailed_link
from tests.journeys.service import start_service

pytestmark = pytest.mark.e2e

SECONDS_TO_FIND = 30  # the search finds a new payment after a few seconds


class Hands:
    """A user's mouse and keyboard on a page, and how often they were used."""

    def __init__(self, page):
        self.page = page
        self.clicks = 0
        self.fields = 0

    def click(self, role, name):
        """Click a link or button, and wait for the next page."""
        self._click(self.page.get_by_role(role, name=name, exact=isinstance(name, str)).first)

    def open_row(self, text):
        """Click the row of a list that contains the text, and wait for its page."""
        self._click(self.page.get_by_role("row").filter(has_text=text).locator(".table__link").first)

    def choose(self, label):
        self.clicks += 1
        self.page.get_by_label(label).first.check()

    def type(self, label, text, *, section=None):
        """Fill the first field with the label, of the page or of a section."""
        self.fields += 1
        where = self.page.get_by_role("region", name=section) if section else self.page
        where.get_by_label(label).first.fill(text)

    def search(self, text):
        """Type into the search of the navigation, and press Enter. `/` puts the cursor there."""
        self.page.keyboard.press("/")
        self.fields += 1
        self.page.keyboard.type(text)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def _click(self, target):
        self.clicks += 1
        with self.page.expect_navigation():
            target.click()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    # The second attempt is the last, so that deliveries stop before a journey.
    with start_service(folder, WEBHOOK_RETRY_DELAYS="0,1") as service, create_sample_data(service) as data:
        yield data


@pytest.fixture
def hands(data, browser):
    """The hands of the owner, on the overview."""
    with visit(browser, viewport={"width": 1280, "height": 844}) as seen:
        seen.page.goto(f"{data.service.base_url}/dashboard/")
        sign_in(seen.page, data.email, data.password)
        expect(seen.page).to_have_title("Overview · Ada Books")
        yield Hands(seen.page)
        assert seen.complaints == []


def created(data, order):
    answer = data.client.post("/api/payments", order)
    assert answer.status_code == 201, answer.text
    return answer.json()


def await_search(hands, text):
    """Wait until the search finds a new object, and return to the overview."""
    page, overview = hands.page, hands.page.url
    ends_at = time.monotonic() + SECONDS_TO_FIND
    page.goto(f"{overview}search/?q={text}")
    while not page.locator(".table__link").count():
        assert time.monotonic() < ends_at, f"{text} wasn't found"
        page.reload()
    page.goto(overview)


def heading(hands):
    return hands.page.get_by_role("heading", level=1)


class TestSearch:
    def test_finds_a_payment_by_the_payers_name_with_one_click(self, data, hands):
        customer = {"name": "Túndé Bákàrè", "email": "tunde@example.com", "reference": "customer-7"}
        payment = created(data, orders.card_payment(amount=491_200, customer=customer))
        await_search(hands, "bakare")

        hands.search("bakare")
        hands.open_row("Túndé Bákàrè")

        expect(heading(hands)).to_contain_text("NGN 4,912.00")
        expect(hands.page).to_have_title(re.compile(payment["reference"]))
        assert (hands.clicks, hands.fields) == (1, 1)

    def test_finds_a_payout_by_account_number_with_one_click(self, data, hands):
        customer = {"name": "Ngozi Eze", "account_number": "0690000031", "bank_code": "044"}
        payout = created(data, orders.payout(amount=125_000, customer=customer))
        await_search(hands, "0690000031")

        hands.search("0690000031")
        hands.open_row("Ngozi Eze")

        expect(heading(hands)).to_contain_text("NGN 1,250.00")
        expect(hands.page).to_have_title(re.compile(payout["reference"]))
        assert (hands.clicks, hands.fields) == (1, 1)


class TestUnappliedTransfer:
    def test_is_accepted_from_its_payment_with_five_clicks(self, hands):
        hands.click("link", "Payments")
        hands.open_row("Mismatch")
        expect(hands.page.get_by_text("NGN 14,000.00 received, not applied")).to_be_visible()
        hands.click("link", "Decide")
        hands.type("Reason", "The customer pays the rest in cash", section="Accept for")
        hands.click("button", "Review acceptance")
        hands.click("button", "Accept NGN 14,000.00")

        expect(hands.page.get_by_text("NGN 14,000.00 was credited to your balance.")).to_be_visible()
        assert (hands.clicks, hands.fields) == (5, 1)


class TestFailingWebhook:
    def test_is_explained_and_resent_with_three_clicks(self, hands):
        hands.click("link", "View deliveries")
        hands.open_row("Stopped")
        expect(hands.page.get_by_text("500 Internal Server Error").first).to_be_visible()
        hands.click("button", "Resend")

        expect(hands.page.get_by_text("1 manual attempt")).to_be_visible()
        assert (hands.clicks, hands.fields) == (3, 0)


class TestRefund:
    def test_corrects_a_wrong_amount_with_six_clicks(self, data, hands):
        payment = created(data, orders.card_payment(amount=491_200))
        hands.click("link", "Payments")
        hands.open_row(payment["reference"])
        hands.click("link", "Refund")
        hands.type("Amount to refund", "49120")
        hands.type("Reason", "Two books are out of stock")
        hands.click("button", "Review refund")
        expect(hands.page.get_by_text("NGN 4,912.00").first).to_be_visible()
        expect(hands.page.get_by_label("Amount to refund")).to_have_value("49120")
        expect(hands.page.get_by_label("Reason")).to_have_value("Two books are out of stock")
        hands.type("Amount to refund", "2456")
        hands.click("button", "Review refund")
        hands.click("button", "Refund NGN 2,456.00")

        expect(hands.page.get_by_role("status").filter(has_text="NGN 2,456.00")).to_be_visible()
        assert (hands.clicks, hands.fields) == (6, 3)


class TestMember:
    def test_is_invited_and_removed_with_four_clicks_each(self, data, hands, browser):
        email = f"chidi-{secrets.token_hex(4)}@example.com"
        hands.click("link", "Team")
        hands.click("link", "Invite member")
        hands.type("Email", email)
        hands.choose(re.compile("^Viewer"))
        hands.click("button", "Invite member")
        assert (hands.clicks, hands.fields) == (4, 1)
        link = data.service.base_url + mailed_link(data.service.folder / "service.log", "invitation")
        with visit(browser) as guest:
            guest.page.goto(link)
            guest.page.get_by_label("Your name").fill("Chidi Eze")
            guest.page.get_by_label("Password").fill(PASSWORD)
            press(guest.page, "Join business")
            hands.page.goto(f"{data.service.base_url}/dashboard/")
            hands.clicks = hands.fields = 0

            hands.click("link", "Team")
            hands.open_row("Chidi Eze")
            hands.click("link", "Remove member")
            hands.click("button", "Remove member")

            expect(hands.page.get_by_role("row").filter(has_text=email)).to_have_count(0)
            assert (hands.clicks, hands.fields) == (4, 0)
            guest.page.reload()
            expect(guest.page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()

"""Payers at payment links in a real browser, with and without JavaScript: from the link to the receipt or the merchant."""

import re
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests import orders
from tests.browser.chromium import visit
from tests.orders import CHALLENGED_CARD, DECLINED_CARD, FRICTIONLESS_CARD, GOOD_CARD

pytestmark = pytest.mark.e2e

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
PAYERS = {"on a phone": PHONE, "without JavaScript": {"java_script_enabled": False}}
NARROWEST = 320  # CSS pixels
HEAVIEST = 60_000  # bytes of everything that the first page loads
SLOW = {
    "offline": False,
    "latency": 400,
    "downloadThroughput": 50_000,
    "uploadThroughput": 50_000,
}  # bytes a second

STATES = """
from datetime import timedelta
from django.utils import timezone
from merchants.people.audit import Actor
from payments.models import PaymentLink
from payments.services.links import links
now = timezone.now()
change = lambda reference, **columns: PaymentLink.objects.filter(reference=reference).update(**columns)
change("link-over", expires_at=now)
change("link-paid", uses_paid=1)
change("link-taken", uses_paid=2)
blocked = PaymentLink.objects.get(reference="link-blocked")
links.block(link_id=blocked.pk, reason="Fraud", actor=Actor(name="staff"), now=now)
"""


@pytest.fixture(params=PAYERS)
def payer(request, browser):
    """A payer on a phone, and one without JavaScript. Their browsers may not complain."""
    with visit(browser, **PAYERS[request.param]) as seen:
        seen.page.set_default_timeout(15_000)
        yield seen.page
        assert seen.complaints == []


@pytest.fixture
def link(service):
    """Create links through the API; return their addresses."""

    def make(**changes):
        answer = service.client.post("/api/payment-links", orders.payment_link(**changes))
        assert answer.status_code == 201, answer.text
        return answer.json()["url"]

    return make


def heading(page, text, **options):
    expect(page.get_by_role("heading", level=1)).to_have_text(text, **options)


def details(page, address, *, method="Card", **fields):
    """Open a link and begin a checkout there."""
    page.goto(address)
    for label, text in {"Full name": "Ada Obi", "Email": "ada@example.com", **fields}.items():
        page.get_by_label(label).fill(text)
    page.get_by_label(method).check()
    page.get_by_role("button", name="Continue").click()


def pay_by_card(page, number):
    # As pasted from a message, and as some browsers fill in the date.
    page.get_by_label("Card number").fill(f"\u202a{number[:4]}\u00a0{number[4:8]}\u2011{number[8:]}\u202c")
    page.get_by_label("Expiry date").fill("2035-12")
    page.get_by_label("Name on card").fill("Ada Obi")
    page.get_by_label("Security code").fill("408")
    page.get_by_role("button", name=re.compile("^Pay NGN")).click()


def approve(page):
    page.get_by_label("One-time code").fill("123456")
    page.get_by_role("button", name="Approve").click()


def show_number(page):
    """Begin a transfer and return the account number."""
    page.get_by_role("button", name=re.compile("Show account number|Start again")).click()
    return page.locator(".slip__digits").first.inner_text()


def transfer(service, number, amount):
    """Simulate a transfer from outside of the page."""
    answer = service.client.post(
        "/api/virtual-accounts/simulate", {"account_number": number, "amount": amount}
    )
    assert answer.status_code == 200, answer.text


def look_again(page):
    """Wait as the page asks for it: the script looks every four seconds, and a link does without it."""
    runs_scripts = page.locator("[data-copy]").first.is_visible()
    if not runs_scripts:
        page.get_by_role("link", name="I have paid: look again").click()


def payments_at(service, address):
    """Return the payments of the link at an address, oldest first."""
    slug = urlsplit(address).path.rpartition("/")[2]
    [found] = [
        each
        for each in service.client.get("/api/payment-links?limit=100").json()["data"]
        if each["slug"] == slug
    ]
    listed = service.client.get(f"/api/payments?payment_link_id={found['id']}").json()["data"]
    return listed[::-1]


class TestByCard:
    def test_challenge_leads_back_through_two_hosts(self, service, shop, link, payer):
        address = link(redirect_url=f"{shop.origin}/moved?cart=7")

        details(payer, address)
        pay_by_card(payer, GOOD_CARD)
        heading(payer, "Confirm your payment")
        approve(payer)

        heading(payer, "Thank you")
        assert urlsplit(payer.url).path == "/home"
        [payment] = payments_at(service, address)
        [asked] = [each for each in shop.requests if each.startswith("/moved")]
        assert parse_qs(urlsplit(asked).query) == {
            "cart": ["7"],
            "reference": [payment["reference"]],
            "id": [payment["id"]],
            "status": ["success"],
            "payment_link_id": [payment["payment_link_id"]],
        }
        assert payment["status"] == "success"

    def test_declined_card_is_replaced(self, service, link, payer):
        address = link(success_message="See you in May!")

        details(payer, address)
        pay_by_card(payer, DECLINED_CARD)
        expect(payer.get_by_role("alert")).to_contain_text("Not enough money on this card for this payment.")
        assert payer.get_by_label("Card number").input_value() == ""
        pay_by_card(payer, FRICTIONLESS_CARD)

        heading(payer, "Payment received")
        expect(payer.get_by_text("See you in May!")).to_be_visible()
        expect(payer.get_by_text("NGN 15,000.00").first).to_be_visible()
        assert [each["status"] for each in payments_at(service, address)] == ["failed", "success"]

    def test_errors_are_summed_up_with_links_to_the_fields(self, link, payer):
        details(payer, link())
        payer.get_by_label("Name on card").fill("Ada Obi")
        payer.get_by_label("Card number").fill("4084 0840 8408 408O")
        payer.get_by_role("button", name=re.compile("^Pay NGN")).click()

        summary = payer.get_by_role("alert")
        expect(summary).to_be_focused()
        expect(summary.locator("svg")).to_be_visible()
        expect(summary.locator("b")).to_have_text("Check these fields")
        expect(summary.get_by_role("link")).to_have_text(
            [
                "Enter the card number without letters.",
                "Enter the expiry date as on the card, such as 03/29.",
                "Enter the 3 or 4 digits of the security code, usually on the back.",
            ]
        )
        assert payer.title().startswith("Error: Pay ")
        summary.get_by_role("link", name="Enter the expiry date").click()
        expect(payer.get_by_label("Expiry date")).to_be_focused()
        payer.get_by_role("button", name=re.compile("^Pay NGN")).click()
        expect(summary).to_have_count(1)
        assert payer.title().count("Error: ") == 1

    def test_payer_chooses_an_amount(self, link, payer):
        address = link(amount=..., amount_range={"min": 50_000, "max": 500_000})

        details(payer, address, Amount="499.99")
        expect(payer.get_by_role("alert")).to_contain_text("Enter an amount of NGN 500.00 to NGN 5,000.00.")
        assert payer.title().startswith("Error: ")
        payer.get_by_label("Amount").fill("1,250.50")
        payer.get_by_role("button", name="Continue").click()
        pay_by_card(payer, FRICTIONLESS_CARD)

        heading(payer, "Payment received")
        expect(payer.get_by_text("NGN 1,250.50").first).to_be_visible()

    def test_payer_chooses_a_quantity(self, link, payer):
        details(payer, link(quantity_max=4), Quantity="3")

        expect(payer.get_by_role("button", name="Pay NGN 45,000.00")).to_be_visible()
        pay_by_card(payer, FRICTIONLESS_CARD)
        heading(payer, "Payment received")

    def test_another_card_replaces_a_challenge(self, service, link, payer):
        address = link()
        details(payer, address)
        checkout = payer.url
        pay_by_card(payer, CHALLENGED_CARD)
        heading(payer, "Confirm your payment")

        payer.goto(checkout)
        expect(payer.get_by_role("link", name="Continue with your bank")).to_be_visible()
        payer.get_by_role("button", name="Use another card").click()
        pay_by_card(payer, FRICTIONLESS_CARD)

        heading(payer, "Payment received")
        assert [each["response_code"] for each in payments_at(service, address)] == ["20091", "10000"]


class TestByTransfer:
    def test_arrives_while_the_page_waits(self, service, link, payer):
        details(payer, link(), method="Bank transfer")
        transfer(service, show_number(payer), 1_500_000)
        look_again(payer)

        heading(payer, "Payment received")

    def test_is_simulated_on_the_page(self, link, payer):
        details(payer, link(), method="Bank transfer")
        show_number(payer)

        payer.get_by_role("button", name="Simulate this transfer").click()

        heading(payer, "Payment received")

    def test_of_another_amount_begins_again(self, service, link, payer):
        details(payer, link(), method="Bank transfer")
        number = show_number(payer)
        transfer(service, number, 1_400_000)
        look_again(payer)

        expect(payer.get_by_role("alert")).to_contain_text("Your money is not lost: ask the merchant")
        expect(payer.get_by_text("NGN 14,000.00")).to_be_visible()
        assert show_number(payer) != number

    def test_too_late_begins_again_or_another_way(self, service, link, payer):
        address = link()
        details(payer, address, method="Bank transfer")
        show_number(payer)
        [waiting] = payments_at(service, address)
        service.client.post("/api/sandbox/advance", {"payment": waiting["reference"]})
        look_again(payer)
        expect(payer.get_by_role("alert")).to_contain_text("The time to pay is over.")

        show_number(payer)
        payer.get_by_role("button", name="Pay another way").click()
        expect(payer.get_by_text("Have you sent the money already? Then wait.")).to_be_visible()
        payer.get_by_role("button", name="Pay another way").click()
        payer.get_by_role("link", name="Card").click()
        pay_by_card(payer, FRICTIONLESS_CARD)

        heading(payer, "Payment received")

    def test_lost_page_is_found_again(self, link, payer):
        address = link()
        details(payer, address, method="Bank transfer")
        number = show_number(payer)

        payer.goto(address)
        payer.get_by_role("link", name="Continue your payment").click()

        expect(payer.locator(".slip__digits").first).to_have_text(number)


class TestHistory:
    """Refused forms leave no POST in the history: Back and reload show pages, never the browser's error page."""

    LONG = "A" * 101  # the script of the card page lets it pass

    def test_back_to_a_refused_link_form_and_a_refused_card(self, link, payer):
        details(payer, link(), Email="nonsense")
        expect(payer.get_by_role("alert")).to_contain_text("Enter an email address")
        expect(payer.get_by_label("Full name")).to_have_value("Ada Obi")
        payer.reload()
        expect(payer.get_by_role("alert")).to_contain_text("Enter an email address")
        payer.get_by_label("Email").fill("ada@example.com")
        payer.get_by_role("button", name="Continue").click()
        payer.get_by_label("Card number").fill(FRICTIONLESS_CARD)
        payer.get_by_label("Expiry date").fill("12/35")
        payer.get_by_label("Name on card").fill(self.LONG)
        payer.get_by_label("Security code").fill("408")
        payer.get_by_role("button", name=re.compile("^Pay NGN")).click()
        expect(payer.get_by_role("alert")).to_contain_text("Enter at most 100 characters.")
        expect(payer.get_by_label("Card number")).to_have_value("")
        expect(payer.get_by_label("Expiry date")).to_have_value("12/35")
        pay_by_card(payer, FRICTIONLESS_CARD)
        heading(payer, "Payment received")

        payer.go_back()  # to the refused card
        heading(payer, "Payment received")
        payer.go_back()  # to the empty card form
        heading(payer, "Payment received")
        payer.go_back()  # to the refused form of the link
        heading(payer, "Bookbinding workshop")
        expect(payer.get_by_role("alert")).to_contain_text("Enter an email address")
        expect(payer.get_by_label("Email")).to_have_value(
            "ada@example.com"
        )  # the browser fills in what it had

    def test_back_to_a_wrong_code_and_from_the_merchant(self, shop, link, payer):
        details(payer, link(redirect_url=f"{shop.origin}/moved"))
        pay_by_card(payer, GOOD_CARD)
        payer.get_by_label("One-time code").fill("000000")
        payer.get_by_role("button", name="Approve").click()
        expect(payer.get_by_role("alert")).to_contain_text("You have 2 attempts left")
        payer.reload()
        expect(payer.get_by_role("alert")).to_contain_text("You have 2 attempts left")
        approve(payer)
        heading(payer, "Thank you")

        payer.go_back()
        heading(payer, "Payment approved")
        payer.go_back()
        heading(payer, "Payment approved")
        payer.go_back()  # to the checkout, which is paid and leads to the merchant
        heading(payer, "Thank you")
        payer.go_back()
        heading(payer, "Bookbinding workshop")

    def test_back_to_the_question_before_another_way(self, link, payer):
        details(payer, link(), method="Bank transfer")
        show_number(payer)
        payer.get_by_role("button", name="Pay another way").click()
        heading(payer, "Pay another way?")
        payer.reload()
        payer.get_by_role("button", name="Pay another way").click()
        payer.get_by_role("link", name="Card").click()

        payer.go_back()
        payer.go_back()
        heading(payer, "Pay by bank transfer")

    def test_another_tab_shows_no_errors(self, link, payer):
        address = link()
        details(payer, address, Email="nonsense")
        expect(payer.get_by_role("alert")).to_be_visible()
        other = payer.context.new_page()
        other.goto(address)

        assert other.get_by_role("alert").count() == 0
        expect(other.get_by_label("Full name")).to_have_value("")


class TestNotPayable:
    def test_says_why(self, service, link, browser):
        contact = {"support_contact": "help@ada.example"}
        addresses = {
            "This link is not active": link(reference="link-off", **contact),
            "This link has expired": link(reference="link-over", **contact),
            "This has been paid": link(reference="link-paid", max_uses=1),
            "All places are taken": link(reference="link-taken", max_uses=2),
            "This link is not available": link(reference="link-blocked", **contact),
            "Page not found": f"{service.base_url}/l/nothing-here",
        }
        service.client.post("/api/payment-links/link-off/deactivate", {})
        assert service.command("shell", "-c", STATES).returncode == 0
        held = link(max_uses=1)
        with visit(browser, **PHONE) as seen:
            details(seen.page, held, method="Bank transfer")
            show_number(seen.page)
        with visit(browser, **PHONE) as seen:
            page = seen.page
            page.goto(held)
            merchant = page.locator(".order__shop bdi").inner_text()
            heading(page, "Others are paying at this moment.")
            expect(page.get_by_text(re.compile("Look again after [0-9]{2}:[0-9]{2}"))).to_be_visible()
            for said, address in addresses.items():
                answer = page.goto(address)
                heading(page, said)
                assert answer.status == (404 if said == "Page not found" else 410)
                shown = page.locator("body").inner_text()
                is_named = said not in {"This link is not available", "Page not found"}
                assert (merchant in shown) == is_named, said
                assert ("help@ada.example" in shown) == (said in list(addresses)[:2]), said


class TestSeeing:
    """Keyboards, zoom, colours and slow networks."""

    def test_keyboard_is_enough(self, link, browser):
        with visit(browser) as seen:
            page = seen.page
            page.goto(link())
            for text in ("Ada Obi", "ada@example.com"):
                reach(page, "input[type=text], input[type=email]")
                page.keyboard.type(text)
            reach(page, "button[type=submit]")
            page.keyboard.press("Enter")
            page.wait_for_url(re.compile("/checkout/"))
            for text in (FRICTIONLESS_CARD, "12/35", "408"):  # the name is filled in
                reach(page, "form input[type=text]")
                page.keyboard.type(text)
            page.keyboard.press("Enter")

            heading(page, "Payment received")
            assert seen.complaints == []

    def test_zoomed_pages_do_not_scroll_sideways(self, link, browser):
        """A screen of 1280 pixels at 200 % has the CSS pixels of half a screen; a phone at 400 % has 320."""
        sizes = ({"width": 640, "height": 400}, {"width": NARROWEST, "height": 256})
        with visit(browser, viewport=sizes[0], device_scale_factor=2) as seen:
            page = seen.page
            address = link(quantity_max=4)
            page.goto(address)
            fits(page, sizes)
            details(page, address, Quantity="2")
            fits(page, sizes)
            pay_by_card(page, DECLINED_CARD)
            fits(page, sizes)
            page.get_by_role("link", name="Bank transfer").click()
            show_number(page)
            fits(page, sizes)
            page.get_by_role("button", name="Simulate this transfer").click()
            heading(page, "Payment received")
            fits(page, sizes)

    def test_forced_colours_keep_what_can_be_pressed(self, link, browser):
        with visit(browser, forced_colors="active") as seen:
            page = seen.page
            address = link()
            page.goto(address)
            assert page.evaluate("matchMedia('(forced-colors: active)').matches")
            edged(page)
            details(page, address)
            edged(page)
            pay_by_card(page, FRICTIONLESS_CARD)
            heading(page, "Payment received")

    @pytest.mark.parametrize("is_card_page", [False, True], ids=["link", "card page"])
    def test_first_page_is_light(self, link, browser, is_card_page, record_property):
        """The first paint takes less than two seconds on a slow network; the time depends on the machine."""
        with visit(browser, **PHONE) as seen:
            page, address = seen.page, link()
            if is_card_page:
                details(page, address)
                address = page.url
        with visit(browser, **PHONE) as seen:
            page, loaded = seen.page, []
            network = page.context.new_cdp_session(page)
            network.send("Network.enable")
            network.send("Network.emulateNetworkConditions", SLOW)
            network.on("Network.loadingFinished", lambda each: loaded.append(each["encodedDataLength"]))
            page.goto(address, wait_until="networkidle")
            paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")

        record_property("first contentful paint, ms", round(paint))
        print(f"\n{address}: {sum(loaded):.0f} bytes in {len(loaded)} responses, first paint {paint:.0f} ms")
        assert 0 < sum(loaded) <= HEAVIEST

    @pytest.mark.parametrize("method", ["Card", "Bank transfer"])
    def test_purchase_is_quick(self, link, browser, method, record_property):
        with visit(browser, **PHONE) as seen:
            page, address, began = seen.page, link(), time.perf_counter()
            details(page, address, method=method)
            if method == "Card":
                pay_by_card(page, GOOD_CARD)
                approve(page)
            else:
                show_number(page)
                page.get_by_role("button", name="Simulate this transfer").click()
            heading(page, "Payment received")
            taken = time.perf_counter() - began

        record_property("seconds", round(taken, 1))
        print(f"\n{method}: {taken:.1f} s from the link to the receipt")


def reach(page, selector):
    """Press Tab until an element that matches a selector, and is empty if it is a field, has the focus."""
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate(
            "selector => document.activeElement.matches(selector) && !document.activeElement.value", selector
        ):
            return
    pytest.fail(f"Tab never reached {selector}")


def fits(page, sizes):
    """Check that a page needs no scrolling to the side in any of the sizes."""
    for size in sizes:
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], page.url


def edged(page):
    """Check that each button and field has an edge, because forced colours remove grounds."""
    bare = page.evaluate(
        """() => [...document.querySelectorAll("main button, main .pay__button, main input:not([type=hidden])")]
          .filter((each) => each.checkVisibility() && each.type !== "radio" && parseFloat(getComputedStyle(each).borderTopWidth) === 0)
          .map((each) => each.outerHTML.slice(0, 100))"""
    )
    assert bare == []

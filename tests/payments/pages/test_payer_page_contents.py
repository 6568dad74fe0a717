"""What the payer's pages load and send, to the letter: scripts, headers, fields and previews.

Requirements 6.4.3 and 11.6.1 of PCI DSS ask for an inventory of the scripts of a card page with the reason of each, and
for notice of changes to them and to its headers. A change of these pages changes this file.
"""

import re
from datetime import datetime, timedelta
from functools import partial
from html import unescape
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from merchants.models import Logo
from payments.models import PaymentLink, Transaction
from payments.urls import urlpatterns
from tests.links import begin, make_link, pay_by_card, pay_by_transfer
from tests.orders import CHALLENGED_CARD

pytestmark = pytest.mark.django_db

SCRIPTS = {
    "link": {},
    "card": {"js/card_form.js": "checks the fields and prevents a second press"},
    "challenge": {},
    "transfer": {
        "js/copy.js": "copies account number and amount",
        "js/countdown.js": "shows how long the account number accepts the transfer",
        "js/wait.js": "asks for the state and loads the page again",
    },
    "receipt": {"js/print.js": "prints the receipt"},
}
HEADERS = {
    "Cache-Control": "max-age=0, no-cache, no-store, must-revalidate, private",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex, nofollow",
}
PRIVATE = {
    name: value for name, value in HEADERS.items() if name not in {"Cache-Control", "Content-Security-Policy"}
}
PAYER_PAGES = {
    pattern.name: pattern
    for pattern in urlpatterns
    if str(pattern.pattern).startswith(("3ds/", "pay/", "l/", "checkout/"))
}
OTHERS = {"Content-Length", "Content-Type", "Expires", "Vary", "X-Request-Id"}


@pytest.fixture
def link(api):
    questions = [{"key": "size", "label": "Size", "required": False}]
    return make_link(api, quantity_max=4, custom_fields=questions, collect={"phone": "optional"})


@pytest.fixture
def pages(link):
    """Return the payer's pages by name."""
    challenged, waiting = begin(link), begin(link, method="virtual_account")
    pay_by_card(challenged, CHALLENGED_CARD)
    pay_by_transfer(waiting)
    paid = begin(link)
    pay_by_card(paid)
    addresses = {
        "link": f"/l/{link.slug}",
        "card": f"/checkout/{begin(link).token}",
        "challenge": f"/checkout/{challenged.token}",
        "transfer": f"/checkout/{waiting.token}",
        "receipt": f"/checkout/{paid.token}/receipt",
    }
    found = {name: Client().get(address) for name, address in addresses.items()}
    assert {answer.status_code for answer in found.values()} == {200}
    return found


def address_of(page, **known):
    """Return the address of a payer's page, with unknown values where none are given."""
    unknown = {
        "token": "A" * 32,
        "slug": "nothing-here",
        "payment_id": uuid4(),
        "logo_id": uuid4(),
        "colour": "ffff00",
    }
    return reverse(
        page, kwargs={name: (unknown | known)[name] for name in PAYER_PAGES[page].pattern.converters}
    )


@pytest.fixture
def addresses(link):
    """Return functions that make what a payer's page shows, and return its address."""

    def of_checkout(page):
        return address_of(page, token=begin(link, method="virtual_account").token)

    def receipt():
        pay_by_card(checkout := begin(link))
        return address_of("receipt", token=checkout.token)

    made = {page: partial(of_checkout, page) for page in PAYER_PAGES}
    return made | {
        "challenge": lambda: address_of(
            "challenge", token=pay_by_card(begin(link), CHALLENGED_CARD).challenge.token
        ),
        "pay": lambda: address_of(
            "pay", payment_id=pay_by_transfer(begin(link, method="virtual_account")).pk
        ),
        "link": lambda: address_of("link", slug=link.slug),
        "receipt": receipt,
        "theme": lambda: address_of("theme", colour="123456"),
        "logo": lambda: address_of("logo", logo_id=Logo.objects.create(media_type="image/png").pk),
    }


def inputs(page):
    """Return the attributes of each visible field, by its name."""
    found = {}
    for tag in re.findall(r"<input [^>]+>", page.content.decode()):
        given = {name: unescape(value) for name, value in re.findall(r'([\w-]+)="([^"]*)"', tag)}
        if given["type"] not in {"hidden", "radio"}:
            found[given["name"]] = given
    return found


class TestScriptsAndHeaders:
    @pytest.mark.parametrize("name", SCRIPTS)
    def test_are_exactly_these(self, pages, name, settings):
        page = pages[name].content.decode()

        assert re.findall(r'<script src="/static/([^"]+)"', page) == list(SCRIPTS[name])
        assert page.count("<script") == len(SCRIPTS[name])
        addresses = re.findall(r'(?:src|href|action)="((?:https?:)?//[^"]+)', page)
        assert [each for each in addresses if not each.startswith(settings.PUBLIC_URL)] == []
        given = dict(pages[name].headers)
        assert {header: given.get(header) for header in HEADERS} == HEADERS
        assert set(given) - set(HEADERS) <= OTHERS

    @pytest.mark.parametrize("page", PAYER_PAGES)
    def test_every_address_of_payers_is_as_private(self, addresses, page):
        payer = Client(raise_request_exception=False)
        known, unknown = addresses[page](), address_of(page)

        answers = [getattr(payer, method)(at) for at in (known, unknown) for method in ("get", "put", "post")]

        for answer in answers:
            assert answer.status_code < 500
            assert {name: answer.headers.get(name) for name in PRIVATE} == PRIVATE
            assert "no-store" in answer.headers["Cache-Control"] or page in {"theme", "logo"}
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]

    def test_the_script_of_the_card_page_has_its_hash(self, pages):
        assert re.search(
            r'card_form\.js" integrity="sha384-[\w+/]{64}" defer', pages["card"].content.decode()
        )

    def test_forms_lead_to_pages_of_ours_only(self, api):
        checkout = begin(make_link(api, redirect_url="https://shop.example/thanks"))
        challenge = pay_by_card(begin(make_link(api)), CHALLENGED_CARD).challenge

        for address in (f"/checkout/{checkout.token}", f"/3ds/{challenge.token}"):
            assert Client().get(address).headers["Content-Security-Policy"].endswith("form-action 'self'")


@pytest.mark.parametrize("page", ["checkout", "pay"])
def test_deadline_is_a_time_that_scripts_can_read(link, addresses, page):
    waiting = begin(link, method="virtual_account")
    payment = pay_by_transfer(waiting)
    address = addresses["pay"]() if page == "pay" else f"/checkout/{waiting.token}"

    shown = re.findall(r'<time [^>]*datetime="([^"]+)"', Client().get(address).content.decode())

    assert len(shown) == 1
    assert abs(datetime.fromisoformat(shown[0]) - payment.session.expires_at) < timedelta(minutes=1)


class TestFields:
    TOKENS = {
        "quantity": ("text", "numeric", "off"),
        "name": ("text", None, "name"),
        "email": ("email", None, "email"),
        "phone": ("tel", "tel", "tel"),
        "field_size": ("text", None, "off"),
    }
    OF_CARD = {
        "number": ("text", "numeric", "cc-number"),
        "expiry": ("text", "numeric", "cc-exp"),
        "code": ("text", "numeric", "cc-csc"),
        "name": ("text", None, "cc-name"),
    }

    @pytest.mark.parametrize(("name", "expected"), [("link", TOKENS), ("card", OF_CARD)])
    def test_are_filled_in_by_browsers(self, pages, name, expected):
        found = inputs(pages[name])

        shown = {
            field: (given["type"], given.get("inputmode"), given["autocomplete"])
            for field, given in found.items()
        }
        assert shown == expected
        assert list(shown) == list(expected)
        for given in found.values():
            assert (given["spellcheck"], given["autocapitalize"]) == ("false", "off")
            assert "maxlength" not in given

    def test_of_an_amount(self, api):
        link = make_link(api, amount=..., amount_range={"min": 50_000, "max": 500_000})

        amount = inputs(Client().get(f"/l/{link.slug}"))["amount"]

        assert (amount["type"], amount["inputmode"]) == ("text", "decimal")


class TestPreview:
    def shown(self, link):
        page = Client().get(f"/l/{link.slug}").content.decode()
        return {
            name: unescape(text)
            for name, text in re.findall(r'<meta property="og:(\w+)" content="([^"]*)">', page)
        }

    def test_names_offer_and_merchant(self, api, ada):
        link = make_link(api, description="Two days\nin Yaba. " + "More. " * 40)

        shown = self.shown(link)

        assert shown["title"] == f"Bookbinding workshop: {ada.business.name}"
        assert shown["description"].startswith("NGN 15,000.00. Two days in Yaba. More.")
        assert len(shown["description"]) <= 140
        assert (shown["url"], shown["type"]) == (link.url, "website")
        assert shown["image"].startswith("http")

    def test_names_a_range(self, api):
        link = make_link(api, amount=..., amount_range={"min": 50_000, "max": 500_000})

        assert self.shown(link)["description"] == "NGN 500.00 to NGN 5,000.00."

    def test_of_one_customer_names_the_merchant_only(self, api, ada):
        link = make_link(api, max_uses=1, customer={"reference": "c", "email": "bisi@example.com"})

        shown = self.shown(link)

        assert shown["title"] == f"Payment request from {ada.business.name}"
        assert "description" not in shown


def words(answer):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


class TestWords:
    def test_of_a_link_whose_uses_are_held(self, api):
        link = make_link(api, max_uses=1)
        pay_by_transfer(begin(link))

        text = words(Client().get(f"/l/{link.slug}"))

        assert re.search(r"Others are paying at this moment\. Look again after [0-9]{2}:[0-9]{2}", text)

    def test_of_a_challenge(self, pages):
        text = words(pages["challenge"])

        assert "Continue with your bank" in text
        assert "Use another card" in text

    def test_of_a_closed_checkout_after_a_mismatch(self, api, link, monkeypatch):
        checkout = begin(link, method="virtual_account")
        payment = pay_by_transfer(checkout)
        notice = {"account_number": payment.session.number_id, "amount": 5_000}
        api.post("/api/virtual-accounts/simulate", notice)
        tomorrow = timezone.now() + timedelta(hours=25)
        monkeypatch.setattr("payments.pages.checkout.clock", SimpleNamespace(now=lambda: tomorrow))

        text = words(Client().get(f"/checkout/{checkout.token}"))

        assert "This payment is closed" in text
        assert "Your money is not lost: ask the merchant." in text
        assert "Nothing was paid" not in text

    def test_way_back_names_the_link_only_before_the_first_attempt(self, api):
        link = make_link(api, redirect_url="https://shop.example/thanks")
        checkout = begin(link)

        for address in (f"/l/{link.slug}", f"/checkout/{checkout.token}"):
            page = Client().get(address).content.decode()
            assert f'href="https://shop.example/thanks?payment_link_id={link.pk}"' in page
            assert "Back to" in page

        payment = pay_by_card(checkout, CHALLENGED_CARD)
        page = unescape(Client().get(f"/checkout/{checkout.token}").content.decode())
        assert f"reference={payment.reference}&id={payment.pk}&status=pending&payment_link_id=" in page

    def test_way_back_names_the_order_of_a_link_with_one_use(self, api):
        link = make_link(api, redirect_url="https://shop.example/thanks", max_uses=1, reference="order-7")

        page = unescape(Client().get(f"/l/{link.slug}").content.decode())

        assert f"payment_link_id={link.pk}&payment_link_reference=order-7" in page

    def test_name_neither_codes_nor_counts_nor_the_links_reference(self, pages, link):
        PaymentLink.objects.update(max_uses=40)
        hidden = [link.reference, *Transaction.objects.values_list("response_summary", flat=True)]

        for name, page in pages.items():
            text = words(page).partition("Test cards")[0]
            assert not [each for each in hidden if each and each in text], name

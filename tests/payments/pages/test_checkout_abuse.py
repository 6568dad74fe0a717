"""Requests to the payer's pages that no page of ours sends: each changes nothing, or only what the page would have."""

import re
from html import unescape
from urllib.parse import urlsplit

import pytest
from django.db import OperationalError, connection
from django.test import Client

from kit.api.replays import DuplicateReference
from payments.models import Checkout, LinkDay, PaymentLink, Transaction
from payments.pages import payer_requests
from payments.services.checkouts import checkouts
from payments.services.transfers import virtual_account_payments
from tests import orders
from tests.orders import CHALLENGED_CARD, FRICTIONLESS_CARD
from tests.racing import kept_locked
from virtual_accounts.models import Session, VirtualAccount
from virtual_accounts.services import accounts

pytestmark = [pytest.mark.django_db, pytest.mark.long]

BROWSER = {"User-Agent": "Mozilla/5.0 (Linux; Android 14) Chrome/120", "Accept": "text/html"}
DETAILS = {"name": "Ada Obi", "email": "ada@example.com", "method": "card"}
LINE_BREAKS = "Ada\r\nSet-Cookie: a=b\r\n\r\n<script>"


@pytest.fixture
def payer():
    return Client(headers=BROWSER)


def make_link(api, **changes):
    answer = api.post("/api/payment-links", orders.payment_link(**changes))
    assert answer.status_code == 201, answer.json()
    return answer.json()


def path(link):
    return urlsplit(link["url"]).path


def begin(payer, link, **changes):
    answer = payer.post(path(link), DETAILS | changes)
    assert answer.status_code == 303, answer.content
    return answer.headers["Location"]


def words(answer):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def card(number=FRICTIONLESS_CARD, **changes):
    return orders.card_form(number, **changes)


def rows():
    return (
        Checkout.objects.count(),
        Transaction.objects.count(),
        Session.objects.count(),
        list(PaymentLink.objects.order_by("pk").values_list("uses_held", "uses_paid", "amount_paid")),
    )


class TestSwappedFields:
    SWAPPED = {
        "amount": "1",
        "quantity": "100",
        "currency": "USD",
        "total": "1",
        "payment_method": "virtual_account",
        "method": "virtual_account",
        "link": "another",
        "payment_link_id": "019b76da-cf10-7c11-9a53-3f4be0f6a7d1",
        "reference": "mine",
        "redirect_url": "https://evil.example/",
        "next": "https://evil.example/",
        "expires_at": "2099-01-01T00:00:00Z",
        "max_uses": "99",
    }

    def test_of_the_details_change_only_what_is_asked(self, api, payer):
        link = make_link(api)

        answer = payer.post(f"{path(link)}?next=https://evil.example/", self.SWAPPED | DETAILS)

        checkout = Checkout.objects.get()
        assert answer.headers["Location"] == f"/checkout/{checkout.token}"
        assert (checkout.amount, checkout.quantity, checkout.currency) == (1_500_000, 1, "NGN")
        assert str(checkout.link_id) == link["id"]

    @pytest.mark.parametrize("form", ["card", "transfer"])
    def test_of_a_payment_change_nothing(self, api, payer, form):
        link, other = make_link(api, quantity_max=3), make_link(api, amount=10_000)
        address, cheaper = begin(payer, link, quantity="2"), begin(payer, other)
        swapped = self.SWAPPED | {"link": other["slug"], "token": cheaper.rpartition("/")[2]}

        answer = payer.post(f"{address}/{form}?next=//evil.example&amount=1", swapped | card())

        payment = Transaction.objects.get()
        assert (answer.status_code, answer.headers["Location"].startswith(address)) == (303, True)
        assert (payment.amount, payment.currency, str(payment.payment_link_id)) == (
            3_000_000,
            "NGN",
            link["id"],
        )
        assert payment.method == {"card": "card", "transfer": "virtual_account"}[form]
        assert payment.reference == f"pl_{payment.pk.hex}"
        assert payment.redirect_url in {"", Checkout.objects.get(pk=payment.checkout_id).url}

    @pytest.mark.parametrize(("form", "offered"), [("card", "virtual_account"), ("transfer", "card")])
    def test_method_that_the_link_does_not_offer_begins_nothing(self, api, payer, form, offered):
        address = begin(payer, make_link(api, payment_methods=[offered]), method=offered)
        before = rows()

        answer = payer.post(f"{address}/{form}", card())

        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "300")
        assert rows() == before
        assert not VirtualAccount.objects.exists()

    def test_card_without_3ds_is_never_sent(self, api, payer, settings):
        address = begin(payer, make_link(api))
        settings.CARD_ACQUIRER = "tests.rails.AcquirerWithoutThreeDSecure"

        assert payer.post(f"{address}/card", card()).status_code == 503
        assert not Transaction.objects.exists()

        settings.CHECKOUT_CARD_WITHOUT_3DS = True
        assert payer.post(f"{address}/card", card()).status_code == 303
        assert Transaction.objects.get().status == "success"

    @pytest.mark.parametrize(
        ("form", "connector"),
        [
            ("card", {"CARD_ACQUIRER": "tests.rails.LimitedAcquirer"}),
            ("transfer", {"ACCOUNT_PROVIDER": "tests.rails.LimitedProvider"}),
        ],
    )
    def test_payment_that_the_connector_can_never_take_begins_nothing(
        self, api, payer, settings, form, connector
    ):
        settings.CHECKOUT_CARD_WITHOUT_3DS = True
        method = {"card": "card", "transfer": "virtual_account"}[form]
        link = make_link(api, payment_methods=[method], amount=9_900_100, transfer_window=600)
        address = begin(payer, link, method=method)
        for name, value in connector.items():
            setattr(settings, name, value)

        answer = payer.post(f"{address}/{form}", card())

        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "300")
        assert not Transaction.objects.exists()


class TestReading:
    @pytest.mark.parametrize(
        "headers",
        [
            {"User-Agent": "WhatsApp/2.23"},
            {"User-Agent": "facebookexternalhit/1.1"},
            BROWSER | {"Sec-Purpose": "prefetch;prerender"},
            BROWSER,
        ],
    )
    @pytest.mark.parametrize("method", ["get", "head"])
    def test_begins_nothing(self, api, payer, method, headers):
        link = make_link(api)
        waiting, paying = begin(payer, link), begin(payer, link, method="virtual_account")
        payer.post(f"{paying}/transfer", {"attempt": "0"})
        LinkDay.objects.update(opened=0)
        before = rows()

        for address in (path(link), waiting, paying):
            for page in (
                "",
                "/state",
                "/receipt",
                "/end",
                "/end?step=confirmed",
                "?method=card&attempt=0&number=4000000000002701",
            ):
                answer = getattr(Client(headers=headers), method)(f"{address}{page}")
                assert answer.status_code in {200, 303, 404}
        for button in ("card", "transfer", "simulate"):
            assert getattr(Client(headers=headers), method)(f"{waiting}/{button}").status_code == 405

        assert rows() == before
        counted = method == "get" and headers == BROWSER
        assert LinkDay.objects.get().opened == int(counted)


class TestForeignForms:
    @pytest.mark.parametrize("site", ["cross-site", "same-site"])
    def test_end_and_pay_nothing(self, api, payer, site):
        address = begin(payer, make_link(api), method="virtual_account")
        payer.post(f"{address}/transfer", {"attempt": "0"})
        before = rows()

        for button in ("end", "simulate", "card", "transfer"):
            answer = payer.post(
                f"{address}/{button}", card() | {"step": "confirmed"}, headers={"Sec-Fetch-Site": site}
            )
            assert answer.status_code == 403

        assert rows() == before
        assert Transaction.objects.get().status == "pending"

    def test_cookie_of_another_link_offers_nothing(self, api, other_api, payer):
        begin(payer, make_link(api))
        token = payer.cookies["resume"].value
        foreign = path(make_link(other_api))

        for value in (token, "x" * 500, "\\000", '"\\000"', "%00", "\u00e9"):
            visitor = Client(headers=BROWSER)
            answer = visitor.get(foreign, headers={"Cookie": f"resume={value}"})
            assert answer.status_code == 200
            assert "Continue your payment" not in words(answer)


class TestHeaders:
    def test_of_no_answer_hold_a_line_of_the_payer(self, api, payer):
        link = make_link(
            api,
            redirect_url="https://shop.example/back?a=%0d%0aSet-Cookie:%20a=b",
            custom_fields=[{"key": "size", "label": "Size", "required": False}],
        )
        answers = [
            payer.post(path(link), DETAILS | {"name": LINE_BREAKS, "field_size": LINE_BREAKS}),
            payer.get(path(link), headers={"Cookie": "resume=a%0d%0aX: y"}),
        ]
        address = answers[0].headers["Location"]
        answers += [
            payer.get(f"{address}?method={'%0d%0aX-Evil: 1'}"),
            payer.post(f"{address}/card", card(name=LINE_BREAKS, expiry=LINE_BREAKS)),
            payer.post(f"{address}/card", card()),
            payer.get(f"{address}/receipt"),
        ]

        assert [answer.status_code for answer in answers] == [303, 200, 200, 303, 303, 200]
        for answer in answers:
            assert "\n" not in "".join(f"{name}{value}" for name, value in answer.headers.items())
            assert "<script>" not in answer.content.decode()
            assert answer.cookies.keys() <= {"resume", "refused"}
        checkout = Checkout.objects.get()
        assert checkout.name == checkout.answers["size"] == "Ada Set-Cookie: a=b <script>"

    @pytest.mark.parametrize(
        "changes",
        [
            {name: f"a\r\nX-Evil: {name}"}
            for name in ("title", "redirect_url", "success_message", "support_contact", "slug", "reference")
        ],
    )
    def test_are_safe_from_the_texts_of_the_merchant(self, api, payer, changes):
        answer = api.post("/api/payment-links", orders.payment_link(**changes))

        if answer.status_code == 201:  # a text of several lines
            shown = payer.get(path(answer.json()))
            assert "\n" not in "".join(f"{name}{value}" for name, value in shown.headers.items())
        else:
            assert (answer.status_code, not PaymentLink.objects.exists()) == (400, True)


class TestTenants:
    def test_links_of_others_are_missing(self, api, other_api):
        reference = make_link(api)["reference"]
        before = PaymentLink.objects.values().get()

        for method, target in (
            ("GET", reference),
            ("PATCH", reference),
            ("POST", f"{reference}/deactivate"),
            ("POST", f"{reference}/activate"),
            ("GET", f"{reference}/checkouts"),
        ):
            body = b'{"title":"Mine"}' if method == "PATCH" else b""
            assert other_api.send(method, f"/api/payment-links/{target}", body).status_code == 404
        assert PaymentLink.objects.values().get() == before


class TestLimitsOfViews:
    def test_are_600_a_minute_of_an_address(self, api, payer, limit_clock, monkeypatch, settings):
        settings.PROXIES_IN_FRONT = 1
        monkeypatch.setattr(payer_requests, "VIEWS", 20)
        assert payer_requests.UNKNOWN == payer_requests.STATES == 30
        here, there = {"X-Forwarded-For": "2001:db8::1"}, {"X-Forwarded-For": "2001:db8:0:1::1"}
        target = path(make_link(api))

        answers = [payer.get(target, headers={"X-Forwarded-For": f"2001:db8::{n:x}"}) for n in range(1, 22)]

        assert [answer.status_code for answer in answers] == [200] * 20 + [429]
        assert answers[-1].headers["Retry-After"] == "60"
        assert payer.get(target, headers=there).status_code == 200
        limit_clock.now += 60
        assert payer.get(target, headers=here).status_code == 200

    def test_states_are_limited_apart_and_by_checkout(self, api, payer, limit_clock, monkeypatch):
        monkeypatch.setattr(payer_requests, "VIEWS", 40)
        link = make_link(api)
        addresses = [begin(payer, link) for _ in range(2)]

        for address in addresses:
            answers = [payer.get(f"{address}/state").status_code for _ in range(31)]
            assert answers == [200] * 30 + [429]
        assert payer.get(addresses[0]).status_code == 200

    def test_unknown_slugs_are_limited_by_address(self, payer, limit_clock):
        answers = [payer.get(f"/l/no-{number}").status_code for number in range(31)]

        assert answers == [404] * 30 + [429]


class TestChangesMeanwhile:
    """What has changed since the page was shown is looked at again when the attempt begins."""

    def test_account_deactivated_after_its_lookup_is_no_server_error(self, api, payer, monkeypatch):
        address = begin(payer, make_link(api), method="virtual_account")
        before = rows()
        monkeypatch.setattr(virtual_account_payments, "_usable_account", lambda *_: None)

        assert payer.post(f"{address}/transfer", {"attempt": "0"}).status_code == 503
        assert rows() == before

    @pytest.mark.parametrize(("account", "status"), [("dynamic_account", 303), ("static_account", 503)])
    def test_account_of_that_reference_made_meanwhile_is_used_if_it_can_be(
        self, api, payer, monkeypatch, account, status
    ):
        address = begin(payer, make_link(api), method="virtual_account")

        create = accounts.create

        def overtaken(**_):
            monkeypatch.setattr(accounts, "create", create)
            api.post("/api/virtual-accounts", getattr(orders, account)(reference="payment-links-NGN"))
            raise DuplicateReference(existing={})

        monkeypatch.setattr(accounts, "create", overtaken)

        assert payer.post(f"{address}/transfer", {"attempt": "0"}).status_code == status

    @pytest.mark.parametrize(
        "error",
        [
            OperationalError("canceling statement due to lock timeout: 4000000000002503 cvv=408"),
            LookupError("No route for pan=4000000000002503 cvv=408"),
        ],
    )
    def test_failure_is_answered_with_503_and_logged_without_the_card(
        self, api, payer, monkeypatch, caplog, error
    ):
        address = begin(payer, make_link(api))

        def fail(**_):
            raise error

        monkeypatch.setattr(checkouts, "pay_by_card", fail)
        answer = payer.post(f"{address}/card", card(CHALLENGED_CARD))

        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert "load the payment page again" in words(answer)
        assert type(error).__name__ in caplog.text
        for text in (answer.content.decode(), caplog.text):
            assert "4000000000002503" not in text.partition("Test cards")[0]
            assert "cvv=408" not in text


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks no rows")
def test_locked_link_is_answered_with_503_and_holds_nothing(api, payer):
    link = make_link(api)
    address = begin(payer, link)
    before = rows()

    with kept_locked(PaymentLink.objects.get()):
        answer = payer.post(f"{address}/card", card())

    assert (answer.status_code, rows()) == (503, before)
    assert payer.post(f"{address}/card", card()).status_code == 303

"""Amounts in currencies of zero and three decimals, on every page and in every file with amounts."""

import csv
import io
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from django.test import Client

from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.settling import decide, settle

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Amounts:
    """The amount of a payment, its fee of 3.9 % and the net, each in minor units and as formatted for
    people.
    """

    currency: str
    gross: str
    fee: str
    net: str


GROSS, FEE, NET = 150_000, 5_850, 144_150
CURRENCIES = [
    Amounts("JPY", gross="JPY 150,000", fee="JPY 5,850", net="JPY 144,150"),
    Amounts("KWD", gross="KWD 150.000", fee="KWD 5.850", net="KWD 144.150"),
]


@pytest.fixture(params=CURRENCIES, ids=lambda amounts: amounts.currency)
def shown(request, ada):
    """The currency, enabled for Ada Books, and its amounts."""
    business = ada.business
    business.currencies = [*business.currencies, request.param.currency]
    business.save(update_fields=["currencies"])
    return request.param


@pytest.fixture
def paid(api, shown):
    return api.post("/api/payments", orders.card_payment(amount=GROSS, currency=shown.currency)).json()


@pytest.fixture
def batch(paid, shown):
    [made] = [each for each in settle() if each.currency == shown.currency]
    return made


@pytest.fixture
def released(batch):
    return decide(batch, "approve", "release")


def amounts_in(page, currency):
    """Return all amounts in a currency on a page."""
    text = " ".join(re.sub(r"<[^>]*>", " ", page.content.decode()).replace("\u2212", "").split())
    return set(re.findall(rf"{currency} [0-9][0-9,.]*[0-9]|{currency} [0-9]", text))


def rows_of(answer):
    text = b"".join(answer.streaming_content).decode() if answer.streaming else answer.content.decode()
    return list(csv.DictReader(io.StringIO(text)))


def bare(amount):
    """Return an amount as files have it: without currency and separators."""
    return amount.partition(" ")[2].replace(",", "")


class TestPages:
    def test_of_payments(self, browser, shown, paid):
        assert amounts_in(browser.get("/dashboard/payments/"), shown.currency) == {shown.gross}
        assert {shown.gross, shown.fee} <= amounts_in(
            browser.get(f"/dashboard/payments/{paid['id']}/"), shown.currency
        )

    def test_of_refunds_and_captures(self, api, browser, shown, paid):
        held = api.post(
            "/api/payments", orders.card_payment(amount=GROSS, currency=shown.currency, capture=False)
        ).json()
        for address in (f"{paid['id']}/refund/", f"{held['id']}/capture/"):
            page = browser.get(f"/dashboard/payments/{address}")
            assert amounts_in(page, shown.currency) == {shown.gross}

    def test_of_refunds_read_major_units(self, api, browser, shown, paid):
        half = shown.gross.partition(" ")[2].replace(",", "").replace("150", "75", 1)

        form = {"amount": half, "reference": "back-1", "step": "confirmed"}
        browser.post(f"/dashboard/payments/{paid['id']}/refund/", form)

        assert api.get("/api/refunds/back-1").json()["amount"] == 75_000

    def test_of_the_overview(self, browser, shown, paid):
        assert shown.gross in amounts_in(
            browser.get(f"/dashboard/?currency={shown.currency}"), shown.currency
        )

    def test_of_settlements(self, browser, shown, batch):
        assert shown.net in amounts_in(browser.get("/dashboard/settlements/"), shown.currency)
        page = browser.get(f"/dashboard/settlements/{batch.pk}/")
        assert shown.net in amounts_in(page, shown.currency)
        for amount in (shown.gross, shown.fee):  # in columns, whose head names the currency
            assert f"{amount.partition(' ')[2]}</dd>" in page.content.decode()

    def test_of_the_balance(self, browser, shown, released):
        page = browser.get("/dashboard/balance/", {"currency": shown.currency})

        assert shown.net in amounts_in(page, shown.currency)
        assert amounts_in(page, shown.currency) <= {
            shown.net,
            f"{shown.currency} 0",
            f"{shown.currency} 0.000",
            page.context["chart"].scale[0].rstrip("bkmn"),
        }

    def test_of_the_administration(self, shown, paid, batch):
        staff = Client()
        signed_in(UserFactory(is_staff=True, is_superuser=True), client=staff)

        for address in (
            f"/admin/payments/transaction/{paid['id']}/change/",
            f"/admin/payments/settlementbatch/{batch.pk}/change/",
        ):
            assert shown.gross in amounts_in(staff.get(address), shown.currency)

    def test_of_a_payer_who_confirms_a_card_payment(self, api, client, shown):
        asked = orders.card_payment(
            amount=GROSS,
            currency=shown.currency,
            three_ds={"enabled": True, "challenge_preference": "challenge_mandated"},
        )
        link = api.post("/api/payments", asked).json()["redirect_link"]

        assert amounts_in(client.get(urlsplit(link).path), shown.currency) == {shown.gross}

    def test_of_a_payer_who_transfers_and_of_the_receipt(self, api, client, browser, shown):
        account = api.post("/api/virtual-accounts", orders.dynamic_account(currency=shown.currency)).json()
        asked = orders.transfer_payment(account["id"], amount=GROSS, currency=shown.currency)
        payment = api.post("/api/payments", asked).json()
        number = payment["virtual_account_details"]["account_number"]
        before = client.get(f"/pay/{payment['id']}")

        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": GROSS})

        assert amounts_in(before, shown.currency) == {shown.gross}
        assert amounts_in(client.get(f"/pay/{payment['id']}"), shown.currency) == {shown.gross}
        area = browser.get(f"/dashboard/virtual-accounts/{account['id']}/")
        assert amounts_in(area, shown.currency) == {shown.gross}

    def test_of_unapplied_money(self, api, browser, shown):
        account = api.post("/api/virtual-accounts", orders.dynamic_account(currency=shown.currency)).json()
        asked = orders.transfer_payment(account["id"], amount=GROSS + 1, currency=shown.currency)
        payment = api.post("/api/payments", asked).json()
        number = payment["virtual_account_details"]["account_number"]

        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": GROSS})

        inbox = browser.get("/dashboard/virtual-accounts/unapplied/")
        assert shown.gross in amounts_in(inbox, shown.currency)


class TestFiles:
    """Files contain amounts in major units and the currency, whatever its decimals."""

    def test_of_payments(self, browser, shown, paid, released):
        [row] = rows_of(browser.get("/dashboard/payments/export.csv"))

        assert (row["amount"], row["fee"], row["currency"]) == (
            bare(shown.gross),
            bare(shown.fee),
            shown.currency,
        )
        assert (row["settle_status"], row["settlement_id"]) == ("released", str(released.pk))

    def test_of_a_settlement(self, browser, shown, batch):
        [row] = rows_of(browser.get(f"/dashboard/settlements/{batch.pk}/statement.csv"))

        assert (row["gross"], row["fee"], row["net"]) == tuple(map(bare, [shown.gross, shown.fee, shown.net]))
        assert (row["currency"], row["settlement_id"]) == (shown.currency, str(batch.pk))
        assert row["settle_status"] == "pending"

    def test_of_the_balance(self, browser, shown, released):
        [row] = rows_of(browser.get("/dashboard/balance/export.csv", {"currency": shown.currency}))

        assert (row["amount"], row["currency"]) == (bare(shown.net), shown.currency)

"""Settlements: batches with their steps, net calculation and statements."""

import csv
import io
import re
from html import unescape

import pytest
from django.utils import timezone

from kit.money.money import MINUS, figures, money
from payments.models import SettlementBatch, Tariff, Transaction
from payments.rules.words.dispute_words import Status
from payments.services import fee_rules
from payments.services.settlement.payouts import settlement_payouts
from tests import orders, reserves
from tests.developer_site.test_pages import Audit
from tests.disputed import disputed, payment_of, take
from tests.query_counts import at_most
from tests.refunds import refund
from tests.settlement_accounts import settlement_account
from tests.settling import STAFF, decide, settle
from tests.transactions import captured_payment

pytestmark = pytest.mark.django_db

SETTLEMENTS = "/dashboard/settlements/"
NASTY = "</td><script>alert('x')</script>{{ 7|add:7 }} \u202egnp.exe " + "w" * 30


@pytest.fixture
def payment(ada):
    return captured_payment(business=ada.business, now=timezone.now(), amount=123_400)


@pytest.fixture
def batch(payment):
    """Ada's, of today, complete and waiting for approval."""
    (made,) = settle()
    made.refresh_from_db()
    return made


def text_of(client, address):
    return unescape(client.get(address).content.decode())


class TestList:
    def test_shows_own_batches_only(self, browser, other_browser, batch):
        assert f"{SETTLEMENTS}{batch.pk}/" in text_of(browser, SETTLEMENTS)
        assert f"{SETTLEMENTS}{batch.pk}/" not in text_of(other_browser, SETTLEMENTS)

    def test_is_filtered_by_state(self, browser, batch):
        assert str(batch.pk) in text_of(browser, f"{SETTLEMENTS}?state=pending")
        assert str(batch.pk) not in text_of(browser, f"{SETTLEMENTS}?state=released")

    def test_sums_no_rejected_batch_beside_the_one_that_replaced_it(self, browser, batch, payment):
        decide(batch, "reject")
        (again,) = settle()
        payment.refresh_from_db()

        assert again.net == batch.net
        assert list(browser.get(SETTLEMENTS).context["totals"].sums) == [money(again.net, "NGN")]
        (step,) = [
            each
            for each in browser.get(f"/dashboard/payments/{payment.pk}/").context["detail"].timeline
            if each.title == "Settlement rejected"
        ]
        assert not step.address  # the batch that the payment is in now was not rejected

    @pytest.mark.parametrize(
        "query", [{"state": "odd"}, {"before": "x"}, {"currency": "XXX"}, {"after": "\x00"}]
    )
    def test_never_fails_on_bad_input(self, browser, batch, query):
        for address in (SETTLEMENTS, f"{SETTLEMENTS}{batch.pk}/"):
            assert browser.get(address, query).status_code == 200


class TestBatch:
    def test_shows_the_net_calculation(self, browser, batch, payment):
        page = text_of(browser, f"{SETTLEMENTS}{batch.pk}/")

        assert (batch.gross, batch.fees, batch.net) == (123_400, payment.fee, 123_400 - payment.fee)
        assert "1,234.00</dd>" in page
        assert payment.reference in page

    def test_shows_its_steps_in_order(self, browser, batch):
        decide(batch, "approve", "release")

        steps = browser.get(f"{SETTLEMENTS}{batch.pk}/").context["steps"]

        assert [step.title for step in steps] == [
            "Opened",
            "Payments added",
            "Approved",
            "Released to your balance",
        ]

    def test_says_what_happens_next(self, browser, batch):
        address = f"{SETTLEMENTS}{batch.pk}/"
        assert "Waiting for approval." in text_of(browser, address)
        decide(batch, "approve")
        assert "released to your balance next" in text_of(browser, address)
        decide(batch, "release")

        assert browser.get(address).context["next_step"] is None

    def test_says_whether_a_bank_account_was_paid(self, browser, ada, batch):
        address, unpaid = f"{SETTLEMENTS}{batch.pk}/", "not paid out to your bank account yet"
        account = settlement_account(ada.business)
        assert unpaid not in text_of(browser, address)
        decide(batch, "approve", "release")

        with at_most(12):
            assert unpaid in text_of(browser, address)
        settlement_payouts.pay_by_schedule(account, is_day_passed=True)
        paid = text_of(browser, address)
        assert unpaid not in paid
        assert "paid to your bank account by" in paid

    def test_of_a_business_without_settlement_payouts_names_no_bank_account(self, browser, batch):
        decide(batch, "approve", "release")

        assert "bank account" not in text_of(browser, f"{SETTLEMENTS}{batch.pk}/")

    def test_names_the_sender_of_a_transfer_without_a_customer(self, browser, api):
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
        made = api.post("/api/payments", orders.transfer_payment(account)).json()
        number = made["virtual_account_details"]["account_number"]
        transfer = {"account_number": number, "amount": made["amount"], "sender_name": "Bisi Ade"}
        api.post("/api/virtual-accounts/simulate", transfer)
        (batch,) = settle()

        assert "<bdi>Bisi Ade</bdi>" in text_of(browser, f"{SETTLEMENTS}{batch.pk}/")

    def test_exports_its_statement(self, browser, batch, payment):
        answer = browser.get(f"{SETTLEMENTS}{batch.pk}/statement.csv")

        rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))
        assert payment.reference in [row["reference"] for row in rows]

    @pytest.mark.parametrize("page", ["", "statement.csv"])
    def test_of_another_business_is_not_found(self, other_browser, batch, page):
        assert other_browser.get(f"{SETTLEMENTS}{batch.pk}/{page}").status_code == 404


def amount_of(cell):
    """Return the figure in a cell in minor units."""
    text = re.sub(r"<[^>]*>|[A-Z,.\s]", "", cell)
    return int(text.replace(MINUS, "-"))


@pytest.fixture
def everything(ada, api, settings):
    """Three batches with fees, taxes, a refund, disputes, a reserve, and a debt carried from one to the next."""
    settings.DISPUTE_FEES = {"NGN": 2_000}
    terms = Tariff(business=ada.business, flow="card", currency="NGN", basis_points=150, tax_basis_points=750)
    fee_rules.agree(terms, actor=STAFF, now=timezone.now())
    reserves.agree(ada.business, reserve_basis_points=1_000, reserve_days=30)
    kept, first = payment_of(api, amount=100_000), payment_of(api)
    refund(api, kept.reference, amount=7_000)
    later = payment_of(api)
    disputed(first)
    (paid,) = settle()
    decide(paid, "approve", "release")
    disputed(later)
    payment_of(api, amount=1_000)
    (owing,) = settle()
    decide(owing, "approve", "release")
    payment_of(api, amount=90_000)
    settle()
    return SettlementBatch.objects.order_by("pk")


class TestSum:
    def test_lines_of_a_settlement_add_up(self, browser, everything):
        for batch in everything:
            page = text_of(browser, f"{SETTLEMENTS}{batch.pk}/")
            lines = re.findall(r'"sum__line[^"]*"><dt>(.*?)</dt>\s*<dd>(.*?)</dd>', page, re.DOTALL)
            amounts = [amount_of(amount) for _, amount in lines]
            total = next(place for place, (name, _) in enumerate(lines) if name.startswith("Net, "))

            assert sum(amounts[:total]) == amounts[total] == batch.net
            assert sum(-amount for amount in amounts[total + 1 :]) == batch.reserved
            assert "Held for disputes" in page or not batch.disputes
        assert [bool(batch.disputes) for batch in everything] == [True, True, False]
        assert everything[0].taxes
        assert everything[0].reserved
        assert everything[2].brought_forward

    def test_columns_of_the_statement_add_up(self, browser, everything):
        for batch in everything:
            page = text_of(browser, f"{SETTLEMENTS}{batch.pk}/")
            (foot,) = re.findall(r"<tfoot>(.*?)</tfoot>", page, re.DOTALL)
            cells = [amount_of(cell) for cell in re.findall(r'<td class="figure[^>]*>(.*?)</td>', foot)]
            assert sum(cells[:-1]) == cells[-1] == batch.net

    def test_columns_of_the_list_add_up(self, browser, everything):
        page = text_of(browser, SETTLEMENTS)
        (rows,) = re.findall(r"<tbody>(.*?)</tbody>", page, re.DOTALL)
        for row in rows.split("<tr>")[1:]:
            net, *_, count, gross = (cells := re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL))[:5]
            assert amount_of(net) == amount_of(gross) + sum(amount_of(cell) for cell in cells[5:]), count

    def test_items_of_disputes_name_their_case(self, browser, everything):
        page = text_of(browser, f"{SETTLEMENTS}{everything[0].pk}/")
        (item,) = everything[0].items.exclude(dispute_step=None)
        dispute = item.dispute_step.dispute

        (row,) = [row for row in page.split("<tr>") if f'href="/dashboard/disputes/{dispute.pk}/"' in row]

        assert f"Dispute, <bdi>{dispute.case_number}</bdi>" in row
        assert figures(-item.disputed, "NGN") in row
        assert figures(item.net, "NGN") in row
        assert "Visa" not in row

    def test_tells_what_a_dispute_took_from_what_it_gave_back(self, api, browser, ada):
        payment = captured_payment(business=ada.business, now=timezone.now())
        dispute = disputed(payment)
        take(payment, status=Status.WON)
        (batch,) = settle()

        page = text_of(browser, f"{SETTLEMENTS}{batch.pk}/")
        answer = browser.get(f"{SETTLEMENTS}{batch.pk}/statement.csv")
        lines = csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig")))

        assert "<span>Dispute opened</span>" in page
        assert "<span>Dispute won</span>" in page
        steps = [(line["dispute_status"], line["dispute"]) for line in lines if line["kind"] == "dispute"]
        whole = f"{dispute.amount / 100:.2f}"
        assert steps == [("needs_response", whole), ("won", f"-{whole}")]

    def test_names_disputes_in_exports(self, browser, everything):
        answer = browser.get(f"{SETTLEMENTS}export.csv")
        rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))
        assert sorted(row["disputes"] for row in rows) == ["0.00", "500.00", "500.00"]


class TestUntrustedText:
    def test_is_escaped_on_every_page_of_the_area(self, browser, ada, batch, payment):
        Transaction.objects.filter(pk=payment.pk).update(reference=NASTY[:100], customer_name=NASTY)
        decide(batch, "reject", reason=NASTY)

        for page in ("", f"{batch.pk}/"):
            shown = browser.get(f"{SETTLEMENTS}{page}").content.decode()
            assert "<script>" not in shown
            assert Audit(shown).findings == []
            assert not page or NASTY in unescape(shown)


class TestStatement:
    def test_adds_up_on_the_page(self, browser, ada, batch, payment):
        page = text_of(browser, f"{SETTLEMENTS}{batch.pk}/")

        assert f'href="/dashboard/payments/{payment.pk}/"' in page
        assert "Total, 1 payment" in page
        assert page.count(figures(batch.net, "NGN")) == 4  # title, sum, item and total

    def test_names_states_as_merchants_read_them(self, browser, batch):
        assert ">Open</span>" in text_of(browser, f"{SETTLEMENTS}{batch.pk}/")
        decide(batch, "approve", "release")

        page = text_of(browser, f"{SETTLEMENTS}{batch.pk}/")

        assert ">Released</span>" in page
        assert 'paid into your <a href="/dashboard/balance/?currency=NGN">NGN balance</a>' in page

    def test_counts_the_states_in_tabs(self, browser, batch):
        tabs = browser.get(f"{SETTLEMENTS}?state=pending").context["tabs"]

        assert [(tab.name, str(tab.count), tab.is_here) for tab in tabs] == [
            ("All", "1", False),
            ("Open", "1", True),
            ("Approved", "0", False),
            ("Released", "0", False),
            ("Rejected", "0", False),
        ]

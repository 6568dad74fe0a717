"""Monthly invoices of fees: what the ledger booked, numbered without gaps, issued once."""

import io
import json
import time
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from ledger import invariants
from ledger.models import Entry
from ledger.services import Kind
from merchants.businesses import business_settings
from payments.invariants.fees import fee_invoices as rules
from payments.models import FeeInvoice, FeeInvoiceLine, Tariff
from payments.rules.settlement import business_days
from payments.rules.words.dispute_words import Status
from payments.services import fee_rules
from payments.services.journals.drafts import Leg
from payments.services.reporting import fee_invoices, tax_report
from payments.services.reporting.fee_invoices import MonthNotOver, NoSeller
from tests import orders
from tests.disputed import disputed, payment_of, take
from tests.factories import BusinessFactory
from tests.fee_invoices import empty_invoice, issue, issued_at, this_month
from tests.journals import adjusted, remitted
from tests.racing import racers
from tests.settling import STAFF
from tests.transactions import captured_payment
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db


def broken():
    """Return the names of the invariants of invoices that don't hold."""
    return [checked.invariant.name for checked in invariants.check(rules.INVARIANTS) if checked.broken]


def following(business, month):
    """Return the values of an invoice of a later month without fees."""
    now = issued_at(month)
    values = {
        name: getattr(empty_invoice(business), name)
        for name in ("id", "currency", "net", "tax", "stamp_duty")
    }
    period = {"month": month, "begins_at": business_days.begins_at(month), "ends_at": now, "created_at": now}
    return values | period | {"number": 2, "business": business, "seller_name": "Acme", "buyer_name": "Ada"}


@pytest.fixture
def charged(api, ada):
    """A payment, a payout with stamp duty, and one that is a salary."""
    for flow, terms in {
        "card": {"basis_points": 150},
        "payout": {"fixed": 1_000, "stamp_duty": 5_000, "stamp_duty_from": 1_000_000},
    }.items():
        tariff = Tariff(business=ada.business, flow=flow, currency="NGN", tax_basis_points=750, **terms)
        fee_rules.agree(tariff, actor=STAFF, now=timezone.now())
    fill_wallet(ada.business, 5_000_000)
    api.post("/api/payments", orders.card_payment(amount=50_000))
    api.post("/api/payments", orders.payout(amount=1_000_000))
    api.post("/api/payments", orders.payout(amount=1_000_000, purpose="salary"))
    return ada.business


class TestIssue:
    def test_adds_up_fees_and_taxes_of_the_ledger(self, charged):
        (invoice,) = issue()

        lines = {
            line.label: (line.entries, line.net, line.tax, line.stamp_duty) for line in invoice.lines.all()
        }
        assert lines == {"Card payments": (1, 750, 56, 0), "Payouts": (2, 2_000, 150, 5_000)}
        assert (invoice.net, invoice.tax, invoice.stamp_duty, invoice.gross) == (2_750, 206, 5_000, 7_956)
        report = tax_report.of_period(this_month(), fee_invoices.month_after(this_month()))[0]
        assert report.charged == invoice.tax + invoice.stamp_duty
        assert broken() == []

    def test_leaves_out_taxes_that_were_remitted(self, charged):
        remitted(charged, 5_206)

        (invoice,) = issue()

        assert {line.label for line in invoice.lines.all()} == {"Card payments", "Payouts"}
        assert (invoice.tax, invoice.stamp_duty) == (206, 5_000)
        assert broken() == []

    def test_has_a_tax_that_a_journal_gave_back(self, charged):
        adjusted(charged, 0, legs=(Leg(Kind.TAXES_PAYABLE, "", -56), Leg(Kind.WALLET, "", 56)))

        (invoice,) = issue()

        line = invoice.lines.get(kind="journal")
        assert (line.label, line.net, line.tax) == ("Corrections, given back", 0, -56)
        assert (invoice.tax, broken()) == (150, [])

    def test_names_seller_and_buyer_as_they_are_then(self, charged, settings):
        settings.SELLER_NAME, settings.SELLER_TAX_ID = "Acme Payments Ltd", "01234567-0001"
        now = timezone.now()
        business_settings.change(
            business=charged, actor=STAFF, now=now, tax_id="07654321-0001", billing_address="1 Marina, Lagos"
        )

        issue()

        settings.SELLER_NAME = "Another Ltd"
        business_settings.change(business=charged, actor=STAFF, now=now, tax_id="")
        invoice = FeeInvoice.objects.get()
        assert (invoice.seller_name, invoice.seller_tax_id) == ("Acme Payments Ltd", "01234567-0001")
        assert (invoice.buyer_tax_id, invoice.buyer_address) == ("07654321-0001", "1 Marina, Lagos")

    def test_gives_each_business_and_currency_a_number_of_its_own(self, charged):
        captured_payment(business=BusinessFactory(), now=timezone.now(), amount=100_000)
        captured_payment(business=charged, now=timezone.now(), amount=100_000, currency="USD")

        issue()

        found = FeeInvoice.objects.order_by("number")
        assert [each.number for each in found] == [1, 2, 3]
        assert [(each.business_id == charged.pk, each.currency) for each in found] == [
            (True, "NGN"), (True, "USD"), (False, "NGN"),
        ]  # fmt: skip
        assert found[0].reference == "INV-000001"

    def test_of_a_month_happens_once(self, charged):
        issue()

        assert issue() == []
        assert FeeInvoice.objects.count() == 1

    def test_waits_an_hour_after_the_month(self, charged):
        month = this_month()

        with pytest.raises(MonthNotOver):
            fee_invoices.issue(month, now=issued_at(month) - timedelta(seconds=1))
        assert fee_invoices.issue_due(now=issued_at(month) - timedelta(seconds=1)) == 0
        assert fee_invoices.issue_due(now=issued_at(month)) == 1

    def test_makes_up_for_months_in_which_nothing_ran(self, charged):
        issue()
        month = this_month()
        for _ in range(3):
            month = fee_invoices.month_after(month)

        due = fee_invoices.due_months(now=issued_at(month))

        assert (len(due), due[-1]) == (3, month)

    def test_without_a_seller_is_refused(self, charged, settings):
        settings.SELLER_NAME = ""

        with pytest.raises(NoSeller):
            issue()
        assert fee_invoices.issue_due(now=issued_at(this_month())) == 0

    def test_has_fees_given_back_as_lines_of_their_own(self, api, settings):
        settings.DISPUTE_FEES = {"NGN": 2_500}
        payment = payment_of(api)
        disputed(payment)
        take(payment, status=Status.WON)

        (invoice,) = issue()

        lines = {line.label: line.net for line in invoice.lines.all()}
        assert lines == {"Card payments": payment.fee, "Disputes": 2_500, "Disputes, given back": -2_500}
        assert (invoice.net, invoice.title) == (payment.fee, "Fee invoice")
        assert broken() == []

    def test_has_what_was_booked_too_late_for_the_month_before(self, charged):
        (first,) = issue()
        newcomer = BusinessFactory()
        for business in (charged, newcomer):
            captured_payment(business=business, now=timezone.now(), amount=100_000)
        assert broken() == []
        month = fee_invoices.month_after(this_month())

        late, of_newcomer = fee_invoices.issue(month, now=issued_at(month))

        assert [line.entries for line in late.lines.all()] == [1]
        assert (late.fees_through, late.net) == (first.fees_through + 1, of_newcomer.net)
        assert broken() == []
        following = fee_invoices.month_after(month)
        assert fee_invoices.issue(following, now=issued_at(following)) == []

    @pytest.mark.django_db(transaction=True)
    def test_by_two_workers_has_no_number_twice(self, monkeypatch):
        """Tests the lock of the table."""
        drafts = fee_invoices.drafts

        def slowly(month):
            time.sleep(0.2)
            return drafts(month)

        for _ in range(3):
            captured_payment(business=BusinessFactory(), now=timezone.now(), amount=100_000)
        monkeypatch.setattr(fee_invoices, "drafts", slowly)

        with racers(2) as threads:
            answers = threads.race(issue, issue)

        assert sorted(len(each) for each in answers) == [0, 3]
        assert sorted(FeeInvoice.objects.values_list("number", flat=True)) == [1, 2, 3]


class TestInvariants:
    def test_find_what_no_invoice_of_a_later_month_has(self, charged):
        issue()
        captured_payment(business=BusinessFactory(), now=timezone.now(), amount=100_000)
        month = fee_invoices.month_after(this_month())

        FeeInvoice.objects.create(**following(charged, month))

        assert broken() == ["fee_invoices_match_ledger"]

    def test_find_an_invoice_of_another_amount(self, charged):
        issue()
        month = fee_invoices.month_after(this_month())

        FeeInvoice.objects.create(**following(charged, month) | {"net": 1})

        assert "fee_invoices_match_ledger" in broken()

    def test_find_lines_that_do_not_add_up(self, charged):
        (invoice,) = issue()

        FeeInvoiceLine.objects.create(
            invoice=invoice, kind=Entry.Kind.JOURNAL, entries=1, net=1, tax=0, stamp_duty=0
        )

        assert broken() == ["fee_invoices_equal_their_lines"]

    def test_find_a_gap(self, charged):
        issue()
        month = fee_invoices.month_after(this_month())

        FeeInvoice.objects.create(**following(charged, month) | {"number": 3})

        assert broken() == ["fee_invoices_have_no_gaps"]


class TestCommand:
    def test_shows_without_issuing_and_then_issues(self, charged, monkeypatch):
        monkeypatch.setattr(
            "payments.management.commands.fee_invoices.clock.now", lambda: issued_at(this_month())
        )
        options = ("fee_invoices", "--month", f"{this_month():%Y-%m}")

        def answer(*more):
            out = io.StringIO()
            call_command(*options, *more, "--json", stdout=out)
            return json.loads(out.getvalue())

        planned, issued, again = answer("--dry-run"), answer(), answer()

        amounts = {"currency": "NGN", "net": 2_750, "tax": 206, "stamp_duty": 5_000, "gross": 7_956}
        assert planned["invoices"] == [{"number": None, "business": charged.name} | amounts]
        assert issued["invoices"] == [{"number": "INV-000001", "business": charged.name} | amounts]
        assert (planned["issued"], issued["issued"], again["issued"]) == (0, 1, 0)
        assert again["invoices"] == issued["invoices"]
        out = io.StringIO()
        call_command(*options, stdout=out)
        assert "gross NGN 79.56" in out.getvalue()

    def test_refuses_a_month_that_is_not_over_or_none(self):
        with pytest.raises(CommandError, match="has ended"):
            call_command("fee_invoices", "--month", "2099-01")
        with pytest.raises(CommandError, match="such as 2026-10"):
            call_command("fee_invoices", "--month", "October")

"""The report of taxes: what was charged less what was remitted is what is payable."""

import io
import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from ledger.models import Account, Entry
from ledger.services import Booking, Kind
from payments.models import Tariff
from payments.services import fee_rules
from tests import orders
from tests.settling import STAFF, today

pytestmark = pytest.mark.django_db


def report(first=None, last=None):
    out = io.StringIO()
    days = {"first": (first or today()).isoformat(), "last": (last or today()).isoformat()}
    call_command("tax_report", "--json", "--from", days["first"], "--to", days["last"], stdout=out)
    return json.loads(out.getvalue())["taxes"]


@pytest.fixture
def taxed(api, ada):
    """A payment and a payout with a tax of 56 and 75."""
    for flow, terms in {"card": {"basis_points": 150}, "payout": {"fixed": 1_000}}.items():
        tariff = Tariff(business=ada.business, flow=flow, currency="NGN", tax_basis_points=750, **terms)
        fee_rules.agree(tariff, actor=STAFF, now=timezone.now())
    api.post("/api/payments", orders.card_payment(amount=50_000))
    api.post("/api/payments", orders.payout(amount=250_000))
    api.post("/api/payments", orders.payout(amount=250_051))


@pytest.mark.usefixtures("taxed")
class TestTaxReport:
    def test_adds_up_what_was_charged(self):
        assert report() == [
            {
                "currency": "NGN",
                "opening": 0,
                "taxed_fees": 1_750,
                "card": 56,
                "virtual_account": 0,
                "payout": 75,
                "stamp_duty": 0,
                "remitted": 0,
                "charged": 131,
                "closing": 131,
            }
        ]

    def test_begins_with_what_was_payable_before(self):
        (later,) = report(today() + timedelta(days=1), today() + timedelta(days=1))

        assert (later["opening"], later["charged"], later["closing"]) == (131, 0, 131)
        assert report(today() - timedelta(days=2), today() - timedelta(days=1)) == []

    def test_deducts_what_was_remitted(self):
        Booking(
            kind=Entry.Kind.STATEMENT_MATCHED,  # stands for any entry of the house
            cause=uuid4(),
            business_id=None,
            currency="NGN",
            legs={Kind.TAXES_PAYABLE: -100, Kind.BANK_CLEARING: 100},
            at=timezone.now(),
        ).write()

        (shown,) = report()

        payable = sum(Account.objects.filter(kind="taxes_payable").values_list("balance", flat=True))
        assert (shown["remitted"], shown["closing"]) == (100, 31)
        assert payable == 31

    def test_says_the_same_in_words(self):
        out = io.StringIO()
        call_command("tax_report", "--from", today().isoformat(), "--to", today().isoformat(), stdout=out)

        assert "charged NGN 1.31 on fees of NGN 17.50" in out.getvalue()
        assert "payable after NGN 1.31" in out.getvalue()


@pytest.mark.parametrize(
    "options", [("--from", "2026-01-01"), ("--from", "2026-02-01", "--to", "2026-01-01")]
)
def test_refuses_days_that_are_none_or_in_the_wrong_order(options):
    with pytest.raises(CommandError, match="--to"):
        call_command("tax_report", *options)

"""The administration's page Taxes, and its export."""

import csv
import io
import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from payments.models import Tariff
from payments.services import fee_rules
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.settling import STAFF, today
from tests.transactions import start

pytestmark = pytest.mark.django_db

PAGE = "/admin/taxes/"


@pytest.fixture
def taxed(ada):
    for flow, terms in {"card": {"basis_points": 150}, "payout": {"fixed": 1_000}}.items():
        tariff = Tariff(business=ada.business, flow=flow, currency="NGN", tax_basis_points=750, **terms)
        fee_rules.agree(tariff, actor=STAFF, now=timezone.now())
    for order in (orders.card_payment(amount=50_000), orders.payout(amount=250_000)):
        start(order, business=ada.business, now=timezone.now())


@pytest.fixture
def staff():
    return signed_in(UserFactory(is_staff=True, is_superuser=True))


@pytest.fixture
def plain_staff():
    return signed_in(UserFactory(is_staff=True))


def period(first, last):
    return {"first": first.isoformat(), "last": last.isoformat()}


@pytest.mark.usefixtures("taxed")
class TestPage:
    def test_shows_what_the_command_reports(self, staff):
        page = staff.get(PAGE, period(today(), today())).content.decode()

        out = io.StringIO()
        call_command(
            "tax_report", "--json", "--from", today().isoformat(), "--to", today().isoformat(), stdout=out
        )
        (report,) = json.loads(out.getvalue())["taxes"]
        assert (report["charged"], report["closing"]) == (131, 131)
        assert "Taxes in NGN, on fees of 17.50" in page
        assert page.count(">1.31</") == 2

    def test_exports_the_same(self, staff):
        answer = staff.get(f"{PAGE}export.csv", period(today(), today()))

        content = b"".join(answer.streaming_content).decode("utf-8-sig")
        (row,) = csv.DictReader(io.StringIO(content))
        assert (row["currency"], row["card"], row["payout"]) == ("NGN", "0.56", "0.75")
        assert (row["charged"], row["remitted"], row["closing"]) == ("1.31", "0.00", "1.31")

    def test_of_the_last_month_is_shown_first(self, staff):
        page = staff.get(PAGE)

        last = today().replace(day=1) - timedelta(days=1)
        assert page.context["form"].data == period(last.replace(day=1), last)
        assert "No taxes were charged" in page.content.decode()

    def test_refuses_days_in_the_wrong_order(self, staff):
        query = period(today(), today() - timedelta(days=1))

        assert "must not be before the first" in staff.get(PAGE, query).content.decode()
        assert staff.get(f"{PAGE}export.csv", query).status_code == 302

    @pytest.mark.parametrize(
        "days",
        [{"first": "0001-01-01", "last": "2026-01-31"}, {"first": "2026-01-01", "last": "9999-12-31"}],
    )
    def test_refuses_days_at_the_ends_of_the_calendar(self, staff, days):
        page = staff.get("/admin/taxes/", days)

        assert page.status_code == 200
        assert "Enter a date from" in page.content.decode()
        assert staff.get("/admin/taxes/export.csv", days).status_code == 302

    def test_needs_the_right_to_view_invoices(self, plain_staff):
        assert plain_staff.get(PAGE).status_code == 403
        assert plain_staff.get(f"{PAGE}export.csv").status_code == 403


class TestTariffForm:
    def test_offers_the_rate_of_the_vat_in_naira(self, staff):
        page = staff.get("/admin/payments/tariff/add/").content.decode()

        assert 'list="tax_basis_points-offered"' in page
        assert '<option value="750">7.5 %, VAT on fees in NGN</option>' in page

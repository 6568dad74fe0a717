"""Fee invoices in the dashboard: the list, one invoice, and their exports."""

import csv
import io
from html import unescape

import pytest
from django.utils import timezone

from payments.models import Tariff
from payments.services import fee_rules
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.fee_invoices import issue, this_month
from tests.settling import STAFF
from tests.transactions import captured_payment

pytestmark = pytest.mark.django_db

INVOICES = "/dashboard/settlements/invoices/"


@pytest.fixture
def invoice(ada, settings):
    settings.SELLER_NAME, settings.SELLER_TAX_ID = "Acme Payments Ltd", "01234567-0001"
    tariff = Tariff(business=ada.business, flow="card", basis_points=150, tax_basis_points=750)
    fee_rules.agree(tariff, actor=STAFF, now=timezone.now())
    captured_payment(business=ada.business, now=timezone.now(), amount=50_000)
    (made,) = issue()
    return made


def text_of(client, address):
    return unescape(client.get(address).content.decode())


def rows_of(client, address):
    content = b"".join(client.get(address).streaming_content).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(content)))


class TestList:
    def test_shows_own_invoices_with_their_total(self, browser, other_browser, invoice):
        page = text_of(browser, INVOICES)

        assert f"{INVOICES}{invoice.pk}/" in page
        assert "INV-000001" in page
        assert "8.06" in page
        assert f"{INVOICES}{invoice.pk}/" not in text_of(other_browser, INVOICES)

    @pytest.mark.parametrize(
        ("query", "is_found"),
        [("INV-000001", True), ("1", True), ("2", False), ("2001-01", False), ("\u0662", False), ("", True)],
    )
    def test_is_searched_by_number_and_month(self, browser, invoice, query, is_found):
        assert (f"{INVOICES}{invoice.pk}/" in text_of(browser, f"{INVOICES}?q={query}")) == is_found

    def test_finds_a_month(self, browser, invoice):
        assert str(invoice.pk) in text_of(browser, f"{INVOICES}?q={this_month():%Y-%m}")

    def test_is_linked_from_settlements_for_those_who_may_see_it(self, browser, ada, invoice):
        assert INVOICES in text_of(browser, "/dashboard/settlements/")

    def test_exports_what_it_shows(self, browser, invoice):
        (row,) = rows_of(browser, f"{INVOICES}export.csv")

        assert (row["number"], row["net"], row["tax"], row["gross"]) == ("INV-000001", "7.50", "0.56", "8.06")
        assert (row["seller_tax_id"], row["currency"]) == ("01234567-0001", "NGN")


class TestInvoice:
    def test_names_both_and_adds_up(self, browser, invoice, ada):
        page = text_of(browser, f"{INVOICES}{invoice.pk}/")

        for said in ("Fee invoice INV-000001", "Acme Payments Ltd", "01234567-0001", ada.business.name):
            assert said in page
        assert [f"<dd>{figure}</dd>" in page for figure in ("7.50", "0.56", "8.06")] == [True] * 3
        assert "css/invoice" in page  # what is printed

    def test_of_another_business_is_not_found(self, other_browser, invoice):
        for address in (f"{INVOICES}{invoice.pk}/", f"{INVOICES}{invoice.pk}/lines.csv"):
            assert other_browser.get(address).status_code == 404

    def test_exports_its_lines(self, browser, invoice):
        (row,) = rows_of(browser, f"{INVOICES}{invoice.pk}/lines.csv")

        assert (row["item"], row["entries"], row["net"], row["gross"]) == (
            "Card payments",
            "1",
            "7.50",
            "8.06",
        )

    @pytest.mark.parametrize(("role", "status"), [("finance", 200), ("developer", 403), ("viewer", 403)])
    def test_is_for_owners_and_finance(self, ada, invoice, role, status):
        client = signed_in(MemberFactory(business=ada.business, role=role).user)

        assert client.get(f"{INVOICES}{invoice.pk}/").status_code == status
        assert (INVOICES in text_of(client, "/dashboard/settlements/")) == (status == 200)


class TestSettings:
    def test_keep_tax_id_and_address(self, browser, ada):
        answer = browser.post(
            "/dashboard/settings/",
            {"group": "billing", "tax_id": " 07654321-0001 ", "billing_address": "1 Marina\nLagos"},
        )

        assert answer.status_code == 302
        ada.business.refresh_from_db()
        assert (ada.business.tax_id, ada.business.billing_address.split()) == (
            "07654321-0001",
            ["1", "Marina", "Lagos"],
        )
        assert "07654321-0001" in text_of(browser, "/dashboard/settings/")

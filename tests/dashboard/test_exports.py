"""Each list is exported as CSV and Excel, with its filters. Each export reads a whole list, so they are limited."""

import csv
import io
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from xml.etree import ElementTree as ET

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.ui.lists import exports
from dashboard.ui.lists.pagination import BY_ID, BY_MOMENT
from kit.files import xlsx_files
from kit.files.tables import Column, Table, csv_lines
from kit.money.money import decimal_amount
from merchants.api import rate_limits
from merchants.exports import FileType
from merchants.people.roles import Permission, Role, may
from payments.models import SettlementBatch, Transaction
from tests import fee_invoices, orders
from tests.dashboard.conftest import PASSWORD
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.memory import peak_below
from tests.packages import modules
from tests.settling import settle
from tests.transactions import captured_payment, start
from tests.unapplied import mismatched_money
from tests.wallets import fill_wallet
from tests.webhooks.rows import make_delivery, make_endpoint

pytestmark = pytest.mark.servers

# Each export, with its list, and a filter of the list that nothing matches.
LISTS = {
    "/dashboard/payments/": "q=nothing-like-it",
    "/dashboard/payouts/": "q=nothing-like-it",
    "/dashboard/virtual-accounts/": "q=nothing-like-it",
    "/dashboard/virtual-accounts/unapplied/": "state=returned",
    "/dashboard/settlements/": "state=rejected",
    "/dashboard/settlements/invoices/": "q=INV-999999",
    "/dashboard/webhooks/deliveries/": "q=nothing-like-it",
    "/dashboard/balance/": "since=2999-01-01",
    "/dashboard/activity/": "since=2999-01-01",
}
EXPORTS = [f"{address}export.{file_type}" for address in LISTS for file_type in FileType]
SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@pytest.fixture
def busy(ada, now):
    """A business with a row in every list."""
    endpoint = make_endpoint(business=ada.business)
    make_delivery(endpoint)
    captured_payment(business=ada.business, now=now, amount=50_001)
    fill_wallet(ada.business, 5_000_000)
    start(orders.payout(amount=250_000), business=ada.business, now=now)
    mismatched_money(business=ada.business, now=now)
    settle()
    fee_invoices.issue()
    return ada.business


def csv_rows(answer):
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    head, *rows = csv.reader(io.StringIO(text))
    return head, rows


def sheet_of(answer):
    """Return the sheet of an Excel file."""
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as book:
        return ET.fromstring(book.read("xl/worksheets/sheet1.xml"))  # noqa: S314  (our own file)


def xlsx_rows(answer):
    """Return the cells of each row by column, as text."""
    rows = []
    for row in sheet_of(answer).iter(f"{SHEET}row"):
        cells = {}
        for cell in row.iter(f"{SHEET}c"):
            column = cell.get("r").rstrip("0123456789")
            cells[column] = "".join(part.text or "" for part in cell.iter() if part.tag != f"{SHEET}c")
        rows.append(cells)
    return rows


@pytest.mark.django_db
class TestExport:
    def test_of_csv_begins_with_a_byte_order_mark(self, browser, busy):
        answer = browser.get("/dashboard/payments/export.csv")

        assert b"".join(answer.streaming_content).startswith(b"\xef\xbb\xbfid,")

    def test_has_the_same_rows_in_both_files(self, subtests, browser, busy, limit_clock):
        for address in LISTS:
            limit_clock.now += rate_limits.EXPORT_WINDOW
            with subtests.test(address=address):
                head, rows = csv_rows(browser.get(f"{address}export.csv"))
                excel_head, *excel_rows = xlsx_rows(browser.get(f"{address}export.xlsx"))

                assert rows
                assert len(excel_head) == len(head)
                assert [sum(1 for cell in row if cell) for row in rows] == [len(row) for row in excel_rows]

    def test_has_readable_headings_in_excel(self, subtests, browser, busy):
        for address, headings in [
            (
                "/dashboard/balance/",
                {"ID", "Time, UTC", "Movement", "Counterparty", "Amount", "Balance after"},
            ),
            ("/dashboard/payments/", {"ID", "Reference", "Created at, UTC", "Card last 4", "Settlement ID"}),
        ]:
            with subtests.test(address=address, headings=headings):
                head, *_ = xlsx_rows(browser.get(f"{address}export.xlsx"))

                assert set(head.values()) >= headings

    def test_has_the_filter_of_its_list(self, subtests, browser, busy):
        for address, query in LISTS.items():
            with subtests.test(address=address, query=query):
                for file_type in FileType:
                    assert (
                        f'href="{address}export.{file_type}?{query}"'
                        in browser.get(f"{address}?{query}").content.decode()
                    )

                assert csv_rows(browser.get(f"{address}export.csv?{query}"))[1] == []

    def test_of_an_invalid_filter_leads_to_the_list(self, subtests, browser, limit_clock):
        for address in LISTS:
            limit_clock.now += rate_limits.EXPORT_WINDOW
            with subtests.test(address=address):
                for query in ("since=nonsense", "state=nonsense", "status=nonsense"):
                    answer = browser.get(f"{address}export.csv?{query}")

                    assert answer.status_code == 200 or answer["Location"] == f"{address}?{query}"

    def test_excludes_other_businesses(self, subtests, other_browser, bisi, busy):
        for address in LISTS:
            with subtests.test(address=address):
                _, rows = csv_rows(other_browser.get(f"{address}export.csv"))

                assert rows == []

    @pytest.mark.long
    def test_is_for_all_members_except_invoices(self, subtests, busy):
        for role in Role:
            for address in EXPORTS:
                with subtests.test(role=role, address=address):
                    member = MemberFactory(business=busy, role=role, user__password=PASSWORD)

                    answer = signed_in(member.user).get(address)

                    if "/invoices/" in address and not may(role, Permission.VIEW_INVOICES):
                        assert answer.status_code == 403
                    else:
                        assert answer.status_code == 200
                        assert answer["Content-Disposition"].endswith(f'{address.rpartition(".")[2]}"')

    def test_writes_amounts_in_major_units_and_times_in_utc(self, browser, busy):
        at = datetime(2026, 11, 23, 9, 38, 1, 250_000, tzinfo=UTC)
        Transaction.objects.filter(request_type="payment").update(finished_at=at)
        address = "/dashboard/payments/export"

        head, rows = csv_rows(browser.get(f"{address}.csv?status=success"))
        row = dict(zip(head, rows[0], strict=True))
        sheet = sheet_of(browser.get(f"{address}.xlsx?status=success"))

        assert (row["amount"], row["currency"], row["fee"]) == ("500.01", "NGN", "7.50")
        assert row["finished_at"] == "2026-11-23T09:38:01.250Z"
        numbers = [float(cell.findtext(f"{SHEET}v")) for cell in sheet.iter(f"{SHEET}c") if not cell.get("t")]
        assert 500.01 in numbers
        assert any(abs(number - 46349.40140335648) < 1e-8 for number in numbers)  # days since 1900

    def test_is_offered_with_the_zone_of_its_times(self, browser, busy):
        page = browser.get("/dashboard/payments/").content.decode()

        assert (
            "Times in the file are in UTC."
            in page.partition("payments/export.xlsx")[2].partition("</details>")[0]
        )

    def test_names_batch_and_settle_status_of_payments(self, browser, busy):
        head, rows = csv_rows(browser.get("/dashboard/payments/export.csv?status=success"))
        row = dict(zip(head, rows[0], strict=True))

        assert row["settle_status"] == "pending"
        assert row["settlement_id"] == str(SettlementBatch.objects.of(busy).get().pk)

    def test_of_deliveries_names_their_subjects(self, browser, busy, now):
        payment = captured_payment(business=busy, now=now)

        head, rows = csv_rows(browser.get("/dashboard/webhooks/deliveries/export.csv"))

        found = [dict(zip(head, row, strict=True)) for row in rows]
        row = next(each for each in found if each["subject_id"] == str(payment.pk))
        assert (row["event"], row["reference"], row["state"]) == (
            "payment.success",
            payment.reference,
            "waiting",
        )

    def test_of_virtual_accounts_holds_no_personal_data(self, browser, busy):
        head, _ = csv_rows(browser.get("/dashboard/virtual-accounts/export.csv"))

        assert not {"bvn", "bvn_last4", "date_of_birth", "gender", "address"} & set(head)

    def test_lists_a_row_with_several_meanings_of_the_search_once(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)
        Transaction.objects.filter(pk=payment.pk).update(reference="4081")

        _, rows = csv_rows(browser.get("/dashboard/payments/export.csv?q=4081"))

        assert len(rows) == 1


@pytest.mark.django_db
class TestCells:
    TEXTS = [
        "=1+1",
        "+234",
        "-5",
        "@SUM(A1)",
        "\t=1",
        "<r></is></c><c><f>1+1</f></c></r>",
        "a\x00b\uffff",
        "_x0041_",
    ]

    @pytest.mark.parametrize("text", TEXTS)
    def test_contain_no_formula_and_no_markup(self, browser, ada, now, text):
        payment = captured_payment(business=ada.business, now=now)
        stored = text if connection.vendor == "sqlite" else text.replace("\x00", "")  # PostgreSQL refuses it
        Transaction.objects.filter(pk=payment.pk).update(customer_name=stored)

        sheet = sheet_of(browser.get("/dashboard/payments/export.xlsx"))

        assert not list(sheet.iter(f"{SHEET}f"))
        assert not list(sheet.iter(f"{SHEET}r"))
        (_, row) = sheet.iter(f"{SHEET}row")
        written = {cell.findtext(f"{SHEET}is/{SHEET}t") for cell in row if cell.get("t") == "inlineStr"}
        assert payment.reference in written

    def test_of_the_heading_contain_no_markup(self):
        table = Table(columns=[Column("answer_size", str, "<r></is></c></r>")], rows=[])
        with TemporaryFile() as file:
            xlsx_files.write(table, file)
            with zipfile.ZipFile(file) as book:
                sheet = ET.fromstring(book.read("xl/worksheets/sheet1.xml"))  # noqa: S314  (our own file)

        assert [cell.text for cell in sheet.iter(f"{SHEET}t")] == ["'<r></is></c></r>"]

    def test_keep_numbers_that_excel_would_round_as_text(self, tmp_path):
        table = Table(
            columns=[Column("amount", lambda row: decimal_amount(row, "NGN"))], rows=[10**15 - 1, 10**15]
        )
        with (tmp_path / "book.xlsx").open("w+b") as file:
            xlsx_files.write(table, file)
        with zipfile.ZipFile(tmp_path / "book.xlsx") as book:
            sheet = book.read("xl/worksheets/sheet1.xml").decode()

        assert "<t>Amount</t>" in sheet
        assert "<v>9999999999999.99</v>" in sheet
        assert "<t>10000000000000.00</t>" in sheet


@pytest.mark.long
class TestMemory:
    ROWS = 20_000

    def test_stays_the_same_for_long_tables(self):
        def table():
            columns = [Column(f"column_{n}", lambda row: f"some text of row {row}") for n in range(10)]
            return Table(columns=columns, rows=iter(range(self.ROWS)))

        with TemporaryFile() as file:
            xlsx_files.write(Table(columns=table().columns, rows=range(10)), file)  # loads modules
            with peak_below(2_000_000):
                xlsx_files.write(table(), file)
        with peak_below(200_000):
            for _ in csv_lines(table()):
                pass


@pytest.mark.django_db
class TestLongTable:
    def test_leads_back_with_a_message_if_excel_cannot_hold_it(self, browser, ada, now, monkeypatch):
        monkeypatch.setattr(xlsx_files, "MOST_ROWS", 2)
        for _ in range(3):
            captured_payment(business=ada.business, now=now)

        answer = browser.get("/dashboard/payments/export.xlsx?status=success")

        assert answer["Location"] == "/dashboard/payments/?status=success"
        assert "Narrow the filters, or export CSV." in browser.get(answer["Location"]).content.decode()
        assert len(csv_rows(browser.get("/dashboard/payments/export.csv"))[1]) == 3

    def test_is_written_one_at_a_time(self, browser, monkeypatch):
        """A second export is requested while the first is written."""
        inside = []

        def write(_table, _file):
            inside.append(browser.get("/dashboard/payments/export.xlsx"))

        with monkeypatch.context() as patched:
            patched.setattr(xlsx_files, "write", write)
            first = browser.get("/dashboard/payments/export.xlsx")

        assert first.status_code == 200
        assert inside[0]["Location"] == "/dashboard/payments/?"
        assert "Try again in a minute, or export CSV." in browser.get("/dashboard/payments/").content.decode()
        assert browser.get("/dashboard/payments/export.xlsx").status_code == 200


@pytest.mark.django_db
class TestLimit:
    def test_rejects_too_many_exports(self, browser, other_browser, limit_clock):
        counted = [browser.get(EXPORTS[n]).status_code for n in range(rate_limits.EXPORTS)]
        refused = {address: browser.get(address) for address in EXPORTS}

        assert set(counted) == {200}
        assert {address: answer.status_code for address, answer in refused.items()} == dict.fromkeys(
            EXPORTS, 429
        )
        assert "Too many attempts" in refused[EXPORTS[0]].content.decode()
        assert other_browser.get(EXPORTS[0]).status_code == 200
        limit_clock.now += rate_limits.EXPORT_WINDOW
        assert [browser.get(address).status_code for address in EXPORTS[-rate_limits.EXPORTS :]] == counted


class TestStreams:
    def test_are_all_limited(self):
        """Only `merchants.exports` sends files, and it counts exports."""
        sends = ("StreamingHttpResponse(", "FileResponse(")

        (streaming,) = [path for path in modules() if any(each in path.read_text() for each in sends)]

        assert streaming == Path(settings.BASE_DIR, "merchants/exports.py")
        assert "may_export(" in streaming.read_text()


@pytest.mark.django_db
class TestRows:
    @pytest.fixture
    def payments(self, ada, now):
        paid = [captured_payment(business=ada.business, now=now, amount=50_000 + n) for n in range(5)]
        return sorted(paid, key=lambda payment: payment.pk, reverse=True)

    @pytest.fixture(autouse=True)
    def _small_pages(self, monkeypatch):
        monkeypatch.setattr(exports, "TOGETHER", 2)

    @pytest.mark.parametrize("order", [BY_ID, BY_MOMENT])
    def test_are_read_in_pages(self, payments, order):
        with CaptureQueriesContext(connection) as queries:
            rows = list(exports.rows_of([Transaction.objects.all()], order=order))

        assert rows == sorted(payments, key=order.position, reverse=True)
        assert len(queries) == 3  # 2, 2 and 1
        assert all(query["sql"].rstrip().endswith("LIMIT 2") for query in queries)

    def test_of_several_sources_come_once_each(self, payments):
        larger = Transaction.objects.filter(amount__gte=50_002)
        others = Transaction.objects.filter(amount__lt=50_004)

        assert list(exports.rows_of([larger, others])) == payments

    def test_of_an_empty_source_are_none(self, payments):
        assert list(exports.rows_of([Transaction.objects.none()])) == []

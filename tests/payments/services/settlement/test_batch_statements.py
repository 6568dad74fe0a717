import csv
import io

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kit.files import csv_cells
from kit.files.tables import csv_lines
from payments.services.settlement.batches import batch_statements
from payments.services.settlement.batches.batch_statements import statement, table
from tests import orders
from tests.refunds import pay, refund
from tests.settling import decide, settle

pytestmark = pytest.mark.django_db


class TestStatement:
    def test_lists_payments_and_then_refunds(self, api):
        pay(api, reference="order-1", amount=50_000)
        refund(api, "order-1", reference="refund-1", amount=10_000)
        pay(api, reference="order-2", amount=300_000)
        (batch,) = settle()

        lines = [
            (one.kind, one.reference, one.payment_reference, one.net) for one in statement(batch).lines()
        ]

        assert lines == [
            ("payment", "order-1", "order-1", 49_250),
            ("payment", "order-2", "order-2", 285_500),
            ("refund", "refund-1", "order-1", -10_000),
        ]

    def test_lists_payments_in_the_order_they_succeeded(self, api):
        api.post("/api/payments", orders.card_payment(reference="captured-last", capture=False))
        pay(api, reference="paid-first")
        pay(api, reference="paid-second")
        assert api.post("/api/payments/captured-last/capture").json()["status"] == "success"
        (batch,) = settle()

        references = [one.reference for one in statement(batch).lines()]

        assert references == ["paid-first", "paid-second", "captured-last"]

    def test_reads_the_items_in_pages(self, api, monkeypatch):
        monkeypatch.setattr(batch_statements, "TOGETHER", 2)
        references = [pay(api, reference=f"order-{number}") for number in range(5)]
        (batch,) = settle()

        with CaptureQueriesContext(connection) as queries:
            lines = list(statement(batch).lines())

        assert [one.reference for one in lines] == references
        pages = [
            query["sql"].rstrip() for query in queries if 'FROM "payments_settlementitem"' in query["sql"]
        ]
        assert len(pages) == 3  # 2, 2 and 1
        assert all(page.endswith("LIMIT 2") and "JOIN" not in page for page in pages)
        assert len(queries) == 6  # each page, then its payments

    def test_adds_up_to_the_net_of_the_batch(self, api):
        pay(api, reference="order-1", amount=50_000)
        decide(*settle(), "approve", "release")
        refund(api, "order-1", reference="refund-1")
        pay(api, amount=10_000)
        (short,) = settle()
        decide(short, "approve", "release")
        pay(api, amount=100_000)
        (second,) = settle()

        for batch in (short, second):
            assert sum(one.net for one in statement(batch).lines()) == batch.net
        assert [one.kind for one in statement(short).lines()][-1] == "carried_forward"
        assert [one.kind for one in statement(second).lines()][-1] == "brought_forward"

    def test_is_read_in_a_fixed_number_of_queries(self, api, django_assert_num_queries):
        for _ in range(5):
            pay(api)
        (batch,) = settle()

        with django_assert_num_queries(2):  # items, and their payments
            assert len(list(statement(batch).lines())) == 5


class TestStatementFile:
    def test_has_a_header_row_and_a_line_for_each(self, api):
        pay(api, reference="order-1", amount=50_000)
        (batch,) = settle()

        heading, row = csv.reader(io.StringIO("".join(csv_lines(table(batch)))))

        assert heading == table(batch).head
        shown = dict(zip(heading, row, strict=True))
        assert (shown["reference"], shown["gross"], shown["fee"], shown["net"]) == (
            "order-1",
            "500.00",
            "7.50",
            "492.50",
        )
        assert (shown["settlement_id"], shown["settle_status"]) == (str(batch.pk), "pending")

    def test_escapes_a_reference_that_looks_like_a_formula(self, api):
        pay(api, reference="-1+1".replace("+", "."))
        (batch,) = settle()

        (_, row) = csv.reader(io.StringIO("".join(csv_lines(table(batch)))))

        assert row[1] == "'-1.1"

    def test_puts_an_apostrophe_before_formulas(self, subtests):
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", " =1+1"]:
            with subtests.test(text=text):
                ((cell,),) = csv.reader(io.StringIO(csv_cells.line([text]), newline=""))

                assert cell == f"'{text}"

    def test_detects_signs_after_invisible_characters_and_in_full_width(self, subtests):
        for sign in ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\ufe66"]:
            for before in ["", "\u00a0", "\u200b", "\ufeff", "\u3000", " \u2060\u00ad", '"']:
                with subtests.test(sign=sign, before=before):
                    text = f"{before}{sign}HYPERLINK(1)"

                    ((cell,),) = csv.reader(io.StringIO(csv_cells.line([text])))

                    assert cell == f"'{text}"

    def test_puts_an_apostrophe_after_a_separator_within_a_cell(self, subtests):
        for separator in [",", ";", "\t", "|", "\r", "\n", "\u2028", "\uff1b"]:
            for between in ["", " ", "\u00a0", '"']:
                with subtests.test(separator=separator, between=between):
                    ((cell,),) = csv.reader(
                        io.StringIO(csv_cells.line([f"a{separator}{between}=1+1"]), newline="")
                    )

                    assert cell == f"a{separator}{between}'=1+1"

    def test_leaves_other_text_unchanged(self, subtests):
        for text in ["order-1", "a=b", "", "1-1", "'=1", "a; b", "a, b@c.example", "12:00:00+00:00"]:
            with subtests.test(text=text):
                ((cell, _),) = csv.reader(io.StringIO(csv_cells.line([text, -1])))

                assert cell == text

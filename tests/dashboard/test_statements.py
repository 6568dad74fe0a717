"""Monthly statements: what they show adds up, and equals the wallet's statement."""

import csv
import io
from datetime import timedelta
from html import unescape

import pytest

from dashboard.statements.months import Month
from ledger.models import Account, Posting
from ledger.statements import wallet_statements
from payments.models import Tariff
from payments.services import fee_rules
from payments.services.payouts import payout_returns
from payments.services.refunds import refunds
from payments.services.transfers import unapplied_decisions
from tests import orders
from tests.dashboard.test_exports import csv_rows, xlsx_rows
from tests.disputed import disputed
from tests.journals import remitted
from tests.query_counts import at_most
from tests.reserves import agree, released
from tests.settling import STAFF
from tests.transactions import captured_payment, start
from tests.unapplied import mismatched_money
from tests.wallets import fill_wallet

pytestmark = [pytest.mark.django_db, pytest.mark.servers]

PAGE = "/dashboard/balance/statements/"


@pytest.fixture
def month(ada, now):
    return Month.of(now.astimezone(ada.business.zone).date())


@pytest.fixture
def busy(ada, now, month):
    """A month of everything that can happen, and a top-up in the month before."""
    business = ada.business
    fill_wallet(business, 7_000_000, at=month.begins(business.zone) - timedelta(hours=1))
    agree(business, reserve_basis_points=1_000, reserve_days=30)
    released(business, 1_000_000)
    paid = captured_payment(
        business=business,
        now=now,
        amount=300_000,
        customer={"reference": "cus-1", "name": "Ada Obi", "email": "ada@example.com"},
    )
    refunds.refund(transaction=paid, request={"reference": "refund-1", "amount": 100_000}, now=now)
    disputed(captured_payment(business=business, now=now, amount=50_000))
    start(orders.payout(reference="salary-1", amount=200_000), business=business, now=now)
    returned = start(orders.payout(reference="salary-2", amount=90_000), business=business, now=now)
    payout_returns.reverse(transaction_id=returned.pk, reason="Account closed", actor=STAFF, now=now)
    start(orders.payout(reference="salary-3", amount=250_051), business=business, now=now)  # fails
    mismatched_money(business=business, now=now)
    return business


def statement_of(browser, month):
    (statement,) = browser.get(f"{PAGE}{month}/").context["statements"]
    return statement


def adds_up(part):
    return part.opening + sum(line.amount for line in part.lines) == part.closing


def amounts_of(part):
    return {line.name: line.amount for line in part.lines}


class TestPage:
    def test_adds_up(self, browser, busy, month):
        statement = statement_of(browser, month)

        assert adds_up(statement.total)
        assert adds_up(statement.wallet)
        assert statement.total.opening == sum(place.opening for place in statement.places) == 7_000_000
        assert statement.total.closing == sum(place.closing for place in statement.places)
        assert "Booked at the turn of the period" not in amounts_of(statement.total)

    def test_shows_what_happened(self, browser, busy, month):
        statement = statement_of(browser, month)

        shown = amounts_of(statement.total)
        fees = Account.objects.get(business=busy, kind="fees").balance
        assert shown["Payments"] == 1_000_000 + 300_000 + 50_000
        assert shown["Refunds"] == -100_000
        assert shown["Payouts"] == -200_000 - 90_000
        assert shown["Returned payouts"] == 90_000
        assert sum(amount for name, amount in shown.items() if "ees" in name) == -fees
        assert {place.name for place in statement.places} == {
            "Earned, not settled yet",
            "Balance",
            "Payouts on their way",
            "Reserve",
            "Held for disputes",
            "Unapplied transfers",
        }

    def test_equals_the_statement_of_the_wallet(self, browser, busy, month):
        (wallet,) = wallet_statements(busy, since=month.begins(busy.zone), before=month.ends(busy.zone))

        statement = statement_of(browser, month)

        assert statement.wallet.opening == wallet.opening_balance
        assert statement.wallet.closing == wallet.closing_balance
        assert set(amounts_of(statement.wallet)) == {
            "Settlements",
            "Held in reserve",
            "Payouts, with their fees",
            "Failed payouts, with their fees",
            "Returned payouts",
        }

    def test_names_unapplied_transfers_whether_credited_or_returned(self, browser, ada, now, month):
        credited, returned = (mismatched_money(business=ada.business, now=now) for _ in range(2))
        decided = {"reason": "Agreed", "actor": STAFF, "now": now}
        unapplied_decisions.credit(credited.pk, **decided)
        account = {"account_number": "0123456789", "bank_code": "058"}
        unapplied_decisions.return_to_sender(returned.pk, **account, **decided)

        shown = amounts_of(statement_of(browser, month).wallet)

        assert shown["From unapplied transfers, credited or to return"] == 80_000
        assert shown["Payouts, with their fees"] == -40_000

    def test_leaves_out_taxes_that_were_remitted(self, browser, ada, now, month):
        tariff = Tariff(
            business=ada.business, flow="card", currency="NGN", basis_points=150, tax_basis_points=750
        )
        fee_rules.agree(tariff, actor=STAFF, now=now)
        captured_payment(business=ada.business, now=now, amount=50_000)
        remitted(ada.business, 56, at=now)

        total = statement_of(browser, month).total

        assert adds_up(total)
        assert amounts_of(total)["Taxes on fees"] == -56
        assert "Corrections" not in amounts_of(total)

    def test_opens_with_the_closing_balance_of_the_month_before(self, browser, busy, month):
        before = statement_of(browser, month.previous)

        assert amounts_of(before.total)["Top-ups"] == 7_000_000
        assert before.total.closing == statement_of(browser, month).total.opening

    def test_of_the_time_zone_of_the_business(self, browser, ada, month):
        ada.business.time_zone = "America/New_York"
        ada.business.save()
        fill_wallet(ada.business, 500, at=Month(2026, 3).begins(ada.business.zone) - timedelta(seconds=1))

        assert amounts_of(statement_of(browser, Month(2026, 2)).total)["Top-ups"] == 500

    def test_shows_the_latest_month_that_is_over_at_first(self, browser, busy, month):
        answer = browser.get(PAGE)

        assert answer.context["month"] == month.previous
        assert browser.get(f"{PAGE}?month={month}").context["month"] == month

    def test_adds_up_if_times_and_positions_differ_at_the_end_of_the_month(self, browser, ada, month):
        end = month.begins(ada.business.zone)
        fill_wallet(ada.business, 100, at=end - timedelta(days=1))
        fill_wallet(ada.business, 500, at=end + timedelta(seconds=1))
        fill_wallet(ada.business, 300, at=end - timedelta(seconds=1))
        released(ada.business)

        for each in (month.previous, month):
            statement = statement_of(browser, each)
            assert adds_up(statement.total)
            assert adds_up(statement.wallet)

    def test_of_other_months_is_404(self, browser, busy, month):
        assert browser.get(f"{PAGE}{month.next}/").status_code == 404
        assert browser.get(f"{PAGE}{month.previous.previous}/").status_code == 404

    def test_shows_nothing_of_another_business(self, other_browser, busy, month):
        assert other_browser.get(f"{PAGE}{month}/").context["statements"] == []

    def test_reads_the_postings_of_a_month_once(self, browser, busy, month):
        first = statement_of(browser, month)

        with at_most(11):
            again = statement_of(browser, month)

        assert again == first

    def test_is_reached_from_balance_and_settlements(self, browser, ada):
        for page in ("/dashboard/balance/", "/dashboard/settlements/"):
            assert f'href="{PAGE}"' in browser.get(page).content.decode()


class TestFile:
    def rows(self, browser, month):
        text = b"".join(browser.get(f"{PAGE}{month}/export.csv").streaming_content).decode("utf-8-sig")
        return list(csv.DictReader(io.StringIO(text)))

    def test_has_each_account_between_its_balances(self, browser, busy, month):
        statement = statement_of(browser, month)
        rows = self.rows(browser, month)

        for place in statement.places:
            first, *movements, last = [row for row in rows if row["Account"] == place.name]
            assert first["Type"] == "Opening balance"
            assert last["Type"] == "Closing balance, with totals"
            assert [round(float(row["Balance after"]) * 100) for row in (first, last)] == [
                place.opening,
                place.closing,
            ]
            assert round(sum(float(row["Net"]) for row in movements) * 100) == place.change
            assert round(float(last["Net"]) * 100) == place.change

    def test_has_words_names_fees_and_local_times(self, browser, busy, month):
        zone = busy.time_zone

        rows = self.rows(browser, month)

        card = next(row for row in rows if row["Type"] == "Card payment" and row["Name"] == "Ada Obi")
        posting = Posting.objects.filter(entry__kind="card").select_related("entry").first()
        assert card["Amount"] == "3000.00"
        assert float(card["Amount"]) == float(card["Net"]) + float(card["Fee"]) + float(card["Tax"])
        assert float(card["Fee"]) > 0
        assert f"{posting.entry.at.astimezone(busy.zone):%Y-%m-%d %H:%M}" in {
            row[f"Time ({zone})"][:16] for row in rows
        }
        assert {row["Type"] for row in rows} >= {
            "Refund", "Settlement", "Payout", "Payout sent", "Returned payout", "Failed payout",
            "Dispute opened", "Held in reserve", "Unapplied transfer received",
        }  # fmt: skip
        sent = next(row for row in rows if row["Type"] == "Payout sent")
        assert sent["Amount"] == "-2000.00"

    def test_is_the_same_as_an_excel_file(self, browser, busy, month):
        head, rows = csv_rows(browser.get(f"{PAGE}{month}/export.csv"))
        excel_head, *excel_rows = xlsx_rows(browser.get(f"{PAGE}{month}/export.xlsx"))

        assert list(excel_head.values()) == head
        assert [sum(1 for cell in row if cell) for row in rows] == [len(row) for row in excel_rows]

    def test_is_linked(self, browser, busy, month):
        text = unescape(browser.get(f"{PAGE}{month}/").content.decode())

        assert f'href="{PAGE}{month}/export.csv"' in text
        assert f'href="{PAGE}{month}/export.xlsx"' in text

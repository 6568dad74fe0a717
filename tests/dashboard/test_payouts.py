"""Payouts in the dashboard: the form for a new payout, and returned payouts in the list."""

import csv
import io
from datetime import timedelta

import pytest
from django.utils import timezone

from dashboard.tasks import index_search
from dashboard.ui.components.figures import Change
from kit.money.money import MINUS
from merchants.models import AuditEntry
from payments.models import Beneficiary, PayoutControls, PayoutServerQuestion, Tariff, Transaction
from payments.rules.sandbox_triggers import (
    LOST_ANSWER_ACCOUNT,
    OTHER_NAME_ACCOUNT,
    SILENT_ACCOUNT,
    UNKNOWN_ACCOUNT,
)
from payments.services import fee_rules
from payments.services.payouts import payout_returns
from payments.services.payouts.controls import waiting_payouts
from tests import orders
from tests.batches import completed_batch, waiting_batch
from tests.beneficiaries import beneficiary_of, blocked_beneficiary
from tests.factories import MemberFactory
from tests.payout_controls import waiting_payout
from tests.query_counts import at_most
from tests.settling import STAFF
from tests.transactions import captured_payment, start
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db

PAYOUTS = "/dashboard/payouts/"
PAYOUT_FORM = {
    "reference": "by-hand-1",
    "currency": "NGN",
    "amount": "2,500.50",
    "bank_code": "058",
    "account_number": "0123456789",
    "name": "Ada Obi",
    "narration": "Rent",
}


CONFIRMED = {"step": "confirmed"}
CUSTOMER = {"name": "Ada Obi", "bank_code": "058"}


class TestWithoutABank:
    """A button that can't work isn't shown."""

    PAGES = (PAYOUTS, "/dashboard/payouts/batches/", "/dashboard/balance/")

    def buttons(self, browser, beneficiary):
        pages = [*self.PAGES, f"{PAYOUTS}beneficiaries/{beneficiary.pk}/"]
        shown = [browser.get(page) for page in pages]
        assert {each.status_code for each in shown} == {200}
        return ["/payouts/new/" in text or "/batches/new/" in text for text in map(content_of, shown)]

    def test_offers_no_payouts(self, browser, ada, settings):
        beneficiary = beneficiary_of(ada.business)
        assert self.buttons(browser, beneficiary) == [True] * 4
        settings.PAYOUT_BANK, settings.RAILS_NOT_USED = "", ["payouts"]

        assert self.buttons(browser, beneficiary) == [False] * 4


def content_of(page):
    return page.content.decode()


class TestFigures:
    def test_compare_with_the_days_before(self, browser, ada, now):
        fill_wallet(ada.business, 10_000_000, at=now - timedelta(days=50))
        for amount, days in ((400_00, 40), (600_00, 1)):
            start(orders.payout(amount=amount), business=ada.business, now=now - timedelta(days=days))
        lost = CUSTOMER | {"account_number": LOST_ANSWER_ACCOUNT}
        start(orders.payout(amount=700_00, customer=lost), business=ada.business, now=now)

        sent, _, in_flight, available = browser.get(PAYOUTS).context["figures"]

        assert (sent.value, sent.note) == ("600.00", "1 payout")
        assert sent.change == Change("↑ 50.0%", "up", "from NGN 400.00")
        assert in_flight.change.direction == ""  # neither good nor bad
        assert in_flight.value > "700.00"  # with the fee
        assert available.change.direction == "down"
        assert available.change.note.startswith("from NGN 99,")

    def test_add_up_the_fees_of_what_was_sent(self, browser, ada, now):
        fill_wallet(ada.business, 10_000_000, at=now - timedelta(days=50))
        for days in (40, 2, 1):
            start(orders.payout(amount=600_00), business=ada.business, now=now - timedelta(days=days))
        one = Transaction.objects.latest("created_at").fee

        fees = browser.get(PAYOUTS).context["figures"][1]

        assert (fees.name, fees.currency) == ("Fees, last 30 days", "NGN")
        assert fees.value == f"{2 * one / 100:.2f}"
        assert fees.note == f"{2 * one / 1200_00:.2%} of what was sent"
        assert fees.change == Change("↑ 100.0%", "", f"from NGN {one / 100:.2f}")

    def test_are_absent_without_payouts(self, browser, ada):
        assert browser.get(PAYOUTS).context["figures"] == []

    def test_count_nothing_of_another_business(self, other_browser, ada, bisi, now):
        fill_wallet(ada.business, 10_000_000)
        start(orders.payout(), business=ada.business, now=now)

        assert other_browser.get(PAYOUTS).context["figures"] == []


class TestNewPayout:
    def test_reads_pasted_text(self, browser, ada):
        pasted = {
            "name": "Ada\u00a0Obi\u200b",
            "account_number": "\u202a0123456789\u202c",
            "amount": "₦2,500.50",
        }

        browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | pasted | CONFIRMED)

        payout = Transaction.objects.get()
        assert (payout.customer_name, payout.account_number, payout.amount) == (
            "Ada Obi",
            "0123456789",
            250_050,
        )

    def test_offers_saved_beneficiaries_and_says_what_is_available(self, browser, ada):
        saved = beneficiary_of(ada.business, name="Bisi Alabi")

        shown = browser.get(f"{PAYOUTS}new/").content.decode()

        assert f'name="beneficiary" value="{saved.reference}"><span>' in shown
        assert "<bdi>Bisi Alabi</bdi>" in shown
        assert "Not paid yet" in shown
        fill_wallet(ada.business, 250_000)
        assert "NGN 2,500.00</b>" in browser.get(f"{PAYOUTS}new/").content.decode()

    def test_pays_a_saved_beneficiary_by_its_reference(self, browser, ada):
        saved = beneficiary_of(ada.business, name="Bisi Alabi", account_number="0690213447")
        hidden = {"bank_code": "", "account_number": "12", "name": ""}  # what the page hides isn't checked
        form = PAYOUT_FORM | hidden | {"beneficiary": saved.reference}

        review = browser.post(f"{PAYOUTS}new/", form | {"step": "review"}).content.decode()
        browser.post(f"{PAYOUTS}new/", form | CONFIRMED | {"is_saved": "on"})

        assert f'name="beneficiary" value="{saved.reference}"' in review
        payout = Transaction.objects.get()
        assert (payout.customer_name, payout.account_number) == ("Bisi Alabi", "0690213447")
        assert Beneficiary.objects.count() == 1  # it is saved already
        assert "Paid" in browser.get(f"{PAYOUTS}new/").content.decode()

    def test_of_a_deleted_or_blocked_beneficiary_is_refused(self, browser, ada, bisi):
        for reference in (
            blocked_beneficiary(ada.business).reference,
            beneficiary_of(bisi.business).reference,
        ):
            form = PAYOUT_FORM | {"step": "review", "beneficiary": reference}

            page = browser.post(f"{PAYOUTS}new/", form)

            assert set(page.context["form"].errors) == {"beneficiary"}

    @pytest.mark.parametrize("text", ["alabi", "Access", "0690 2134", "ref-of-bisi"])
    def test_searches_beneficiaries_and_keeps_what_was_entered(self, browser, ada, text):
        beneficiary_of(
            ada.business,
            name="Bisi Alabi",
            account_number="0690213447",
            bank_code="044",
            reference="ref-of-bisi",
        )
        beneficiary_of(ada.business, name="Chidi Eze", account_number="0123456780", bank_code="058")

        page = browser.post(f"{PAYOUTS}new/", {"step": "search", "q": text, "narration": "Rent"})

        assert [each.name for each in page.context["payees"]["saved"]] == ["Bisi Alabi"]
        assert 'value="Rent"' in page.content.decode()
        assert "aria-invalid" not in page.content.decode()

    def test_is_reviewed_by_enter_in_another_field_than_the_search(self, browser, ada):
        form = PAYOUT_FORM | {"step": "search", "q": "alabi", "searched": "alabi"}

        assert "Send NGN 2,500.50?" in browser.post(f"{PAYOUTS}new/", form).content.decode()

    def test_keeps_the_chosen_beneficiary_in_the_list_whatever_is_searched(self, browser, ada):
        saved = beneficiary_of(ada.business, name="Bisi Alabi")

        page = browser.post(
            f"{PAYOUTS}new/", {"step": "search", "q": "nobody", "beneficiary": saved.reference}
        )

        assert f'value="{saved.reference}" checked' in page.content.decode()

    def test_says_what_remains_before_it_is_reviewed(self, browser, ada):
        fill_wallet(ada.business, 1_000_000)

        shown = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"step": "lookup"}).content.decode()

        assert "Left after this payout" in shown
        assert f"{MINUS}NGN 2,500.50" in shown

    def test_looks_the_holder_up_before_the_rest_is_entered(self, browser, ada):
        form = {
            "step": "lookup",
            "bank_code": "058",
            "account_number": OTHER_NAME_ACCOUNT,
            "narration": "Rent",
        }

        shown = browser.post(f"{PAYOUTS}new/", form).content.decode()

        assert "Sandbox Account 0095" in shown
        assert "Another name" not in shown
        assert 'value="Rent"' in shown
        assert "aria-invalid" not in shown
        compared = browser.post(f"{PAYOUTS}new/", form | {"name": "Ada Obi"}).content.decode()
        assert "Another name" in compared
        unknown = browser.post(f"{PAYOUTS}new/", form | {"account_number": UNKNOWN_ACCOUNT}).content.decode()
        assert "Guaranty Trust Bank has no account with this number." in unknown
        missing = browser.post(f"{PAYOUTS}new/", {"step": "lookup"})
        assert set(missing.context["form"].errors) == {"bank_code", "account_number"}
        assert not Transaction.objects.exists()

    def test_says_what_is_left_of_the_limit_of_the_day(self, browser, ada):
        fill_wallet(ada.business, 250_000)
        assert "left of today" not in browser.get(f"{PAYOUTS}new/").content.decode()
        PayoutControls.objects.create(
            business=ada.business, per_day={"NGN": 900_000}, caps={"per_day": {"NGN": 800_000}}
        )
        browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | CONFIRMED)

        shown = browser.get(f"{PAYOUTS}new/").content.decode()

        assert "NGN 5,499.50</b> left of today" in shown

    def test_saves_the_beneficiary_once_if_asked(self, browser, ada):
        review = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"step": "review", "is_saved": "on"})
        assert 'name="is_saved" value="True"' in review.content.decode()
        assert not Beneficiary.objects.exists()

        for reference in ("by-hand-1", "by-hand-2"):
            form = PAYOUT_FORM | CONFIRMED | {"is_saved": "True", "reference": reference}
            browser.post(f"{PAYOUTS}new/", form)

        saved = Beneficiary.objects.get()
        assert (saved.name, saved.account_number, saved.verification) == ("Ada Obi", "0123456789", "verified")
        browser.post(
            f"{PAYOUTS}new/", PAYOUT_FORM | CONFIRMED | {"reference": "by-hand-3", "is_saved": "False"}
        )
        assert Beneficiary.objects.count() == 1

    def test_shows_bank_fee_and_total_first(self, browser, ada):
        shown = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"step": "review"}).content.decode()

        for word in ("Guaranty Trust Bank", "NGN 2,500.50", "NGN 10.00", "NGN 2,510.50"):
            assert word in shown
        assert not Transaction.objects.exists()

    def test_shows_the_name_that_the_bank_has(self, browser, ada):
        shown = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"step": "review"}).content.decode()

        assert "Guaranty Trust Bank says:" in shown
        assert "Name matches" in shown
        assert 'type="checkbox"' not in shown

    @pytest.mark.parametrize(
        ("account_number", "warning", "tick"),
        [
            (OTHER_NAME_ACCOUNT, "Another name", "Pay the account of"),
            (
                SILENT_ACCOUNT,
                "Guaranty Trust Bank didn",
                "Pay this account without the bank",
            ),
        ],
    )
    def test_needs_a_tick_unless_the_bank_confirms_the_name(
        self, browser, ada, account_number, warning, tick
    ):
        form = PAYOUT_FORM | {"account_number": account_number, "step": "confirmed"}

        for accepted in ("", "on", "verified"):
            answer = browser.post(f"{PAYOUTS}new/", form | {"accepted": accepted})
            shown = answer.content.decode()

            assert warning in shown
            assert tick in shown
            assert "Tick the box to pay this account." in shown
        assert not Transaction.objects.exists()

    @pytest.mark.parametrize(
        ("account_number", "recorded"),
        [
            (OTHER_NAME_ACCOUNT, {"accepted": "name_differs", "account_name": "Sandbox Account 0095"}),
            (SILENT_ACCOUNT, {"accepted": "unverified", "account_name": ""}),
        ],
    )
    def test_says_in_the_audit_log_what_the_tick_accepted(self, browser, ada, account_number, recorded):
        form = PAYOUT_FORM | CONFIRMED | {"account_number": account_number}

        browser.post(f"{PAYOUTS}new/", form | {"accepted": recorded["accepted"]})

        assert Transaction.objects.get().account_number == account_number
        assert recorded.items() <= AuditEntry.objects.get(action="payout.asked").after.items()

    def test_of_an_account_that_the_bank_does_not_have_is_refused(self, browser, ada):
        form = PAYOUT_FORM | {"account_number": UNKNOWN_ACCOUNT, "step": "review"}

        shown = browser.post(f"{PAYOUTS}new/", form).content.decode()

        assert "Guaranty Trust Bank has no account with this number." in shown
        assert not Transaction.objects.exists()

    def test_shows_stamp_duty_and_that_salaries_have_none(self, browser, ada):
        tariff = Tariff(business=ada.business, flow="payout", currency="NGN", fixed=1_000)
        tariff.stamp_duty, tariff.stamp_duty_from = 5_000, 250_000
        fee_rules.agree(tariff, actor=STAFF, now=timezone.now())

        def shown(**changes):
            form = PAYOUT_FORM | {"step": "review"} | changes
            return browser.post(f"{PAYOUTS}new/", form).content.decode()

        assert "<dt>Stamp duty</dt><dd>NGN 50.00</dd>" in shown()
        assert "NGN 2,560.50" in shown()
        salary = shown(purpose="salary")
        assert "<dt>Stamp duty</dt><dd>None: salaries are exempt</dd>" in salary
        assert "NGN 2,510.50" in salary
        assert "Stamp duty" not in shown(amount="2,499.99")

    def test_keeps_its_purpose_in_pages_and_exports(self, browser, ada):
        browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | CONFIRMED | {"purpose": "supplier"})

        payout = Transaction.objects.get()
        assert "<dt>Purpose</dt><dd>Supplier</dd>" in browser.get(f"{PAYOUTS}{payout.pk}/").content.decode()
        content = b"".join(browser.get(f"{PAYOUTS}export.csv").streaming_content).decode("utf-8-sig")
        (row,) = csv.DictReader(io.StringIO(content))
        assert row["purpose"] == "supplier"
        head = content.splitlines()[0].split(",")
        assert len(head) == len(set(head))

    def test_pays_once_if_confirmed_twice(self, browser, ada):
        for _ in range(2):
            answer = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | CONFIRMED, follow=True)

        payout = Transaction.objects.get()
        assert (payout.amount, payout.status) == (250_050, "success")
        assert "Paid out NGN 2,500.50." in answer.content.decode()

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("account_number", "123"),
            ("amount", "0"),
            ("bank_code", "999"),
            ("reference", "a b"),
            ("name", " "),
        ],
    )
    def test_shows_errors(self, browser, ada, field, value):
        answer = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | CONFIRMED | {field: value})

        assert field in answer.context["form"].errors
        assert not Transaction.objects.exists()

    def test_lists_the_fields_to_check_if_there_are_several(self, browser, ada):
        shown = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"name": "", "bank_code": ""}).content.decode()

        for field, message in [
            ("name", "Enter the name in your records."),
            ("bank_code", "Choose the bank."),
        ]:
            assert f'<a href="#id_{field}">' in shown
            assert shown.count(message) == 2
        one_error = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"name": ""}).content.decode()
        assert "Check what you entered" in shown
        assert "Check what you entered" not in one_error

    def test_rejects_a_used_reference(self, browser, ada, now):
        captured_payment(business=ada.business, now=now, reference="by-hand-1")

        answer = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | CONFIRMED)

        assert "This reference was already used for a different request." in answer.content.decode()


class TestPayAgain:
    def test_says_why_a_bank_refused_it_and_offers_to_pay_again(self, browser, ada, now):
        failed = start(orders.payout(amount=250_051), business=ada.business, now=now)

        page = browser.get(f"{PAYOUTS}{failed.pk}/")

        failure = page.context["detail"].failure
        assert failure.cause.endswith("Bank refused the payout: Insufficient funds")
        assert failure.text.endswith("Paying again later can help.")
        assert f"{PAYOUTS}new/?instead_of={failed.pk}" in page.content.decode()

    def test_says_that_the_balance_was_too_low(self, browser, ada, now, settings):
        settings.PAYOUT_REQUIRES_BALANCE = True
        failed = start(orders.payout(), business=ada.business, now=now)

        failure = browser.get(f"{PAYOUTS}{failed.pk}/").context["detail"].failure

        assert (failure.cause, failure.text) == (
            "Your balance didn't cover the payout and its fee",
            "Nothing was taken. Pay again once it does.",
        )

    def test_names_who_rejected_it_and_the_reason(self, browser, ada, now):
        payout, checker = waiting_payout(ada.business), MemberFactory(business=ada.business, role="finance")
        waiting_payouts.reject(payout.pk, reason="Not agreed", user=checker.user, actor=STAFF, now=now)

        shown = browser.get(f"{PAYOUTS}{payout.pk}/").content.decode()

        assert f"Rejected by {checker.user.email}: “Not agreed”" in shown

    def test_fills_the_form_in_with_a_new_reference(self, browser, ada, now):
        failed = start(orders.payout(amount=250_051, narration="Rent"), business=ada.business, now=now)

        form = browser.get(f"{PAYOUTS}new/?instead_of={failed.pk}").context["form"]

        assert (form["account_number"].value(), form["amount"].value(), form["narration"].value()) == (
            failed.account_number,
            "2,500.51",
            "Rent",
        )
        assert form["reference"].value() != failed.reference

    def test_is_not_offered_for_what_arrived_or_is_of_another_business(self, browser, ada, bisi, now):
        paid = start(orders.payout(), business=ada.business, now=now)
        of_another = start(orders.payout(amount=250_051), business=bisi.business, now=now)

        assert browser.get(f"{PAYOUTS}{paid.pk}/").context["detail"].failure is None
        for each in (paid, of_another):
            form = browser.get(f"{PAYOUTS}new/?instead_of={each.pk}").context["form"]
            assert form["account_number"].value() is None


class TestList:
    def test_says_what_waits_for_approval_and_what_came_back(self, browser, ada, now):
        waiting_payout(ada.business)
        payout = start(orders.payout(amount=250_000), business=ada.business, now=now)
        payout_returns.reverse(transaction_id=payout.pk, reason="Closed", actor=STAFF, now=now)

        shown = [each.what for each in browser.get(PAYOUTS).context["attention"]]

        assert any(each.endswith("needs approval") for each in shown)
        assert "NGN 2,500.00 to Ada Obi was returned" in shown

    def test_says_what_each_payout_waits_for(self, browser, ada, now):
        waiting_payout(ada.business)
        lost = {"name": "Ada Obi", "account_number": LOST_ANSWER_ACCOUNT, "bank_code": "058"}
        start(orders.payout(customer=lost), business=ada.business, now=now)

        shown = browser.get(PAYOUTS).content.decode()

        assert "<small>Every payout needs approval</small>" in shown
        assert "<small>Guaranty Trust Bank hasn\N{RIGHT SINGLE QUOTATION MARK}t confirmed</small>" in shown

    def test_says_which_batch_waits_for_approval_and_until_when(self, browser, ada):
        batch = waiting_batch(ada.business)

        item = browser.get(PAYOUTS).context["attention"][0]

        assert item.what == f"“{batch.title}” needs approval"
        assert item.why.endswith("Without a decision it is cancelled")
        assert item.until == batch.approval.expires_at
        assert str(batch.pk) in item.address

    def test_offers_to_pay_again_what_came_back(self, browser, ada, now):
        payout = start(orders.payout(amount=250_000), business=ada.business, now=now)
        payout_returns.reverse(transaction_id=payout.pk, reason="Closed", actor=STAFF, now=now)

        assert f"/new/?instead_of={payout.pk}" in browser.get(PAYOUTS).context["attention"][0].address

    def test_costs_twelve_queries_with_everything_on_it(self, browser, ada, now):
        payout = start(orders.payout(amount=250_000), business=ada.business, now=now)
        payout_returns.reverse(transaction_id=payout.pk, reason="Closed", actor=STAFF, now=now)
        waiting_batch(ada.business)

        with at_most(12):
            assert len(browser.get(PAYOUTS).context["attention"]) == 2

    def test_counts_batches_and_beneficiaries_at_their_tabs(self, browser, ada):
        completed_batch(ada.business)
        beneficiary_of(ada.business)

        counts = {tab.name: tab.shown_count for tab in browser.get(PAYOUTS).context["tabs"]}

        assert (counts["Batches"], counts["Beneficiaries"]) == ("1", "1")

    def test_is_narrowed_by_bank(self, browser, ada, now):
        start(
            orders.payout(customer=CUSTOMER | {"account_number": "0123456789"}),
            business=ada.business,
            now=now,
        )
        other = start(
            orders.payout(customer={"name": "Kano", "account_number": "0690213447", "bank_code": "044"}),
            business=ada.business,
            now=now,
        )

        for text in ("access", "044"):
            rows = browser.get(PAYOUTS, {"bank": text}).context["page"].rows
            assert [row.pk for row in rows] == [other.pk]
        assert browser.get(PAYOUTS, {"bank": "nowhere"}).context["page"].rows == []

    def test_names_the_batch_of_a_payout_and_its_fee(self, browser, ada):
        batch = completed_batch(ada.business)

        shown = browser.get(PAYOUTS).content.decode()

        assert f"<bdi>{batch.title}</bdi>" in shown
        assert "10.00</td>" in shown


class TestReturnedPayout:
    @pytest.fixture
    def came_back(self, ada, now):
        """Two payouts, a part of the first of which was returned a day later. Return both."""
        payouts = [
            start(orders.payout(amount=amount), business=ada.business, now=now - timedelta(days=2))
            for amount in (250_000, 100_000)
        ]
        notice = payout_returns.ReturnNotice(
            bank_reference="back-1",
            payout_reference=str(payouts[0].pk),
            amount=200_000,
            currency="NGN",
            reason="Account closed",
        )
        payout_returns.receive(notice, clock=lambda: now - timedelta(days=1))
        return payouts

    def test_is_a_row_of_its_own_with_its_own_day(self, browser, ada, came_back):
        page = browser.get(PAYOUTS)

        first, *others = page.context["page"].rows
        assert (first.amount, first.transaction) == (200_000, came_back[0])
        assert set(others) == set(came_back)
        shown = page.content.decode()
        assert "+2,000.00</span>" in shown
        assert "<bdi>Account closed</bdi>" in shown
        assert ">Returned</span>" in shown
        assert "NGN 2,000.00 returned" in shown
        assert shown.count(f"{MINUS}2,500.00</span>") == 1

    def test_has_a_tab_whose_rows_are_the_returns(self, browser, came_back):
        shown = browser.get(PAYOUTS, {"status": "returned"})

        assert [row.transaction for row in shown.context["page"].rows] == [came_back[0]]
        assert [tab.shown_count for tab in shown.context["tabs"] if tab.is_here] == ["1"]
        counts = {tab.name: tab.shown_count for tab in shown.context["tabs"]}
        assert (counts["All"], counts["Succeeded"]) == ("3", "2")

    def test_is_found_as_its_payout_is_and_summed(self, browser, came_back):
        for query, number in (
            ({"q": came_back[0].reference}, 2),
            ({"q": came_back[1].reference}, 1),
            ({"amount_from": "2,400", "currency": "NGN"}, 2),
            ({"status": "success"}, 2),
            ({"status": "returned", "q": came_back[1].reference}, 0),
        ):
            assert len(browser.get(PAYOUTS, query).context["page"].rows) == number, query
        assert list(browser.get(PAYOUTS).context["totals"].sums) == [
            "NGN 3,500.00 sent",
            "NGN 2,000.00 returned",
        ]

    def test_is_in_the_export_of_its_own_day_with_its_amount(self, browser, now, came_back):
        days = {"since": f"{timezone.localdate(now - timedelta(days=1), came_back[0].business.zone)}"}

        def exported(**query):
            answer = browser.get(f"{PAYOUTS}export.csv", query)
            content = b"".join(answer.streaming_content).decode("utf-8-sig")
            rows = csv.DictReader(io.StringIO(content))
            return sorted((row["reference"], row["amount_returned"]) for row in rows)

        returned, arrived = (each.reference for each in came_back)
        assert exported() == sorted([(returned, "2000.00"), (arrived, "0.00")])
        for query in ({}, days):
            assert exported(status="returned", **query) == [(returned, "2000.00")]
            shown = browser.get(PAYOUTS, {"status": "returned", **query}).context["page"].rows
            assert [row.transaction.reference for row in shown] == [returned]
        assert exported(status="returned", until="2026-01-01") == []

    def test_is_found_by_a_name_among_the_returns_of_its_own_day(self, browser, now, came_back):
        index_search()
        day = timezone.localdate(now - timedelta(days=1), came_back[0].business.zone)
        query = {"q": came_back[0].customer_name, "since": f"{day}"}

        for status in ("", "returned"):
            [row] = browser.get(PAYOUTS, query | {"status": status}).context["page"].rows
            assert row.transaction == came_back[0]
        answer = browser.get(f"{PAYOUTS}export.csv", query | {"status": "returned"})
        assert came_back[0].reference in b"".join(answer.streaming_content).decode()

    def test_leads_to_its_debit_and_its_credit(self, browser, ada):
        now = timezone.now()
        payout = start(orders.payout(amount=250_000), business=ada.business, now=now)
        payout_returns.reverse(transaction_id=payout.pk, reason="Account closed", actor=STAFF, now=now)

        related = browser.get(f"{PAYOUTS}{payout.pk}/").context["detail"].related

        movements = [each for each in related if each.name == "Balance movement"]
        assert [each.text for each in movements] == ["\N{MINUS SIGN}NGN 2,510.00", "+NGN 2,500.00 returned"]
        for each in movements:
            assert "Ada Obi" in browser.get(each.address).content.decode()


def tiles(browser, payout):
    figures = browser.get(f"{PAYOUTS}{payout.pk}/").context["detail"].figures
    return {each.name: (each.amount, each.note) for each in figures}


def movements(browser, payout):
    related = browser.get(f"{PAYOUTS}{payout.pk}/").context["detail"].related
    return [each.text for each in related if each.name == "Balance movement"]


class TestPayoutPage:
    def shown(self, browser, payout):
        return browser.get(f"{PAYOUTS}{payout.pk}/").content.decode()

    def test_has_the_banks_reference_and_help_for_a_wrong_account(self, browser, ada, now):
        payout = start(orders.payout(), business=ada.business, now=now)

        shown = self.shown(browser, payout)

        assert payout.acquirer_transaction_id
        assert f'data-copy="{payout.acquirer_transaction_id}"' in shown
        assert "Sent to the wrong account?" in shown
        assert f'bank reference <b class="mono">{payout.acquirer_transaction_id}</b>' in shown
        assert "It may not come back." in shown

    def test_of_a_failed_payout_has_no_help_for_a_wrong_account(self, browser, ada, now):
        failed = start(orders.payout(amount=250_051), business=ada.business, now=now)

        assert "Sent to the wrong account?" not in self.shown(browser, failed)

    def test_says_until_when_it_waits_for_approval(self, browser, ada):
        payout = waiting_payout(ada.business)

        planned = browser.get(f"{PAYOUTS}{payout.pk}/").context["detail"].timeline[-1]

        assert planned.is_planned
        assert (planned.title, planned.at) == ("Fails without approval", payout.approval.expires_at)

    def test_says_that_the_server_is_asked_again_and_what_it_answered(self, browser, ada, now):
        PayoutControls.objects.create(business=ada.business, server_url="http://127.0.0.1:9/ask")
        payout = start(orders.payout(), business=ada.business, now=now)
        question = PayoutServerQuestion.objects.get(transaction=payout)

        first = browser.get(f"{PAYOUTS}{payout.pk}/").context["detail"].timeline[-1]
        PayoutServerQuestion.objects.update(attempts=1, last_answer="The server answered 500.")
        again = browser.get(f"{PAYOUTS}{payout.pk}/").context["detail"].timeline[-1]

        assert (first.title, first.at) == ("Your server is asked", question.next_attempt_at)
        assert (again.title, again.text) == ("Your server is asked again", "The server answered 500.")

    def test_names_who_approved_it(self, browser, ada, now):
        payout = waiting_payout(ada.business)
        checker = MemberFactory(business=ada.business, role="finance").user
        waiting_payouts.approve(payout.pk, user=checker, actor=STAFF, now=now)

        assert f"<dt>Approved by</dt>\n<dd><bdi>{checker.email}</bdi>" in self.shown(browser, payout)

    def test_links_its_batch_and_names_who_approved_that(self, browser, ada):
        batch = completed_batch(ada.business)
        payout = batch.items.first().payout

        shown = self.shown(browser, payout)

        assert f'href="{PAYOUTS}batches/{batch.pk}/"' in shown
        assert f"<dd><bdi>{batch.released_by}</bdi>" in shown

    def test_sums_up_a_failed_payout_as_it_does_others(self, browser, ada, now):
        failed = start(orders.payout(amount=10_051), business=ada.business, now=now)

        assert tiles(browser, failed) == {
            "Amount": (10_051, ""),
            "Fee": (0, ""),
            "Debited": (0, "NGN 110.51 credited back"),
        }

    def test_leads_to_the_debit_and_the_credit_of_a_failed_payout(self, browser, ada, now):
        failed = start(orders.payout(amount=10_051), business=ada.business, now=now)

        assert movements(browser, failed) == ["\N{MINUS SIGN}NGN 110.51", "+NGN 110.51 credited back"]

    def test_says_that_the_balance_was_too_low(self, browser, ada, now, settings):
        settings.PAYOUT_REQUIRES_BALANCE = True

        refused = start(orders.payout(amount=250_000), business=ada.business, now=now)

        assert tiles(browser, refused)["Debited"] == (0, "Your balance was too low")
        assert movements(browser, refused) == []

    def test_includes_the_fee_of_a_pending_payout(self, browser, ada, now):
        unanswered = orders.payout(customer={**CUSTOMER, "account_number": LOST_ANSWER_ACCOUNT})
        pending = start(unanswered, business=ada.business, now=now)

        assert tiles(browser, pending)["Fee"] == (1_000, "")
        assert tiles(browser, pending)["Debited"] == (251_000, "From your balance")
        assert movements(browser, pending) == ["\N{MINUS SIGN}NGN 2,510.00"]

    def test_calls_a_failed_payout_a_payout(self, browser, ada, now):
        failed = start(orders.payout(amount=10_051), business=ada.business, now=now)

        shown = browser.get(f"{PAYOUTS}{failed.pk}/")
        listed = browser.get(PAYOUTS).content.decode()

        assert "Payout failed (20030)" in [each.title for each in shown.context["detail"].timeline]
        visible = shown.content.decode().partition('class="fold')[0]
        assert "Payment failed" not in visible + listed
        assert "Insufficient funds" in listed

    def test_calls_a_completed_payout_a_payout(self, browser, ada, now):
        payout = start(orders.payout(amount=250_000), business=ada.business, now=now)

        assert "10000 · Payout completed" in browser.get(f"{PAYOUTS}{payout.pk}/").content.decode()


@pytest.mark.parametrize("field", ["beneficiary", "q"])
def test_form_opens_with_a_character_that_no_database_text_has(browser, ada, field):
    address = "/dashboard/payouts/new/"

    assert browser.get(f"{address}?{field}=a%00b").status_code == 200
    assert browser.post(address, {field: "a\0b", "step": "search"}).status_code == 200

"""Settings → Settlement account: the account, its wait and its second owner, the schedule, and payouts on demand."""

from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.models import AuditEntry
from payments.models import SettlementAccount, SettlementAccountChange, Transaction
from payments.rules.sandbox_triggers import UNKNOWN_ACCOUNT
from payments.services.settlement.payouts import settlement_accounts
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.settlement_accounts import settlement_account
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db
PAGE = "/dashboard/settings/settlement-account/"
ENTERED = {"group": "account", "bank_code": "058", "account_number": "0123456789"}


def save(browser, **fields):
    return browser.post(PAGE, ENTERED | fields, follow=True).content.decode()


def decide(browser, decision):
    change = SettlementAccountChange.objects.latest("id")
    return browser.post(f"{PAGE}changes/{change.pk}/", {"decision": decision}, follow=True).content.decode()


def account_of(business):
    return SettlementAccount.objects.get(business=business)


def apply(hours):
    return settlement_accounts.apply_due(now=timezone.now() + timedelta(hours=hours))


class TestAccount:
    def test_first_one_waits_24_hours_and_is_mailed(
        self, browser, ada, mailoutbox, django_capture_on_commit_callbacks
    ):
        with django_capture_on_commit_callbacks(execute=True):
            shown = save(browser)

        assert "A change waits" in shown
        name = SettlementAccountChange.objects.get().account_name
        assert name
        assert name in shown
        assert [mail.to for mail in mailoutbox] == [["ada@example.com"]]
        assert "0123456789" in mailoutbox[0].body
        assert PAGE in mailoutbox[0].body
        assert not account_of(ada.business).is_set
        assert apply(hours=23.9) == 0
        assert apply(hours=24.1) == 1
        assert account_of(ada.business).account_number == "0123456789"
        assert AuditEntry.objects.filter(business=ada.business, action="settlement_account.changed").exists()

    def test_wait_is_a_setting(self, browser, settings):
        settings.SETTLEMENT_ACCOUNT_COOLING = 2
        save(browser)

        assert apply(hours=2.1) == 1

    def test_can_be_stopped_by_any_owner(self, browser, ada):
        other = signed_in(MemberFactory(business=ada.business, role="owner").user)
        save(browser)

        assert "The change was stopped." in decide(other, "stop")

        assert apply(hours=48) == 0
        assert "already applied or stopped" in decide(browser, "stop")

    def test_needs_a_second_owner_and_the_wait(self, browser, ada):
        other = signed_in(MemberFactory(business=ada.business, role="owner").user)
        save(browser)

        assert "Another owner must confirm" in decide(browser, "confirm")
        assert apply(hours=48) == 0
        decide(other, "confirm")
        assert not account_of(ada.business).is_set
        assert apply(hours=23.9) == 0
        assert apply(hours=24.1) == 1

    def test_newer_change_replaces_one_that_waits(self, browser, ada):
        save(browser)
        save(browser, account_number="0123456780")

        assert apply(hours=25) == 1
        assert account_of(ada.business).account_number == "0123456780"

    def test_unknown_to_the_bank_is_refused(self, browser):
        assert "The bank has no account with this number." in save(browser, account_number=UNKNOWN_ACCOUNT)
        assert "Enter exactly 10 digits." in save(browser, account_number="12")
        assert not SettlementAccountChange.objects.exists()

    def test_is_for_owners_who_have_just_signed_in(self, ada, ada_member):
        finance = signed_in(MemberFactory(business=ada.business, role="finance").user)
        stale = signed_in(ada_member.user, fresh=False)

        assert finance.get(PAGE).status_code == 200
        assert finance.post(PAGE, ENTERED).status_code == 403
        assert "A change waits" not in stale.post(PAGE, ENTERED, follow=True).content.decode()
        assert not SettlementAccountChange.objects.exists()

    def test_wait_passes_when_the_sandbox_closes_a_day(self, browser, api, ada):
        browser.post(PAGE, {"group": "schedule", "pays": "daily"})
        save(browser)
        api.post("/api/payments", orders.card_payment(amount=100_000))

        answer = api.post("/api/sandbox/advance", {"day": "released"}).json()

        reference = answer["batches"][0]["payout_reference"]
        assert account_of(ada.business).is_set
        assert reference in browser.get(PAGE).content.decode()
        assert (
            "a payout"
            in browser.get(f"/dashboard/settlements/{answer['batches'][0]['id']}/").content.decode()
        )


class TestSchedule:
    def test_is_saved_and_audited(self, browser, ada):
        weekly = {"pays": "weekly", "weekday": "4", "minimum": "1,000", "stays": "NGN 500.50"}

        shown = browser.post(PAGE, {"group": "schedule"} | weekly, follow=True).content.decode()

        assert "Schedule saved." in shown
        account = account_of(ada.business)
        assert (account.pays, account.weekday, account.minimum, account.stays) == (
            "weekly",
            4,
            100_000,
            50_050,
        )
        assert AuditEntry.objects.get(action="settlement_payouts.changed").after == {
            "pays": "Weekly", "weekday": "Friday", "minimum": "NGN 1,000.00", "stays": "NGN 500.50",
        }  # fmt: skip
        assert '<option value="4" selected>Friday</option>' in shown

    def test_needs_a_weekday_and_amounts(self, browser):
        wrong = {"group": "schedule", "pays": "weekly", "minimum": "much"}

        shown = browser.post(PAGE, wrong).content.decode()

        assert "Choose the weekday." in shown
        assert "Enter an amount such as" in shown
        assert not SettlementAccount.objects.exists()

    def test_is_resumed_by_an_owner(self, browser, ada):
        account = settlement_account(
            ada.business, paused_at=timezone.now(), pause_reason="the account is dormant"
        )
        assert "the account is dormant" in browser.get(PAGE).content.decode()

        shown = browser.post(f"{PAGE}resume/", follow=True).content.decode()

        assert "Automatic payouts continue." in shown
        account.refresh_from_db()
        assert account.paused_at is None


class TestPayOutNow:
    def test_pays_out_by_a_member_who_may(self, ada):
        finance = signed_in(MemberFactory(business=ada.business, role="finance").user)
        settlement_account(ada.business)
        fill_wallet(ada.business, 70_000)

        shown = finance.post(f"{PAGE}pay-out/", follow=True).content.decode()

        assert "Paid out NGN 700.00." in shown
        assert Transaction.objects.get(business=ada.business).reference.startswith("settlement_")

    def test_says_why_not(self, browser, ada):
        answer = browser.post(f"{PAGE}pay-out/", follow=True)
        assert "Add a settlement account first." in answer.content.decode()
        settlement_account(ada.business)
        fill_wallet(ada.business, 10_007)

        assert (
            "failed: the account is invalid or closed"
            in browser.post(f"{PAGE}pay-out/", follow=True).content.decode()
        )
        SettlementAccount.objects.update(stays=10_007)
        assert "nothing to pay out" in browser.post(f"{PAGE}pay-out/", follow=True).content.decode()

"""Settings of payouts, and the page on which another member approves one."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.models import AuditEntry
from payments.models import PayoutControls, PayoutControlsChange, Transaction
from payments.rules.sandbox_triggers import OTHER_NAME_ACCOUNT, SILENT_ACCOUNT, UNKNOWN_ACCOUNT
from payments.services.payouts.controls import payout_settings
from tests import orders, payout_controls
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db
PAGE = "/dashboard/settings/payouts/"
NONE = {"approval": "never", "keys_need_approval": "on"}


def save(browser, **fields):
    return browser.post(PAGE, NONE | fields, follow=True)


def stored(business):
    return PayoutControls.objects.get(business=business)


def colleague(business, role="owner"):
    return signed_in(MemberFactory(business=business, role=role).user)


def waiting_payout(api, business):
    PayoutControls.objects.update_or_create(business=business, defaults={"approval": "always"})
    return Transaction.objects.get(pk=api.post("/api/payments", orders.payout()).json()["id"])


class TestSettings:
    def test_tightening_applies_at_once_and_is_audited(self, browser, ada):
        shown = save(
            browser,
            per_payout="500,000.00",
            number_per_day="9",
            approval="above",
            approval_above="NGN 100",
            two_approvals_above="NGN 1,000",
        )

        assert "Settings saved." in shown.content.decode()
        controls = stored(ada.business)
        assert (controls.per_payout, controls.number_per_day) == ({"NGN": 50_000_000}, 9)
        assert (controls.approval, controls.approval_above) == ("above", {"NGN": 10_000})
        entry = AuditEntry.objects.get(action="payout_controls.changed")
        assert entry.after["number_per_day"] == 9

    def test_explain_limits_in_words(self, browser):
        page = browser.get("/dashboard/settings/payouts/").content.decode()

        assert "A payout over a limit is refused, and the refusal names the limit." in page
        assert not re.search(r"payout_limit_reached|\b409\b", page)

    def test_loosening_waits_24_hours_with_one_owner(self, browser, ada, mailoutbox):
        save(browser, per_day="NGN 100", number_per_day="9")

        shown = save(browser, per_day="NGN 200", number_per_day="8").content.decode()

        assert "applies in 24 hours" in shown
        assert "A change waits" in shown
        assert [mail.to for mail in mailoutbox] == [["ada@example.com"]]
        assert PAGE in mailoutbox[0].body
        assert (stored(ada.business).per_day, stored(ada.business).number_per_day) == ({"NGN": 10_000}, 8)
        due = PayoutControlsChange.objects.get().applies_at
        assert payout_settings.apply_due(now=due - timedelta(seconds=1)) == 0
        assert payout_settings.apply_due(now=due) == 1
        assert stored(ada.business).per_day == {"NGN": 20_000}

    def test_loosening_needs_a_second_owner_where_there_is_one(self, browser, ada):
        other = colleague(ada.business)
        save(browser, approval="always")
        save(browser, approval="never")
        change = PayoutControlsChange.objects.get()
        decision = f"{PAGE}changes/{change.pk}/"

        own = browser.post(decision, {"decision": "confirm"}, follow=True).content.decode()
        assert "Another owner must confirm" in own
        assert payout_settings.apply_due(now=timezone.now() + timedelta(days=9)) == 0
        assert stored(ada.business).approval == "always"
        other.post(decision, {"decision": "confirm"})

        assert stored(ada.business).approval == "never"

    def test_always_needs_two_members_who_could_approve(self, browser):
        shown = save(browser, approval="always").content.decode()

        assert "Invite another owner or finance member first" in shown
        assert not PayoutControls.objects.exclude(approval="never").exists()

    def test_stay_below_the_operators_limits(self, browser, ada):
        PayoutControls.objects.create(business=ada.business, caps={"per_day": {"NGN": 10_000}})

        shown = save(browser, per_day="NGN 100.01").content.decode()

        assert "The operator allows at most NGN 100.00." in shown
        assert stored(ada.business).per_day == {}

    def test_are_for_owners(self, ada):
        finance = colleague(ada.business, role="finance")

        assert finance.get(PAGE).status_code == 200
        assert save(finance, number_per_day="1").status_code == 403

    def test_server_needs_a_webhook_key(self, browser):
        shown = save(browser, server_url="http://127.0.0.1:9/ask").content.decode()

        assert "Set up webhooks first" in shown


class TestApprovalPage:
    def test_shows_what_a_checker_must_know_and_sends_the_payout(self, browser, api, ada):
        payout = waiting_payout(api, ada.business)
        address = f"/dashboard/payouts/{payout.pk}/approval/"

        shown = browser.get(address).content.decode()
        listed = browser.get("/dashboard/payouts/?status=awaiting_approval").content.decode()
        done = browser.post(address, {"decision": "approve"}, follow=True).content.decode()

        for text in (
            "New beneficiary",
            "Every payout needs approval",
            "0 of 1",
            "Approve and send NGN 2,500.00",
        ):
            assert text in shown
        assert payout.reference in listed
        assert "Paid out NGN 2,500.00." in done

    def test_rejects_with_a_reason_only(self, browser, api, ada):
        payout = waiting_payout(api, ada.business)
        address = f"/dashboard/payouts/{payout.pk}/approval/"

        without = browser.post(address, {"decision": "reject", "reason": ""})
        browser.post(address, {"decision": "reject", "reason": "Unknown supplier"})

        assert without.status_code == 200
        payout = Transaction.objects.get(pk=payout.pk)
        assert (payout.response_code, payout.approval.reason) == ("20092", "Unknown supplier")

    @pytest.mark.parametrize(
        ("account_number", "said"),
        [
            ("0123456789", "Name matches"),
            (OTHER_NAME_ACCOUNT, "Another name"),
            (SILENT_ACCOUNT, "The holder"),
            (UNKNOWN_ACCOUNT, "The bank has no account with this number"),
        ],
    )
    def test_says_whose_account_it_is(self, browser, ada, account_number, said):
        customer = orders.payout()["customer"] | {"account_number": account_number}
        payout = payout_controls.waiting_payout(ada.business, customer=customer)

        assert said in browser.get(f"/dashboard/payouts/{payout.pk}/approval/").content.decode()

    def test_of_ones_own_payout_has_no_button(self, browser, ada):
        MemberFactory(business=ada.business, role="finance")
        PayoutControls.objects.create(business=ada.business, approval="always")
        form = {
            "step": "confirmed",
            "reference": "by-hand",
            "currency": "NGN",
            "amount": "2500",
            "bank_code": "058",
            "account_number": "0123456789",
            "name": "Ada Obi",
        }

        made = browser.post("/dashboard/payouts/new/", form, follow=True).content.decode()
        address = f"/dashboard/payouts/{Transaction.objects.get().pk}/approval/"
        shown = browser.get(address).content.decode()
        browser.post(address, {"decision": "approve"})

        assert "waits for approval by another member" in made
        assert "You made this payout." in shown
        assert "Your decision" not in shown
        assert "Reject instead" not in shown
        assert Transaction.objects.get().awaiting == "approval"
        browser.post(address, {"decision": "cancel"})
        assert Transaction.objects.get().response_code == "20091"
        assert (
            AuditEntry.objects.get(action="payout.cancelled").actor
            == Transaction.objects.get().approval.maker.email
        )

    def test_only_the_maker_cancels(self, browser, api, ada):
        payout = waiting_payout(api, ada.business)

        browser.post(f"/dashboard/payouts/{payout.pk}/approval/", {"decision": "cancel", "reason": ""})

        assert Transaction.objects.get(pk=payout.pk).awaiting == "approval"

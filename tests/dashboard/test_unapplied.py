"""Unapplied money is listed, shown with the reason, and decided once."""

import re
from html import unescape
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import IntegrityError
from django.utils import timezone

from dashboard.tasks import index_search
from kit.time.time_ordered_ids import new_id
from ledger.services import balances
from merchants.models import AuditEntry
from payments.models import PayoutControls, Transaction
from payments.rules.sandbox_triggers import UNKNOWN_ACCOUNT
from payments.rules.words.status_names import UNAPPLIED_REASONS, UNAPPLIED_SHORT_REASONS
from payments.services.payouts import payout_returns
from payments.services.payouts.controls import waiting_payouts
from payments.services.transfers import unapplied_decisions
from tests.addresses import is_asked
from tests.dashboard.people import signed_in
from tests.developer_site.test_pages import Audit
from tests.factories import MemberFactory
from tests.settling import STAFF
from tests.unapplied import mismatched_money
from tests.webhooks.rows import make_endpoint
from virtual_accounts.models import Transfer, UnappliedMoney, VirtualAccount
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db

INBOX = "/dashboard/virtual-accounts/unapplied/"
NASTY = "</td><script>alert('x')</script>{{ 7|add:7 }} \u202egnp.exe " + "w" * 40
CREDIT = {"decision": "credit", "reason": "Customer agreed", "step": "confirmed"}
ACCEPT = CREDIT | {"decision": "accept"}
RETURN = {
    "decision": "return",
    "reason": "Sent twice",
    "account_number": "0123456789",
    "bank_code": "058",
    "step": "confirmed",
}
TOLD = {"sender_account_number": "1112223334", "sender_bank_code": "044"}


@pytest.fixture
def money(ada):
    """A transfer of 40,000 for a payment of 50,000. The bank did not send the sender's account."""
    return mismatched_money(business=ada.business, now=timezone.now())


def decide(client, money, form):
    """Submit a form of the item's page, and return the text of the resulting page."""
    return unescape(client.post(f"{INBOX}{money.pk}/", form, follow=True).content.decode())


def state_of(money):
    money.refresh_from_db()
    return money.state


def assert_back_in_its_transfer(detail, money):
    """Check that the page of a payout says that its amount is unapplied again."""
    assert detail.failure.text == "The amount went back to its unapplied transfer, not to your balance."
    assert (detail.failure.address, detail.failure.action) == (f"{INBOX}{money.pk}/", "View transfer")
    assert {"Back in its unapplied transfer"} == {each.note for each in detail.figures[2:]} - {
        "From your balance"
    }
    assert [
        each.text for each in detail.related if "credited back" in each.text or "returned" in each.text
    ] == []


def wallet(business):
    return next((each.available for each in balances(business) if each.currency == "NGN"), 0)


def test_page_of_a_payment_shows_its_money_beside_much_of_its_numbers_next_payment(browser, ada, money):
    payment = Transaction.objects.get()
    mismatched_money(business=ada.business, now=timezone.now())
    following = Transaction.objects.exclude(pk=payment.pk).get()
    number = money.transfer.number
    for row in [*Transfer.objects.filter(number=number)] * 3:
        row.pk, row.bank_reference, row.reason, row.session = uuid4(), uuid4().hex, "late", None
        row.provider_session = following.session_id
        row.save(force_insert=True)
        now = timezone.now()
        UnappliedMoney.objects.create(
            pk=new_id(now), business=ada.business, transfer=row, amount=1, currency="NGN", created_at=now
        )

    page = browser.get(f"/dashboard/payments/{payment.pk}/").content.decode()

    assert f"{INBOX}{money.pk}/" in page


class TestPage:
    def test_shows_the_transfer_and_why_it_is_unapplied(self, browser, money):
        page = browser.get(f"{INBOX}{money.pk}/").content.decode()

        payment = money.transfer.session.payment
        for words in ("NGN 400.00", "Bisi Ojo", money.transfer.bank_reference, "500.00"):
            assert words in page
        assert "The amount didn&#x27;t match the payment, which failed." in page
        assert f"/dashboard/payments/{payment.pk}/" in page

    def test_offers_to_return_first_if_the_sender_is_known(self, browser, ada, money):
        nameless = mismatched_money(business=ada.business, now=timezone.now(), sender_name="")

        for each, primary in ((money, "return"), (nameless, "credit")):
            page = browser.get(f"{INBOX}{each.pk}/").content.decode()
            assert re.findall(r'button--primary" type="submit" name="decision" value="(\w+)"', page) == [
                primary
            ]
            is_first = page.index('value="return"') < page.index('value="credit"')
            assert is_first == (primary == "return")

    @pytest.mark.parametrize(("amount", "is_short"), [(40_000, True), (60_000, False)])
    def test_payment_offers_to_accept_only_a_short_amount(self, browser, ada, now, amount, is_short):
        money = mismatched_money(business=ada.business, now=now, amount=amount)

        page = browser.get(f"/dashboard/payments/{money.transfer.session.payment.pk}/").content.decode()

        assert "Return the money to its sender, " in page
        assert ("accept it for the order" in page) == is_short

    @pytest.mark.parametrize("form", [CREDIT, RETURN])
    def test_payment_asks_for_no_decision_once_there_is_one(self, browser, money, form):
        payment = money.transfer.session.payment
        decide(browser, money, form)

        page = browser.get(f"/dashboard/payments/{payment.pk}/").content.decode()

        assert "Decide" not in page
        assert "If the customer still wants to pay, send a new link." in page

    def test_payment_tells_what_became_of_its_transfer(self, browser, money):
        payment = money.transfer.session.payment
        decide(browser, money, CREDIT)

        page = browser.get(f"/dashboard/payments/{payment.pk}/").content.decode()

        assert "NGN 400.00 credited to your balance" in page
        assert "Customer agreed" in page

    def test_describes_every_reason(self):
        assert set(UNAPPLIED_REASONS) == {reason for reason in Transfer.Reason if reason}

    def test_is_listed_with_the_open_items(self, browser, money):
        assert f'href="{INBOX}{money.pk}/"' in browser.get(INBOX).content.decode()
        assert str(money.pk) not in browser.get(INBOX, {"state": "credited"}).content.decode()

    def test_of_another_business_is_not_found(self, bisi_member, money):
        stranger = signed_in(bisi_member.user)

        for form in (CREDIT, RETURN):
            assert stranger.post(f"{INBOX}{money.pk}/", form).status_code == 404
        assert state_of(money) == "open"

    def test_offers_viewers_no_decision(self, ada, money):
        viewer = signed_in(MemberFactory(business=ada.business, role="viewer").user)

        page = viewer.get(f"{INBOX}{money.pk}/").content.decode()

        assert 'name="decision"' not in page
        assert "Only owners and finance may credit or return unapplied transfers." in page

    def test_needs_few_queries(self, browser, money, django_assert_max_num_queries):
        decide(browser, money, RETURN)

        for address in (INBOX, f"{INBOX}{money.pk}/"):
            with django_assert_max_num_queries(12):
                assert browser.get(address).status_code == 200


class TestCredit:
    def test_credits_the_wallet_and_writes_an_audit_entry(self, browser, ada, money):
        page = decide(browser, money, CREDIT)

        assert "NGN 400.00 was credited to your balance." in page
        assert "Customer agreed" in page
        assert 'name="decision"' not in page
        assert (state_of(money), wallet(ada.business)) == ("credited", 40_000)
        entry = AuditEntry.objects.get(action="unapplied.credited")
        assert (entry.actor, entry.business) == ("ada@example.com", ada.business)
        assert (
            "Credited an unapplied transfer to the balance"
            in browser.get("/dashboard/activity/").content.decode()
        )

    def test_happens_once_if_submitted_twice(self, browser, ada, money):
        decide(browser, money, CREDIT)

        page = decide(browser, money, CREDIT)

        assert "This money was already " in page
        assert wallet(ada.business) == 40_000
        assert AuditEntry.objects.filter(action="unapplied.credited").count() == 1

    @pytest.mark.parametrize("reason", ["", "   ", "x" * 256, "a\x00b"])
    def test_requires_a_reason(self, browser, money, reason):
        answer = browser.post(f"{INBOX}{money.pk}/", CREDIT | {"reason": reason})

        assert "reason" in answer.context["forms"]["credit"].errors
        assert not answer.context["forms"]["return"].is_bound
        assert state_of(money) == "open"


class TestOverpaid:
    def test_is_kept_in_part_by_a_credit_and_a_payout_of_the_rest(self, browser, ada, now):
        money = mismatched_money(business=ada.business, now=now, amount=60_000, **TOLD)
        assert (
            "To keep NGN 500.00 and give back NGN 100.00"
            in browser.get(f"{INBOX}{money.pk}/").content.decode()
        )

        decide(browser, money, CREDIT)

        shown = browser.get(f"{INBOX}{money.pk}/").content.decode()
        assert "NGN 100.00 was too much" in shown
        address = f"/dashboard/payouts/new/?overpaid={money.pk}"
        assert f'href="{address}"' in shown
        form = browser.get(address).context["form"]
        given = {
            name: form[name].value()
            for name in ("reference", "amount", "name", "account_number", "bank_code")
        }
        assert given == {
            "reference": f"overpaid-{money.pk}",
            "amount": "100.00",
            "name": "Bisi Ojo",
            "account_number": "1112223334",
            "bank_code": "044",
        }

    def test_is_not_offered_before_the_credit_or_to_another_business(self, browser, ada, bisi, now):
        open_one = mismatched_money(business=ada.business, now=now, amount=60_000, **TOLD)
        theirs = mismatched_money(business=bisi.business, now=now, amount=60_000, **TOLD)
        unapplied_decisions.credit(theirs.pk, reason="Customer agreed", actor=STAFF, now=now)

        for each in (open_one.pk, theirs.pk, "nonsense"):
            form = browser.get("/dashboard/payouts/new/", {"overpaid": each}).context["form"]
            assert form["account_number"].value() is None


class TestReturn:
    def test_pays_the_entered_account(self, browser, ada, money):
        page = decide(browser, money, RETURN)

        payout = Transaction.objects.get(request_type="payout")
        assert "Returned NGN 400.00 to the sender." in page
        assert f"/dashboard/payouts/{payout.pk}/" in page
        assert (payout.account_number, payout.bank_code, payout.fee) == ("0123456789", "058", 0)
        assert (state_of(money), wallet(ada.business)) == ("returned", 0)
        trail = browser.get("/dashboard/activity/").content.decode()
        assert f"Returned an unapplied transfer to its sender by the payout {payout.reference}" in trail

    def test_happens_once_if_submitted_twice(self, browser, money):
        decide(browser, money, RETURN)

        assert "This money was already " in decide(browser, money, RETURN)
        assert Transaction.objects.filter(request_type="payout").count() == 1

    def test_pays_only_the_account_that_the_bank_named(self, browser, ada):
        money = mismatched_money(business=ada.business, now=timezone.now(), **TOLD)
        assert 'name="account_number"' not in browser.get(f"{INBOX}{money.pk}/").content.decode()

        decide(browser, money, RETURN)

        payout = Transaction.objects.get(request_type="payout")
        assert (payout.account_number, payout.bank_code) == ("1112223334", "044")

    @pytest.mark.parametrize("unknown", [{"sender_bank_code": "xyz"}, {"sender_account_number": ""}])
    def test_asks_for_the_account_if_the_bank_named_none_that_can_be_paid(self, browser, ada, unknown):
        money = mismatched_money(business=ada.business, now=timezone.now(), **TOLD | unknown)

        decide(browser, money, RETURN)

        payout = Transaction.objects.get(request_type="payout")
        assert (payout.account_number, payout.bank_code) == ("0123456789", "058")

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("account_number", ""),
            ("account_number", "123"),
            ("account_number", "٠١٢٣٤٥٦٧٨٩"),
            ("bank_code", ""),
            ("bank_code", "999"),
            ("reason", ""),
        ],
    )
    def test_shows_errors(self, browser, money, field, value):
        answer = browser.post(f"{INBOX}{money.pk}/", RETURN | {field: value})

        assert list(answer.context["forms"]["return"].errors) == [field]
        assert state_of(money) == "open"

    def test_refused_by_the_bank_is_open_again(self, browser, ada):
        money = mismatched_money(business=ada.business, now=timezone.now(), amount=40_051)

        page = decide(browser, money, RETURN)

        assert "The return of NGN 400.51 failed" in page
        assert "The return failed" in page
        assert (state_of(money), wallet(ada.business)) == ("open", 0)

    def test_refused_by_the_bank_does_not_say_that_the_balance_has_the_money(self, browser, ada):
        money = mismatched_money(business=ada.business, now=timezone.now(), amount=40_051)
        decide(browser, money, RETURN)
        payout = Transaction.objects.get(request_type="payout")

        page = browser.get(f"/dashboard/payouts/{payout.pk}/")

        assert_back_in_its_transfer(page.context["detail"], money)
        assert "instead_of" not in page.content.decode()
        form = browser.get(f"/dashboard/payouts/new/?instead_of={payout.pk}").context["form"]
        assert form["account_number"].value() is None

    def test_sent_back_by_the_bank_does_not_say_that_the_balance_has_the_money(
        self, browser, ada, money, django_assert_max_num_queries
    ):
        decide(browser, money, RETURN)
        payout = Transaction.objects.get(request_type="payout")
        payout_returns.reverse(
            transaction_id=payout.pk, reason="Account closed", actor=STAFF, now=timezone.now()
        )

        with django_assert_max_num_queries(12):
            page = browser.get(f"/dashboard/payouts/{payout.pk}/")
        with django_assert_max_num_queries(12):
            listed = browser.get("/dashboard/payouts/")

        assert (state_of(money), wallet(ada.business)) == ("open", 0)
        assert_back_in_its_transfer(page.context["detail"], money)
        [item] = listed.context["attention"]
        assert (item.address, item.action) == (f"{INBOX}{money.pk}/", "View transfer")
        assert "in your balance" not in item.why

    def test_without_an_answer_is_shown_as_pending(self, browser, money):
        page = decide(browser, money, RETURN | {"account_number": "0000000097"})

        assert "The bank hasn't responded yet. The return's status is checked until it is known." in page
        assert state_of(money) == "returned"

    def test_reports_an_unavailable_bank(self, browser, money, settings):
        settings.PAYOUT_BANK = ""

        page = decide(browser, money, RETURN)

        assert state_of(money) == "open"
        assert 'class="callout callout--danger"' in page


class TestReturnWithApproval:
    def test_to_an_entered_account_waits_for_another_member(self, browser, ada, money):
        PayoutControls.objects.create(business=ada.business, approval="always")
        checker = MemberFactory(business=ada.business, role="finance").user

        page = decide(browser, money, RETURN)

        payout = Transaction.objects.get(request_type="payout")
        assert "The return of NGN 400.00 waits for the approval of another member." in page
        assert "Return of NGN 400.00 to the sender ordered" in page
        assert (payout.awaiting, payout.status, state_of(money)) == ("approval", "pending", "returned")
        approval = f"/dashboard/payouts/{payout.pk}/approval/"
        assert "You made this payout" in browser.get(approval).content.decode()
        signed_in(checker).post(approval, {"decision": "approve"})
        payout.refresh_from_db()
        assert (payout.status, wallet(ada.business)) == ("success", 0)

    def test_is_not_called_returned_before_the_approval(self, browser, ada, money):
        PayoutControls.objects.create(business=ada.business, approval="always")
        decide(browser, money, RETURN)
        index_search()
        payment, account = money.transfer.session.payment.pk, money.transfer.account_id

        for address in (
            f"{INBOX}{money.pk}/",
            INBOX,
            f"/dashboard/virtual-accounts/{account}/",
            f"/dashboard/payments/{payment}/",
            f"/dashboard/search/?q={money.transfer.bank_reference}",
        ):
            page = browser.get(address, follow=True).content.decode()
            assert '<span class="status status--pending">Awaiting approval</span>' in page, address
            assert '<span class="status status--reversed">Returned</span>' not in page, address

    def test_is_counted_apart_before_the_approval(self, browser, ada, money):
        PayoutControls.objects.create(business=ada.business, approval="always")
        decide(browser, money, RETURN)

        page = browser.get(INBOX, {"state": "returned"})

        assert page.context["page"].rows == []
        counts = {tab.name: tab.shown_count for tab in page.context["tabs"]}
        assert (counts["Awaiting approval"], counts["Returned"], counts["All"]) == ("1", "0", "1")
        assert [row.pk for row in browser.get(INBOX, {"state": "approval"}).context["page"].rows] == [
            money.pk
        ]

    def test_that_is_rejected_leaves_the_money_unapplied(self, browser, ada, money):
        PayoutControls.objects.create(business=ada.business, approval="always")
        checker = MemberFactory(business=ada.business, role="finance").user
        decide(browser, money, RETURN)
        payout = Transaction.objects.get(request_type="payout")

        signed_in(checker).post(
            f"/dashboard/payouts/{payout.pk}/approval/", {"decision": "reject", "reason": "Not his account"}
        )

        payout.refresh_from_db()
        assert (payout.response_code, state_of(money), wallet(ada.business)) == ("20092", "open", 0)
        assert "Payout rejected" in browser.get(f"{INBOX}{money.pk}/").content.decode()
        call_command("check_ledger")

    def test_that_is_not_approved_in_time_is_not_called_back_in_the_balance(
        self, browser, ada, money, mailoutbox
    ):
        PayoutControls.objects.create(business=ada.business, approval="always")
        MemberFactory(business=ada.business, role="finance")
        decide(browser, money, RETURN)
        payout = Transaction.objects.get(request_type="payout")

        waiting_payouts.expire_overdue(now=payout.approval.expires_at)

        assert (state_of(money), wallet(ada.business)) == ("open", 0)
        [said] = [each.body for each in mailoutbox if "72 hours" in each.body]
        assert "if a payout was to return an unapplied transfer, in that transfer" in said
        assert_back_in_its_transfer(browser.get(f"/dashboard/payouts/{payout.pk}/").context["detail"], money)

    def test_to_the_account_that_the_bank_named_needs_none(self, browser, ada):
        PayoutControls.objects.create(business=ada.business, approval="always")
        money = mismatched_money(business=ada.business, now=timezone.now(), **TOLD)

        decide(browser, money, RETURN)

        assert Transaction.objects.get(request_type="payout").status == "success"


class TestReview:
    def review(self, browser, money, form):
        """Submit the first step of a decision, and return the text of the page."""
        return unescape(browser.post(f"{INBOX}{money.pk}/", form | {"step": ""}).content.decode())

    @pytest.mark.parametrize("form", [CREDIT, ACCEPT, RETURN])
    def test_shows_the_amounts_and_changes_nothing(self, browser, ada, money, form):
        page = self.review(browser, money, form)

        for words in ("500.00", "400.00", "−NGN 100.00", form["reason"]):  # noqa: RUF001  (a minus sign)
            assert words in page
        assert (state_of(money), wallet(ada.business)) == ("open", 0)

    def test_shows_the_holders_name_by_the_receiving_bank(self, browser, money):
        page = self.review(browser, money, RETURN)

        assert "Guaranty Trust Bank says this account belongs to" in page
        assert "0123 456 789" in page

    @pytest.mark.parametrize("bank", ["", "sandbox"])
    def test_says_what_a_look_up_without_a_name_means(self, browser, money, settings, bank):
        settings.PAYOUT_BANK = bank

        page = self.review(browser, money, RETURN | {"account_number": UNKNOWN_ACCOUNT})

        expected = "The bank has no account with this number" if bank else "Check the account number yourself"
        assert expected in page

    def test_can_be_changed(self, browser, money):
        answer = browser.post(f"{INBOX}{money.pk}/", RETURN | {"step": "change"})

        assert answer.context["forms"]["return"]["reason"].value() == "Sent twice"
        assert state_of(money) == "open"

    def test_of_a_return_is_followed_by_the_account(self, browser, money):
        page = decide(browser, money, RETURN)

        assert "NGN 400.00 was returned to" in page
        assert "Guaranty Trust Bank" in page
        assert "0123 456 789" in page


class TestAccept:
    def test_credits_the_balance_and_leaves_the_payment_failed(self, browser, ada, money):
        payment = money.transfer.session.payment

        page = decide(browser, money, ACCEPT)

        payment.refresh_from_db()
        money.refresh_from_db()
        assert (money.state, money.is_accepted, payment.status) == ("credited", True, "failed")
        assert wallet(ada.business) == 40_000
        assert "NGN 400.00 accepted for the payment, and credited to your balance" in page
        shown = browser.get(f"/dashboard/payments/{payment.pk}/").content.decode()
        assert "NGN 400.00 accepted for the order, and credited to your balance" in shown
        assert AuditEntry.objects.get(action="unapplied.accepted").business == ada.business

    def test_happens_once_if_submitted_twice(self, browser, ada, money):
        decide(browser, money, ACCEPT)

        assert "This money was already " in decide(browser, money, ACCEPT)
        assert wallet(ada.business) == 40_000

    def test_is_impossible_for_more_than_expected(self, browser, ada):
        money = mismatched_money(business=ada.business, now=timezone.now(), amount=60_000)

        assert browser.post(f"{INBOX}{money.pk}/", ACCEPT).status_code == 400
        with pytest.raises(unapplied_decisions.NotShort):
            unapplied_decisions.accept(money.pk, reason="Fine", actor=STAFF, now=timezone.now())
        assert state_of(money) == "open"

    def test_is_refused_by_the_database_for_money_that_is_not_credited(self, money):
        with pytest.raises(IntegrityError, match="only_credited_money_is_accepted"):
            UnappliedMoney.objects.filter(pk=money.pk).update(is_accepted=True)


class TestDecision:
    @pytest.mark.parametrize("form", [CREDIT, RETURN])
    def test_requires_recent_reauthentication(self, ada_member, money, form):
        stale = signed_in(ada_member.user, fresh=False)

        answer = stale.post(f"{INBOX}{money.pk}/", form)

        assert is_asked(answer)
        assert state_of(money) == "open"

    @pytest.mark.parametrize("decision", ["", "burn", "\x00"])
    def test_without_a_choice_changes_nothing(self, browser, money, decision):
        answer = browser.post(f"{INBOX}{money.pk}/", CREDIT | {"decision": decision})

        assert answer.status_code == 400
        assert state_of(money) == "open"


class TestUntrustedText:
    def test_is_escaped_on_every_page_of_the_area(self, browser, ada):
        money = mismatched_money(
            business=ada.business, now=timezone.now(), sender_name=NASTY[:100], bank_reference=NASTY[:100]
        )
        account = money.transfer.account
        VirtualAccount.objects.filter(pk=account.pk).update(reference=NASTY[:100], email=NASTY)
        area = "/dashboard/virtual-accounts/"
        pages = [
            area,
            f"{area}{account.pk}/",
            f"{area}{account.pk}/deactivate/",
            INBOX,
            f"{INBOX}{money.pk}/",
        ]

        for decided in (False, True):
            for address in pages:
                shown = browser.get(address).content.decode()
                assert "<script>" not in shown
                assert Audit(shown).findings == []
            assert decided or NASTY in decide(browser, money, CREDIT | {"reason": NASTY})


class TestRelated:
    def test_names_and_links_payment_account_and_payout(self, browser, money):
        payment = money.transfer.session.payment
        page = unescape(browser.get(f"{INBOX}{money.pk}/").content.decode())

        assert "NGN 400.00 received from <bdi>Bisi Ojo</bdi>, not applied" in page
        assert f'class="related__item" href="/dashboard/payments/{payment.pk}/"' in page
        assert (
            f'class="related__item" href="/dashboard/virtual-accounts/{money.transfer.account_id}/"' in page
        )
        page = decide(browser, money, RETURN)
        payout = Transaction.objects.get(request_type="payout")
        assert f'class="related__item" href="/dashboard/payouts/{payout.pk}/"' in page

    def test_leads_to_the_balance_and_the_delivery(self, browser, ada, now):
        make_endpoint(business=ada.business)
        Endpoint.objects.update(subscribed_events=["unapplied"])
        money = mismatched_money(business=ada.business, now=now)
        delivery = Delivery.objects.get(subject=money.pk)

        page = decide(browser, money, CREDIT)

        assert 'class="related__item" href="/dashboard/balance/?currency=NGN"' in page
        assert f'class="related__item" href="/dashboard/webhooks/deliveries/{delivery.pk}/"' in page


class TestList:
    def test_says_why_and_for_which_payment(self, browser, money):
        page = browser.get(INBOX).content.decode()

        assert "Wrong amount" in page
        assert money.transfer.session.payment.reference in page
        assert set(UNAPPLIED_SHORT_REASONS) == set(UNAPPLIED_REASONS)

    def test_counts_what_needs_review(self, browser, money):
        tabs = browser.get(f"{INBOX}?state=open").context["tabs"]

        assert [(tab.name, str(tab.count), tab.is_here) for tab in tabs] == [
            ("All", "1", False),
            ("Needs review", "1", True),
            ("Awaiting approval", "0", False),
            ("Returned", "0", False),
            ("Credited", "0", False),
        ]

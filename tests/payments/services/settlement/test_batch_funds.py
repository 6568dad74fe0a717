"""Batches whose money must have arrived before they are approved. NGN 500.00 by card is a net of NGN 492.50."""

from functools import partial

import pytest
from django.test import Client
from django.utils import timezone

from ledger.invariants import check
from ledger.services import balances
from payments.invariants.registry import INVARIANTS
from payments.models import Proposal, SettlementBatch
from payments.services.reconciliation import arrivals
from payments.services.refunds import refunds
from payments.services.settlement.batches import batch_decisions, batch_funds
from payments.services.staff.meanings import meaning_of
from payments.services.transfers.incoming import Notice, receive_notification
from tests import orders
from tests.arrivals import arrive
from tests.bank_statements import bank_account, csv_statement, import_statement
from tests.clients import Credentials, InProcessClient
from tests.dashboard.people import signed_in
from tests.factories import ApiKeyFactory, BusinessFactory, MemberFactory
from tests.racing import racers
from tests.settling import STAFF, decide, settle, today
from tests.transactions import captured_payment

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def funds_are_required(settings):
    settings.RELEASE_REQUIRES_FUNDS, settings.FOUR_EYES = True, False


@pytest.fixture
def business():
    return BusinessFactory()


@pytest.fixture
def payments(business):
    return [captured_payment(business=business, now=timezone.now(), amount=50_000) for _ in range(3)]


@pytest.fixture
def batch(payments):
    (made,) = settle()
    return made


def page(batch, end="change/"):
    return f"/admin/payments/settlementbatch/{batch.pk}/{end}"


def decide_on(batch, browser, decision):
    answer = browser.post(
        page(batch, "decide/"), {"decision": decision, "reason": "The bank is late"}, follow=True
    )
    batch.refresh_from_db()
    return answer.content.decode()


def confirm(browser):
    proposal = Proposal.objects.latest("created_at")
    return browser.post(f"/admin/payments/proposal/{proposal.pk}/confirm/", follow=True).content.decode()


def available(business):
    return next(each for each in balances(business) if each.currency == "NGN").available


def broken():
    return [each.invariant.name for each in check(INVARIANTS) if not each.holds]


class TestApproval:
    def test_of_a_batch_whose_money_has_arrived(self, batch, payments):
        arrive(*payments)

        decide(batch, "approve", "release")

        assert (batch.state, batch.funds_required, batch.unfunded) == ("released", True, 0)

    def test_without_any_money_is_refused(self, batch, ones):
        answer = decide_on(batch, ones[0], "approved")

        assert "None of its NGN 1,500.00 has arrived at a bank." in answer
        assert batch.state == "pending"

    def test_isnt_checked_where_money_neednt_arrive(self, batch, settings):
        settings.RELEASE_REQUIRES_FUNDS = False

        assert decide(batch, "approve").funds_required is False

    def test_of_a_transfer_that_a_statement_has(self, business, tmp_path):
        key = ApiKeyFactory(business=business)
        api = InProcessClient(Credentials(key.public_id, key.secret))
        account = api.post("/api/virtual-accounts", orders.static_account()).json()
        receive_notification(
            Notice(
                bank_reference="NIP-1",
                account_number=account["customer"]["account_number"],
                amount=70_000,
                currency="NGN",
                sender_name="Ada",
            )
        )
        (batch,) = settle()
        assert batch_funds.of(batch).arrived == 0
        bank_account(receives=["hosting_bank"])
        import_statement(tmp_path, csv_statement((today(), 70_000, "NIP-1")))

        assert batch_funds.of(batch).missing == 0
        assert decide(batch, "approve").state == "approved"


class TestPart:
    def test_moves_what_is_missing_into_a_batch_of_its_own(self, batch, payments, business):
        arrive(payments[0], payments[2])

        decide(batch, "approve", "release")

        rest = SettlementBatch.objects.get(state="pending")
        assert (batch.payments_count, batch.gross, batch.net) == (2, 100_000, 98_500)
        assert (rest.payments_count, rest.gross, rest.net, rest.day) == (1, 50_000, 49_250, batch.day)
        assert rest.number == batch.number + 1
        assert rest.items.get().transaction == payments[1]
        assert available(business) == 98_500
        assert broken() == []
        arrive(payments[1])
        decide(rest, "approve", "release")
        assert available(business) == 147_750

    def test_takes_refunds_along_with_their_payments(self, payments, business):
        for payment in payments[:2]:
            request = {"reference": orders.new_reference("rf"), "amount": 20_000}
            refunds.refund(transaction=payment, request=request, now=timezone.now())
        (batch,) = settle()
        arrive(payments[0])

        decide(batch, "approve")

        rest = SettlementBatch.objects.get(state="pending")
        assert (batch.net, batch.refunds) == (29_250, 20_000)
        assert (rest.net, rest.refunds) == (78_500, 20_000)
        assert broken() == []

    def test_is_approved_by_its_button(self, batch, payments, ones):
        arrive(payments[0])
        shown = ones[0].get(page(batch)).content.decode()
        assert "NGN 500.00 of NGN 1,500.00 has arrived at a bank." in shown
        assert "NGN 1,000.00 of 2 payments is missing, since" in shown
        assert ">Approve what has arrived</button>" in shown

        decide_on(batch, ones[0], "approved")

        assert (batch.state, batch.gross) == ("approved", 50_000)

    def test_is_refused_if_more_has_arrived_since_it_was_proposed(self, batch, payments, ones, settings):
        settings.FOUR_EYES = True
        arrive(payments[0])
        decide_on(batch, ones[0], "approved")
        assert meaning_of(Proposal.objects.get()).startswith("NGN 1,000.00 of its payments hasn't arrived")
        arrive(payments[1])

        assert "arrived was NGN 500.00, and is NGN 1,000.00 now" in confirm(ones[1])
        batch.refresh_from_db()
        assert batch.state == "pending"

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.sqlite
    def test_is_moved_once_by_two_people_at_once(self, business):
        """Tests the lock of the batch."""
        with racers(2) as threads:
            for turn in range(1, 6):
                payments = [
                    captured_payment(business=business, now=timezone.now(), amount=50_000) for _ in "ab"
                ]
                (batch,) = settle()
                arrive(payments[0])
                approve = partial(batch_decisions.approve, batch.pk, actor=STAFF, now=timezone.now())

                threads.race(approve, approve)

                assert SettlementBatch.objects.filter(state="pending").count() == turn
                assert SettlementBatch.objects.filter(state="approved").count() == turn


class TestException:
    def test_takes_two_people_without_four_eyes_too(self, batch, payments, ones):
        arrive(payments[0])

        assert "awaits another person" in decide_on(batch, ones[0], "unfunded")
        assert batch.state == "pending"
        assert "Another person must confirm" in confirm(ones[0])
        confirm(ones[1])

        batch.refresh_from_db()
        assert (batch.state, batch.gross, batch.unfunded) == ("approved", 150_000, 100_000)
        proposal = Proposal.objects.get()
        assert batch.unfunded_by == proposal.proposed_by.email
        assert batch.unfunded_confirmed_by == proposal.decided_by.email
        decide(batch, "release")
        assert broken() == []

    def test_is_not_offered_if_all_has_arrived(self, batch, payments, ones):
        arrive(*payments)

        assert "Approve without its money" not in ones[0].get(page(batch)).content.decode()
        assert "The money of this batch has arrived" in decide_on(batch, ones[0], "unfunded")
        assert not Proposal.objects.exists()

    def test_is_found_if_it_was_not_confirmed(self, batch):
        SettlementBatch.objects.update(
            state="approved", funds_required=True, unfunded=1, unfunded_by="a", unfunded_confirmed_by="b"
        )

        assert {"batches_are_approved_with_their_money", "unfunded_batches_were_confirmed"} <= set(broken())

    def test_is_left_out_of_approvals_of_several(self, batch, ones):
        several = ones[0].get("/admin/payments/settlementbatch/approve/", {"id": batch.pk})

        assert "NGN 1,500.00 of it hasn&#x27;t arrived. Decide on its page." in several.content.decode()

    def test_is_made_by_advance_in_the_sandbox(self, batch, business):
        key = ApiKeyFactory(business=business)
        api = InProcessClient(Credentials(key.public_id, key.secret))

        answer = api.post("/api/sandbox/advance", {"day": "released"})

        assert answer.json()["batches"][0]["status"] == "released"
        batch.refresh_from_db()
        assert (batch.unfunded, batch.unfunded_by, batch.unfunded_confirmed_by) == (
            150_000,
            "sandbox",
            "sandbox",
        )
        assert broken() == []


class TestApprovedWhileItNeednt:
    """The setting was turned on between approval and release."""

    @pytest.fixture
    def approved(self, batch, settings):
        settings.RELEASE_REQUIRES_FUNDS = False
        decide(batch, "approve")
        settings.RELEASE_REQUIRES_FUNDS = True
        return batch

    def test_is_released_when_its_money_has_arrived(self, approved, payments):
        arrive(*payments)

        decide(approved, "release")

        assert (approved.state, approved.funds_required, approved.unfunded) == ("released", True, 0)
        assert broken() == []

    def test_isnt_released_by_one_person_without_its_money(self, approved, payments, business):
        arrive(payments[0])

        with pytest.raises(batch_funds.FundsMissing, match=r"NGN 1,000\.00 of it hasn't arrived"):
            decide(approved, "release")

        assert available(business) == 0

    def test_is_released_by_two_people_without_its_money(self, approved, payments, ones):
        arrive(payments[0])
        shown = ones[0].get(page(approved)).content.decode()
        assert "Release without its money" in shown

        assert "awaits another person" in decide_on(approved, ones[0], "released")
        assert approved.state == "approved"
        confirm(ones[1])

        approved.refresh_from_db()
        assert (approved.state, approved.unfunded) == ("released", 100_000)
        assert approved.unfunded_by != approved.unfunded_confirmed_by
        assert meaning_of(Proposal.objects.get()).startswith("NGN 1,000.00 of its payments hasn't arrived")
        assert broken() == []


def test_merchant_sees_what_is_missing(batch, payments, business):
    arrive(payments[0])
    member = MemberFactory(business=business)

    shown = (
        signed_in(member.user, client=Client()).get(f"/dashboard/settlements/{batch.pk}/").content.decode()
    )

    assert "NGN 500.00 of NGN 1,500.00 has arrived." in shown
    assert "NGN 1,000.00 is missing since" in shown


def test_arrived_returns_the_payments_that_have(payments):
    arrive(payments[1])

    assert arrivals.arrived([each.pk for each in payments]) == {payments[1].pk}

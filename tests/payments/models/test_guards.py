"""Database triggers and constraints, which reject invalid writes from any code or person."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction
from django.db.models import F
from django.utils import timezone

from kit.time.time_ordered_ids import new_id
from payments.models import (
    AccountDeclaration,
    Beneficiary,
    CardOperation,
    Challenge,
    Checkout,
    CountedDay,
    Debt,
    FeeInvoiceLine,
    Holiday,
    HourlyTotals,
    Journal,
    JournalLeg,
    LinkDay,
    PaymentLink,
    PayoutApproval,
    PayoutApprovalGrant,
    PayoutControls,
    PayoutControlsChange,
    PayoutReturn,
    PayoutServerQuestion,
    Proposal,
    RailBlock,
    Reconciliation,
    ReconciliationLine,
    ReservedReference,
    ReserveHold,
    ReserveReturn,
    RiskTerms,
    SettlementAccount,
    SettlementAccountChange,
    SettlementBatch,
    SettlementItem,
    SettlementPayout,
    SettlementPayoutBatch,
    Tariff,
    Transaction,
    Transition,
    WatchedAuthorisation,
    new_slug,
)
from payments.rules.settlement.settlement_transitions import BATCH_TRANSITIONS
from tests import orders
from tests.beneficiaries import beneficiary_of
from tests.factories import MemberFactory, UserFactory
from tests.fee_invoices import empty_invoice
from tests.payout_controls import waiting_change, waiting_payout
from tests.settlement_accounts import ACCOUNT, settlement_account
from tests.settling import decide, settle, today
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start

pytestmark = pytest.mark.django_db


@pytest.fixture
def paid(ada):
    return captured_payment(business=ada.business, now=timezone.now())


def run(sql, *values):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)


def hold_of(batch, **fields):
    now = timezone.now()
    of = {"business": batch.business, "currency": batch.currency, "batch": batch, "created_at": now}
    return ReserveHold.objects.create(**{"id": new_id(now), "amount": 100, "left": 100} | of | fields)


@pytest.fixture
def batch(paid):
    (made,) = settle()
    return made


class TestTransitions:
    @pytest.mark.parametrize("before", BATCH_TRANSITIONS)
    @pytest.mark.parametrize("after", BATCH_TRANSITIONS)
    def test_of_a_batch_are_enforced_for_raw_sql(self, batch, before, after):
        decisions = {"pending": (), "approved": ("approve",), "released": ("approve", "release")}
        if before == "initiated":
            batch = SettlementBatch.objects.create(
                id=new_id(timezone.now()), business=batch.business, currency="USD", day=batch.day,
                created_at=timezone.now(),
            )  # fmt: skip
        else:
            decide(batch, *decisions.get(before, ("reject",)))

        try:
            with transaction.atomic():
                SettlementBatch.objects.filter(pk=batch.pk).update(state=after)
        except IntegrityError:
            was_allowed = False
        else:
            was_allowed = True

        assert was_allowed == (after == before or after in BATCH_TRANSITIONS[before])

    def test_of_a_payment_cannot_skip_a_state(self, paid):
        with pytest.raises(IntegrityError, match="has no such transition"):
            run("UPDATE payments_transaction SET settle_status = 'released'")

    def test_log_is_append_only(self, batch):
        with pytest.raises(IntegrityError, match="append-only"):
            run("DELETE FROM payments_batchtransition")

    def test_keep_an_item_in_its_batch_except_for_the_rest_of_it(self, batch):
        same = {"business": batch.business, "currency": "NGN", "number": 2, "created_at": timezone.now()}
        other_day = SettlementBatch.objects.create(
            id=new_id(timezone.now()), day=batch.day - timedelta(days=1), state="pending", **same
        )
        rest = SettlementBatch.objects.create(
            id=new_id(timezone.now()), day=batch.day, state="pending", **same
        )

        with (
            pytest.raises(IntegrityError, match="payments_settlementitem keeps batch_id"),
            transaction.atomic(),
        ):
            batch.items.update(batch=other_day)
        batch.items.update(batch=rest)
        decide(rest, "approve")
        with (
            pytest.raises(IntegrityError, match="payments_settlementitem keeps batch_id"),
            transaction.atomic(),
        ):
            rest.items.update(batch=batch)

    @pytest.mark.parametrize("change", ["gross = 1", "fee = 1", "refunded = 1"])
    def test_leave_the_items_unchanged(self, batch, change):
        with pytest.raises(IntegrityError):
            run(f"UPDATE payments_settlementitem SET {change}")  # noqa: S608


class TestFinalStatus:
    @pytest.mark.parametrize("status", ["failed", "pending"])
    def test_of_a_transaction_cannot_be_changed_by_raw_sql(self, paid, status):
        with pytest.raises(IntegrityError, match="is final"):
            run("UPDATE payments_transaction SET status = %s", status)

        paid.refresh_from_db()
        assert paid.status == "success"

    def test_of_an_operation_cannot_be_changed_by_raw_sql(self, ada):
        payment = authorised_payment(business=ada.business, now=timezone.now())
        operation = operation_of(payment, status="success", finished_at=timezone.now())
        operation.save(force_insert=True)

        with pytest.raises(IntegrityError, match="is final"):
            run("UPDATE payments_cardoperation SET status = 'failed'")

    def test_allows_changes_of_other_columns(self, paid):
        run("UPDATE payments_transaction SET status = 'success', narration = 'x'")

        paid.refresh_from_db()
        assert paid.narration == "x"


class TestDestination:
    @pytest.mark.parametrize(
        "sql",
        [
            "UPDATE payments_transaction SET account_number = '0123456781'",
            "UPDATE payments_transaction SET bank_code = '044'",
        ],
    )
    def test_of_a_payout_cannot_be_changed(self, ada, sql):
        payout_of(ada.business)

        with pytest.raises(IntegrityError, match="keeps account_number, bank_code"):
            run(sql)
        run("UPDATE payments_transaction SET account_number = account_number, bank_code = bank_code")

    @pytest.mark.parametrize(
        "sql",
        [
            "UPDATE payments_cardoperation SET destination_account_number = '0123456781'",
            "UPDATE payments_cardoperation SET destination_bank_code = '044'",
        ],
    )
    def test_of_a_refund_cannot_be_changed(self, ada, sql):
        payment = authorised_payment(business=ada.business, now=timezone.now())
        to = {f"destination_{name}": "058" for name in ("name", "account_number", "bank_code")}
        refund = operation_of(payment, kind="refund", reference="r", connector="sandbox", **to)
        refund.save(force_insert=True)

        with pytest.raises(IntegrityError, match="keeps destination_account_number"):
            run(sql)


class TestParents:
    """Rows without a foreign key refer to businesses and transactions."""

    @pytest.mark.parametrize("sql", ["DELETE FROM payments_transaction", "DELETE FROM merchants_business"])
    def test_cannot_be_deleted(self, paid, sql):
        with pytest.raises(IntegrityError, match="keeps its rows"):
            run(sql)

        assert Transaction.objects.get().business == paid.business

    @pytest.mark.parametrize(
        "sql",
        [
            "UPDATE payments_transaction SET id = '11111111111111111111111111111111'",
            "UPDATE payments_transaction SET business_id = '11111111111111111111111111111111'",
            "UPDATE merchants_business SET id = '11111111111111111111111111111111'",
        ],
    )
    def test_keep_their_ids(self, paid, sql):
        with pytest.raises(IntegrityError, match="keeps id"):
            run(sql)

        assert Transaction.objects.get().pk == paid.pk


class TestSession:
    def test_has_one_payment(self, api):
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()
        made = api.post("/api/payments", orders.transfer_payment(account["id"])).json()
        another = Transaction.objects.get(pk=made["id"])
        another.pk, another.reference = new_id(timezone.now()), "another"

        with pytest.raises(IntegrityError, match="session"), transaction.atomic():
            another.save(force_insert=True)

        assert Transaction.objects.get().reference == made["reference"]


class TestTransitionLog:
    @pytest.mark.parametrize(
        "sql", ["UPDATE payments_transition SET cause = 'expiry'", "DELETE FROM payments_transition"]
    )
    def test_is_append_only(self, paid, sql):
        with pytest.raises(IntegrityError, match="append-only"):
            run(sql)

        assert paid.transitions.get().cause == "rail"


def operation_of(payment, **fields):
    return CardOperation(
        **{
            "id": new_id(timezone.now()),
            "transaction": payment,
            "business": payment.business,
            "kind": "capture",
            "amount": 100,
            "created_at": timezone.now(),
        }
        | fields
    )


def payout_of(business):
    return start(orders.payout(amount=50_000), business=business, now=timezone.now())


def return_of(payout, **changes):
    fields = {"amount": 1_000, "currency": "NGN", "applied": "reversed", "actor": "ada", "at": timezone.now()}
    return PayoutReturn.objects.create(id=new_id(timezone.now()), transaction=payout, **fields | changes)


def proposal_of(business, **changes):
    now, person = timezone.now(), UserFactory()
    fields = {
        "action": "top_up", "target": new_id(now), "business": business, "currency": "NGN", "amount": 500,
        "reason": "Float", "proposed_by": person, "created_at": now, "expires_at": now,
    }  # fmt: skip
    if changes.get("state") == "confirmed":
        changes["decided_by"] = person
    return Proposal.objects.create(id=new_id(now), **fields | changes)


# A change that violates only this constraint: of a captured payment of 50,000, of an authorised one,
# or of a capture in progress.
TRANSACTION_BREAKERS = {
    "virtual_account_payments_have_sessions": ("captured", {"method": "virtual_account"}),
    "amount_is_positive": ("authorised", {"amount": 0}),
    "only_successful_payouts_pay_stamp_duty": ("captured", {"stamp_duty": 1}),
    "only_fees_of_successes_are_taxed": ("authorised", {"fee_tax": 1}),
    "captured_within_authorised": ("captured", {"amount_captured": 50_001}),
    "refunded_within_collected": ("captured", {"amount_being_refunded": 50_001}),
    "refund_status_follows_amounts": ("captured", {"refund_status": "refunded"}),
    "only_finished_transactions_have_finished_at": ("captured", {"finished_at": None}),
    "pending_transactions_await_something": ("authorised", {"awaiting": ""}),
    "only_success_captures": ("authorised", {"amount_captured": 100}),
    "only_card_payments_are_disputed": ("authorised", {"amount_disputed": 1}),
    "only_successful_payments_settle": ("authorised", {"settle_status": "initiated"}),
    "card_number_hash_is_erased_at_the_bound": (
        "captured",
        {"card_number_mismatches": 5, "card_number_hash": "a" * 64},
    ),
}
OPERATION_BREAKERS = {
    "captured_or_voided_once": {"kind": "void"},
    "refunds_have_references": {"kind": "refund"},
    "operation_amount_is_positive": {"amount": 0, "kind": "refund", "reference": "r"},
    "only_finished_operations_have_finished_at": {"kind": "refund", "reference": "r", "status": "success"},
    "transfer_refunds_have_destinations": {"kind": "refund", "reference": "r", "connector": "sandbox"},
    "one_refund_per_reference": {"kind": "refund", "reference": "taken"},
}
TARIFF_BREAKERS = {
    "known_flow": {"flow": "cash"},
    "basis_points_within_the_whole": {"basis_points": 10_001},
    "tax_basis_points_within_the_whole": {"tax_basis_points": 10_001},
    "only_payouts_have_stamp_duty": {"stamp_duty": 1},
}
# A change that violates only this constraint, of a pending batch with one payment.
BATCH_BREAKERS = {
    "known_batch_state": {"state": "lost"},
    "batch_parts_are_not_negative": {"refunds": -1, "net": 49_251},
    "batch_taxes_are_not_negative": {"taxes": -1, "net": 49_251},
    "batch_adds_up": {"net": 1},
    "batch_pays_or_carries": {"net": -1, "refunds": 49_251},
    "released_debts_are_carried": {"carried_into": F("id")},
    "released_batches_are_reserved": {"reserved": 1},
    "unfunded_batches_have_two_names": {
        "funds_required": True,
        "unfunded": 1,
        "unfunded_by": "ada@example.com",
        "unfunded_confirmed_by": "ada@example.com",
    },
}
TERMS_BREAKERS = {
    "reserve_is_part_of_the_net": {"reserve_basis_points": 10_001},
    "reserve_parts_are_returned": {"reserve_days": 0},
}
HOLD_BREAKERS = {
    "reserve_returns_what_it_held": {"left": 101},
    "one_rate_hold_per_batch": {"returns_at": timezone.now()},
    "one_fixed_hold_per_batch": {},
}
DEBT_BREAKERS = {
    "one_open_debt_per_currency": {},
    "debts_end_after_they_begin": {"ended_at": timezone.now() - timedelta(days=1)},
    "invoices_have_a_sender": {"currency": "USD", "invoice_sent_on": timezone.now()},
}
JOURNAL_BREAKERS = {
    "known_journal_code": {"code": "gift"},
    "journals_are_about_something": {"transaction": None},
    "fundings_are_of_a_business": {"code": "funding", "business": None},
    "journals_reverse_others": {"id": UUID(int=1), "reverses_id": UUID(int=1)},
    "pairs_are_of_two_businesses": {"id": UUID(int=1), "paired_with_id": UUID(int=1)},
}
LEG_BREAKERS = {
    "one_leg_per_journal_and_account": {"kind": "wallet"},
    "legs_move_something": {"amount": 0},
    "legs_are_of_accounts_of_journals": {"kind": "reserve"},
}
RESERVE_RETURN_BREAKERS = {
    "reserve_returns_something": {"amount": 0},
    "known_reason_of_reserve_return": {"reason": "mercy"},
}
ITEM_BREAKERS = {
    "own_item_in_one_live_batch": {},
    "item_is_a_payment_refund_or_dispute": {"is_live": False, "refunded": 1},
    "only_payments_of_batches_are_taxed": {"is_live": False, "fee_tax": -1},
}


PROPOSAL_BREAKERS = {
    "known_proposal_state": {"state": "lost", "decided_at": timezone.now()},
    "a_second_person_confirms": {"state": "confirmed", "decided_at": timezone.now()},
    "only_decided_proposals_have_decided_at": {"decided_at": timezone.now()},
    "proposed_amount_is_not_negative": {"amount": -1},
}
RETURN_BREAKERS = {
    "returned_amount_is_positive": {"amount": 0},
    "returns_are_applied_or_not": {"why": "too_much"},
    "return_resolutions_have_reason_and_actor": {"resolved_at": timezone.now()},
}


# A change that violates only this constraint, of a link with a fixed amount and a limit of two uses.
LINK_BREAKERS = {
    "one_link_per_reference": {"reference": "taken"},
    "uses_within_limit": {"uses_held": 2, "uses_paid": 1},
    "one_amount_or_a_range": {"amount": None},
    "quantity_is_bounded": {"quantity_max": 101},
}
# Tested in tests/payments/services/test_link_attempts.py or below.
MOMENT = timezone.now()
INVOICE_BREAKERS = {
    "fee_invoices_are_numbered_from_1": {"number": 0},
    "fee_invoices_are_of_complete_months": {"created_at": MOMENT},
    "one_fee_invoice_per_currency_and_month": {"number": 2},
}
WATCH_BREAKERS = {
    "open_watches_have_a_next_look": {"next_look_at": None},
    "watches_end_without_a_charge": {"next_look_at": None, "ended_at": MOMENT, "found_at": MOMENT},
    "only_found_charges_are_returned": {"returned_at": MOMENT},
}
# By model: "another" row with the same values breaks a unique constraint.
CONTROLS_BREAKERS = {
    "known_payout_approval": (PayoutControls, {"approval": "often"}),
    "freezes_of_payouts_have_a_reason": (PayoutControls, {"frozen_at": MOMENT}),
    "only_decided_changes_of_controls_have_decided_at": (PayoutControlsChange, {"decided_at": MOMENT}),
    "a_second_owner_or_time_loosens_controls": (
        PayoutControlsChange,
        {"state": "applied", "decided_at": MOMENT},
    ),
    "one_or_two_approvals": (PayoutApproval, {"needed": 3}),
    "only_decided_approvals_have_decided_at": (PayoutApproval, {"decided_at": MOMENT}),
    "rejected_payouts_have_a_reason": (PayoutApproval, {"state": "rejected", "decided_at": MOMENT}),
    "only_decided_questions_have_decided_at": (PayoutServerQuestion, {"decided_at": MOMENT}),
}
ACCOUNT_BREAKERS = {
    "one_settlement_account_per_currency": (SettlementAccount, {"currency": "NGN"}),
    "weekly_settlement_payouts_have_a_weekday": (SettlementAccount, {"pays": "weekly"}),
    "settlement_accounts_are_complete": (SettlementAccount, {"since": MOMENT}),
    "pauses_of_settlement_payouts_have_a_reason": (SettlementAccount, {"paused_at": MOMENT}),
    "one_open_change_of_settlement_account": (SettlementAccountChange, {}),
    "only_decided_changes_of_accounts_have_decided_at": (SettlementAccountChange, {"decided_at": MOMENT}),
    "waiting_changes_of_accounts_have_makers": (SettlementAccountChange, {"made_by": None}),
    "settlement_accounts_change_after_their_wait": (
        SettlementAccountChange,
        {"state": "applied", "decided_at": MOMENT - timedelta(hours=1)},
    ),
    "one_open_settlement_payout": (SettlementPayout, {}),
    "known_outcome_of_settlement_payout": (SettlementPayout, {"outcome": "lost"}),
    "lost_settlement_payouts_have_a_reason": (SettlementPayout, {"outcome": "failed"}),
    "one_holiday_per_currency_and_day": (Holiday, {"currency": "NGN", "day": MOMENT, "name": "Again"}),
}
ONCE = {
    "one_open_change_of_payout_controls": waiting_change,
    "one_grant_per_member": lambda business, made_by: PayoutApprovalGrant.objects.create(
        approval=PayoutApproval.objects.get(), user=made_by, at=MOMENT
    ),
}
OF_CHECKOUTS = {"one_live_attempt_per_checkout", "checkouts_have_amounts", "one_count_per_link_and_day"}


def link_of(business, **changes):
    now = timezone.now()
    return PaymentLink(
        **{
            "id": new_id(now),
            "business": business,
            "reference": "link",
            "slug": new_slug(),
            "title": "Workshop",
            "currency": "NGN",
            "amount": 50_000,
            "transfer_window": 1_800,
            "max_uses": 2,
            "created_at": now,
            "updated_at": now,
        }
        | changes
    )


class TestConstraint:
    @pytest.mark.parametrize("name", LINK_BREAKERS)
    def test_of_links_holds(self, ada, name):
        link_of(ada.business, reference="taken").save(force_insert=True)

        with pytest.raises(IntegrityError), transaction.atomic():
            link_of(ada.business, **LINK_BREAKERS[name]).save(force_insert=True)

    def test_of_checkouts_and_their_counts_hold(self, ada):
        link, now = link_of(ada.business), timezone.now()
        link.save(force_insert=True)
        LinkDay.objects.create(link=link, day=now.date())

        with pytest.raises(IntegrityError), transaction.atomic():
            LinkDay.objects.create(link=link, day=now.date())
        with pytest.raises(IntegrityError, match="checkouts_have_amounts"), transaction.atomic():
            Checkout.objects.create(
                id=new_id(now), link=link, amount=0, currency="NGN", created_at=now, expires_at=now
            )

    def test_of_declared_accounts_holds(self):
        declared = {
            "connector": "http",
            "former": "http:a",
            "present": "http:b",
            "declared_at": timezone.now(),
        }
        AccountDeclaration.objects.create(**declared, declared_by="a@example.com")

        with pytest.raises(IntegrityError), transaction.atomic():
            AccountDeclaration.objects.create(**declared, declared_by="b@example.com")

    @pytest.mark.parametrize("changes", [{}, {"currency": "NGN"}, {"amount": 100}])
    def test_of_blocks_holds(self, changes):
        """On each rail, one of everything at an account, and those by amount with a currency and an amount."""
        now = timezone.now()
        known = {
            "connector": "paystack",
            "account": "paystack:1",
            "reason": "Key",
            "since": now,
            "probed_at": now,
        }
        for rail in ("bank", "acquirer"):
            RailBlock.objects.create(id=new_id(now), rail=rail, **known)
            RailBlock.objects.create(id=new_id(now), rail=rail, **known, currency="NGN", amount=100)

        for rail in ("bank", "acquirer"):
            with pytest.raises(IntegrityError), transaction.atomic():
                RailBlock.objects.create(id=new_id(now), rail=rail, **known | changes)

    def test_of_beneficiaries_and_reserved_references_holds(self, ada):
        beneficiary = beneficiary_of(ada.business)
        reserved = {"business": ada.business, "reference": "taken"}
        ReservedReference.objects.create(**reserved)

        with pytest.raises(IntegrityError, match="were_answered"), transaction.atomic():
            Beneficiary.objects.update(verification="verified", verified_at=None)
        beneficiary.pk = new_id(timezone.now())
        with pytest.raises(IntegrityError), transaction.atomic():
            beneficiary.save(force_insert=True)
        with pytest.raises(IntegrityError), transaction.atomic():
            ReservedReference.objects.create(**reserved)

    def test_of_payout_controls_holds(self, ada, subtests):
        owner, business = MemberFactory(business=ada.business).user, ada.business
        payout = waiting_payout(business)
        PayoutServerQuestion.objects.create(
            id=new_id(MOMENT),
            business=business,
            transaction=payout,
            next_attempt_at=MOMENT,
            created_at=MOMENT,
        )
        for make in ONCE.values():
            make(business, made_by=owner)

        for name, (model, changes) in CONTROLS_BREAKERS.items():
            with subtests.test(name), pytest.raises(IntegrityError, match=name), transaction.atomic():
                model.objects.update(**changes)
        for name, make in ONCE.items():
            with subtests.test(name), pytest.raises(IntegrityError), transaction.atomic():
                make(business, made_by=owner)

    @pytest.mark.parametrize("name", WATCH_BREAKERS)
    def test_of_watches_holds(self, paid, name):
        now = timezone.now()
        watched = {
            "id": new_id(now),
            "transaction": paid,
            "opened_at": now,
            "until": now,
            "next_look_at": now,
        }
        watch = WatchedAuthorisation.objects.create(**watched)

        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            WatchedAuthorisation.objects.filter(pk=watch.pk).update(**WATCH_BREAKERS[name])
        with pytest.raises(IntegrityError), transaction.atomic():
            WatchedAuthorisation.objects.create(**watched | {"id": new_id(now)})

    @pytest.mark.parametrize("name", TRANSACTION_BREAKERS)
    def test_of_transactions_holds(self, ada, name):
        kind, change = TRANSACTION_BREAKERS[name]
        make = authorised_payment if kind == "authorised" else captured_payment
        payment = make(business=ada.business, now=timezone.now(), amount=50_000)

        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            Transaction.objects.filter(pk=payment.pk).update(**change)

    @pytest.mark.parametrize(
        ("refund_status", "refunded", "is_right"),
        [
            ("none", 0, True),
            ("none", 1, False),
            ("partially_refunded", 0, False),
            ("partially_refunded", 1, True),
            ("partially_refunded", 50_000, False),
            ("refunded", 49_999, False),
            ("refunded", 50_000, True),
            ("refund_failed", 0, True),
            ("refund_failed", 49_999, True),
            ("refund_failed", 50_000, False),
            ("nonsense", 0, False),
        ],
    )
    def test_refund_status_matches_the_amounts(self, paid, refund_status, refunded, is_right):
        change = {"refund_status": refund_status, "amount_refunded": refunded}

        try:
            with transaction.atomic():
                Transaction.objects.filter(pk=paid.pk).update(**change)
            was_accepted = True
        except IntegrityError:
            was_accepted = False

        assert was_accepted == is_right

    def test_reference_is_unique_within_a_business(self, paid):
        twin = Transaction(
            id=new_id(timezone.now()), business=paid.business, reference=paid.reference, amount=1,
            created_at=timezone.now(),
        )  # fmt: skip

        with pytest.raises(IntegrityError), transaction.atomic():
            twin.save(force_insert=True)

    @pytest.mark.parametrize("name", OPERATION_BREAKERS)
    def test_of_operations_holds(self, ada, name):
        payment = authorised_payment(business=ada.business, now=timezone.now())
        operation_of(payment).save(force_insert=True)
        operation_of(payment, kind="refund", reference="taken").save(force_insert=True)

        with pytest.raises(IntegrityError), transaction.atomic():
            operation_of(payment, **OPERATION_BREAKERS[name]).save(force_insert=True)

    @pytest.mark.parametrize("name", TARIFF_BREAKERS)
    def test_of_tariffs_holds(self, name):
        tariff = {"flow": "card", "valid_from": timezone.now(), "agreed_by": "ada"} | TARIFF_BREAKERS[name]

        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            Tariff.objects.create(**tariff)

    def test_failed_capture_can_be_retried(self, ada):
        payment = authorised_payment(business=ada.business, now=timezone.now())
        operation_of(payment, status="failed", finished_at=timezone.now()).save(force_insert=True)

        operation_of(payment).save(force_insert=True)

        assert payment.operations.count() == 2

    def test_challenge_has_at_most_three_wrong_codes(self, ada):
        challenged_payment(business=ada.business, now=timezone.now())

        with pytest.raises(IntegrityError), transaction.atomic():
            Challenge.objects.update(wrong_codes=4)

    @pytest.mark.parametrize("name", BATCH_BREAKERS)
    def test_of_batches_holds(self, batch, name):
        with pytest.raises(IntegrityError, match=f"{name}|has no such transition"), transaction.atomic():
            SettlementBatch.objects.filter(pk=batch.pk).update(**BATCH_BREAKERS[name])

    @pytest.mark.parametrize("name", TERMS_BREAKERS)
    def test_of_risk_terms_holds(self, ada, name):
        terms = {
            "business": ada.business,
            "currency": "NGN",
            "valid_from": timezone.now(),
            "reserve_days": 90,
        }

        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            RiskTerms.objects.create(**terms | {"reserve_basis_points": 500} | TERMS_BREAKERS[name])

    @pytest.mark.parametrize("name", HOLD_BREAKERS)
    def test_of_reserves_holds(self, batch, name):
        hold_of(batch)
        hold_of(batch, returns_at=timezone.now())

        with pytest.raises(IntegrityError), transaction.atomic():
            hold_of(batch, **HOLD_BREAKERS[name])

    @pytest.mark.parametrize("name", DEBT_BREAKERS)
    def test_of_debts_holds(self, ada, name):
        now = timezone.now()
        debt = {"business": ada.business, "currency": "NGN", "since": now}
        Debt.objects.create(id=new_id(now), **debt)

        with pytest.raises(IntegrityError), transaction.atomic():
            Debt.objects.create(id=new_id(now), **debt | DEBT_BREAKERS[name])

    @pytest.mark.parametrize("name", INVOICE_BREAKERS)
    def test_rejects_invoice(self, ada, name):
        if name.startswith("one_"):
            empty_invoice(ada.business).save()
        with pytest.raises(IntegrityError), transaction.atomic():
            empty_invoice(ada.business, **INVOICE_BREAKERS[name]).save()

    def test_rejects_a_second_line_of_a_kind_in_an_invoice(self, ada):
        invoice = empty_invoice(ada.business)
        invoice.save()
        line = {"invoice": invoice, "kind": "card", "entries": 1, "net": 5, "tax": 0, "stamp_duty": 0}
        FeeInvoiceLine.objects.create(**line)
        with pytest.raises(IntegrityError), transaction.atomic():
            FeeInvoiceLine.objects.create(**line)

    @pytest.mark.parametrize("name", [*JOURNAL_BREAKERS, *LEG_BREAKERS])
    def test_of_journals_holds(self, ada, paid, name):
        def book():
            about = {"id": new_id(MOMENT), "business": ada.business, "transaction": paid, "at": MOMENT}
            wanted = {"code": "correction", "currency": "NGN"} | about
            journal = Journal.objects.create(**wanted | JOURNAL_BREAKERS.get(name, {}))
            legs = {"kind": "wallet", "amount": 5}, {"kind": "costs", "amount": -5} | LEG_BREAKERS[name]
            JournalLeg.objects.bulk_create(
                JournalLeg(id=new_id(MOMENT), journal=journal, **leg) for leg in legs
            )

        with pytest.raises(IntegrityError), transaction.atomic():
            book()

    @pytest.mark.parametrize("name", RESERVE_RETURN_BREAKERS)
    def test_of_reserve_returns_holds(self, batch, name):
        wanted = {"hold": hold_of(batch), "amount": 100, "reason": "due", "at": timezone.now()}

        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            ReserveReturn.objects.create(id=new_id(timezone.now()), **wanted | RESERVE_RETURN_BREAKERS[name])

    def test_of_settlement_accounts_holds(self, ada, subtests):
        account = settlement_account(ada.business)
        user = MemberFactory(business=ada.business).user
        Holiday.objects.create(currency="NGN", day=MOMENT, name="Eid")
        alike = {
            SettlementAccount: {"business": ada.business, "currency": "USD", "created_at": MOMENT},
            SettlementAccountChange: {
                "account": account, **ACCOUNT, "needs_second_owner": False, "made_by": user, "created_at": MOMENT,
                "applies_at": MOMENT,
            },
            SettlementPayout: {"account": account, "trigger": "member", "day": MOMENT, "created_at": MOMENT},
            Holiday: {},
        }  # fmt: skip

        def store(model, changes):
            key = {SettlementAccountChange: {"id": new_id(MOMENT)}}.get(model, {})
            if model is SettlementPayout:
                key = {"payout": start(orders.payout(), business=ada.business, now=MOMENT)}
            return model.objects.create(**key | alike[model] | changes)

        store(SettlementAccountChange, {})
        store(SettlementPayout, {})
        for name, (model, changes) in ACCOUNT_BREAKERS.items():
            with subtests.test(name), pytest.raises(IntegrityError), transaction.atomic():
                store(model, changes)

    def test_of_changes_of_settlement_accounts_needs_another_owner(self, ada):
        account = settlement_account(ada.business)

        with (
            pytest.raises(IntegrityError, match="a_second_owner_confirms_settlement_accounts"),
            transaction.atomic(),
        ):
            account.changes.update(confirmed_by=F("made_by"))

    def test_of_batches_of_settlement_payouts_holds(self, ada, batch):
        account = settlement_account(ada.business)
        made = [
            SettlementPayout.objects.create(
                payout=start(orders.payout(), business=ada.business, now=MOMENT),
                account=account, trigger="member", day=MOMENT, outcome="paid", created_at=MOMENT,
            )
            for _ in range(2)
        ]  # fmt: skip
        SettlementPayoutBatch.objects.create(payout=made[0], batch=batch)

        with pytest.raises(IntegrityError), transaction.atomic():  # batches_once_in_a_settlement_payout
            SettlementPayoutBatch.objects.create(payout=made[0], batch=batch, is_live=False)
        with pytest.raises(IntegrityError), transaction.atomic():  # batch_in_one_live_settlement_payout
            SettlementPayoutBatch.objects.create(payout=made[1], batch=batch)
        with pytest.raises(IntegrityError, match="has no such transition"), transaction.atomic():
            SettlementPayout.objects.filter(pk=made[0].pk).update(outcome="")

    @pytest.mark.parametrize("name", ITEM_BREAKERS)
    def test_of_items_holds(self, batch, name):
        item = batch.items.get()
        twin = {"batch": batch, "transaction": item.transaction, "gross": 50_000, "fee": 750}

        with pytest.raises(IntegrityError), transaction.atomic():
            SettlementItem.objects.create(**twin | ITEM_BREAKERS[name])

    def test_refund_is_netted_once(self, batch):
        refund = operation_of(batch.items.get().transaction, kind="refund", reference="r")
        refund.save(force_insert=True)
        item = {"batch": batch, "transaction": refund.transaction, "operation": refund, "refunded": 100}
        SettlementItem.objects.create(**item)

        with pytest.raises(IntegrityError), transaction.atomic():
            SettlementItem.objects.create(**item)

    @pytest.mark.parametrize(
        ("first", "second"), [((1, "pending"), (1, "pending")), ((2, "initiated"), (3, "initiated"))]
    )
    def test_batch_is_created_once(self, batch, first, second):
        def make(number, state):
            SettlementBatch.objects.create(
                id=new_id(timezone.now()), business=batch.business, currency="NGN", day=batch.day,
                number=number, state=state, created_at=timezone.now(),
            )  # fmt: skip

        if first[0] != batch.number:
            make(*first)

        with pytest.raises(IntegrityError), transaction.atomic():
            make(*second)

    def test_reconciliation_line_has_the_sides_it_compares(self):
        made = Reconciliation.objects.create(
            id=new_id(timezone.now()), source="both", first_day=today(), last_day=today(), matched=0,
            different=0, missing_here=0, missing_there=0, at=timezone.now(),
        )  # fmt: skip

        with pytest.raises(IntegrityError), transaction.atomic():
            ReconciliationLine.objects.create(
                reconciliation=made, result="matched", line=2, amount=1, day=today()
            )

    def test_business_has_one_row_of_totals_per_day(self, ada):
        total = {
            "business": ada.business,
            "day": CountedDay.objects.create(day=today()),
            "tallies": [],
            "unfinished": [],
        }
        HourlyTotals.objects.create(**total)

        with pytest.raises(IntegrityError), transaction.atomic():
            HourlyTotals.objects.create(**total)

    @pytest.mark.parametrize("name", PROPOSAL_BREAKERS)
    def test_of_proposals_holds(self, ada, name):
        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            proposal_of(ada.business, **PROPOSAL_BREAKERS[name])

    def test_target_has_one_open_proposal(self, ada):
        proposal = proposal_of(ada.business)

        with pytest.raises(IntegrityError, match="target"), transaction.atomic():
            proposal_of(ada.business, target=proposal.target)

    @pytest.mark.parametrize("name", RETURN_BREAKERS)
    def test_of_returned_payouts_holds(self, ada, name):
        payout = payout_of(ada.business)

        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            return_of(payout, **RETURN_BREAKERS[name])

    def test_returns_cannot_exceed_the_payout(self, ada):
        payout = payout_of(ada.business)

        with pytest.raises(IntegrityError, match="returned_within"), transaction.atomic():
            Transaction.objects.filter(pk=payout.pk).update(amount_returned=payout.amount + 1)

    def test_every_name_is_tested_above(self):
        names = {
            constraint.name
            for model in apps.get_app_config("payments").get_models()
            for constraint in model._meta.constraints
            if isinstance(constraint, models.CheckConstraint | models.UniqueConstraint)
        }

        tried = {
            *TRANSACTION_BREAKERS, *OPERATION_BREAKERS, *TARIFF_BREAKERS, *BATCH_BREAKERS, *ITEM_BREAKERS,
            *TERMS_BREAKERS, *HOLD_BREAKERS, *RESERVE_RETURN_BREAKERS, *PROPOSAL_BREAKERS, *RETURN_BREAKERS, *LINK_BREAKERS, *OF_CHECKOUTS, *WATCH_BREAKERS, *CONTROLS_BREAKERS, *ACCOUNT_BREAKERS, *DEBT_BREAKERS, *JOURNAL_BREAKERS, *LEG_BREAKERS, *INVOICE_BREAKERS, *ONCE,
            "one_line_per_kind_of_a_fee_invoice",
            "one_open_proposal_per_target",
            "one_open_watch",
            "one_pair_per_journal",  # tests/payments/services/staff/test_journals.py
            "only_payouts_have_a_purpose",  # tests/payments/services/payouts/test_purpose.py
            "returned_within_successful_payouts", "one_transaction_per_reference", "three_wrong_codes_at_most", "one_batch_being_built",
            "one_batch_per_day_and_number", "refund_in_one_live_batch", "dispute_step_in_one_live_batch", "one_declaration_of_two_accounts",
            "one_beneficiary_per_reference", "verified_beneficiaries_were_answered", "one_reservation_per_reference",
            "one_block_of_a_bank_and_currency", "one_block_of_an_acquirer_and_currency", "blocks_by_amount_have_a_currency",
            "a_second_owner_confirms_settlement_accounts", "batches_once_in_a_settlement_payout", "batch_in_one_live_settlement_payout",
            "lines_have_the_sides_they_compare", "one_row_of_hours_per_business_and_day",
        }  # fmt: skip
        assert names == tried

    def test_transition_needs_its_transaction(self, paid):
        with pytest.raises(models.ProtectedError):
            paid.delete()

        assert Transition.objects.filter(transaction=paid).exists()

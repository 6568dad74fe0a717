"""Database triggers and constraints, which reject invalid writes from any code or person."""

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction
from django.db.models import F
from django.utils import timezone

from payments.identifiers import new_id
from payments.models import (
    AccountDeclaration,
    CardOperation,
    Challenge,
    Checkout,
    CountedDay,
    HourlyTotals,
    LinkDay,
    PaymentLink,
    PayoutReturn,
    Proposal,
    RailBlock,
    Reconciliation,
    ReconciliationLine,
    SettlementBatch,
    SettlementItem,
    Tariff,
    Transaction,
    Transition,
    WatchedAuthorisation,
    new_slug,
)
from payments.rules.settlement_transitions import BATCH_TRANSITIONS
from tests import orders
from tests.factories import UserFactory
from tests.settling import decide, settle, today
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start

pytestmark = pytest.mark.django_db


@pytest.fixture
def paid(ada):
    return captured_payment(business=ada.business, now=timezone.now())


def run(sql, *values):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)


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
    "captured_within_authorised": ("captured", {"amount_captured": 50_001}),
    "refunded_within_collected": ("captured", {"amount_being_refunded": 50_001}),
    "refund_status_follows_amounts": ("captured", {"refund_status": "refunded"}),
    "only_finished_transactions_have_finished_at": ("captured", {"finished_at": None}),
    "pending_transactions_await_something": ("authorised", {"awaiting": ""}),
    "only_success_captures": ("authorised", {"amount_captured": 100}),
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
}
# A change that violates only this constraint, of a pending batch with one payment.
BATCH_BREAKERS = {
    "known_batch_state": {"state": "lost"},
    "batch_parts_are_not_negative": {"fees": -1, "net": 50_001},
    "batch_adds_up": {"net": 1},
    "batch_pays_or_carries": {"net": -1, "refunds": 49_251},
    "released_debts_are_carried": {"carried_into": F("id")},
}
ITEM_BREAKERS = {
    "payment_in_one_live_batch": {},
    "item_is_a_payment_or_a_refund": {"is_live": False, "refunded": 1},
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
WATCH_BREAKERS = {
    "open_watches_have_a_next_look": {"next_look_at": None},
    "watches_end_without_a_charge": {"next_look_at": None, "ended_at": MOMENT, "found_at": MOMENT},
    "only_found_charges_are_returned": {"returned_at": MOMENT},
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
        """One of everything at an account, and those by amount with a currency and an amount."""
        now = timezone.now()
        known = {
            "connector": "paystack",
            "account": "paystack:1",
            "reason": "Key",
            "since": now,
            "probed_at": now,
        }
        RailBlock.objects.create(id=new_id(now), **known)
        RailBlock.objects.create(id=new_id(now), **known, currency="NGN", amount=100)

        with pytest.raises(IntegrityError), transaction.atomic():
            RailBlock.objects.create(id=new_id(now), **known | changes)

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
            *PROPOSAL_BREAKERS, *RETURN_BREAKERS, *LINK_BREAKERS, *OF_CHECKOUTS, *WATCH_BREAKERS, "one_open_proposal_per_target",
            "returned_within_successful_payouts", "one_transaction_per_reference", "three_wrong_codes_at_most", "one_batch_being_built",
            "one_batch_per_day_and_number", "refund_in_one_live_batch", "one_declaration_of_two_accounts",
            "one_block_of_an_account_and_currency", "blocks_by_amount_have_a_currency",
            "lines_have_the_sides_they_compare", "one_row_of_hours_per_business_and_day",
        }  # fmt: skip
        assert names == tried

    def test_transition_needs_its_transaction(self, paid):
        with pytest.raises(models.ProtectedError):
            paid.delete()

        assert Transition.objects.filter(transaction=paid).exists()

"""What the database itself refuses, whichever code or person writes."""

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from payments.identifiers import new_id
from payments.models import CardOperation, Challenge, Tariff, Transaction, Transition
from tests.transactions import authorised_payment, captured_payment, challenged_payment

pytestmark = pytest.mark.django_db


@pytest.fixture
def paid(ada):
    return captured_payment(business=ada.business, now=timezone.now())


def run(sql, *values):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, values)


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

    def test_lets_other_columns_change(self, paid):
        run("UPDATE payments_transaction SET status = 'success', narration = 'x'")

        paid.refresh_from_db()
        assert paid.narration == "x"


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


# A change that breaks the constraint, and no other: to a captured payment of 50,000, to an authorised one,
# or to a capture that is under way.
TRANSACTION_BREAKERS = {
    "amount_is_positive": ("authorised", {"amount": 0}),
    "captured_within_authorised": ("captured", {"amount_captured": 50_001}),
    "refunded_within_captured": ("captured", {"amount_being_refunded": 50_001}),
    "refund_status_follows_amounts": ("captured", {"refund_status": "refunded"}),
    "only_finished_transactions_have_finished_at": ("captured", {"finished_at": None}),
    "pending_transactions_await_something": ("authorised", {"awaiting": ""}),
    "only_success_captures": ("authorised", {"amount_captured": 100}),
}
OPERATION_BREAKERS = {
    "captured_or_voided_once": {"kind": "void"},
    "refunds_have_references": {"kind": "refund"},
    "operation_amount_is_positive": {"amount": 0, "kind": "refund", "reference": "r"},
    "only_finished_operations_have_finished_at": {"kind": "refund", "reference": "r", "status": "success"},
    "one_refund_per_reference": {"kind": "refund", "reference": "taken"},
}
TARIFF_BREAKERS = {
    "known_flow": {"flow": "cash"},
    "basis_points_within_the_whole": {"basis_points": 10_001},
}


class TestConstraint:
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
    def test_lets_refund_status_be_what_the_amounts_say(self, paid, refund_status, refunded, is_right):
        change = {"refund_status": refund_status, "amount_refunded": refunded}

        try:
            with transaction.atomic():
                Transaction.objects.filter(pk=paid.pk).update(**change)
            was_accepted = True
        except IntegrityError:
            was_accepted = False

        assert was_accepted == is_right

    def test_lets_a_reference_be_used_once_in_a_business(self, paid):
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

    def test_lets_a_failed_capture_be_tried_again(self, ada):
        payment = authorised_payment(business=ada.business, now=timezone.now())
        operation_of(payment, status="failed", finished_at=timezone.now()).save(force_insert=True)

        operation_of(payment).save(force_insert=True)

        assert payment.operations.count() == 2

    def test_lets_a_challenge_have_three_wrong_codes_at_most(self, ada):
        challenged_payment(business=ada.business, now=timezone.now())

        with pytest.raises(IntegrityError), transaction.atomic():
            Challenge.objects.update(wrong_codes=4)

    def test_of_every_name_is_tried_above(self):
        names = {
            constraint.name
            for model in apps.get_app_config("payments").get_models()
            for constraint in model._meta.constraints
            if isinstance(constraint, models.CheckConstraint | models.UniqueConstraint)
        }

        tried = {*TRANSACTION_BREAKERS, *OPERATION_BREAKERS, *TARIFF_BREAKERS}
        assert names == tried | {"one_transaction_per_reference", "three_wrong_codes_at_most"}

    def test_keeps_every_transition_with_its_transaction(self, paid):
        with pytest.raises(models.ProtectedError):
            paid.delete()

        assert Transition.objects.filter(transaction=paid).exists()

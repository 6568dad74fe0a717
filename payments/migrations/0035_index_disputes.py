from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import (
    AddIndexConcurrently,
    AddUniqueConstraintConcurrently,
    ValidateConstraint,
)


class Migration(migrations.Migration):
    """Validate the constraints, and let an item of a dispute stand beside the item of its payment."""

    atomic = False

    dependencies = [("payments", "0034_disputes")]

    operations = [
        ValidateConstraint("transaction", "only_card_payments_are_disputed"),
        ValidateConstraint("settlementbatch", "batch_parts_are_not_negative"),
        ValidateConstraint("settlementbatch", "batch_adds_up"),
        ValidateConstraint("settlementitem", "item_is_a_payment_refund_or_dispute"),
        AddIndexConcurrently(
            "transaction",
            models.Index(
                fields=["acquirer_transaction_id"],
                condition=Q(method="card", request_type="payment", status="success")
                & ~Q(acquirer_transaction_id=""),
                name="transactions_by_acquirer_id",
            ),
        ),
        AddUniqueConstraintConcurrently(
            "settlementitem",
            models.UniqueConstraint(
                fields=["dispute_step"],
                condition=Q(is_live=True, dispute_step__isnull=False),
                name="dispute_step_in_one_live_batch",
            ),
        ),
        AddUniqueConstraintConcurrently(
            "settlementitem",
            models.UniqueConstraint(
                fields=["transaction"],
                condition=Q(is_live=True, operation__isnull=True, dispute_step__isnull=True),
                name="own_item_in_one_live_batch",
            ),
        ),
        migrations.RemoveConstraint("settlementitem", "payment_in_one_live_batch"),
    ]

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    """Add what disputes hold of payments, and net it in settlements."""

    dependencies = [("disputes", "0001_initial"), ("payments", "0033_cost_of_payouts")]

    operations = [
        migrations.AddField(
            "transaction", "amount_disputed", models.BigIntegerField(default=0, db_default=0)
        ),
        migrations.AddField(
            "transaction", "disputes_count", models.PositiveSmallIntegerField(default=0, db_default=0)
        ),
        migrations.AddField("settlementbatch", "disputes", models.BigIntegerField(default=0, db_default=0)),
        migrations.AddField("settlementitem", "disputed", models.BigIntegerField(default=0, db_default=0)),
        migrations.AddField(
            "settlementitem",
            "dispute_step",
            models.ForeignKey(
                "disputes.disputestep",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                db_index=False,
                db_constraint=False,
            ),
        ),
        AddConstraintNotValid(
            "transaction",
            models.CheckConstraint(
                condition=Q(amount_disputed=0)
                | Q(amount_disputed__gt=0, request_type="payment", method="card", status="success"),
                name="only_card_payments_are_disputed",
            ),
        ),
        migrations.RemoveConstraint("settlementbatch", "batch_parts_are_not_negative"),
        AddConstraintNotValid(
            "settlementbatch",
            models.CheckConstraint(
                condition=Q(gross__gte=0, refunds__gte=0, brought_forward__gte=0),
                name="batch_parts_are_not_negative",
            ),
        ),
        migrations.RemoveConstraint("settlementbatch", "batch_adds_up"),
        AddConstraintNotValid(
            "settlementbatch",
            models.CheckConstraint(
                condition=Q(
                    gross=F("net")
                    + F("fees")
                    + F("refunds")
                    + F("disputes")
                    + F("brought_forward")
                    - F("carried_forward")
                ),
                name="batch_adds_up",
            ),
        ),
        migrations.RemoveConstraint("settlementitem", "item_is_a_payment_or_a_refund"),
        AddConstraintNotValid(
            "settlementitem",
            models.CheckConstraint(
                condition=Q(
                    operation=None, dispute_step=None, gross__gt=0, fee__gte=0, refunded=0, disputed=0
                )
                | Q(operation__isnull=False, dispute_step=None, gross=0, fee=0, refunded__gt=0, disputed=0)
                | Q(operation=None, dispute_step__isnull=False, gross=0, refunded=0)
                & (~Q(fee=0) | ~Q(disputed=0)),
                name="item_is_a_payment_refund_or_dispute",
            ),
        ),
    ]

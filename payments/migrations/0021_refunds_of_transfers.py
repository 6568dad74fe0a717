from django.db import migrations, models
from django.db.models import Case, F, Q, When

from kit.db.migration_operations import AddConstraintNotValid

COLLECTED = Case(
    When(method="virtual_account", status="success", then=F("amount")), default=F("amount_captured")
)


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0020_refused_voids"),
    ]

    operations = [
        migrations.AddField(
            model_name="cardoperation",
            name="acquirer_transaction_id",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="cardoperation",
            name="connector",
            field=models.CharField(blank=True, db_default="", default="", max_length=20),
        ),
        migrations.AddField(
            model_name="cardoperation",
            name="destination_account_number",
            field=models.CharField(blank=True, db_default="", default="", max_length=10),
        ),
        migrations.AddField(
            model_name="cardoperation",
            name="destination_bank_code",
            field=models.CharField(blank=True, db_default="", default="", max_length=10),
        ),
        migrations.AddField(
            model_name="cardoperation",
            name="destination_name",
            field=models.CharField(blank=True, db_default="", default="", max_length=255),
        ),
        AddConstraintNotValid(
            model_name="cardoperation",
            constraint=models.CheckConstraint(
                condition=Q(
                    connector="",
                    destination_name="",
                    destination_account_number="",
                    destination_bank_code="",
                )
                | Q(kind="refund")
                & ~Q(connector="")
                & ~Q(destination_name="")
                & ~Q(destination_account_number="")
                & ~Q(destination_bank_code=""),
                name="transfer_refunds_have_destinations",
            ),
        ),
        # Both rules are the old ones for everything that the release before this one writes.
        migrations.RemoveConstraint(model_name="transaction", name="refunded_within_captured"),
        AddConstraintNotValid(
            model_name="transaction",
            constraint=models.CheckConstraint(
                condition=Q(
                    amount_refunded__gte=0,
                    amount_being_refunded__gte=0,
                    amount_refunded__lte=COLLECTED - F("amount_being_refunded"),
                ),
                name="refunded_within_collected",
            ),
        ),
        migrations.RemoveConstraint(model_name="transaction", name="refund_status_follows_amounts"),
        AddConstraintNotValid(
            model_name="transaction",
            constraint=models.CheckConstraint(
                condition=Q(refund_status="none", amount_refunded=0)
                | Q(
                    refund_status="partially_refunded",
                    amount_refunded__gt=0,
                    amount_refunded__lt=COLLECTED,
                )
                | Q(refund_status="refunded", amount_refunded__gt=0, amount_refunded=COLLECTED)
                | Q(refund_status="refund_failed", amount_refunded__lt=COLLECTED),
                name="refund_status_follows_amounts",
            ),
        ),
    ]

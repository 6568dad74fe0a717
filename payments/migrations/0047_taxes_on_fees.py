from django.db import migrations, models
from django.db.models import F, Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    """Add the tax on fees: to rules, transactions and settlement batches."""

    dependencies = [
        ("payments", "0046_debts"),
    ]

    operations = [
        migrations.AddField(
            "tariff",
            "tax_basis_points",
            models.PositiveIntegerField(
                db_default=0,
                default=0,
                help_text="Tax on the fee, charged in addition to it: 750 is 7.5 %, the VAT on fees in NGN. 0 for none.",
            ),
        ),
        migrations.AddField("transaction", "fee_tax", models.BigIntegerField(db_default=0, default=0)),
        migrations.AddField("settlementbatch", "taxes", models.BigIntegerField(db_default=0, default=0)),
        migrations.AddField("settlementitem", "fee_tax", models.BigIntegerField(db_default=0, default=0)),
        AddConstraintNotValid(
            "tariff",
            models.CheckConstraint(
                condition=Q(tax_basis_points__lte=10_000), name="tax_basis_points_within_the_whole"
            ),
        ),
        AddConstraintNotValid(
            "transaction",
            models.CheckConstraint(
                condition=Q(fee_tax=0)
                | Q(fee_tax__gt=0, status="success", request_type__in=["payment", "payout"]),
                name="only_fees_of_successes_are_taxed",
            ),
        ),
        AddConstraintNotValid(
            "settlementbatch",
            models.CheckConstraint(condition=Q(taxes__gte=0), name="batch_taxes_are_not_negative"),
        ),
        migrations.RemoveConstraint("settlementbatch", "batch_adds_up"),
        AddConstraintNotValid(
            "settlementbatch",
            models.CheckConstraint(
                condition=Q(
                    gross=F("net")
                    + F("fees")
                    + F("taxes")
                    + F("refunds")
                    + F("disputes")
                    + F("brought_forward")
                    - F("carried_forward")
                ),
                name="batch_adds_up",
            ),
        ),
        AddConstraintNotValid(
            "settlementitem",
            models.CheckConstraint(
                condition=Q(fee_tax=0) | Q(fee_tax__gt=0, operation=None, dispute_step=None),
                name="only_payments_of_batches_are_taxed",
            ),
        ),
    ]

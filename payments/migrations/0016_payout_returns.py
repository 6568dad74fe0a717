import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0015_proposals"),
    ]

    operations = [
        migrations.AddField(
            model_name="transaction",
            name="amount_returned",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        AddConstraintNotValid(
            model_name="transaction",
            constraint=models.CheckConstraint(
                condition=Q(amount_returned=0)
                | Q(
                    request_type="payout",
                    status="success",
                    amount_returned__gt=0,
                    amount_returned__lte=F("amount"),
                ),
                name="returned_within_successful_payouts",
            ),
        ),
        migrations.AlterField(
            model_name="transition",
            name="cause",
            field=models.CharField(
                choices=[
                    ("rail", "Rail"),
                    ("payer", "Payer"),
                    ("merchant", "Merchant"),
                    ("requery", "Requery"),
                    ("expiry", "Expiry"),
                    ("funding", "Funding"),
                    ("settlement", "Settlement"),
                    ("transfer", "Transfer"),
                    ("staff", "Staff"),
                    ("return", "Return"),
                ],
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="PayoutReturn",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("bank_reference", models.CharField(max_length=100, null=True, unique=True)),
                ("payout_reference", models.CharField(blank=True, max_length=100)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                ("reason", models.CharField(blank=True, max_length=255)),
                (
                    "applied",
                    models.CharField(
                        choices=[
                            ("reversed", "Reversed"),
                            ("failed", "Failed"),
                            ("unmatched", "Unmatched"),
                        ],
                        max_length=9,
                    ),
                ),
                (
                    "why",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "applied"),
                            ("unknown_payout", "Unknown Payout"),
                            ("other_currency", "Other Currency"),
                            ("too_much", "Too Much"),
                            ("partial", "Partial"),
                            ("already_failed", "Already Failed"),
                        ],
                        max_length=14,
                    ),
                ),
                ("actor", models.CharField(max_length=254)),
                ("extra_members", models.JSONField(blank=True, default=dict)),
                ("at", models.DateTimeField()),
                (
                    "transaction",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="returns",
                        to="payments.transaction",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=Q(amount__gt=0), name="returned_amount_is_positive"),
                    models.CheckConstraint(
                        condition=Q(applied__in=["reversed", "failed"], transaction__isnull=False, why="")
                        | Q(applied="unmatched") & ~Q(why=""),
                        name="returns_are_applied_or_not",
                    ),
                ],
            },
        ),
    ]

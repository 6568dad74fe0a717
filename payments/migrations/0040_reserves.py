import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    """Add risk terms, and what they hold back from released settlements."""

    dependencies = [
        ("merchants", "0011_requests_about_disputes"),
        ("payments", "0039_index_refunds_needing_attention"),
    ]

    operations = [
        migrations.CreateModel(
            name="ReserveHold",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("currency", models.CharField(max_length=3)),
                ("amount", models.BigIntegerField()),
                ("left", models.BigIntegerField(help_text="Not returned yet.")),
                ("returns_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="holds",
                        to="payments.settlementbatch",
                    ),
                ),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ReserveReturn",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("amount", models.BigIntegerField()),
                (
                    "reason",
                    models.CharField(choices=[("due", "Due"), ("collected", "Collected")], max_length=9),
                ),
                ("at", models.DateTimeField()),
                (
                    "hold",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="returns",
                        to="payments.reservehold",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RiskTerms",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("currency", models.CharField(help_text="ISO 4217.", max_length=3)),
                (
                    "reserve_basis_points",
                    models.PositiveIntegerField(
                        default=0, help_text="Held back from each settlement: 1000 is 10 % of its net."
                    ),
                ),
                (
                    "reserve_days",
                    models.PositiveIntegerField(default=0, help_text="Days until that part is returned."),
                ),
                (
                    "reserve_fixed",
                    models.PositiveBigIntegerField(
                        default=0,
                        help_text="Held back until this much is in the reserve, and kept until a lower amount is agreed.",
                    ),
                ),
                (
                    "negative_limit",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="Card refunds may take wallet, pending and reserve together this far below 0.",
                        null=True,
                    ),
                ),
                ("valid_from", models.DateTimeField()),
                ("agreed_by", models.CharField(help_text="Who entered it.", max_length=254)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
            ],
            options={
                "verbose_name": "risk terms",
                "verbose_name_plural": "risk terms",
            },
        ),
        migrations.AddField(
            model_name="settlementbatch",
            name="reserved",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AlterField(
            model_name="proposal",
            name="action",
            field=models.CharField(
                choices=[
                    ("top_up", "Top up a wallet"),
                    ("approve_batch", "Approve a settlement batch"),
                    ("release_batch", "Release a settlement batch"),
                    ("credit_unapplied", "Credit an unapplied transfer"),
                    ("return_unapplied", "Return an unapplied transfer"),
                    ("reverse_payout", "Reverse a payout"),
                    ("resolve_transaction", "Resolve an unknown transaction"),
                    ("resolve_operation", "Resolve an unknown operation"),
                    ("assign_unclaimed", "Assign an unclaimed transfer"),
                    ("write_off_unclaimed", "Write off an unclaimed transfer"),
                    ("match_return", "Match a payout return"),
                    ("write_off_return", "Write off a payout return"),
                    ("assign_dispute", "Assign a dispute to its payment"),
                    ("credit_dispute", "Credit the money of a lost dispute"),
                    ("dismiss_dispute", "Dismiss an unmatched dispute"),
                    ("change_user", "Change the rights of a user"),
                    ("change_group", "Change a group of staff"),
                    ("agree_fee", "Agree a fee"),
                    ("choose_connectors", "Choose the connectors of a business"),
                    ("change_bank_account", "Change a bank account of ours"),
                    ("agree_risk_terms", "Agree risk terms"),
                    ("lift_freeze", "Lift the freeze of payouts"),
                    ("declare_account", "Declare two accounts to be the same"),
                ],
                max_length=20,
            ),
        ),
        AddConstraintNotValid(
            "settlementbatch",
            models.CheckConstraint(
                condition=Q(reserved=0) | Q(state="released", reserved__gt=0, reserved__lte=F("net")),
                name="released_batches_are_reserved",
            ),
        ),
        migrations.AddIndex(
            model_name="reservehold",
            index=models.Index(
                condition=models.Q(("left__gt", 0)), fields=["returns_at"], name="open_holds_by_return"
            ),
        ),
        migrations.AddIndex(
            model_name="reservehold",
            index=models.Index(
                condition=models.Q(("left__gt", 0)),
                fields=["business", "currency", "returns_at"],
                name="open_holds_of_business",
            ),
        ),
        migrations.AddConstraint(
            model_name="reservehold",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gt", 0), ("left__gte", 0), ("left__lte", models.F("amount"))),
                name="reserve_returns_what_it_held",
            ),
        ),
        migrations.AddConstraint(
            model_name="reservehold",
            constraint=models.UniqueConstraint(
                condition=models.Q(("returns_at__isnull", False)),
                fields=("batch",),
                name="one_rate_hold_per_batch",
            ),
        ),
        migrations.AddConstraint(
            model_name="reservehold",
            constraint=models.UniqueConstraint(
                condition=models.Q(("returns_at__isnull", True)),
                fields=("batch",),
                name="one_fixed_hold_per_batch",
            ),
        ),
        migrations.AddConstraint(
            model_name="reservereturn",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gt", 0)), name="reserve_returns_something"
            ),
        ),
        migrations.AddConstraint(
            model_name="reservereturn",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason__in", ["due", "collected"])),
                name="known_reason_of_reserve_return",
            ),
        ),
        migrations.AddIndex(
            model_name="riskterms",
            index=models.Index(fields=["business", "currency", "-id"], name="risk_terms_latest_first"),
        ),
        migrations.AddConstraint(
            model_name="riskterms",
            constraint=models.CheckConstraint(
                condition=models.Q(("reserve_basis_points__lte", 10000)), name="reserve_is_part_of_the_net"
            ),
        ),
        migrations.AddConstraint(
            model_name="riskterms",
            constraint=models.CheckConstraint(
                condition=models.Q(("reserve_basis_points", 0), ("reserve_days__gt", 0), _connector="OR"),
                name="reserve_parts_are_returned",
            ),
        ),
    ]

import django.db.models.deletion
import django.db.models.expressions
import payments.models.links
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0003_validate_business_settings"),
        ("payments", "0004_batch_indexes"),
        ("virtual_accounts", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="PaymentLink",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("reference", models.CharField(max_length=100)),
                ("fingerprint", models.CharField(max_length=64)),
                ("slug", models.CharField(max_length=40, unique=True)),
                ("has_chosen_slug", models.BooleanField(default=False)),
                ("title", models.CharField(max_length=80)),
                ("description", models.CharField(blank=True, max_length=500)),
                ("currency", models.CharField(max_length=3)),
                ("amount", models.BigIntegerField(blank=True, null=True)),
                ("amount_min", models.BigIntegerField(blank=True, null=True)),
                ("amount_max", models.BigIntegerField(blank=True, null=True)),
                ("suggested_amounts", models.JSONField(blank=True, default=list)),
                ("quantity_max", models.PositiveSmallIntegerField(default=1)),
                ("payment_methods", models.JSONField(default=list)),
                ("transfer_window", models.PositiveIntegerField()),
                ("max_uses", models.PositiveIntegerField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("redirect_url", models.CharField(blank=True, max_length=2048)),
                ("customer_reference", models.CharField(blank=True, max_length=100)),
                ("customer_email", models.CharField(blank=True, max_length=254)),
                ("customer_name", models.CharField(blank=True, max_length=255)),
                ("collect", models.JSONField(default=dict)),
                ("custom_fields", models.JSONField(blank=True, default=list)),
                ("success_message", models.CharField(blank=True, max_length=300)),
                ("support_contact", models.CharField(blank=True, max_length=100)),
                ("is_switched_off", models.BooleanField(default=False)),
                ("blocked_at", models.DateTimeField(blank=True, null=True)),
                ("block_reason", models.CharField(blank=True, max_length=255)),
                ("uses_held", models.IntegerField(default=0)),
                ("uses_paid", models.IntegerField(default=0)),
                ("amount_paid", models.BigIntegerField(default=0)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                (
                    "account",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="virtual_accounts.virtualaccount",
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
            name="Checkout",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "token",
                    models.CharField(
                        default=payments.models.links.new_checkout_token, max_length=32, unique=True
                    ),
                ),
                (
                    "link",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="checkouts",
                        to="payments.paymentlink",
                    ),
                ),
                ("amount", models.BigIntegerField()),
                ("quantity", models.PositiveSmallIntegerField(default=1)),
                ("currency", models.CharField(max_length=3)),
                ("method", models.CharField(max_length=16)),
                ("name", models.CharField(blank=True, max_length=255)),
                ("email", models.CharField(blank=True, max_length=254)),
                ("phone", models.CharField(blank=True, max_length=20)),
                ("answers", models.JSONField(blank=True, default=dict)),
                ("address", models.GenericIPAddressField(blank=True, null=True)),
                ("network", models.CharField(blank=True, max_length=43)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("is_erased", models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name="LinkDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("opened", models.PositiveIntegerField(default=0)),
                ("started", models.PositiveIntegerField(default=0)),
                (
                    "link",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="days",
                        to="payments.paymentlink",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="paymentlink",
            index=models.Index(fields=["business", "-id"], name="links_newest_first"),
        ),
        migrations.AddConstraint(
            model_name="paymentlink",
            constraint=models.UniqueConstraint(
                fields=("business", "reference"), name="one_link_per_reference"
            ),
        ),
        migrations.AddConstraint(
            model_name="paymentlink",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("max_uses__isnull", True),
                    (
                        "max_uses__gte",
                        django.db.models.expressions.CombinedExpression(
                            models.F("uses_paid"), "+", models.F("uses_held")
                        ),
                    ),
                    _connector="OR",
                ),
                name="uses_within_limit",
            ),
        ),
        migrations.AddConstraint(
            model_name="paymentlink",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("amount__gt", 0),
                        ("amount__isnull", False),
                        ("amount_max__isnull", True),
                        ("amount_min__isnull", True),
                    ),
                    models.Q(
                        ("amount__isnull", True),
                        ("amount_max__gte", models.F("amount_min")),
                        ("amount_max__isnull", False),
                        ("amount_min__gt", 0),
                        ("amount_min__isnull", False),
                        ("quantity_max", 1),
                    ),
                    _connector="OR",
                ),
                name="one_amount_or_a_range",
            ),
        ),
        migrations.AddConstraint(
            model_name="paymentlink",
            constraint=models.CheckConstraint(
                condition=models.Q(("quantity_max__gte", 1), ("quantity_max__lte", 100)),
                name="quantity_is_bounded",
            ),
        ),
        migrations.AddIndex(
            model_name="linkday",
            index=models.Index(fields=["day"], name="link_days_by_day"),
        ),
        migrations.AddConstraint(
            model_name="linkday",
            constraint=models.UniqueConstraint(fields=("link", "day"), name="one_count_per_link_and_day"),
        ),
        migrations.AddIndex(
            model_name="checkout",
            index=models.Index(fields=["link", "-id"], name="checkouts_of_link"),
        ),
        migrations.AddIndex(
            model_name="checkout",
            index=models.Index(
                condition=models.Q(("network", ""), _negated=True),
                fields=["network", "-id"],
                name="checkouts_of_network",
            ),
        ),
        migrations.AddIndex(
            model_name="checkout",
            index=models.Index(
                condition=models.Q(("is_erased", False)), fields=["created_at"], name="checkouts_with_data"
            ),
        ),
        migrations.AddConstraint(
            model_name="checkout",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gt", 0), ("quantity__gte", 1)), name="checkouts_have_amounts"
            ),
        ),
        migrations.CreateModel(
            name="LinkCardAttempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("attempt_key", models.CharField(max_length=64, unique=True)),
                ("card_hash", models.CharField(max_length=64)),
                ("declined_at", models.DateTimeField(blank=True, null=True)),
                ("must_not_retry", models.BooleanField(default=False)),
                ("ends_at", models.DateTimeField()),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["business", "card_hash"], name="link_card_attempts_by_card"),
                    models.Index(fields=["ends_at"], name="link_card_attempts_by_end"),
                ],
            },
        ),
    ]

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the monthly invoices of fees."""

    dependencies = [
        ("merchants", "0013_billing_of_businesses"),
        ("payments", "0058_returned_parts_of_settlement_payouts"),
    ]

    operations = [
        migrations.CreateModel(
            name="FeeInvoice",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField(unique=True)),
                ("currency", models.CharField(max_length=3)),
                ("month", models.DateField(help_text="Its first day. Months are those of Africa/Lagos.")),
                ("begins_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("net", models.BigIntegerField()),
                ("tax", models.BigIntegerField()),
                ("stamp_duty", models.BigIntegerField()),
                ("seller_name", models.CharField(max_length=255)),
                ("seller_address", models.CharField(blank=True, max_length=500)),
                ("seller_tax_id", models.CharField(blank=True, max_length=40)),
                ("buyer_name", models.CharField(max_length=200)),
                ("buyer_address", models.CharField(blank=True, max_length=500)),
                ("buyer_tax_id", models.CharField(blank=True, max_length=40)),
                ("created_at", models.DateTimeField()),
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
            name="FeeInvoiceLine",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("is_credit", models.BooleanField(default=False)),
                ("entries", models.PositiveIntegerField()),
                ("net", models.BigIntegerField()),
                ("tax", models.BigIntegerField()),
                ("stamp_duty", models.BigIntegerField()),
                (
                    "invoice",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="lines",
                        to="payments.feeinvoice",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="feeinvoice",
            index=models.Index(fields=["business", "-id"], name="fee_invoices_of_a_business"),
        ),
        migrations.AddIndex(
            model_name="feeinvoice",
            index=models.Index(fields=["month"], name="fee_invoices_of_a_month"),
        ),
        migrations.AddConstraint(
            model_name="feeinvoice",
            constraint=models.UniqueConstraint(
                fields=("business", "currency", "month"), name="one_fee_invoice_per_currency_and_month"
            ),
        ),
        migrations.AddConstraint(
            model_name="feeinvoice",
            constraint=models.CheckConstraint(
                condition=models.Q(("number__gt", 0)), name="fee_invoices_are_numbered_from_1"
            ),
        ),
        migrations.AddConstraint(
            model_name="feeinvoice",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("begins_at__lt", models.F("ends_at")), ("created_at__gte", models.F("ends_at"))
                ),
                name="fee_invoices_are_of_complete_months",
            ),
        ),
        migrations.AddConstraint(
            model_name="feeinvoiceline",
            constraint=models.UniqueConstraint(
                fields=("invoice", "kind", "is_credit"), name="one_line_per_kind_of_a_fee_invoice"
            ),
        ),
    ]

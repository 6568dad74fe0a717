import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0008_minimum_amounts"),
        ("payments", "0024_watch_for_second_charges"),
    ]

    operations = [
        migrations.CreateModel(
            name="Beneficiary",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("reference", models.CharField(max_length=100)),
                ("fingerprint", models.CharField(max_length=64)),
                ("name", models.CharField(max_length=255)),
                ("account_number", models.CharField(max_length=10)),
                ("bank_code", models.CharField(max_length=10)),
                ("currency", models.CharField(max_length=3)),
                ("email", models.CharField(blank=True, max_length=254)),
                ("note", models.CharField(blank=True, max_length=255)),
                ("account_name", models.CharField(blank=True, max_length=255)),
                (
                    "verification",
                    models.CharField(
                        choices=[
                            ("verified", "Verified"),
                            ("name_differs", "Name differs"),
                            ("unverified", "Not verified"),
                        ],
                        max_length=12,
                    ),
                ),
                ("verified_at", models.DateTimeField(null=True)),
                ("blocked_at", models.DateTimeField(null=True)),
                ("block_reason", models.CharField(blank=True, max_length=255)),
                ("deleted_at", models.DateTimeField(null=True)),
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
            options={
                "verbose_name_plural": "beneficiaries",
                "indexes": [
                    models.Index(fields=["business", "-id"], name="beneficiaries_newest_first"),
                    models.Index(
                        condition=models.Q(("blocked_at__isnull", False)),
                        fields=["business", "account_number"],
                        name="blocked_beneficiaries",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("business", "reference"), name="one_beneficiary_per_reference"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("verification", "verified"), _negated=True),
                            ("verified_at__isnull", False),
                            _connector="OR",
                        ),
                        name="verified_beneficiaries_were_answered",
                    ),
                ],
            },
        ),
    ]

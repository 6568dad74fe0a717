from django.db import migrations, models


class Migration(migrations.Migration):
    """Add what a payout of a batch is for."""

    dependencies = [
        ("payout_batches", "0002_taxes"),
    ]

    operations = [
        migrations.AddField(
            "payoutbatchitem",
            "purpose",
            models.CharField(
                blank=True,
                choices=[("salary", "Salary"), ("supplier", "Supplier"), ("other", "Other")],
                db_default="",
                default="",
                max_length=8,
            ),
        ),
    ]

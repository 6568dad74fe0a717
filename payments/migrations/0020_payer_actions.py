from django.db import migrations, models

import kit.db.card_number_fields


class Migration(migrations.Migration):
    """Store what a payer must do before the acquirer decides, and the provider's own identifiers."""

    dependencies = [("payments", "0019_currency_of_reconciliations")]

    operations = [
        *[
            migrations.AddField(
                model,
                "acquirer_reference",
                models.CharField(max_length=64, blank=True, default="", db_default=""),
            )
            for model in ("transaction", "cardoperation")
        ],
        *[
            migrations.AddField(
                model,
                "long_gateway_code",
                models.CharField(max_length=8, blank=True, default="", db_default=""),
            )
            for model in ("transaction", "cardoperation")
        ],
        migrations.AlterField(
            "challenge", "token", models.CharField(max_length=43, primary_key=True, serialize=False)
        ),
        migrations.AddField(
            "challenge", "kind", models.CharField(max_length=8, default="otp", db_default="otp")
        ),
        migrations.AddField(
            "challenge",
            "prompt",
            kit.db.card_number_fields.FreeTextField(max_length=255, blank=True, default="", db_default=""),
        ),
        migrations.AddField(
            "challenge", "url", models.CharField(max_length=2048, blank=True, default="", db_default="")
        ),
        migrations.AddField(
            "challenge", "actions_made", models.PositiveSmallIntegerField(default=0, db_default=0)
        ),
    ]

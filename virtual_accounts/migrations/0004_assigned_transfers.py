from django.db import migrations

import kit.db.card_number_fields


class Migration(migrations.Migration):
    dependencies = [
        ("virtual_accounts", "0003_reopen_unapplied_money"),
    ]

    operations = [
        migrations.AlterField(
            "transfer",
            "reason",
            kit.db.card_number_fields.FreeTextField(
                blank=True,
                max_length=14,
                choices=[
                    ("", "applied"),
                    ("mismatch", "Mismatch"),
                    ("late", "Late"),
                    ("second", "Second"),
                    ("inactive", "Inactive"),
                    ("other_currency", "Other Currency"),
                    ("assigned", "Assigned"),
                ],
            ),
        ),
    ]

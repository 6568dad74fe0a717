from django.db import migrations

from kit.db.card_number_fields import FreeTextField


class Migration(migrations.Migration):
    """Store what staff must do before a provider can carry out a refund."""

    dependencies = [("payments", "0037_bank_accounts")]

    operations = [
        migrations.AddField(
            model_name="cardoperation",
            name="attention",
            field=FreeTextField(blank=True, db_default="", default="", max_length=255),
        ),
    ]

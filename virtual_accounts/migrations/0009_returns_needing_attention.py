from django.db import migrations

from kit.db.card_number_fields import FreeTextField


class Migration(migrations.Migration):
    """Store what staff must do before a provider can carry out a return."""

    dependencies = [("virtual_accounts", "0008_validate_accepted_transfers")]

    operations = [
        migrations.AddField(
            model_name="unappliedmoney",
            name="attention",
            field=FreeTextField(blank=True, db_default="", default="", max_length=255),
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    """Store which blocks of beneficiaries only staff may lift."""

    dependencies = [("payments", "0041_validate_reserves")]

    operations = [
        migrations.AddField(
            model_name="beneficiary",
            name="is_blocked_by_staff",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]

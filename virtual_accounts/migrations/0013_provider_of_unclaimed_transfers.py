from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("virtual_accounts", "0012_session_of_a_provider"),
    ]

    operations = [
        migrations.AddField(
            model_name="unclaimedtransfer",
            name="provider_account",
            field=models.CharField(blank=True, db_default="", default="", max_length=100),
        ),
    ]

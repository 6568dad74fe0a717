from django.db import migrations, models


class Migration(migrations.Migration):
    """Note how far the payments of a batch are. The previous release leaves it null: it updates all of them at once."""

    dependencies = [("payments", "0009_index_sessions_that_exist")]

    operations = [
        migrations.AddField(
            "settlementbatch", "updated_through", models.BigIntegerField(editable=False, null=True)
        ),
    ]

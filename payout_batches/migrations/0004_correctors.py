import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add who changed the account of a payout of a batch."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("payout_batches", "0003_purpose"),
    ]

    operations = [
        migrations.AddField(
            "payoutbatchitem",
            "corrected_by",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import (
    AddIndexConcurrently,
    AddUniqueConstraintConcurrently,
    AllowDuplicates,
)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("payments", "0072_accounts_for_returns"),
    ]

    operations = [
        migrations.AddField(
            "watchedauthorisation",
            "acquirer_reference",
            models.CharField(db_default="", default="", max_length=64),
        ),
        AddUniqueConstraintConcurrently(
            "watchedauthorisation",
            models.UniqueConstraint(
                fields=["transaction"], condition=Q(next_look_at__isnull=False), name="one_open_watch"
            ),
        ),
        AddIndexConcurrently(
            "watchedauthorisation",
            models.Index(fields=["transaction"], name="watches_of_transaction"),
        ),
        AllowDuplicates(
            "watchedauthorisation",
            "transaction",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="watches",
                to="payments.transaction",
            ),
        ),
    ]

from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddIndexConcurrently, ValidateConstraint


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("payments", "0026_card_number_hashes"),
    ]

    operations = [
        ValidateConstraint(model_name="transaction", name="card_number_hash_is_erased_at_the_bound"),
        # Hashes that are to be erased, those of earlier releases included.
        AddIndexConcurrently(
            model_name="transaction",
            index=models.Index(
                condition=Q(method="card") & ~Q(fingerprint="") | ~Q(card_number_hash=""),
                fields=["created_at"],
                name="transactions_card_number_hash",
            ),
        ),
    ]

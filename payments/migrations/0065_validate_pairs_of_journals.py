from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddUniqueConstraintConcurrently, ValidateConstraint


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "0064_pairs_of_journals")]

    operations = [
        ValidateConstraint("journal", "journals_are_about_something"),
        AddUniqueConstraintConcurrently(
            "journal",
            models.UniqueConstraint(
                fields=["paired_with"],
                condition=Q(paired_with__isnull=False),
                name="one_pair_per_journal",
            ),
        ),
        ValidateConstraint("journal", "pairs_are_of_two_businesses"),
    ]

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    """Pair the journals of two businesses between which money moves."""

    dependencies = [
        ("payments", "0063_close_businesses"),
    ]

    operations = [
        migrations.AddField(
            "journal",
            "paired_with",
            models.ForeignKey(
                "payments.journal",
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
            ),
        ),
        migrations.RemoveConstraint("journal", "journals_are_about_something"),
        AddConstraintNotValid(
            "journal",
            models.CheckConstraint(
                condition=Q(code="funding")
                | Q(entry__isnull=False)
                | Q(transaction__isnull=False)
                | Q(explained__isnull=False)
                | Q(reverses__isnull=False)
                | Q(paired_with__isnull=False),
                name="journals_are_about_something",
            ),
        ),
        AddConstraintNotValid(
            "journal",
            models.CheckConstraint(
                condition=Q(paired_with__isnull=True)
                | ~Q(paired_with=F("id")) & ~Q(code="funding") & Q(business__isnull=False),
                name="pairs_are_of_two_businesses",
            ),
        ),
    ]

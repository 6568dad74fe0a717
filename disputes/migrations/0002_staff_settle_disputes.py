from django.db import migrations, models

from kit.db.migration_operations import AddIndexConcurrently, AddUniqueConstraintConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("disputes", "0001_initial"),
        ("payments", "0036_staff_settle_disputes"),
    ]

    operations = [
        migrations.AlterModelOptions(name="disputereport", options={"verbose_name": "unmatched dispute"}),
        AddIndexConcurrently(
            model_name="dispute",
            index=models.Index(fields=["case_number"], name="disputes_by_case_number"),
        ),
        AddUniqueConstraintConcurrently(
            model_name="disputestep",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind__in", ["changed", "corrected"]), _negated=True),
                fields=("dispute", "kind"),
                name="one_dispute_step_of_each_kind",
            ),
        ),
        migrations.RemoveConstraint(model_name="disputestep", name="one_dispute_step_per_kind"),
    ]

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Add totals by hour. The previous release still reads the totals by day, so their tables stay for now.

    No model describes them any more, so they must not refer to a table of one: it couldn't be truncated.
    """

    dependencies = [
        ("merchants", "0003_validate_business_settings"),
        ("payments", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="CountedDay",
            fields=[
                ("day", models.DateField(primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name="HourlyTotals",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tallies", models.JSONField()),
                ("unfinished", models.JSONField()),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
                (
                    "day",
                    models.ForeignKey(
                        db_column="day",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="payments.countedday",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "hourly totals",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("business", "day"), name="one_row_of_hours_per_business_and_day"
                    )
                ],
            },
        ),
        migrations.AlterField(
            "daytotals",
            "business",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="merchants.business",
            ),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel("DayTotals"),
                migrations.DeleteModel("RolledDay"),
            ],
        ),
    ]

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0010_makers_of_api_keys"),
        ("payments", "0031_lift_freezes_by_two"),
    ]

    operations = [
        migrations.CreateModel(
            name="ReservedReference",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reference", models.CharField(max_length=100)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("business", "reference"), name="one_reservation_per_reference"
                    )
                ],
            },
        ),
    ]

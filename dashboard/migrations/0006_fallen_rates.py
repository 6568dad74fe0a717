import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0005_guest_links"),
        ("merchants", "0012_keys_change_webhooks"),
    ]

    operations = [
        migrations.CreateModel(
            name="FallenRate",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("method", "Method"), ("bank", "Bank"), ("bin", "Bin")], max_length=6
                    ),
                ),
                ("key", models.CharField(max_length=16)),
                ("per_mille", models.PositiveSmallIntegerField()),
                ("past_per_mille", models.PositiveSmallIntegerField()),
                ("began_at", models.DateTimeField()),
                ("mail_due_at", models.DateTimeField(null=True)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("business", "kind", "key"), name="one_fall_per_rate"),
                    models.CheckConstraint(
                        condition=models.Q(("per_mille__lt", models.F("past_per_mille"))),
                        name="falls_are_falls",
                    ),
                ],
            },
        ),
    ]

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("disputes", "0004_index_open_disputes"),
    ]

    operations = [
        migrations.CreateModel(
            name="DisputeMail",
            fields=[
                (
                    "step",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="mail",
                        serialize=False,
                        to="disputes.disputestep",
                    ),
                ),
                ("due_at", models.DateTimeField(db_index=True)),
            ],
        ),
    ]

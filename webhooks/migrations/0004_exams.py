import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0006_name_of_api_keys"),
        ("webhooks", "0003_listeners"),
    ]

    operations = [
        migrations.CreateModel(
            name="Exam",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "target",
                    models.CharField(choices=[("endpoint", "Endpoint"), ("client", "Client")], max_length=8),
                ),
                ("listener", models.CharField(blank=True, max_length=64)),
                ("tag", models.CharField(max_length=8)),
                ("requests", models.JSONField()),
                ("answers", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[("running", "Running"), ("passed", "Passed"), ("failed", "Failed")],
                        default="running",
                        max_length=7,
                    ),
                ),
                (
                    "acted",
                    models.CharField(
                        blank=True, choices=[("0", "Never"), ("1", "Once"), ("more", "More")], max_length=4
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("begun_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
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
                "indexes": [
                    models.Index(fields=["business", "-created_at"], name="exams_newest_first"),
                    models.Index(fields=["created_at"], name="exams_oldest_first"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "running")),
                        fields=("business",),
                        name="one_running_exam_per_business",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at__isnull", True), ("state", "running")),
                            models.Q(("finished_at__isnull", False), ("state__in", ["passed", "failed"])),
                            _connector="OR",
                        ),
                        name="finished_exams_have_finished_at",
                    ),
                ],
            },
        ),
    ]

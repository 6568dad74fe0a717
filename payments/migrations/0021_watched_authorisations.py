import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Watch failed payments that their acquirer may still charge."""

    dependencies = [("payments", "0020_payer_actions"), ("ledger", "0005_late_charges")]

    operations = [
        migrations.AddField("challenge", "closed_at", models.DateTimeField(null=True)),
        migrations.CreateModel(
            "WatchedAuthorisation",
            [
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("opened_at", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("next_look_at", models.DateTimeField(null=True)),
                ("leased_until", models.DateTimeField(null=True)),
                ("looks", models.PositiveIntegerField(default=0)),
                ("found_at", models.DateTimeField(null=True)),
                ("amount", models.BigIntegerField(null=True)),
                ("returned_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "transaction",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="watch",
                        to="payments.transaction",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(next_look_at__isnull=False),
                        fields=["next_look_at"],
                        name="watches_open",
                    ),
                    models.Index(
                        condition=models.Q(found_at__isnull=False),
                        fields=["found_at"],
                        name="watches_charged",
                    ),
                ],
                "verbose_name": "watched payment",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(next_look_at__isnull=False, ended_at__isnull=True)
                        | models.Q(next_look_at__isnull=True, ended_at__isnull=False),
                        name="open_watches_have_a_next_look",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(ended_at__isnull=True)
                        | models.Q(found_at__isnull=True)
                        | models.Q(returned_at__isnull=False),
                        name="watches_end_without_a_charge",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            found_at__isnull=True, amount__isnull=True, returned_at__isnull=True
                        )
                        | models.Q(found_at__isnull=False)
                        & (models.Q(amount__isnull=True) | models.Q(amount__gt=0)),
                        name="only_found_charges_are_returned",
                    ),
                ],
            },
        ),
    ]

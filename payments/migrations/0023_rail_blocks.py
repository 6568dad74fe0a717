from django.db import migrations, models

import kit.db.card_number_fields


class Migration(migrations.Migration):
    """Store accounts at banks that refuse orders for a fault of ours, and when an order was last sent."""

    dependencies = [("payments", "0021_watched_authorisations")]

    operations = [
        migrations.CreateModel(
            "RailBlock",
            [
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("connector", models.CharField(max_length=20)),
                ("account", models.CharField(max_length=300)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("amount", models.BigIntegerField(null=True)),
                ("reason", kit.db.card_number_fields.FreeTextField(max_length=255)),
                ("order_id", models.UUIDField(null=True)),
                ("since", models.DateTimeField()),
                ("probed_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("connector", "account", "currency"),
                        name="one_block_of_an_account_and_currency",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(currency="", amount__isnull=True)
                        | ~models.Q(currency="") & models.Q(amount__gt=0),
                        name="blocks_by_amount_have_a_currency",
                    ),
                ]
            },
        ),
        migrations.AddField("transaction", "sent_at", models.DateTimeField(null=True)),
        migrations.AddField("cardoperation", "sent_at", models.DateTimeField(null=True)),
    ]

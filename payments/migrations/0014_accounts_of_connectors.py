from typing import Any

from django.db import migrations, models

from payments.models import rail_choices

NAMES = {
    "payments.rails.sandbox.SandboxAcquirer": "sandbox",
    "payments.rails.iso8583.Iso8583Acquirer": "iso8583",
    "payments.rails.sandbox.SandboxBank": "sandbox",
    "payments.rails.http_bank.HttpBank": "http",
}


def name_connectors(apps: Any, _schema_editor: Any) -> None:
    """Replace the dotted names of businesses' connectors by their names. A few rows at the most."""
    model = apps.get_model("payments", "RailChoice")
    for field in ("card_acquirer", "payout_bank"):
        for dotted_name, name in NAMES.items():
            model.objects.filter(**{field: dotted_name}).update(**{field: name})


class Migration(migrations.Migration):
    """Store the account with the connector, and choose connectors by name."""

    dependencies = [("payments", "0013_proposals_of_rights")]

    operations = [
        migrations.AddField(
            "transaction", "account", models.CharField(max_length=300, blank=True, default="", db_default="")
        ),
        migrations.AddField(
            "cardoperation",
            "account",
            models.CharField(max_length=300, blank=True, default="", db_default=""),
        ),
        migrations.AlterField(
            "railchoice",
            "card_acquirer",
            models.CharField(
                max_length=200,
                blank=True,
                choices=rail_choices.acquirers,
                validators=[rail_choices.is_usable_acquirer],
                help_text="Empty: CARD_ACQUIRER's.",
            ),
        ),
        migrations.AlterField(
            "railchoice",
            "payout_bank",
            models.CharField(
                max_length=200,
                blank=True,
                choices=rail_choices.banks,
                validators=[rail_choices.is_usable_bank],
                help_text="Empty: PAYOUT_BANK's.",
            ),
        ),
        migrations.RunPython(name_connectors, migrations.RunPython.noop, elidable=True),
    ]

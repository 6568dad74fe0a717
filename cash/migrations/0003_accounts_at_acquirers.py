from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    """Accounts of ours at acquirers and providers, beside those at banks."""

    dependencies = [
        ("cash", "0002_matches_and_breaks"),
    ]

    operations = [
        migrations.AddField(
            "bankaccount",
            "kind",
            models.CharField(
                max_length=8,
                choices=[
                    ("bank", "Bank account"),
                    ("acquirer", "Account at an acquirer"),
                    ("provider", "Account at a provider"),
                ],
                default="bank",
                db_default="bank",
                help_text="An acquirer or provider with statements of its own, such as of its settlements, has an account of its own.",
            ),
        ),
        migrations.AddField(
            "bankaccount",
            "connector_account",
            models.CharField(
                max_length=321,
                blank=True,
                default="",
                db_default="",
                help_text="Of an account at an acquirer or provider: the connector's account, such as paystack:463433, as pages "
                "of transactions show it.",
            ),
        ),
        migrations.AlterField(
            "statement",
            "format",
            models.CharField(
                max_length=7,
                choices=[
                    ("csv", "CSV"),
                    ("mt940", "MT940"),
                    ("camt053", "CAMT.053"),
                    ("told", "As its provider reports it"),
                ],
            ),
        ),
        AddConstraintNotValid(
            "bankaccount",
            models.CheckConstraint(
                condition=Q(kind="bank", connector_account="") | ~Q(kind="bank") & ~Q(connector_account=""),
                name="only_accounts_at_connectors_name_them",
            ),
        ),
    ]

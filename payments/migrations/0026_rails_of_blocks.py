from django.db import migrations, models

from kit.db.migration_operations import AddUniqueConstraintConcurrently


class Migration(migrations.Migration):
    """Block a provider's account for cards and for payouts separately."""

    atomic = False

    dependencies = [("payments", "0025_beneficiaries")]

    operations = [
        migrations.AddField(
            "railblock", "rail", models.CharField(max_length=8, default="bank", db_default="bank")
        ),
        *(
            AddUniqueConstraintConcurrently(
                "railblock",
                models.UniqueConstraint(
                    fields=["connector", "account", "currency"],
                    condition=models.Q(rail=rail),
                    name=f"one_block_of_{name}_and_currency",
                ),
            )
            for rail, name in (("bank", "a_bank"), ("acquirer", "an_acquirer"))
        ),
        migrations.RemoveConstraint("railblock", "one_block_of_an_account_and_currency"),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    """Let two people declare that a connector's new address is the account that orders were sent to."""

    dependencies = [("payments", "0017_covered_refunds")]

    operations = [
        migrations.CreateModel(
            "AccountDeclaration",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("connector", models.CharField(max_length=20)),
                ("former", models.CharField(max_length=300)),
                ("present", models.CharField(max_length=300)),
                ("declared_by", models.CharField(max_length=254)),
                ("declared_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("connector", "former", "present"), name="one_declaration_of_two_accounts"
                    )
                ]
            },
        ),
        migrations.AlterField(
            "proposal",
            "action",
            models.CharField(
                max_length=20,
                choices=[
                    ("top_up", "Top up a wallet"),
                    ("approve_batch", "Approve a settlement batch"),
                    ("release_batch", "Release a settlement batch"),
                    ("credit_unapplied", "Credit an unapplied transfer"),
                    ("return_unapplied", "Return an unapplied transfer"),
                    ("reverse_payout", "Reverse a payout"),
                    ("resolve_transaction", "Resolve an unknown transaction"),
                    ("resolve_operation", "Resolve an unknown operation"),
                    ("assign_unclaimed", "Assign an unclaimed transfer"),
                    ("write_off_unclaimed", "Write off an unclaimed transfer"),
                    ("match_return", "Match a payout return"),
                    ("write_off_return", "Write off a payout return"),
                    ("change_user", "Change the rights of a user"),
                    ("change_group", "Change a group of staff"),
                    ("agree_fee", "Agree a fee"),
                    ("choose_connectors", "Choose the connectors of a business"),
                    ("declare_account", "Declare two accounts to be the same"),
                ],
            ),
        ),
    ]

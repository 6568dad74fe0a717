from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    dependencies = [
        ("payments", "0025_ambiguous_payout_returns"),
    ]

    operations = [
        migrations.AddField(
            model_name="transaction",
            name="card_number_hash",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            model_name="transaction",
            name="card_number_mismatches",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AlterField(
            model_name="transaction",
            name="fingerprint",
            field=models.CharField(blank=True, max_length=64),
        ),
        AddConstraintNotValid(
            model_name="transaction",
            constraint=models.CheckConstraint(
                condition=Q(card_number_mismatches__lt=5) | Q(card_number_mismatches=5, card_number_hash=""),
                name="card_number_hash_is_erased_at_the_bound",
            ),
        ),
    ]

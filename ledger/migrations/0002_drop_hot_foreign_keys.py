import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0001_initial"),
        ("merchants", "0007_drop_hot_foreign_keys"),
    ]

    operations = [
        migrations.AlterField(
            model_name="entry",
            name="business",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="merchants.business",
            ),
        ),
        migrations.AlterField(
            model_name="posting",
            name="account",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="postings",
                to="ledger.account",
            ),
        ),
        migrations.AlterField(
            model_name="posting",
            name="entry",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="postings",
                to="ledger.entry",
            ),
        ),
    ]

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0007_drop_hot_foreign_keys"),
        ("payments", "0007_index_link_payments"),
    ]

    operations = [
        migrations.AlterField(
            model_name="transaction",
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
            model_name="transition",
            name="transaction",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="transitions",
                to="payments.transaction",
            ),
        ),
    ]

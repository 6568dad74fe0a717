import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0007_drop_hot_foreign_keys"),
        ("webhooks", "0004_exams"),
    ]

    operations = [
        migrations.AlterField(
            model_name="delivery",
            name="business",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="merchants.business",
            ),
        ),
    ]

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "0005_links")]

    operations = [
        migrations.AddField(
            model_name="transaction",
            name="checkout",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="attempts",
                to="payments.checkout",
            ),
        ),
        migrations.AddField(
            model_name="transaction",
            name="payment_link",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="payments",
                to="payments.paymentlink",
            ),
        ),
    ]

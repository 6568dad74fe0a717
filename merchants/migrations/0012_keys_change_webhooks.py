from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0011_requests_about_disputes"),
    ]

    operations = [
        migrations.AddField(
            model_name="business",
            name="keys_change_webhooks",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="Keys with full access may then add webhook endpoints and change their URLs.",
                verbose_name="API keys may change webhook URLs",
            ),
        ),
    ]

import django.core.validators
import django.db.models.deletion
import kit.text.phone_numbers
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("merchants", "0014_muted_notifications"),
    ]

    operations = [
        migrations.CreateModel(
            name="Logo",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "media_type",
                    models.CharField(choices=[("image/png", "Png"), ("image/jpeg", "Jpeg")], max_length=10),
                ),
                ("content", models.BinaryField(max_length=102400)),
            ],
        ),
        migrations.AddField(
            model_name="business",
            name="support_email",
            field=models.EmailField(
                blank=True,
                db_default="",
                default="",
                help_text="Where payers ask questions; on payers' pages.",
                max_length=254,
            ),
        ),
        migrations.AddField(
            model_name="business",
            name="support_phone",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                max_length=30,
                validators=[kit.text.phone_numbers.validate_phone_number],
            ),
        ),
        migrations.AddField(
            model_name="business",
            name="support_url",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                max_length=300,
                validators=[
                    django.core.validators.URLValidator(message="Enter an https address.", schemes=["https"])
                ],
                verbose_name="support URL",
            ),
        ),
        migrations.AddField(
            model_name="business",
            name="logo",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="merchants.logo",
            ),
        ),
    ]

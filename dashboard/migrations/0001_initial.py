from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    initial = True

    # A database that has all of these goes on as it is. Remove this list one release after 0.1.0.
    replaces = [
        ("dashboard", "0001_password_reset_requests"),
    ]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="PasswordResetRequest",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("email", models.EmailField(max_length=320)),
                ("requested_at", models.DateTimeField()),
                ("leased_until", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=~Q(email=""), name="reset_requests_have_an_address")
                ],
            },
        ),
    ]

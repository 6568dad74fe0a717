import kit.db.encrypted_field
from django.db import migrations, models
from kit.db.migration_operations import AddConstraintNotValid


class Migration(migrations.Migration):
    dependencies = [
        ("webhooks", "0006_drop_foreign_key_of_attempts"),
    ]

    operations = [
        migrations.AddField(
            model_name="endpoint",
            name="previous_hash_key",
            field=kit.db.encrypted_field.EncryptedTextField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="endpoint",
            name="previous_key_ends_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        AddConstraintNotValid(
            model_name="endpoint",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("previous_hash_key__isnull", True), ("previous_key_ends_at__isnull", True)),
                    models.Q(("previous_hash_key__isnull", False), ("previous_key_ends_at__isnull", False)),
                    _connector="OR",
                ),
                name="previous_key_has_an_end",
            ),
        ),
    ]

from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    """Index the returns that need attention, without blocking writes."""

    atomic = False

    dependencies = [("virtual_accounts", "0009_returns_needing_attention")]

    operations = [
        AddIndexConcurrently(
            "unappliedmoney",
            models.Index(
                fields=["created_at"], condition=~Q(attention=""), name="unapplied_needing_attention"
            ),
        ),
    ]

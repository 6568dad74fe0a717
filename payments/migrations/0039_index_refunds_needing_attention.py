from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddIndexConcurrently


class Migration(migrations.Migration):
    """Index the refunds that need attention, without blocking writes."""

    atomic = False

    dependencies = [("payments", "0038_refunds_needing_attention")]

    operations = [
        AddIndexConcurrently(
            "cardoperation",
            models.Index(
                fields=["created_at"],
                condition=Q(status="pending") & ~Q(attention=""),
                name="operations_needing_attention",
            ),
        ),
    ]

from django.db import migrations, models
from django.db.models import Q

from kit.db.migration_operations import AddUniqueConstraintConcurrently, ValidateConstraint


class Migration(migrations.Migration):
    """Check older rows, and keep one question for each transfer."""

    atomic = False  # builds an index while rows are written

    dependencies = [("virtual_accounts", "0005_opened_by_providers")]

    operations = [
        ValidateConstraint("providermessage", "messages_have_an_account_or_a_subject"),
        ValidateConstraint("session", "session_status_follows_amounts"),
        ValidateConstraint("virtualaccount", "only_static_accounts_have_numbers"),
        ValidateConstraint("virtualaccount", "only_inactive_accounts_have_deactivated_at"),
        AddUniqueConstraintConcurrently(
            "providermessage",
            models.UniqueConstraint(
                fields=["provider_account", "kind", "subject"],
                condition=~Q(subject=""),
                name="one_question_per_transfer",
            ),
        ),
    ]

"""Settings of a business that its owners change, and their audit trail."""

from datetime import datetime
from typing import Any

from django.db import transaction

from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor


@transaction.atomic
def change(*, business: Business, actor: Actor, now: datetime, **changes: Any) -> Business:
    """Change settings by their names and record the values before and after. Unchanged values have no entry.

    :raises ValidationError: a value isn't allowed
    """
    stored = Business.objects.select_for_update(of=("self",)).get(pk=business.pk)
    before = {name: getattr(stored, name) for name in changes}
    if before == changes:
        return stored
    for name, value in changes.items():
        setattr(stored, name, value)
    others = {field.name for field in Business._meta.fields} - set(changes)
    stored.clean_fields(exclude=others)
    stored.save(update_fields=list(changes))
    audit.record(
        action="business.settings_changed",
        actor=actor,
        business=stored,
        target=str(stored.pk),
        before=before,
        after=changes,
        now=now,
    )
    return stored

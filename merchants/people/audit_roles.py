"""Roles of actors, shown beside the e-mail address in the audit trail.

Names aren't shown: users choose their own, and could choose another user's. Roles are current ones, not those at the
time of the entry.
"""

from typing import TypeVar

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from merchants.models import AuditEntry, Member, User

Entries = TypeVar("Entries", bound=QuerySet[AuditEntry])


def with_roles(entries: Entries) -> Entries:
    """Annotate entries with the values that `role_of` reads."""
    member = Member.objects.filter(business=OuterRef("business"), user__email=OuterRef("actor"))
    staff = User.objects.filter(email=OuterRef("actor"), is_staff=True)
    return entries.annotate(member_role=Subquery(member.values("role")[:1]), is_by_staff=Exists(staff))


def role_of(entry: AuditEntry) -> str:
    """Return the role of an entry's actor: a member's role, or the kind of actor."""
    if entry.member_role:
        return str(Member.Role(entry.member_role).label)
    if entry.is_by_staff:
        return "Operator"
    if "@" in entry.actor:
        return "Not a member"
    return "API key" if entry.actor.startswith("pk_") else "System"

"""Admin pages of users, groups, keys and the audit trail. `payments` registers users and groups, whose changes it confirms."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import ManyToManyField, QuerySet
from django.forms import CheckboxSelectMultiple
from django.http import HttpRequest

from kit.text.folding import in_any_order
from merchants.admin.base import ReadOnlyAdmin, StaffAdmin
from merchants.admin.columns import sentence, two_lines
from merchants.admin.reasons import ReasonedAdmin
from merchants.admin.search import by_business_name, by_id, exactly
from merchants.models import ApiKey, AuditEntry, User
from merchants.people.access import Who
from merchants.people.audit_roles import role_of, with_roles
from merchants.people.audit_values import shown, with_money

RIGHTS = ("is_staff", "is_superuser", "groups")  # only superusers change these


class UserAdmin(ReasonedAdmin):
    changers, changers_but = Who.STAFF, "; superusers for staff"
    list_display = ("email", "name", "is_staff", "is_active", "last_login")
    list_filter = ("is_staff", "is_active")
    searches = (exactly("email__iexact"), exactly("name__regex", read=in_any_order))
    search_help_text = "Email address or name."
    ordering = ("email",)
    fields = ("email", "name", "is_active", *RIGHTS, "last_login", "date_joined")
    formfield_overrides: ClassVar = StaffAdmin.formfield_overrides | {
        ManyToManyField: {"widget": CheckboxSelectMultiple}
    }

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Allow superusers to change all users, and other staff to change users without rights here."""
        has_rights = obj is not None and (obj.is_staff or obj.is_superuser)
        return super().has_change_permission(request, obj) and (request.user.is_superuser or not has_rights)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        shown = ("email", "name", "last_login", "date_joined")
        return shown if request.user.is_superuser else (*shown, *RIGHTS)


class GroupAdmin(ReasonedAdmin):
    """Permissions of a group of staff. Groups can't be deleted; one without permissions has no effect."""

    adders = changers = Who.SUPERUSER
    searches = (exactly("name__regex", read=in_any_order),)
    search_help_text = "Name."
    ordering = ("name",)
    filter_horizontal = ("permissions",)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "permissions":
            queryset = db_field.remote_field.model.objects.select_related("content_type")
            kwargs["queryset"] = queryset.order_by("content_type__app_label", "codename")
        return super().formfield_for_manytomany(db_field, request, **kwargs)


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = ("name_and_id", "business", "access", "last_used_at", "expires_at", "revoked_at")
    list_filter = ("access",)
    list_select_related = ("business",)
    searches = (exactly("public_id"), by_id("business"), by_business_name())
    search_help_text = "Public ID, or name or ID of the business."
    exclude = ("secret",)

    @admin.display(description="key")
    def name_and_id(self, key: ApiKey) -> str:
        return two_lines(key.name or "Unnamed", key.public_id)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("action", "actor", "role", "target", "business", "at")
    any_object: ClassVar = ("target",)
    list_select_related = ("business",)
    searches = (exactly("actor", "target"), by_id("business"), by_business_name())
    search_help_text = "Full email address or command, full target, or name or ID of the business."

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        return with_roles(super().get_queryset(request))

    @admin.display(description="role")
    def role(self, entry: AuditEntry) -> str:
        return role_of(entry)

    fields = ("actor", "role", "action", "target", "business", "was", "became", "address", "at")
    readonly_fields = ("role", "was", "became")

    @admin.display(description="before")
    def was(self, entry: AuditEntry) -> str:
        return shown(with_money(entry.before))

    @admin.display(description="after")
    def became(self, entry: AuditEntry) -> str:
        return shown(with_money(entry.after))

    def title_of(self, row: AuditEntry) -> str:
        return f"{sentence(row.action.replace('.', ' '))} by {row.actor}"

"""Businesses, people and keys as our own staff see them. Secrets are never shown."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from merchants.models import ApiKey, AuditEntry, Business, Member, User


class ReadOnly:
    """Rows to look at: nothing is added, changed or deleted here."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        return False


class ReadOnlyAdmin(ReadOnly, admin.ModelAdmin):
    """A model's rows, read-only."""


class ReadOnlyInline(ReadOnly, admin.TabularInline):
    """The rows that belong to another one, read-only, on its page."""

    extra = 0


class MemberInline(admin.TabularInline):
    model = Member
    extra = 0
    autocomplete_fields = ("user",)


@admin.register(Business)
class BusinessAdmin(admin.ModelAdmin):
    list_display = ("name", "id", "is_active", "created_at")
    search_fields = ("name", "id")
    inlines = (MemberInline,)

    def has_delete_permission(self, request: HttpRequest, obj: Business | None = None) -> bool:  # noqa: ARG002
        return False


@admin.register(User)
class UserAdmin(admin.ModelAdmin):
    list_display = ("email", "name", "is_staff", "is_active", "last_login")
    search_fields = ("email", "name")
    fields = ("email", "name", "is_active", "is_staff", "is_superuser", "groups", "last_login")
    readonly_fields = ("last_login",)

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return False


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = ("public_id", "business", "name", "access", "last_used_at", "expires_at", "revoked_at")
    search_fields = ("public_id", "business__name", "name")
    exclude = ("secret",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("at", "actor", "action", "target", "business")
    search_fields = ("actor", "action", "target", "business__name")
    date_hierarchy = "at"

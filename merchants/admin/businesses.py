"""Admin page of businesses. `payments` registers it, because it also shows fees and connectors."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Field
from django.http import HttpRequest

from kit.money.form_fields import PastedField
from kit.text.display_names import validate_name
from kit.text.folding import in_any_order
from merchants.admin.base import ReadOnlyInline
from merchants.admin.filters import FilledFilter
from merchants.admin.reasons import ReasonedAdmin
from merchants.admin.search import by_id, exactly
from merchants.models import ApiKey, Business, Member
from merchants.people.access import Who


class MemberInline(ReadOnlyInline):
    """The members of a business, read-only. Owners manage them in the dashboard."""

    model = Member
    fields = ("user", "role", "created_at")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("user")


class ApiKeyInline(ReadOnlyInline):
    """The key pairs of a business, without their secrets."""

    model = ApiKey
    fields = ("public_id", "name", "access", "created_at", "last_used_at", "expires_at", "revoked_at")
    readonly_fields = fields


class ClosingFilter(FilledFilter):
    """Filter by whether an owner asked to close the business."""

    title = "closing"
    parameter_name = "closing"
    column = "closing_requested_at"
    empty = ("none", "Not requested")
    filled = ("requested", "Requested")


class BusinessAdmin(ReasonedAdmin):
    """A business with its members and keys. `create_business` creates new ones, with an owner and a key."""

    groups: ClassVar = {
        "Business": ("id", "name", "is_active", "closing_requested_at", "currencies", "time_zone", "created_at"),
        "What customers see": (
            "descriptor", "accent_color", "support_email", "support_phone", "support_url",
        ),
        "Rights of its keys and rails": (
            "keys_decide_unapplied", "keys_change_webhooks", "provider_may_decide_three_ds",
        ),
        "Invoices": ("tax_id", "billing_address"),
        "This change": ("reason",),
    }  # fmt: skip
    changers = Who.STAFF
    audited_as = "business.changed"
    list_display = ("name", "is_active", "currencies_in_words", "created_at")
    list_filter = ("is_active", ClosingFilter)
    searches = (
        by_id(),
        exactly("name__regex", read=in_any_order),
        exactly("members__user__email__iexact", "api_keys__public_id"),
    )
    search_help_text = "Name, ID, email address of a member, or public key ID."
    ordering = ("name",)
    fields = (
        "id", "name", "descriptor", "currencies", "is_active", "closing_requested_at", "keys_decide_unapplied",
        "keys_change_webhooks", "provider_may_decide_three_ds", "time_zone", "accent_color",
        "support_email", "support_phone", "support_url", "tax_id", "billing_address", "created_at",
    )  # fmt: skip
    readonly_fields = ("id", "is_active", "closing_requested_at", "created_at")  # it is closed by an action
    inlines: ClassVar[tuple[Any, ...]] = (MemberInline, ApiKeyInline)

    def formfield_for_dbfield(self, db_field: "Field[Any, Any]", request: HttpRequest, **options: Any) -> Any:
        is_name = db_field.name in {"name", "descriptor"}  # shown to payers
        options |= {"form_class": PastedField} if is_name else {}
        field: Any = super().formfield_for_dbfield(db_field, request, **options)
        if is_name:
            field.validators.append(validate_name)
        return field

    @admin.display(description="currencies")
    def currencies_in_words(self, business: Business) -> str:
        return ", ".join(business.currencies)

    def business_of(self, obj: Business) -> Business:
        return obj

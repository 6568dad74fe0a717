"""Endpoints and deliveries as our own staff see them."""

from django.contrib import admin

from merchants.admin import ReadOnlyAdmin, ReadOnlyInline
from webhooks.models import Attempt, Delivery, Endpoint


class AttemptInline(ReadOnlyInline):
    model = Attempt
    exclude = ("excerpt",)


@admin.register(Endpoint)
class EndpointAdmin(ReadOnlyAdmin):
    list_display = ("business", "url", "subscribed_events", "enabled", "key_made_at")
    list_select_related = ("business",)
    search_fields = ("business__name", "url")
    exclude = ("hash_key",)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = ("id", "business", "event", "state", "attempts_made", "next_attempt_at", "created_at")
    list_filter = ("state", "event")
    list_select_related = ("business",)
    search_fields = ("id", "subject", "business__name")
    exclude = ("lease_token",)
    inlines = (AttemptInline,)

"""Admin pages of the ledger, read-only except for top-ups of wallets."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from kit.api.strict_fields import MAX_AMOUNT
from ledger.models import Account, Entry, Posting
from merchants.admin import ReadOnlyAdmin, ReadOnlyInline, by_business_name, by_id, exactly
from merchants.admin.base import CurrencyFilter


def by_cause(model: type[Model], term: str, path: str = "") -> Iterator[QuerySet[Any]]:
    """Match entries by the id of their cause, of any kind. The index begins with the kind."""
    for entries in by_id("cause")(Entry, term):
        found = entries.filter(kind__in=Entry.Kind.values)
        yield model._default_manager.filter(**{f"{path}pk__in": found.values("pk")})


def by_cause_of_entry(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
    return by_cause(model, term, path="entry__")


@admin.register(Account)
class AccountAdmin(ReadOnlyAdmin):
    list_display = ("business", "kind", "balance", "sequence")
    amounts = ("balance",)
    list_filter = ("kind", CurrencyFilter)
    list_select_related = ("business",)
    searches = (by_id("business"), by_business_name())
    search_help_text = "Name or ID of the business."
    exclude = ("hash",)


class PostingInline(ReadOnlyInline):
    model = Posting
    fields = ("account", "amount", "balance_after", "sequence")
    amounts, currency = ("amount", "balance_after"), "account.currency"


class TopUpForm(forms.ModelForm):
    """A top-up of a wallet by staff. Submitting the form twice adds the money once."""

    amount = forms.IntegerField(min_value=1, max_value=MAX_AMOUNT, help_text="Minor units.")
    cause = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    class Meta:
        model = Entry
        fields = ("business", "currency", "amount", "note", "cause")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["note"].required = True
        self.fields["note"].label = "Reason"

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        business, currency = cleaned.get("business"), cleaned.get("currency")
        if business and currency and currency not in business.currencies:
            raise ValidationError({"currency": f"The business has {' and '.join(business.currencies)}."})
        return cleaned


class EntryAdmin(ReadOnlyAdmin):
    """Entries, read-only except for top-ups. `payments` registers the page, because a top-up may need approval."""

    list_display = ("id", "at", "kind", "cause", "business", "currency", "note")
    list_filter = ("kind", CurrencyFilter)
    list_select_related = ("business",)
    searches = (by_cause, exactly("pk", shape="[0-9]{1,18}", read=int))
    search_help_text = "Number of the entry, or ID of its cause: transaction, refund, batch or transfer."
    autocomplete_fields = ("business",)
    inlines = (PostingInline,)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_add_permission(self, request)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> Any:
        return super().add_view(request, form_url, {"title": "Top up a wallet"} | (extra_context or {}))

    def get_form(
        self,
        request: HttpRequest,
        obj: Entry | None = None,
        change: bool = False,
        **kwargs: Any,
    ) -> Any:
        if obj is None:
            kwargs |= {"form": TopUpForm, "fields": TopUpForm.Meta.fields}
        return super().get_form(request, obj, change, **kwargs)

    def get_inline_instances(self, request: HttpRequest, obj: Entry | None = None) -> Any:
        return [] if obj is None else super().get_inline_instances(request, obj)


@admin.register(Posting)
class PostingAdmin(ReadOnlyAdmin):
    list_display = ("id", "account", "amount", "balance_after", "sequence", "entry")
    amounts, currency = ("amount", "balance_after"), "account.currency"
    list_select_related = ("account", "entry")
    searches = (exactly("entry", shape="[0-9]{1,18}", read=int), by_cause_of_entry)
    search_help_text = "Number of the entry, or ID of its cause."
    exclude = ("previous_hash", "hash")

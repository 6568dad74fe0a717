"""Admin pages of the ledger, read-only."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Case, Model, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce
from django.http import HttpRequest

from ledger.models import Account, Entry, Posting
from merchants.admin import ReadOnlyAdmin, ReadOnlyInline, by_business_name, by_id, exactly
from merchants.admin.columns import sentence, two_lines
from merchants.admin.filters import CurrencyFilter


def by_cause(model: type[Model], term: str, path: str = "") -> Iterator[QuerySet[Any]]:
    """Match entries by the id of their cause, of any kind. The index begins with the kind."""
    for entries in by_id("cause")(Entry, term):
        found = entries.filter(kind__in=Entry.Kind.values)
        yield model._default_manager.filter(**{f"{path}pk__in": found.values("pk")})


def by_cause_of_entry(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
    return by_cause(model, term, path="entry__")


# Accounts below zero for which the business owes money: refunds beyond its sales, or payouts without cover.
OWED = Q(kind__in=[Account.Kind.WALLET, Account.Kind.PENDING_SETTLEMENT], balance__lt=0)


class OwedFilter(admin.SimpleListFilter):
    """Filter by whether the business owes the balance."""

    title = "owed"
    parameter_name = "owed"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("business", "By the business")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(OWED) if self.value() == "business" else queryset


def with_owed_since(accounts: QuerySet[Account]) -> QuerySet[Account]:
    """Add the time of the posting since which the business has owed the balance of each account."""
    postings = Posting.objects.order_by("sequence")
    last_covered = postings.filter(account=OuterRef("account"), balance_after__gte=0).reverse()
    since = postings.filter(
        account=OuterRef("pk"), sequence__gt=Coalesce(Subquery(last_covered.values("sequence")[:1]), 0)
    )
    return accounts.annotate(owed_since=Case(When(OWED, then=Subquery(since.values("entry__at")[:1]))))


@admin.register(Account)
class AccountAdmin(ReadOnlyAdmin):
    list_display = ("kind", "business", "balance", "owed_since", "sequence")
    amounts = ("balance",)
    list_filter = ("kind", OwedFilter, CurrencyFilter)
    list_select_related = ("business",)
    searches = (by_business_name(),)
    search_help_text = "Name or ID of the business."
    exclude = ("hash",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Account]:
        return with_owed_since(super().get_queryset(request))

    @admin.display(empty_value="")
    def owed_since(self, account: Any) -> datetime | None:
        since: datetime | None = account.owed_since
        return since


class PostingInline(ReadOnlyInline):
    model = Posting
    fields = ("account", "amount", "balance_after", "sequence")
    amounts, currency = ("amount", "balance_after"), "account.currency"


class EntryAdmin(ReadOnlyAdmin):
    """Entries, read-only. `payments` registers the page, because top-ups are added there."""

    list_display = ("kind_and_number", "cause", "business", "currency", "note", "at")
    any_object = ("cause",)
    list_filter = ("kind", CurrencyFilter)
    list_select_related = ("business",)
    searches = (by_cause, exactly("pk", shape="[0-9]{1,18}", read=int))
    search_help_text = "Number of the entry, or ID of its cause: transaction, refund, batch or transfer."
    autocomplete_fields = ("business",)
    inlines = (PostingInline,)

    @admin.display(description="entry")
    def kind_and_number(self, entry: Entry) -> str:
        return two_lines(sentence(entry.get_kind_display()), f"No. {entry.pk}")

    def title_of(self, row: Entry) -> str:
        return f"{sentence(row.get_kind_display())}, entry no. {row.pk}"


@admin.register(Posting)
class PostingAdmin(ReadOnlyAdmin):
    list_display = ("account_and_business", "amount", "balance_after", "sequence", "entry")
    amounts, currency = ("amount", "balance_after"), "account.currency"
    list_select_related = ("account__business", "entry")
    searches = (exactly("entry", shape="[0-9]{1,18}", read=int), by_cause_of_entry)
    search_help_text = "Number of the entry, or ID of its cause."
    exclude = ("previous_hash", "hash")

    @admin.display(description="account")
    def account_and_business(self, posting: Posting) -> str:
        account = posting.account
        return two_lines(
            f"{sentence(account.get_kind_display())}, {account.currency}", account.business or "House"
        )

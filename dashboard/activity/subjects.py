"""The pages of what activity is about. A subject that was deleted, or has no page, has no address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from uuid import UUID

from django.db.models import Model
from django.urls import reverse

from disputes.models import Dispute
from merchants.models import AuditEntry, Business
from payments.models import Beneficiary, PaymentLink, SettlementBatch, Transaction
from payout_batches.models import PayoutBatch
from virtual_accounts.models import UnappliedMoney, VirtualAccount

TRANSACTIONS = frozenset({"payment", "payout", "card_check", "unknown"})
SANDBOX_PAYMENT = "sandbox.advanced"

# By the kind of an action: the part of its name before the dot. The target is the reference of one of these …
BY_REFERENCE: Mapping[str, tuple[type[Model], str]] = {
    "virtual_account": (VirtualAccount, "dashboard-virtual-account"),
    "payment_link": (PaymentLink, "dashboard-payment-link"),
    "beneficiary": (Beneficiary, "dashboard-beneficiary"),
    "payout_batch": (PayoutBatch, "dashboard-batch"),
}
# … or the id of one of these.
BY_ID: Mapping[str, tuple[type[Model], str]] = {
    "settlement_batch": (SettlementBatch, "dashboard-settlement"),
    "unapplied": (UnappliedMoney, "dashboard-unapplied-item"),
    "dispute": (Dispute, "dashboard-dispute"),
}
# These have a page for all.
PAGES = {
    "api_key": "dashboard-developers",
    "webhook": "dashboard-webhooks",
    "business": "dashboard-settings",
    "guest_link": "dashboard-guest-links",
    "member": "dashboard-team",
    "wallet": "dashboard-balance",
    "journal": "dashboard-balance",
    "payouts": "dashboard-payouts",
    "payout_controls": "dashboard-payout-settings",
    "settlement_account": "dashboard-settlement-account",
    "settlement_payouts": "dashboard-settlement-account",
}


def addresses_of(business: Business, entries: Iterable[AuditEntry]) -> dict[int, str]:
    """Return the address of each entry's subject by the entry's number, with a query for each kind of subject."""
    by_kind: dict[str, list[AuditEntry]] = {}
    for entry in entries:
        by_kind.setdefault(_kind(entry), []).append(entry)
    return {
        entry.pk: address
        for kind, listed in by_kind.items()
        for entry, address in _of_kind(business, kind, listed)
    }


def _kind(entry: AuditEntry) -> str:
    kind = entry.action.partition(".")[0]
    return "payment" if kind in TRANSACTIONS or entry.action == SANDBOX_PAYMENT else kind


def _of_kind(business: Business, kind: str, entries: list[AuditEntry]) -> Iterator[tuple[AuditEntry, str]]:
    found: Mapping[str, str] = {}
    if kind in PAGES:
        found = dict.fromkeys((each.target for each in entries), reverse(PAGES[kind]))
    elif kind == "payment":
        found = _transactions(business, {each.target for each in entries})
    elif kind in BY_REFERENCE:
        found = _named(business, *BY_REFERENCE[kind], {each.target for each in entries})
    elif kind in BY_ID:
        found = _identified(business, *BY_ID[kind], {each.target for each in entries})
    yield from ((each, found[each.target]) for each in entries if each.target in found)


def _transactions(business: Business, references: set[str]) -> dict[str, str]:
    mine = Transaction.objects.filter(business=business, reference__in=references)
    return {
        reference: reverse(
            "dashboard-payout" if kind == Transaction.RequestType.PAYOUT else "dashboard-payment", args=[key]
        )
        for reference, key, kind in mine.values_list("reference", "pk", "request_type")
    }


def _named(business: Business, model: type[Model], page: str, references: set[str]) -> dict[str, str]:
    mine = model._default_manager.filter(business=business, reference__in=references)
    return {reference: reverse(page, args=[key]) for reference, key in mine.values_list("reference", "pk")}


def _identified(business: Business, model: type[Model], page: str, targets: set[str]) -> dict[str, str]:
    keys = []
    for target in targets:
        with suppress(ValueError):
            keys.append(UUID(target))
    mine = model._default_manager.filter(business=business, pk__in=keys)
    return {str(key): reverse(page, args=[key]) for key in mine.values_list("pk", flat=True)}

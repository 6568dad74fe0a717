"""The saved beneficiaries that the form of a new payout offers: those paid last, or those that a search finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from django.db.models import Q

from dashboard.payouts.banks_named import banks_named
from dashboard.payouts.forms import NEW
from kit.text.display_names import pasted
from kit.text.folding import in_any_order
from merchants.models import Business
from payments.models import Beneficiary, BeneficiaryQuerySet

OFFERED = 5
NEWEST = 100  # among which those paid last are chosen
LONGEST_SEARCH = 100
NEVER = datetime.min.replace(tzinfo=UTC)


def open_ones(business: Business) -> BeneficiaryQuerySet:
    """Return the beneficiaries that may be paid."""
    return Beneficiary.objects.of(business).filter(blocked_at=None)


def is_new_search(given: Mapping[str, str]) -> bool:
    """Return whether the search was changed. Else the button was pressed by Enter in another field."""
    return given.get("q", "") != given.get("searched", "")


def offered(business: Business, *, search: str, chosen: str) -> dict[str, object]:
    """Return what the list shows: its beneficiaries with `last_paid_at`, how many there are, and the search.

    The chosen one is always among them.
    """
    own = open_ones(business)
    # PostgreSQL takes no text with U+0000, and no name or reference contains it.
    text, chosen = pasted(search).replace("\x00", "").strip()[:LONGEST_SEARCH], chosen.replace("\x00", "")
    found = _last_paid(own) if not text else list(_found(own.with_last_payment(), text)[:OFFERED])
    if chosen != NEW and chosen not in {each.reference for each in found}:
        found = [*own.with_last_payment().filter(reference=chosen), *found]
    return {"saved": found, "number": own.count(), "search": text, "chosen": chosen}


def _last_paid(own: BeneficiaryQuerySet) -> Sequence[Beneficiary]:
    newest = own.with_last_payment().order_by("-pk")[:NEWEST]
    return sorted(newest, key=lambda each: getattr(each, "last_paid_at", None) or NEVER, reverse=True)[
        :OFFERED
    ]


def _found(own: BeneficiaryQuerySet, text: str) -> BeneficiaryQuerySet:
    """Return those whose names, bank or account number match a search."""
    named = Q(name__regex=in_any_order(text)) | Q(account_name__regex=in_any_order(text))
    at = [bank.code for bank in banks_named(text)]
    number = text.replace(" ", "")
    return own.filter(
        named | Q(bank_code__in=at) | Q(account_number__startswith=number) | Q(reference=text)
    ).order_by("-pk")

"""The virtual accounts that the form of a payment link offers."""

from __future__ import annotations

from merchants.models import Business
from virtual_accounts.models import VirtualAccount

MOST_READ = 500  # of the newest accounts, most of which can be static


def account_choices(business: Business, *, stored: VirtualAccount | None) -> list[tuple[str, str]]:
    """Return the active dynamic accounts among a business's newest ones, and the one that a link has."""
    newest = (
        VirtualAccount.objects.of(business).order_by("-id").only("reference", "currency", "type", "status")
    )
    found = [each for each in newest[:MOST_READ] if each.is_active and not each.is_static]
    if stored is not None and stored not in found:
        found.append(stored)
    return [(str(each.pk), f"{each.reference} ({each.currency})") for each in found]

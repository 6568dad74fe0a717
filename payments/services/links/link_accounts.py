"""The virtual account that a payment link's transfers go to: chosen by the merchant, or made at first need."""

from datetime import datetime
from typing import Any

from rest_framework.exceptions import ValidationError

from kit.api.fields.field_errors import error
from kit.api.replays import DuplicateReference
from kit.text.ids import read_id
from merchants.models import Business, Member
from payments.models import PaymentLink
from virtual_accounts.models import VirtualAccount
from virtual_accounts.services import accounts

REFERENCE = "payment-links-{currency}"
LONGEST_NAME = 100


def chosen(business: Business, account_id: str, *, currency: str) -> VirtualAccount:
    """Return the account that the merchant chose for a link.

    :raises ValidationError: it isn't an active dynamic account of the business in the link's currency
    """
    key = read_id(account_id)
    account = None if key is None else VirtualAccount.objects.of(business).filter(pk=key).first()
    if account is None or not _can_receive(account, currency=currency):
        raise _refusal("This isn't one of your active dynamic virtual accounts, or it uses another currency.")
    return account


def check_default(business: Business, *, currency: str) -> None:
    """Check that the business's account for links can be used or made.

    :raises ValidationError: its reference belongs to an account that can't receive the payments
    """
    existing = accounts.find_of(business, reference_of(currency))
    if existing is not None and not _can_receive(existing, currency=currency):
        raise _refusal(
            f"The account for payment links, {existing.reference}, isn't an active dynamic account in {currency}. "
            "Name another account."
        )


def account_for(link: PaymentLink, *, now: datetime) -> VirtualAccount | None:
    """Return the account that a link's transfers go to, creating the business's own at first need.

    None if it can't receive payments any more.

    :raises RailUnavailable: no hosting bank is configured
    """
    account = link.account or _default_account(link.business, link.currency, now=now)
    return account if account and _can_receive(account, currency=link.currency) else None


def can_receive(link: PaymentLink) -> bool:
    """Return whether the link's account can receive payments, or can be made."""
    account = link.account or accounts.find_of(link.business, reference_of(link.currency))
    return account is None or _can_receive(account, currency=link.currency)


def reference_of(currency: str) -> str:
    return REFERENCE.format(currency=currency)


def _default_account(business: Business, currency: str, *, now: datetime) -> VirtualAccount | None:
    existing = accounts.find_of(business, reference_of(currency))
    if existing is not None:
        return existing
    try:
        return accounts.create(business=business, request=_request(business, currency), now=now).resource
    except DuplicateReference:  # another request has just created one that differs
        return accounts.find_of(business, reference_of(currency))


def _request(business: Business, currency: str) -> dict[str, Any]:
    owner = Member.objects.filter(business=business, role=Member.Role.OWNER).select_related("user").first()
    return {
        "reference": reference_of(currency),
        "type": VirtualAccount.Type.DYNAMIC,
        "account_type": VirtualAccount.AccountType.INDIVIDUAL,
        "currency": currency,
        "first_name": business.name[:LONGEST_NAME],
        "email": owner.user.email if owner else "",
    }


def _can_receive(account: VirtualAccount, *, currency: str) -> bool:
    return account.is_active and not account.is_static and account.currency == currency


def _refusal(message: str) -> ValidationError:
    return ValidationError({"payment_method_id": error(message, "invalid_payment_method")})

"""List what a business's connectors can do, for each kind of request and currency."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from kit import banks
from kit.connectors.capabilities import Capabilities
from merchants.models import Business
from payments.rails import RailUnavailable
from payments.services.rails.rail_choices import configured_acquirer_for, configured_bank_for
from payments.services.rails.rail_queries.rail_blocks import is_blocked
from virtual_accounts.providers import account_opener, account_provider


class CapabilityFlow(StrEnum):
    """A kind of request that a connector processes."""

    CARD_PAYMENT = "card_payment"
    CARD_CHECK = "card_check"
    VIRTUAL_ACCOUNT_PAYMENT = "virtual_account_payment"
    VIRTUAL_ACCOUNT = "virtual_account"
    PAYOUT = "payout"


@dataclass(frozen=True, slots=True)
class FlowCapability:
    """What the connector of a flow can do in a currency. `can` is None without a connector."""

    flow: CapabilityFlow
    currency: str
    is_available: bool
    can: Capabilities | None


def capabilities_of(business: Business) -> list[FlowCapability]:
    """Return what a business's connectors can do, by flow and then by currency."""
    return [*_of_cards(business), *_of_accounts(business), *_of_payouts(business)]


def _of_cards(business: Business) -> Iterator[FlowCapability]:
    try:
        acquirer = configured_acquirer_for(business)
    except RailUnavailable:
        can, is_reached, checks = None, False, False
    else:
        can = acquirer.capabilities
        is_reached = acquirer.is_available() and not is_blocked(acquirer)
        checks = is_reached and can.checks_cards and not can.hosted_only
    yield from _in_currencies(CapabilityFlow.CARD_PAYMENT, business.currencies, can, is_available=is_reached)
    yield from _in_currencies(CapabilityFlow.CARD_CHECK, business.currencies, can, is_available=checks)


def _of_accounts(business: Business) -> Iterator[FlowCapability]:
    try:
        opener, can = account_opener(), account_provider().capabilities
    except RailUnavailable:
        can, is_reached = None, False
    else:
        is_reached = opener is None or opener.is_available()
    for flow in (CapabilityFlow.VIRTUAL_ACCOUNT_PAYMENT, CapabilityFlow.VIRTUAL_ACCOUNT):
        yield from _in_currencies(flow, business.currencies, can, is_available=is_reached)


def _of_payouts(business: Business) -> Iterator[FlowCapability]:
    try:
        bank = configured_bank_for(business)
    except RailUnavailable:
        can, is_reached = None, False
    else:
        can, is_reached = bank.capabilities, bank.is_available() and not is_blocked(bank)
    # A payout's currency must be that of the beneficiary's bank.
    of_banks = {bank.currency for bank in banks.all_banks()}
    for each in _in_currencies(CapabilityFlow.PAYOUT, business.currencies, can, is_available=is_reached):
        yield replace(each, is_available=each.is_available and each.currency in of_banks)


def _in_currencies(
    flow: CapabilityFlow, currencies: Iterable[str], can: Capabilities | None, *, is_available: bool
) -> Iterator[FlowCapability]:
    for currency in currencies:
        is_accepted = can is not None and can.accepts(currency)
        yield FlowCapability(flow, currency, is_available and is_accepted, can)

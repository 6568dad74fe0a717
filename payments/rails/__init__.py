"""The rails: acquirers for cards and banks for payouts. A transaction never changes its connector and account."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, cast

import structlog
from django.utils.module_loading import import_string

from kit.connectors.connectors import ConnectorUnavailable, RailUnavailable, connector
from payments.rails.protocol import CardAcquirer, PayoutBank, Reverses

__all__ = [
    "ACQUIRERS",
    "BANKS",
    "KEEPS_REFERENCES",
    "AnotherAccount",
    "ConnectorUnavailable",
    "RailUnavailable",
    "SentTo",
    "accounts",
    "acquirer_class",
    "acquirer_reverses",
    "card_acquirer",
    "configured_acquirer",
    "configured_bank",
    "payout_bank",
]

log = structlog.get_logger("sluice.rails")

# The connectors by name. A transaction stores the name and the account, such as `http:bank.example:443/sluice`.
ACQUIRERS = {
    "sandbox": "payments.rails.sandbox.SandboxAcquirer",
    "iso8583": "payments.rails.iso8583.Iso8583Acquirer",
    "checkout": "connectors.checkout.cards.CheckoutAcquirer",
    "paystack": "connectors.paystack.cards.PaystackAcquirer",
}
# Business days after a payment until its acquirer's money must be in our bank account. Others: one.
SETTLES_AFTER = {"checkout": 2}
BANKS = {
    "sandbox": "payments.rails.sandbox.SandboxBank",
    "http": "payments.rails.http_bank.HttpBank",
    "paystack": "connectors.paystack.payouts.PaystackBank",
}
# Providers that send a transfer back themselves, by the name of their connector, because they mask its sender's account.
RETURNS = {"paystack_returns": "connectors.paystack.returns.PaystackReturns"}
# Banks that never delete the reference of a transfer: an order that they don't find can be sent again at any age.
KEEPS_REFERENCES = frozenset({"paystack", *RETURNS})


class AnotherAccount(RailUnavailable):
    """The transaction was sent to another account than the one that its connector is configured for now."""

    default_detail = (
        "This was sent to another account of the acquirer or bank. It waits until that one is configured."
    )


class SentTo(NamedTuple):
    """Where an order was sent: the connector's name, and its account there under all its addresses."""

    connector: str
    accounts: frozenset[str]  # empty until 0.2


def card_acquirer(name: str, *, sent_to: SentTo | None = None) -> CardAcquirer:
    """Return the acquirer with this name, or the one whose account a transaction was sent to.

    :raises RailUnavailable: no acquirer is configured, or it is unavailable
    :raises AnotherAccount: the configured account is another one
    """
    acquirer: CardAcquirer = _available(ACQUIRERS, CardAcquirer, name, sent_to)
    return acquirer


def payout_bank(name: str, *, sent_to: SentTo | None = None) -> PayoutBank:
    """Return the bank with this name, or the one whose account a payout was sent to.

    :raises RailUnavailable: no bank is configured, or it is unavailable
    :raises AnotherAccount: the configured account is another one
    """
    if sent_to is not None and sent_to.connector in RETURNS:
        name = sent_to.connector
    bank: PayoutBank = _available(BANKS | RETURNS, PayoutBank, name, sent_to)
    return bank


def sender_back(provider_account: str) -> PayoutBank:
    """Return the connector that sends money back through a provider's account that received it.

    :raises RailUnavailable: the provider isn't configured, or it is unavailable
    :raises AnotherAccount: the configured account is another one
    """
    provider, _, account = provider_account.partition(":")
    name = f"{provider}_returns"
    return payout_bank(name, sent_to=SentTo(name, frozenset({f"{name}:{account}"})))


def configured_acquirer(name: str) -> CardAcquirer:
    """Return the acquirer with this name, whether or not it can be reached.

    :raises RailUnavailable: no acquirer is configured
    """
    return cast("CardAcquirer", connector(ACQUIRERS.get(name, name), protocol=CardAcquirer))


def acquirer_reverses(name: str) -> Reverses | None:
    """Return how surely the acquirer with this name reverses, configured or not. None: there is no such acquirer."""
    found = acquirer_class(name)
    return found.reverses if found is not None else None


def acquirer_class(name: str) -> type[CardAcquirer] | None:
    """Return the class of the acquirer with this name, configured or not. None: there is no such acquirer."""
    try:
        return cast("type[CardAcquirer]", import_string(ACQUIRERS.get(name, name)))
    except ImportError:
        return None


def configured_bank(name: str) -> PayoutBank:
    """Return the bank with this name, whether or not it can be reached.

    :raises RailUnavailable: no bank is configured
    """
    return cast("PayoutBank", connector(BANKS.get(name, name), protocol=PayoutBank))


def accounts(name: str) -> set[str]:
    """Return the accounts that the connectors with this name are configured for now."""
    found: set[str] = set()
    for ours, protocol in ((ACQUIRERS, CardAcquirer), (BANKS | RETURNS, PayoutBank)):
        with suppress(RailUnavailable):
            made: Any = connector(ours.get(name, ""), protocol=protocol)
            found.add(made.account)
    return found


def _available(ours: Mapping[str, str], protocol: type, name: str, sent_to: SentTo | None) -> Any:
    made: Any = connector(ours.get(name, name), protocol=protocol)
    if sent_to is not None:
        if sent_to.connector not in {"", made.name}:
            made = connector(ours.get(sent_to.connector, ""), protocol=protocol)
        if sent_to.accounts and made.account not in sent_to.accounts:
            log.error("waits for another account", sent_to=min(sent_to.accounts), configured=made.account)
            raise AnotherAccount
    if not made.is_available():
        raise ConnectorUnavailable
    return made

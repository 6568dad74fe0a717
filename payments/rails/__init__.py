"""The rails: acquirers for cards and banks for payouts. A transaction never changes its connector."""

from collections.abc import Mapping
from typing import Any

from kit.connectors import ConnectorUnavailable, RailUnavailable, connector
from payments.rails.protocol import CardAcquirer, PayoutBank

__all__ = ["ACQUIRERS", "BANKS", "ConnectorUnavailable", "RailUnavailable", "card_acquirer", "payout_bank"]

# Built-in connectors, by the name stored with a transaction.
ACQUIRERS = {
    "sandbox": "payments.rails.sandbox.SandboxAcquirer",
    "iso8583": "payments.rails.iso8583.Iso8583Acquirer",
}
BANKS = {
    "sandbox": "payments.rails.sandbox.SandboxBank",
    "http": "payments.rails.http_bank.HttpBank",
}


def card_acquirer(dotted_name: str, *, known_as: str = "") -> CardAcquirer:
    """Return the acquirer with this dotted name, or the built-in one that a transaction was sent to.

    :raises RailUnavailable: no acquirer is configured, or it is unavailable
    """
    acquirer: CardAcquirer = _available(ACQUIRERS, dotted_name, known_as)
    return acquirer


def payout_bank(dotted_name: str, *, known_as: str = "") -> PayoutBank:
    """Return the bank with this dotted name, or the built-in one that a payout was sent to.

    :raises RailUnavailable: no bank is configured, or it is unavailable
    """
    bank: PayoutBank = _available(BANKS, dotted_name, known_as)
    return bank


def _available(ours: Mapping[str, str], dotted_name: str, known_as: str) -> Any:
    made: Any = connector(dotted_name)
    if known_as not in {"", made.name}:
        made = connector(ours.get(known_as, ""))
    if not made.is_available():
        raise ConnectorUnavailable
    return made

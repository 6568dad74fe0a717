"""The rails in use, as the settings name them."""

from typing import cast

from django.conf import settings

from merchants.connectors import RailUnavailable, connector
from payments.rails.protocol import CardAcquirer, PayoutBank

__all__ = ["RailUnavailable", "card_acquirer", "payout_bank"]


def card_acquirer() -> CardAcquirer:
    """Return the acquirer of card payments.

    :raises RailUnavailable: none is configured
    """
    return cast("CardAcquirer", connector(settings.CARD_ACQUIRER))


def payout_bank() -> PayoutBank:
    """Return the bank that sends payouts.

    :raises RailUnavailable: none is configured
    """
    return cast("PayoutBank", connector(settings.PAYOUT_BANK))

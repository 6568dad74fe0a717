"""The rails in use, as the settings name them."""

from functools import lru_cache
from typing import cast

from django.conf import settings
from django.utils.module_loading import import_string
from rest_framework import status

from merchants.errors import Problem
from payments.rails.protocol import CardAcquirer, PayoutBank


class RailUnavailable(Problem):
    """No connector is configured for this kind of payment. Nothing was stored."""

    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_code = "rail_unavailable"
    default_detail = "This kind of payment has no configured connector here."

    wait = 60  # seconds, for Retry-After


def card_acquirer() -> CardAcquirer:
    """Return the acquirer of card payments.

    :raises RailUnavailable: none is configured
    """
    return cast("CardAcquirer", _connector(settings.CARD_ACQUIRER))


def payout_bank() -> PayoutBank:
    """Return the bank that sends payouts.

    :raises RailUnavailable: none is configured
    """
    return cast("PayoutBank", _connector(settings.PAYOUT_BANK))


def _connector(dotted_name: str) -> object:
    if not dotted_name:
        raise RailUnavailable
    return _made(dotted_name)


@lru_cache(maxsize=8)
def _made(dotted_name: str) -> object:
    made: object = import_string(dotted_name)()
    return made

"""Connectors to acquirers and banks, as the settings name them."""

from functools import lru_cache

from django.utils.module_loading import import_string
from rest_framework import status

from merchants.errors import Problem
from merchants.metrics import Timed


class RailUnavailable(Problem):
    """No connector is configured for this kind of payment. Nothing was stored."""

    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_code = "rail_unavailable"
    default_detail = "This kind of payment has no configured connector here."

    wait = 60  # seconds, for Retry-After


def connector(dotted_name: str) -> object:
    """Return the one object of a connector's class.

    :raises RailUnavailable: the name is empty
    """
    if not dotted_name:
        raise RailUnavailable
    return _made(dotted_name)


@lru_cache(maxsize=8)
def _made(dotted_name: str) -> object:
    return Timed(import_string(dotted_name)())

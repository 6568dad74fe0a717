"""Connectors to acquirers and banks, by dotted name: made once in each process, when somebody first asks."""

from functools import lru_cache

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string
from rest_framework import status

from kit.api.errors import Problem
from kit.connector_metrics import Timed

log = structlog.get_logger("sluice.connectors")


class RailUnavailable(Problem):
    """Nobody can carry out this kind of payment here, or nobody at this moment. Nothing was stored."""

    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_code = "rail_unavailable"
    default_detail = "This kind of payment has no configured connector here."

    wait = 60  # seconds, for Retry-After


class OutOfReach(RailUnavailable):
    """There is a connector, and it cannot reach the acquirer or bank at the moment."""

    default_detail = "The acquirer or bank for this kind of payment is out of reach at the moment."

    wait = 5


def connector(dotted_name: str) -> object:
    """Return the one object of a connector's class.

    :raises RailUnavailable: the name is empty, or its connector cannot be made
    """
    if not dotted_name:
        raise RailUnavailable
    try:
        return make(dotted_name)
    except ImproperlyConfigured as problem:
        log.error("connector unusable", connector=dotted_name, problem=str(problem))  # noqa: TRY400  (it says all)
        raise RailUnavailable from None


def make(dotted_name: str) -> object:
    """Return the one object of a connector's class.

    :raises ImproperlyConfigured: there is none, or its settings are not complete. The message says which.
    """
    try:
        return _made(dotted_name)
    except (ImportError, TypeError) as problem:
        raise ImproperlyConfigured(f"{dotted_name!r} is no connector: {problem}") from None


@lru_cache(maxsize=16)
def _made(dotted_name: str) -> object:
    return Timed(import_string(dotted_name)())

"""Connectors to acquirers and banks, by dotted name. Each process creates one instance at first use."""

from functools import lru_cache

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string
from rest_framework import status

from kit.api.errors import Problem
from kit.connector_metrics import Timed

log = structlog.get_logger("sluice.connectors")


class RailUnavailable(Problem):
    """No connector can process this kind of payment, in general or at the moment. Nothing was stored."""

    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_code = "rail_unavailable"
    default_detail = "This kind of payment has no configured connector here."

    wait = 60  # seconds, for Retry-After


class ConnectorUnavailable(RailUnavailable):
    """The acquirer or bank of this connector is unavailable at the moment."""

    default_detail = "The acquirer or bank for this kind of payment is unavailable at the moment."

    wait = 5


def connector(dotted_name: str) -> object:
    """Return the instance of a connector's class.

    :raises RailUnavailable: the name is empty, or the connector cannot be created
    """
    if not dotted_name:
        raise RailUnavailable
    try:
        return make(dotted_name)
    except ImproperlyConfigured as problem:
        log.error("connector unusable", connector=dotted_name, problem=str(problem))  # noqa: TRY400  (the message is enough)
        raise RailUnavailable from None


def make(dotted_name: str) -> object:
    """Return the instance of a connector's class.

    :raises ImproperlyConfigured: the class does not exist, or its settings are incomplete
    """
    try:
        return _made(dotted_name)
    except (ImportError, TypeError) as problem:
        raise ImproperlyConfigured(f"{dotted_name!r} is not a connector: {problem}") from None


@lru_cache(maxsize=16)
def _made(dotted_name: str) -> object:
    return Timed(import_string(dotted_name)())

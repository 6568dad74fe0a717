"""Connectors to acquirers and banks, by dotted name. Each process creates one instance at first use."""

from collections.abc import Mapping
from functools import lru_cache

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string
from rest_framework import status

from kit.api.errors import Problem
from kit.api.fields.field_errors import Errors, InvalidFields, error
from kit.connectors.connector_metrics import Timed

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


class NotSupported(InvalidFields):
    """The connector of this kind of payment can never do what the request asks for. Nothing was stored."""

    def __init__(self, unsupported: Mapping[str, str]) -> None:
        errors: Errors = {field: error(why, "not_supported") for field, why in unsupported.items()}
        super().__init__(errors)
        self.sentences = " ".join(unsupported.values())


def require_supported(unsupported: Mapping[str, str]) -> None:
    """Refuse a request whose connector can't do something, given by field.

    :raises NotSupported: there is such a field
    """
    if unsupported:
        raise NotSupported(unsupported)


def connector(dotted_name: str, *, protocol: type) -> object:
    """Return the instance of a connector's class.

    :raises RailUnavailable: the name is empty, or the connector cannot be created
    """
    if not dotted_name:
        raise RailUnavailable
    try:
        return make(dotted_name, protocol=protocol)
    except ImproperlyConfigured as problem:
        log.error("connector unusable", connector=dotted_name, problem=str(problem))  # noqa: TRY400  (the message is enough)
        raise RailUnavailable from None


def make(dotted_name: str, *, protocol: type) -> object:
    """Return the instance of a connector's class. The class is called only if it has all of the protocol's members.

    :raises ImproperlyConfigured: the class does not exist or is no such connector, or its settings are incomplete
    """
    try:
        return _made(dotted_name, protocol)
    except (ImportError, TypeError) as problem:
        raise ImproperlyConfigured(f"{dotted_name!r} is not a connector: {problem}") from None


@lru_cache(maxsize=16)
def _made(dotted_name: str, protocol: type) -> object:
    found = import_string(dotted_name)
    if not isinstance(found, type):
        raise TypeError("it is no class")
    missing = sorted(name for name in _members_of(protocol) if not hasattr(found, name))
    if missing:
        raise TypeError(f"it has no {' and no '.join(missing)}")
    return Timed(found())


def _members_of(protocol: type) -> set[str]:
    return {name for name in {*vars(protocol), *protocol.__annotations__} if not name.startswith("_")}

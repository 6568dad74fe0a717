"""The providers whose disputes are queried and answered through their API. Other acquirers send files."""

from typing import cast

from django.utils.module_loading import import_string

from disputes.rails.protocol import DisputeRail, FileLimits
from kit.connectors.connectors import connector
from payments.rails import AnotherAccount
from payments.services.rails.declared_accounts import same_as

__all__ = ["RAILS", "accepts_parts", "dispute_rail", "file_limits", "is_queried"]

# The connectors by name, as transactions store it.
RAILS = {
    "checkout": "connectors.checkout.disputes.CheckoutDisputes",
    "paystack": "connectors.paystack.disputes.PaystackDisputes",
}


def is_queried(name: str) -> bool:
    """Return whether a connector is queried about its disputes."""
    return name in RAILS


def file_limits(name: str) -> FileLimits | None:
    """Return which files a connector takes with an answer, or None if it isn't queried about disputes."""
    return _class(name).file_limits if is_queried(name) else None


def accepts_parts(name: str) -> bool:
    """Return whether a part of a dispute can be conceded. Acquirers that take files receive the amount."""
    return not is_queried(name) or _class(name).accepts_parts


def _class(name: str) -> type[DisputeRail]:
    return cast("type[DisputeRail]", import_string(RAILS[name]))


def dispute_rail(name: str, *, account: str) -> DisputeRail:
    """Return the connector with this name.

    :raises RailUnavailable: it isn't configured
    :raises AnotherAccount: it is configured for another account
    """
    found = cast("DisputeRail", connector(RAILS.get(name, ""), protocol=DisputeRail))
    if found.account not in same_as(name, account):
        raise AnotherAccount
    return found

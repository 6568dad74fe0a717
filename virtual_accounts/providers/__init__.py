"""The hosting bank of the settings."""

from typing import cast

from django.conf import settings

from kit.connectors import RailUnavailable, connector
from virtual_accounts.providers.protocol import AccountProvider

__all__ = ["RailUnavailable", "account_provider"]


def account_provider() -> AccountProvider:
    """Return the bank that hosts account numbers.

    :raises RailUnavailable: none is configured
    """
    return cast("AccountProvider", connector(settings.ACCOUNT_PROVIDER))

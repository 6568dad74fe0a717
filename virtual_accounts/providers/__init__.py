"""The hosting bank of the settings."""

from typing import cast

from django.conf import settings

from kit.connectors.connectors import RailUnavailable, connector
from virtual_accounts.providers.protocol import AccountProvider

__all__ = ["PROVIDERS", "RailUnavailable", "account_provider"]

PROVIDERS = {"sandbox": "virtual_accounts.providers.sandbox.SandboxProvider"}


def account_provider() -> AccountProvider:
    """Return the bank that hosts account numbers.

    :raises RailUnavailable: none is configured
    """
    name = settings.ACCOUNT_PROVIDER
    return cast("AccountProvider", connector(PROVIDERS.get(name, name), protocol=AccountProvider))

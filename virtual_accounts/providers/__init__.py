"""The hosting bank of the settings."""

from typing import cast

from django.conf import settings

from kit.connectors.connectors import (
    ConnectorUnavailable,
    RailUnavailable,
    connector,
    require_supported,
)
from virtual_accounts.providers.protocol import AccountOpener, AccountProvider, Issues, NumberProvider

__all__ = [
    "PROVIDERS",
    "RailUnavailable",
    "account_opener",
    "account_provider",
    "number_provider",
    "require_provider",
]

PROVIDERS = {
    "sandbox": "virtual_accounts.providers.sandbox.SandboxProvider",
    "paystack": "connectors.paystack.accounts.PaystackAccounts",
}


def account_provider() -> AccountProvider:
    """Return the bank that hosts account numbers.

    :raises RailUnavailable: none is configured
    """
    name = settings.ACCOUNT_PROVIDER
    return cast("AccountProvider", connector(PROVIDERS.get(name, name), protocol=AccountProvider))


def number_provider() -> NumberProvider:
    """Return the bank that issues numbers for the pool.

    :raises RailUnavailable: none is configured, or the configured one opens accounts
    """
    provider = account_provider()
    if provider.issues != Issues.NUMBERS:
        raise RailUnavailable
    return cast("NumberProvider", provider)


def account_opener() -> AccountOpener | None:
    """Return the provider that opens accounts itself, or None if numbers come from the pool.

    :raises RailUnavailable: none is configured
    """
    provider = account_provider()
    return cast("AccountOpener", provider) if provider.issues == Issues.ACCOUNTS else None


def require_provider(currency: str) -> AccountOpener | None:
    """Check that a hosting bank opens accounts in a currency. Return it if it opens them itself.

    :raises NotSupported: it never does
    :raises RailUnavailable: none is configured, or it can't be reached
    """
    require_supported(account_provider().capabilities.unsupported(currency))
    opener = account_opener()
    if opener is not None and not opener.is_available():
        raise ConnectorUnavailable
    return opener

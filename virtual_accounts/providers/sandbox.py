"""The sandbox's hosting bank: it has every possible number, and money arrives only by simulation."""

from collections.abc import Sequence

from virtual_accounts import nuban
from virtual_accounts.providers.protocol import AccountCapabilities, Issues, NumberOrder


class SandboxProvider:
    """A bank whose numbers are a function of their serials."""

    capabilities = AccountCapabilities()
    issues = Issues.NUMBERS

    def issue(self, order: NumberOrder) -> Sequence[str]:
        serials = range(order.first_serial, order.first_serial + order.count)
        return [nuban.account_number(order.bank_code, serial) for serial in serials]

    def close(self, number: str) -> None:
        """Do nothing: transfers are simulated."""

    def reopen(self, number: str) -> None:
        """Do nothing: transfers are simulated."""

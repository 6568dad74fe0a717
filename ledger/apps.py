"""Whose money is where: double-entry accounts, entries and balances."""

from django.apps import AppConfig

from ledger.guards import GUARDS
from merchants.guards import put_up_after_migrate


class LedgerConfig(AppConfig):
    name = "ledger"
    verbose_name = "Ledger"

    def ready(self) -> None:
        put_up_after_migrate(self, GUARDS)

"""Whose money is where: double-entry accounts, entries and balances."""

from django.apps import AppConfig

from kit.db.triggers import put_up_after_migrate
from ledger.triggers import GUARDS


class LedgerConfig(AppConfig):
    name = "ledger"
    verbose_name = "Ledger"

    def ready(self) -> None:
        put_up_after_migrate(self, GUARDS)

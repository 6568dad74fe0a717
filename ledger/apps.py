"""The ledger: double-entry accounts, entries and balances."""

from django.apps import AppConfig

from kit.db.triggers import create_after_migrate
from ledger.booking.triggers import TRIGGERS


class LedgerConfig(AppConfig):
    name = "ledger"
    verbose_name = "Ledger"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)

"""Account numbers that can receive money, and the transfers that arrive on them."""

from django.apps import AppConfig

from kit.db.triggers import AppendOnly, Final, Kept, put_up_after_migrate

GUARDS = (
    AppendOnly("virtual_accounts_transfer"),
    Final("virtual_accounts_session", "status", unless="pending"),
    Final("virtual_accounts_unappliedmoney", "state", unless="open"),
    Kept("virtual_accounts_unclaimedtransfer", ("bank_reference", "account_number", "amount", "currency")),
)


class VirtualAccountsConfig(AppConfig):
    name = "virtual_accounts"
    verbose_name = "Virtual accounts"

    def ready(self) -> None:
        put_up_after_migrate(self, GUARDS)

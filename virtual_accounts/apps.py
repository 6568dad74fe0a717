"""Account numbers that can receive money, and the transfers that arrive on them."""

from django.apps import AppConfig

from merchants.guards import AppendOnly, Final, put_up_after_migrate

GUARDS = (
    AppendOnly("virtual_accounts_transfer"),
    Final("virtual_accounts_session", "status", unless="pending"),
    Final("virtual_accounts_unappliedmoney", "state", unless="open"),
)


class VirtualAccountsConfig(AppConfig):
    name = "virtual_accounts"
    verbose_name = "Virtual accounts"

    def ready(self) -> None:
        put_up_after_migrate(self, GUARDS)

"""Virtual accounts: account numbers that receive money, and incoming transfers."""

from django.apps import AppConfig

from kit.db.triggers import AppendOnly, Final, PermanentRows, Transitions, create_after_migrate

TRIGGERS = (
    AppendOnly("virtual_accounts_transfer"),
    Final("virtual_accounts_session", "status", unless="pending"),
    Transitions(
        "virtual_accounts_unappliedmoney", "state", {"open": ["returned", "credited"], "returned": ["open"]}
    ),
    PermanentRows(
        "virtual_accounts_unclaimedtransfer", ("bank_reference", "account_number", "amount", "currency")
    ),
)


class VirtualAccountsConfig(AppConfig):
    name = "virtual_accounts"
    verbose_name = "Virtual accounts"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)

"""Virtual accounts: account numbers that receive money, and incoming transfers."""

from django.apps import AppConfig

from kit.db.triggers import append_only, create_after_migrate, final, permanent_rows, transitions

TRIGGERS = (
    append_only("virtual_accounts_transfer"),
    final("virtual_accounts_session", "status", unless="pending"),
    transitions(
        "virtual_accounts_unappliedmoney", "state", {"open": ["returned", "credited"], "returned": ["open"]}
    ),
    permanent_rows(
        "virtual_accounts_unclaimedtransfer",
        ("bank_reference", "account_number", "amount", "currency", "provider_account"),
    ),
)


class VirtualAccountsConfig(AppConfig):
    name = "virtual_accounts"
    verbose_name = "Virtual accounts"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)

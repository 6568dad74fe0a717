"""Account numbers that can receive money, and the transfers that arrive on them."""

from django.apps import AppConfig


class VirtualAccountsConfig(AppConfig):
    name = "virtual_accounts"
    verbose_name = "Virtual accounts"

"""Businesses, members, API keys and request authentication."""

from django.apps import AppConfig

from kit.db.triggers import AppendOnly, create_after_migrate

TRIGGERS = (AppendOnly("merchants_auditentry"),)


class MerchantsConfig(AppConfig):
    name = "merchants"
    verbose_name = "Merchants"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)

"""Businesses, members, API keys and request authentication."""

from django.apps import AppConfig, apps

from kit.db.triggers import append_only, create_after_migrate, permanent_rows

TRIGGERS = (
    append_only("merchants_auditentry"),
    permanent_rows("merchants_business", ("id",)),  # rows without a foreign key refer to it (decision 0005)
)


class MerchantsConfig(AppConfig):
    name = "merchants"
    verbose_name = "Merchants"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)
        apps.get_app_config("auth").verbose_name = "Access"  # the administration lists only its groups

"""Webhooks: deliver events to merchants, with retries."""

from django.apps import AppConfig

from kit.db.triggers import create_after_migrate, permanent_rows

TRIGGERS = (
    permanent_rows(
        "webhooks_delivery", ("id",)
    ),  # attempts refer to it without a foreign key (decision 0005)
)


class WebhooksConfig(AppConfig):
    name = "webhooks"
    verbose_name = "Webhooks"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)

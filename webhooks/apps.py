"""Webhooks: deliver events to merchants, with retries."""

from django.apps import AppConfig

from kit.db.triggers import PermanentRows, create_after_migrate

TRIGGERS = (
    PermanentRows("webhooks_delivery", ("id",)),  # attempts refer to it without a foreign key (decision 0005)
)


class WebhooksConfig(AppConfig):
    name = "webhooks"
    verbose_name = "Webhooks"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)

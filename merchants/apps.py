"""Who is calling: businesses, their people, their keys, and how a request proves where it comes from."""

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate

from merchants.guards import AppendOnly, put_up

GUARDS = (AppendOnly("merchants_auditentry"),)


class MerchantsConfig(AppConfig):
    name = "merchants"
    verbose_name = "Merchants"

    def ready(self) -> None:
        post_migrate.connect(_put_up_guards, sender=self)


def _put_up_guards(using: str, **_: Any) -> None:
    put_up(GUARDS, connections[using])

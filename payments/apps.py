"""Money in and out: card payments, card checks and payouts, their outcomes, and the rails they run on."""

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate

from merchants.guards import AppendOnly, Final, put_up

GUARDS = (
    AppendOnly("payments_transition"),
    Final("payments_transaction", "status", unless="pending"),
    Final("payments_cardoperation", "status", unless="pending"),
)


class PaymentsConfig(AppConfig):
    name = "payments"
    verbose_name = "Payments"

    def ready(self) -> None:
        post_migrate.connect(_put_up_guards, sender=self)


def _put_up_guards(using: str, **_: Any) -> None:
    put_up(GUARDS, connections[using])

"""Money in and out: card payments, card checks and payouts, their outcomes, and the rails they run on."""

from django.apps import AppConfig

from merchants.guards import AppendOnly, Final, put_up_after_migrate

GUARDS = (
    AppendOnly("payments_transition"),
    AppendOnly("payments_tariff"),
    Final("payments_transaction", "status", unless="pending"),
    Final("payments_cardoperation", "status", unless="pending"),
)


class PaymentsConfig(AppConfig):
    name = "payments"
    verbose_name = "Payments"

    def ready(self) -> None:
        put_up_after_migrate(self, GUARDS)

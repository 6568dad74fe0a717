"""The payments app and its database triggers."""

from django.apps import AppConfig

from kit.db.triggers import AppendOnly, Final, Fixed, PermanentRows, Transitions, create_after_migrate
from payments.settlement_transitions import BATCH_TRANSITIONS, PAYMENT_TRANSITIONS

TRIGGERS = (
    AppendOnly("payments_transition"),
    AppendOnly("payments_tariff"),
    AppendOnly("payments_batchtransition"),
    AppendOnly("payments_reconciliation"),
    AppendOnly("payments_reconciliationline"),
    AppendOnly("payments_reversal"),
    PermanentRows(
        "payments_proposal",
        (
            "action",
            "target",
            "business_id",
            "currency",
            "amount",
            "parameters",
            "reason",
            "evidence",
            "proposed_by_id",
            "created_at",
            "expires_at",
        ),
    ),
    Final("payments_proposal", "state", unless="open"),
    AppendOnly("payments_payoutreturn"),
    Final("payments_transaction", "status", unless="pending"),
    Fixed("payments_transaction", ("account_number", "bank_code")),
    PermanentRows("payments_settlementitem", ("batch_id", "transaction_id", "gross", "fee", "refunded")),
    Transitions("payments_transaction", "settle_status", PAYMENT_TRANSITIONS),
    Transitions("payments_settlementbatch", "state", BATCH_TRANSITIONS),
    Final("payments_cardoperation", "status", unless="pending"),
    Fixed("payments_cardoperation", ("destination_account_number", "destination_bank_code")),
)


class PaymentsConfig(AppConfig):
    name = "payments"
    verbose_name = "Payments"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)

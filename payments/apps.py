"""The payments app and its database triggers."""

from django.apps import AppConfig

from kit.db.triggers import (
    AppendOnly,
    Final,
    Fixed,
    Kept,
    NeverDeleted,
    PermanentRows,
    Transitions,
    create_after_migrate,
)
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
    # Rows without a foreign key refer to it (decision 0116).
    NeverDeleted("payments_transaction"),
    Kept("payments_transaction", ("id", "business_id")),
    Final("payments_transaction", "status", unless="pending"),
    Fixed("payments_transaction", ("account_number", "bank_code")),
    PermanentRows("payments_settlementitem", ("batch_id", "transaction_id", "gross", "fee", "refunded")),
    Transitions("payments_transaction", "settle_status", PAYMENT_TRANSITIONS),
    Transitions("payments_settlementbatch", "state", BATCH_TRANSITIONS),
    Final("payments_cardoperation", "status", unless="pending"),
    Fixed("payments_cardoperation", ("destination_account_number", "destination_bank_code")),
    Kept("payments_transaction", ("payment_link_id", "checkout_id")),
    # A printed code must not ask for another price, and all payments of a link mean the same.
    Kept(
        "payments_paymentlink",
        (
            "reference",
            "business_id",
            "slug",
            "currency",
            "amount",
            "amount_min",
            "amount_max",
            "suggested_amounts",
            "quantity_max",
            "customer_reference",
            "customer_email",
            "customer_name",
        ),
    ),
    Kept("payments_checkout", ("link_id", "token", "amount", "quantity", "currency", "expires_at")),
)


class PaymentsConfig(AppConfig):
    name = "payments"
    verbose_name = "Payments"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)

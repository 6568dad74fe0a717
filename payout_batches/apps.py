"""The payout batches app and its database triggers."""

from django.apps import AppConfig

from kit.db.triggers import create_after_migrate, kept, never_deleted, permanent_rows, transitions
from payout_batches.transitions import BATCH_TRANSITIONS

TRIGGERS = (
    permanent_rows(
        "payout_batches_payoutbatch",
        ("business_id", "reference", "currency", "root_reference", "retry_of_id"),
    ),
    transitions("payout_batches_payoutbatch", "status", BATCH_TRANSITIONS),
    never_deleted("payout_batches_payoutbatchitem"),
    kept("payout_batches_payoutbatchitem", ("batch_id", "business_id", "reference", "position", "currency")),
)


class PayoutBatchesConfig(AppConfig):
    name = "payout_batches"
    verbose_name = "Payout batches"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)

"""The payout batches app and its database triggers."""

from django.apps import AppConfig

from kit.db.triggers import Kept, NeverDeleted, PermanentRows, Transitions, create_after_migrate
from payout_batches.transitions import BATCH_TRANSITIONS

TRIGGERS = (
    PermanentRows(
        "payout_batches_payoutbatch",
        ("business_id", "reference", "currency", "root_reference", "retry_of_id"),
    ),
    Transitions("payout_batches_payoutbatch", "status", BATCH_TRANSITIONS),
    NeverDeleted("payout_batches_payoutbatchitem"),
    Kept("payout_batches_payoutbatchitem", ("batch_id", "business_id", "reference", "position", "currency")),
)


class PayoutBatchesConfig(AppConfig):
    name = "payout_batches"
    verbose_name = "Payout batches"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)

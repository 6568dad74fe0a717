"""The first release's record of returned payouts, superseded by `PayoutReturn`."""

from django.db import models

from kit.db.card_number_fields import FreeTextField
from payments.models.transactions.transactions import Transaction


class Reversal(models.Model):
    """A payout returned in full, as recorded by hosts that still run the first release during an upgrade.

    The rows were copied to `PayoutReturn`. The table can be dropped in the next release.
    """

    transaction = models.OneToOneField(
        Transaction, on_delete=models.PROTECT, primary_key=True, related_name="reversal"
    )
    reason = FreeTextField(max_length=255)
    actor = models.CharField(max_length=254)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"reversal of {self.transaction_id}"

"""Payouts that a bank has given back after it had reported success."""

from django.db import models

from payments.models.transactions import Transaction


class Reversal(models.Model):
    """The note that a successful payout's money came back. Its status stays what was told. Append-only."""

    transaction = models.OneToOneField(
        Transaction, on_delete=models.PROTECT, primary_key=True, related_name="reversal"
    )
    reason = models.CharField(max_length=255)
    actor = models.CharField(max_length=254)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"reversal of {self.transaction_id}"

"""Accounts at banks and acquirers that refuse orders for a fault of ours, such as a lack of balance or a refused key."""

from typing import ClassVar

from django.db import models

from kit.db.card_number_fields import FreeTextField
from payments.models.transactions.transactions import LONGEST_ACCOUNT


class RailBlock(models.Model):
    """A block of an account at a bank, by amount or as a whole. The row is deleted when the block ends."""

    id = models.UUIDField(primary_key=True, editable=False)
    # Of a provider's account for cards and payouts, one can be blocked and the other not.
    rail = models.CharField(max_length=8, default="bank", db_default="bank")  # bank or acquirer
    connector = models.CharField(max_length=20)
    account = models.CharField(max_length=LONGEST_ACCOUNT)
    # By amount: orders in this currency of this amount or more, in minor units. As a whole: "" and null.
    currency = models.CharField(max_length=3, blank=True)
    amount = models.BigIntegerField(null=True)
    reason = FreeTextField(max_length=255)  # for staff
    order_id = models.UUIDField(
        null=True
    )  # the refused payout or refund, if any; it is sent again as a probe
    since = models.DateTimeField()
    probed_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            *(
                models.UniqueConstraint(
                    fields=["connector", "account", "currency"],
                    condition=models.Q(rail=rail),
                    name=f"one_block_of_{name}_and_currency",
                )
                for rail, name in (("bank", "a_bank"), ("acquirer", "an_acquirer"))
            ),
            models.CheckConstraint(
                condition=models.Q(currency="", amount__isnull=True)
                | ~models.Q(currency="") & models.Q(amount__gt=0),
                name="blocks_by_amount_have_a_currency",
            ),
        ]

    def __str__(self) -> str:
        return f"block of {self.account}"

    def holds(self, *, currency: str, amount: int) -> bool:
        """Return whether an order of this amount, in minor units, must not be sent."""
        return self.amount is None or (self.currency == currency and amount >= self.amount)

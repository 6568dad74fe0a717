"""3-D Secure challenges."""

import secrets
from typing import ClassVar

from django.db import models
from django.db.models import Q

from payments.models.transactions import Transaction


def new_challenge_token() -> str:
    return secrets.token_urlsafe(24)


class Challenge(models.Model):
    """The 3-D Secure challenge of a transaction. Lock the transaction before changing it."""

    WRONG_CODES_ALLOWED = 3

    token = models.CharField(primary_key=True, max_length=43, default=new_challenge_token)
    transaction = models.OneToOneField(Transaction, on_delete=models.PROTECT, related_name="challenge")
    wrong_codes = models.PositiveSmallIntegerField(default=0)
    passed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(wrong_codes__lte=3), name="three_wrong_codes_at_most"),
        ]

    def __str__(self) -> str:
        return f"3-D Secure of {self.transaction_id}"

    @property
    def tries_left(self) -> int:
        return self.WRONG_CODES_ALLOWED - self.wrong_codes

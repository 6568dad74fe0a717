"""What a transaction's payer must do before the acquirer decides, such as 3-D Secure."""

import secrets
from base64 import urlsafe_b64encode
from typing import ClassVar
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils.crypto import salted_hmac

from kit.db.card_number_fields import FreeTextField
from payments.models.transactions.transactions import Transaction
from payments.rails.protocol import ActionKind, PayerAction

LONGEST_URL = 2048


def challenge_token(transaction_id: UUID) -> str:
    """Return the secret in the address of a transaction's payer page: 192 bits.

    It follows from the id, because an acquirer receives the payer's return address before it asks for anything.
    """
    digest = salted_hmac("payments.challenge", transaction_id.bytes, algorithm="sha256").digest()
    return urlsafe_b64encode(digest[:24]).decode()


def new_challenge_token() -> str:
    """Return a random token. Only migration 0001 names it."""
    return secrets.token_urlsafe(24)


class Challenge(models.Model):
    """What the payer of a transaction must do, and how often it was tried. Lock the transaction before changing it."""

    WRONG_CODES_ALLOWED = 3  # in a row, of one action
    MOST_ACTIONS = 5  # of one transaction

    token = models.CharField(primary_key=True, max_length=43)
    transaction = models.OneToOneField(Transaction, on_delete=models.PROTECT, related_name="challenge")
    kind = models.CharField(
        max_length=8, default=ActionKind.OTP, db_default=ActionKind.OTP
    )  # an `ActionKind`
    prompt = FreeTextField(max_length=255, blank=True, default="", db_default="")  # the acquirer's sentence
    url = models.CharField(max_length=LONGEST_URL, blank=True, default="", db_default="")  # of a redirect
    # The number of actions that the payer has completed. Wrong inputs don't count.
    actions_made = models.PositiveSmallIntegerField(default=0, db_default=0)
    wrong_codes = models.PositiveSmallIntegerField(default=0)
    # When the payer gave the last input or came back, unless the acquirer asked for something again.
    passed_at = models.DateTimeField(null=True)
    # When the time was over, if the acquirer had to be asked what became of the payment.
    closed_at = models.DateTimeField(null=True)
    # The order was sent twice before the acquirer asked for this.
    was_repeated = models.BooleanField(default=False, db_default=False)
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

    @property
    def has_made_every_action(self) -> bool:
        """Return whether the payer is asked for nothing more."""
        return self.actions_made >= self.MOST_ACTIONS

    def is_same(self, action: PayerAction) -> bool:
        """Return whether an acquirer asks again for what it asked for last."""
        return self.kind == action.kind and self.url == action.url

    def ask(self, action: PayerAction) -> None:
        """Ask the payer for another action, or again for the last one."""
        if not self.is_same(action):
            self.actions_made += 1
            self.wrong_codes = 0
        if not self.has_made_every_action:
            self.kind, self.prompt, self.url = action.kind, action.prompt, action.url
            self.passed_at = None
        self.save(update_fields=["kind", "prompt", "url", "actions_made", "wrong_codes", "passed_at"])

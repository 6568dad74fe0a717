"""The pool of account numbers."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from virtual_accounts.models.accounts import LONGEST_PROVIDER_ACCOUNT, VirtualAccount


class AccountNumber(models.Model):
    """An account number of the hosting bank. Each has one row, so it has one holder at a time.

    Numbers that a provider chose are never taken from the pool: it decides who has them next.
    """

    number = models.CharField(primary_key=True, max_length=10)
    bank_code = models.CharField(max_length=6, blank=True)
    bank_name = models.CharField(max_length=100)
    # Our account at the provider that chose the number. Empty: it is of the pool.
    provider_account = models.CharField(
        max_length=LONGEST_PROVIDER_ACCOUNT, blank=True, default="", db_default=""
    )
    holder = models.ForeignKey(VirtualAccount, on_delete=models.PROTECT, null=True, related_name="numbers")
    last_holder = models.ForeignKey(  # the current or last holder, who owns late transfers
        VirtualAccount, on_delete=models.PROTECT, null=True, related_name="+"
    )
    free_at = models.DateTimeField(null=True)  # if free: when it can be assigned again

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(holder__isnull=True, free_at__isnull=False)
                | Q(holder=models.F("last_holder"), free_at__isnull=True),
                name="numbers_are_held_or_free",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["bank_code", "free_at"], condition=Q(holder__isnull=True), name="numbers_to_take"
            ),
        ]

    def __str__(self) -> str:
        return self.number


class NumberSeries(models.Model):
    """The next unused serial of a hosting bank. Numbers are issued in blocks."""

    bank_code = models.CharField(primary_key=True, max_length=6)
    next_serial = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.bank_code}: {self.next_serial}"

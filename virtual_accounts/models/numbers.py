"""The pool of account numbers."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from virtual_accounts.models.accounts import VirtualAccount


class AccountNumber(models.Model):
    """A number of the hosting bank. There is one row for each, so that it has one holder at a time."""

    number = models.CharField(primary_key=True, max_length=10)
    bank_code = models.CharField(max_length=6)
    bank_name = models.CharField(max_length=100)
    holder = models.ForeignKey(VirtualAccount, on_delete=models.PROTECT, null=True, related_name="numbers")
    last_holder = models.ForeignKey(  # the holder, or who held it last: the owner of money that comes late
        VirtualAccount, on_delete=models.PROTECT, null=True, related_name="+"
    )
    free_at = models.DateTimeField(null=True)  # while nobody holds it: from then on it can be taken

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
    """How far the serials of a hosting bank are given out; numbers are issued in blocks."""

    bank_code = models.CharField(primary_key=True, max_length=6)
    next_serial = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.bank_code}: {self.next_serial}"

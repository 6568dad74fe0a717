"""Declarations of two people that a new address of a connector is the account that orders were sent to."""

from typing import ClassVar

from django.db import models

from payments.models.transactions.transactions import LONGEST_ACCOUNT


class AccountDeclaration(models.Model):
    """Two accounts of a connector that are one, under a former and a present address. Append-only."""

    connector = models.CharField(max_length=20)
    former = models.CharField(max_length=LONGEST_ACCOUNT)
    present = models.CharField(max_length=LONGEST_ACCOUNT)
    declared_by = models.CharField(max_length=254)
    declared_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["connector", "former", "present"], name="one_declaration_of_two_accounts"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.former} is {self.present}"

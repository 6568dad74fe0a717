"""What is counted about payment links and kept in no other row: views per day, and declines per card."""

from typing import ClassVar

from django.db import models

from merchants.models import Business
from payments.models.links import PaymentLink


class LinkDay(models.Model):
    """Views of a link and checkouts begun at it on one day (UTC). These counts outlive the checkouts."""

    link = models.ForeignKey(PaymentLink, on_delete=models.CASCADE, related_name="days", db_index=False)
    day = models.DateField()
    opened = models.PositiveIntegerField(default=0)  # by browsers: a hint
    started = models.PositiveIntegerField(default=0)  # checkouts

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["link", "day"], name="one_count_per_link_and_day")
        ]
        indexes: ClassVar = [models.Index(fields=["day"], name="link_days_by_day")]

    def __str__(self) -> str:
        return f"{self.link_id} on {self.day}"


class LinkCardAttempt(models.Model):
    """A card that was used at a business's links within 24 hours, known only by a keyed hash of its number.

    `attempt_key` is a keyed hash of the attempt's id, by which its outcome is noted. Without the key, nothing joins a
    row to a transaction (PCI DSS 3.5.1.1). A success deletes the row.
    """

    attempt_key = models.CharField(max_length=64, unique=True)
    business = models.ForeignKey(Business, on_delete=models.CASCADE, related_name="+", db_index=False)
    card_hash = models.CharField(max_length=64)
    declined_at = models.DateTimeField(null=True, blank=True)
    must_not_retry = models.BooleanField(default=False)  # the issuer's advice
    ends_at = models.DateTimeField()  # the full hour after 24 hours

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["business", "card_hash"], name="link_card_attempts_by_card"),
            models.Index(fields=["ends_at"], name="link_card_attempts_by_end"),
        ]

    def __str__(self) -> str:
        return f"card attempt {self.pk}"

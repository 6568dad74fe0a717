"""Card payments that their acquirer may still charge: failed ones, and those that it may charge twice."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q

from payments.models.transactions.transactions import Transaction

WATCHED_FOR = timedelta(days=7)
# How long after its beginning, or after a charge was found, a watch looks how often. Afterwards, hourly.
INTERVALS = ((timedelta(hours=1), timedelta(minutes=1)), (timedelta(days=1), timedelta(minutes=10)))
LAST_INTERVAL = timedelta(hours=1)
# A second charge is looked for after as long again as the watch has lasted, within these bounds. Its webhook is faster.
SHORTEST_WAIT, LONGEST_WAIT = timedelta(minutes=1), timedelta(hours=6)


class WatchQuerySet(models.QuerySet["WatchedAuthorisation"]):
    def open(self) -> WatchQuerySet:
        """Return the watches whose acquirer is still queried. Has an index."""
        return self.filter(next_look_at__isnull=False)

    def unleased(self, *, at: datetime) -> WatchQuerySet:
        """Return the open watches that no process has leased."""
        return self.open().filter(Q(leased_until=None) | Q(leased_until__lte=at))

    def due(self, *, at: datetime) -> WatchQuerySet:
        """Return those of them that are due."""
        return self.unleased(at=at).filter(next_look_at__lte=at)

    def may_be_charged(self) -> WatchQuerySet:
        """Return the watches that may find a charge still, or have found one."""
        return self.filter(Q(next_look_at__isnull=False) | Q(found_at__isnull=False))

    def charged(self, *, since: datetime) -> WatchQuerySet:
        """Return the watches with a charge that was found since then, or isn't given back yet. Has an index."""
        return self.filter(Q(found_at__gte=since) | Q(returned_at__isnull=True), found_at__isnull=False)


class WatchedAuthorisation(models.Model):
    """A card payment whose acquirer can't rule out a charge that isn't ours to keep.

    It failed without an answer of its acquirer; or its order was sent twice, and a further payment may appear beside those
    that we know. The acquirer is queried until it has declined what is looked for, or for seven days. A charge that it finds is
    voided or refunded, and booked to accounts of the house under this row's id. Each further charge is found by a watch of its
    own, which follows. Lock the transaction before changing it.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    transaction = models.ForeignKey(
        Transaction, on_delete=models.PROTECT, related_name="watches", db_index=False
    )
    # Only payments beside those that we know are looked for, whatever became of them.
    is_of_second_charge = models.BooleanField("second charge", default=False, db_default=False)
    opened_at = models.DateTimeField()
    until = models.DateTimeField()
    next_look_at = models.DateTimeField(null=True)  # null: ended
    leased_until = models.DateTimeField(null=True)  # one process queries the acquirer until then
    looks = models.PositiveIntegerField(default=0)  # that the acquirer has answered
    found_at = models.DateTimeField(null=True)  # when a charge or reservation was found
    # What was charged, in minor units. Null: nothing, only reserved, or an unknown part.
    amount = models.BigIntegerField(null=True)
    acquirer_reference = models.CharField(max_length=64, default="", db_default="")  # of what was found
    returned_at = models.DateTimeField(null=True)  # when the acquirer had voided or refunded it
    ended_at = models.DateTimeField(null=True)

    objects = WatchQuerySet.as_manager()

    class Meta:
        verbose_name = "watched payment"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["transaction"], condition=Q(next_look_at__isnull=False), name="one_open_watch"
            ),
            models.CheckConstraint(
                condition=Q(next_look_at__isnull=False, ended_at__isnull=True)
                | Q(next_look_at__isnull=True, ended_at__isnull=False),
                name="open_watches_have_a_next_look",
            ),
            # What isn't watched has no charge that is owed.
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(found_at__isnull=True) | Q(returned_at__isnull=False),
                name="watches_end_without_a_charge",
            ),
            models.CheckConstraint(
                condition=Q(found_at__isnull=True, amount__isnull=True, returned_at__isnull=True)
                | Q(found_at__isnull=False) & (Q(amount__isnull=True) | Q(amount__gt=0)),
                name="only_found_charges_are_returned",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["transaction"], name="watches_of_transaction"),
            models.Index(
                fields=["next_look_at"], condition=Q(next_look_at__isnull=False), name="watches_open"
            ),
            models.Index(fields=["found_at"], condition=Q(found_at__isnull=False), name="watches_charged"),
        ]

    def __str__(self) -> str:
        return f"watch of {self.transaction_id}"

    @property
    def is_open(self) -> bool:
        return self.next_look_at is not None

    @property
    def is_owed(self) -> bool:
        """Return whether a charge was found that is not given back yet."""
        return self.found_at is not None and self.returned_at is None

    def next_look_after(self, now: datetime) -> datetime:
        """Return when to look next: the longer the watch, or the wait for a refund, lasts, the less often."""
        age = now - (self.found_at or self.opened_at)
        if self.is_of_second_charge and not self.is_owed:
            return now + min(max(age, SHORTEST_WAIT), LONGEST_WAIT)
        return now + next((interval for limit, interval in INTERVALS if age < limit), LAST_INTERVAL)

    def find_charge(self, reference: str, amount: int | None, *, now: datetime) -> None:
        """Store that a charge was found: its identifier at the acquirer, and minor units.

        The watch is open, or opens again, until it is given back.
        """
        self.found_at, self.amount, self.acquirer_reference = now, amount, reference
        self.next_look_at, self.ended_at = self.next_look_at or now, None
        self.save(update_fields=["found_at", "amount", "acquirer_reference", "next_look_at", "ended_at"])

    def end(self, *, now: datetime, is_returned: bool = False) -> None:
        """End the watch. `is_returned`: the acquirer has given the charge back."""
        self.returned_at = now if is_returned else None
        self.next_look_at, self.leased_until, self.ended_at = None, None, now
        self.save(update_fields=["returned_at", "next_look_at", "leased_until", "ended_at"])

    def postpone(self, next_look_at: datetime, *, is_answered: bool) -> None:
        """Plan the next look, and release the lease."""
        self.next_look_at, self.leased_until = next_look_at, None
        self.looks += is_answered
        self.save(update_fields=["next_look_at", "leased_until", "looks"])

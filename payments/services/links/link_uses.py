"""Uses of payment links: held by a pending payment, taken by its success, given back by its failure.

Each change of the counts is one UPDATE in the database transaction that opens or finishes the payment, so that
`uses_paid + uses_held` never exceeds `max_uses` and no use is lost. Payments of unlimited links are counted too.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from kit.db.prepared_statements import Lookup
from kit.time.time_ordered_ids import earliest_id
from merchants.models import Business
from payments.metrics import CHECKOUT_REFUSALS
from payments.models import Checkout, PaymentLink, Transaction
from payments.rules.cards import Card
from virtual_accounts.models import Session

Awaiting = Transaction.Awaiting

REFERENCE_PREFIX = "pl_"
HELD_SHARE = 10  # one address may hold a tenth of a limited link's uses
HELD_AT_LEAST = 2
LONGEST_HOLD = timedelta(days=2)  # a checkout of 24 hours, then a transfer window of at most as long
SINGLE_HOLD_UP_TO = 3  # with at most so many uses, one address may hold one


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to pay, as a payer's form begins it."""

    id: UUID  # of its payment
    checkout_id: UUID
    number: int  # of attempts before it when the form was shown
    card: Card | None = None  # of an attempt by card

    @property
    def reference(self) -> str:
        """Return the payment's reference. It is unique because the id is."""
        return f"{REFERENCE_PREFIX}{self.id.hex}"


class AttemptNotBegun(Exception):
    """The attempt can't begin. Nothing is held."""


class AnotherAttempt(AttemptNotBegun):
    """Another attempt is pending or has succeeded, or the form is older than the last attempt: show the state."""


class CheckoutClosed(AttemptNotBegun):
    """The checkout is over: 24 hours or 5 failed attempts."""


class LinkNotPayable(AttemptNotBegun):
    """The link is used up, expired, inactive, or all of its uses are held."""


class AddressHoldsTooMany(AttemptNotBegun):
    """The payer's address holds as many uses of this limited link as one address may."""


def hold(attempt: Attempt, *, now: datetime) -> Checkout:
    """Hold a use for an attempt, in the caller's database transaction. Returns the checkout, locked.

    Locks the checkout, then the link. The payment is inserted in the same database transaction.

    :raises AttemptNotBegun: nothing is held; the subclass says why
    """
    checkout = _LOCKED_CHECKOUT.find(attempt.checkout_id)
    if checkout is None:
        raise Checkout.DoesNotExist
    statuses = list(Transaction.objects.filter(checkout=checkout).values_list("status", flat=True))
    state = checkout.state_of(statuses, now=now)
    if state in {Checkout.State.PAYING, Checkout.State.PAID} or len(statuses) != attempt.number:
        raise AnotherAttempt
    if state == Checkout.State.CLOSED:
        raise CheckoutClosed
    if not _payable(checkout.link_id, now=now).update(uses_held=F("uses_held") + 1):
        raise LinkNotPayable
    _check_share(checkout, now=now)
    return checkout


_LOCKED_CHECKOUT = Lookup(Checkout, "id", joined=("link",), lock=True)


def _payable(link_id: UUID, *, now: datetime) -> models.QuerySet[PaymentLink]:
    """Return the link if a payment may begin now. All conditions on it are of the UPDATE itself, so that they hold
    for the row as it is once its lock is acquired.
    """
    active_business = Business.objects.filter(pk=OuterRef("business_id"), is_active=True)
    return PaymentLink.objects.filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=now),
        Q(max_uses__isnull=True) | Q(max_uses__gt=F("uses_paid") + F("uses_held")),
        Exists(active_business),
        pk=link_id,
        is_switched_off=False,
        blocked_at__isnull=True,
    )


def _check_share(checkout: Checkout, *, now: datetime) -> None:
    """Check that the payer's address doesn't hold too many uses. The link's lock is held.

    :raises AddressHoldsTooMany: it does
    """
    link = checkout.link
    if link.max_uses is None or not checkout.network:
        return
    held = Transaction.objects.filter(
        status=Transaction.Status.PENDING,
        checkout__link=link,
        checkout__network=checkout.network,
        checkout__id__gte=earliest_id(now - LONGEST_HOLD),
    )
    if held.count() >= most_held_by_address(link.max_uses):
        CHECKOUT_REFUSALS.labels("uses_of_address").inc()
        raise AddressHoldsTooMany


def most_held_by_address(max_uses: int) -> int:
    """Return how many uses of a limited link one address may hold.

    >>> most_held_by_address(3), most_held_by_address(4), most_held_by_address(50)
    (1, 2, 5)
    """
    return 1 if max_uses <= SINGLE_HOLD_UP_TO else max(max_uses // HELD_SHARE, HELD_AT_LEAST)


def held(*, most: int) -> int:
    """Return how many uses are held at all links together, counted up to `most` of each kind of wait.

    Counts pending payments, by the indexes of what they wait for: a sum over all links would read each of them.
    """
    attempts = Transaction.objects.filter(payment_link__isnull=False)
    waiting = (
        attempts.filter(awaiting__in=[Awaiting.RAIL, Awaiting.REVERSAL]),
        attempts.filter(awaiting__in=[Awaiting.PAYER, Awaiting.CAPTURE]),
        attempts.filter(awaiting=Awaiting.TRANSFER, session__status=Session.Status.PENDING),
    )
    return sum(each[:most].count() for each in waiting)


def settle(finished: Transaction) -> None:
    """Take the use of a payment that succeeded, or give back that of one that failed.

    Called in the database transaction that finishes the payment, after its row was written and before any ledger
    account is locked.
    """
    if finished.payment_link_id is None:
        return
    changes = {"uses_held": F("uses_held") - 1}
    if finished.status == Transaction.Status.SUCCESS:
        changes |= {"uses_paid": F("uses_paid") + 1, "amount_paid": F("amount_paid") + finished.amount}
    PaymentLink.objects.filter(pk=finished.payment_link_id).update(**changes)


def give_back(failed: Iterable[Transaction]) -> None:
    """Give back the uses of failed payments, link by link in the order of their ids."""
    uses = Counter(one.payment_link_id for one in failed if one.payment_link_id is not None)
    for link_id, count in sorted(uses.items()):
        PaymentLink.objects.filter(pk=link_id).update(uses_held=F("uses_held") - count)

"""Limits against the abuse of payment links. All numbers are here; `/docs/limits` shows them.

Many payers share one address behind a mobile network, so failures are weighed against successes. Everything but page
views is counted from rows, in every process alike. An address is an IPv4 address, or the /64 of an IPv6 address.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from kit.time.time_ordered_ids import earliest_id
from payments.metrics import CHECKOUT_REFUSALS
from payments.models import Checkout, PaymentLink, Transaction
from payments.rules.cards import Card
from payments.services.checkouts import card_declines

SUCCESSES_WEIGH = 4  # failures are limited while successes times this are fewer
SHORT, LONG = timedelta(minutes=10), timedelta(days=1)
MOST_UNPAID_CHECKOUTS = 60  # of an address, SHORT
MOST_DECLINES_OF_ADDRESS = 10  # SHORT
MOST_DECLINES_OF_ADDRESS_A_DAY = 50
MOST_DECLINES_OF_LINK = 20  # SHORT
MOST_DECLINES_OF_BUSINESS = 60  # SHORT

Status = Transaction.Status


class LimitReached(Exception):
    """A limit holds. `rule` is its name in metrics; `until` is when it may end."""

    def __init__(self, rule: str, *, until: datetime) -> None:
        super().__init__(rule)
        self.rule, self.until = rule, until
        CHECKOUT_REFUSALS.labels(rule).inc()


class CardsRest(LimitReached):
    """The address can't pay by card at the moment. Transfers are not limited."""


class CardRests(LimitReached):
    """The card can't be used at this business's links. Another one can."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Outcomes of attempts by card."""

    declines: int
    successes: int

    def exceeds(self, most: int) -> bool:
        """Return whether there are too many declines, and too few successes to explain them.

        >>> Tally(declines=10, successes=2).exceeds(10), Tally(declines=40, successes=160).exceeds(10)
        (True, False)
        """
        return self.declines >= most and self.successes * SUCCESSES_WEIGH < self.declines


def check_new_checkout(network: str, *, now: datetime) -> None:
    """Check that an address may begin another checkout.

    :raises LimitReached: it has begun too many without paying
    """
    paid = Transaction.objects.filter(checkout=OuterRef("pk"), status=Status.SUCCESS)
    recent = Checkout.objects.filter(network=network, id__gte=earliest_id(now - SHORT))
    tally = recent.annotate(is_paid=Exists(paid)).aggregate(
        paid=Count("pk", filter=Q(is_paid=True)), unpaid=Count("pk", filter=Q(is_paid=False))
    )
    if tally["unpaid"] >= MOST_UNPAID_CHECKOUTS and tally["paid"] * SUCCESSES_WEIGH < tally["unpaid"]:
        raise LimitReached("checkouts", until=now + SHORT)


def check_address(network: str, *, now: datetime) -> None:
    """Check that an address may pay by card: the rules that hold whatever the card is.

    :raises CardsRest: too many cards from this address were declined
    """
    recent, of_day = _tallies(
        Q(checkout__network=network), Q(id__gte=earliest_id(now - SHORT)), Q(), since=now - LONG
    )
    if recent.exceeds(MOST_DECLINES_OF_ADDRESS) or of_day.exceeds(MOST_DECLINES_OF_ADDRESS_A_DAY):
        raise CardsRest("declines_of_address", until=now + SHORT)


def check_card(checkout: Checkout, card: Card, *, now: datetime) -> None:
    """Check that a card may be sent to the acquirer for this checkout.

    :raises CardsRest: too many cards from this address were declined
    :raises CardRests: this card was declined too often
    """
    check_address(checkout.network, now=now)
    business = checkout.link.business
    if card_declines.must_rest(business, card, now=now):
        raise CardRests("declines_of_card", until=now + LONG)
    if not resting_rule(checkout.link, now=now) or _has_paid(checkout):
        return
    if _tally(Q(checkout__network=checkout.network, business=business), since=now - SHORT).declines:
        raise CardsRest("declines_of_link", until=now + SHORT)
    if card_declines.was_just_declined(business, card, now=now):
        raise CardRests("declines_of_link", until=now + SHORT)


def resting_rule(link: PaymentLink, *, now: datetime) -> str:
    """Return the rule by which new cards rest at a link, "link" or "business", or an empty string.

    Neither can hold with few declines, so that the many successes of a busy link are hardly ever counted.
    """
    at_links = Q(business=link.business, payment_link__isnull=False)
    declined = _attempts(at_links, since=now - SHORT).filter(
        request_type=Transaction.RequestType.PAYMENT, status=Status.FAILED
    )
    if declined.values("pk")[:MOST_DECLINES_OF_LINK].count() < MOST_DECLINES_OF_LINK:
        return ""
    of_link, of_business = _tallies(at_links, Q(payment_link=link), Q(), since=now - SHORT)
    if of_link.exceeds(MOST_DECLINES_OF_LINK):
        return "link"
    return "business" if of_business.exceeds(MOST_DECLINES_OF_BUSINESS) else ""


def _attempts(condition: Q, *, since: datetime) -> QuerySet[Transaction]:
    """Return the attempts by card that were begun since a moment."""
    return Transaction.objects.filter(
        condition,
        id__gte=earliest_id(since),
        checkout__isnull=False,
        checkout__id__gte=earliest_id(since - LONG),  # a checkout lives for a day
        method=Transaction.Method.CARD,
    )


def _tally(condition: Q, *, since: datetime) -> Tally:
    """Count the attempts by card that were begun since a moment and have finished."""
    [tally] = _tallies(condition, Q(), since=since)
    return tally


def _tallies(condition: Q, *parts: Q, since: datetime) -> list[Tally]:
    """Count parts of the attempts by card that were begun since a moment and have finished, in one statement."""
    counts = _attempts(condition, since=since).aggregate(
        **{
            f"{status}_{number}": Count("pk", filter=part & Q(status=status))
            for number, part in enumerate(parts)
            for status in (Status.FAILED, Status.SUCCESS)
        }
    )
    return [
        Tally(declines=counts[f"{Status.FAILED}_{number}"], successes=counts[f"{Status.SUCCESS}_{number}"])
        for number in range(len(parts))
    ]


def _has_paid(checkout: Checkout) -> bool:
    """Return whether a payment from the checkout's address at this business has succeeded within a day or so."""
    paid = Transaction.objects.filter(
        business=checkout.link.business,
        status=Status.SUCCESS,
        checkout__network=checkout.network,
        checkout__id__gte=earliest_id(checkout.created_at - 30 * LONG),
    )
    return paid.exists()

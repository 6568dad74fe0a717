"""The guide's table of limits of payment links, written from the numbers that hold: `make field-tables`."""

from collections.abc import Iterator
from datetime import timedelta

from kit.time.durations import in_words
from payments.models.links import CHECKOUT_LIFETIME, MOST_ATTEMPTS
from payments.pages.checkout import RECEIPT_LIFETIME
from payments.pages.payer_requests import STATES, UNKNOWN, VIEWS
from payments.services.checkouts import card_declines as cards
from payments.services.checkouts import checkout_limits as limits
from payments.services.links import link_uses as uses

FILE, HEADING = "limits.md", "At payment links"
HOUR = timedelta(hours=1)
SHORT, LONG = in_words(limits.SHORT), in_words(limits.LONG)
TOO_FEW = f"while successes × {limits.SUCCESSES_WEIGH} < declines"  # noqa: RUF001


def rows() -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| {HEADING} | Limit | Beyond it |"
    yield "|---|---|---|"
    for subject, limit, beyond in _limits():
        yield f"| {subject} | {limit} | {beyond} |"


def _limits() -> Iterator[tuple[str, str, str]]:
    yield "Views of payers' pages", f"{VIEWS} a minute per address", "429 with `Retry-After`"
    yield "Unknown addresses of pages", f"{UNKNOWN} a minute per address", "429 with `Retry-After`"
    yield "Queries of a checkout's state", f"{STATES} a minute per checkout", "429 with `Retry-After`"
    yield (
        "New checkouts",
        (
            f"{limits.MOST_UNPAID_CHECKOUTS} unpaid in {SHORT} per address, while paid × "  # noqa: RUF001
            f"{limits.SUCCESSES_WEIGH} < unpaid"
        ),
        "429 with `Retry-After`",
    )
    yield "A checkout", f"{CHECKOUT_LIFETIME // HOUR} hours", "open the link again"
    yield "Attempts", f"{MOST_ATTEMPTS} per checkout, 1 at a time", "open the link again"
    yield (
        "Declined cards per address",
        (
            f"{limits.MOST_DECLINES_OF_ADDRESS} in {SHORT}, or {limits.MOST_DECLINES_OF_ADDRESS_A_DAY} in {LONG}, "
            f"{TOO_FEW}"
        ),
        "no cards from there for a while; transfers go on",
    )
    yield (
        "Declined cards per link, per business",
        f"{limits.MOST_DECLINES_OF_LINK} / {limits.MOST_DECLINES_OF_BUSINESS} in {SHORT}, {TOO_FEW}",
        f"addresses and cards without a success at the business get 1 declined card in {SHORT}",
    )
    yield (
        "One card at a business's links",
        f"{cards.MOST_DECLINES} declines in {cards.REMEMBERED_FOR // HOUR} hours, or a `do_not_retry`",
        "another card",
    )
    yield (
        "Uses that one address holds of a limited link",
        (
            f"a {uses.HELD_SHARE}th of `max_uses`, at least {uses.HELD_AT_LEAST} (1 up to `max_uses: "
            f"{uses.SINGLE_HOLD_UP_TO}`)"
        ),
        "409 page",
    )
    yield "A receipt", f"{RECEIPT_LIFETIME.days} days", "404"

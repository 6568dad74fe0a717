"""What triggers which outcome in the sandbox. This is the table; rail, docs and tests read it from here."""

from dataclasses import dataclass
from enum import Enum

from payments import outcomes
from payments.outcomes import Outcome

SMALLEST_TRIGGERING_AMOUNT = 10_000  # minor units; below it every amount succeeds


class Special(Enum):
    """What a trigger does that is not an outcome."""

    CHALLENGE = "3-D Secure challenge, whatever `3ds` says"
    FRICTIONLESS = "frictionless 3-D Secure, then success"
    LOST_ANSWER = "the answer is lost: pending until it is asked for again, then success"


@dataclass(frozen=True, slots=True)
class TestCard:
    """A card number with an outcome of its own, which beats the amount's."""

    __test__ = False  # not a test, whatever pytest makes of the name

    number: str
    result: Outcome | Special


TEST_CARDS = (
    TestCard("4084080000005408", outcomes.NOT_SUFFICIENT_FUNDS),
    TestCard("4000000000002503", Special.CHALLENGE),
    TestCard("4000000000002701", Special.FRICTIONLESS),
    TestCard("4000000000002925", outcomes.AUTHENTICATION_FAILED),
)

# The amount's last two digits, from SMALLEST_TRIGGERING_AMOUNT on.
CARD_AMOUNTS: dict[str, Outcome | Special] = {
    "05": outcomes.DO_NOT_HONOUR,
    "41": outcomes.LOST_CARD,
    "43": outcomes.STOLEN_CARD,
    "51": outcomes.NOT_SUFFICIENT_FUNDS,
    "83": outcomes.SUSPECTED_FRAUD,
    "30": outcomes.UNSPECIFIED_FAILURE,
    "98": Special.LOST_ANSWER,
}
CAPTURE_AMOUNTS: dict[str, Outcome | Special] = {"98": Special.LOST_ANSWER}
REFUND_AMOUNTS: dict[str, Outcome | Special] = {
    "05": outcomes.DO_NOT_HONOUR,
    "98": Special.LOST_ANSWER,
}
PAYOUT_AMOUNTS = {ending: outcomes.payout_failure(ending) for ending in ("05", "07", "51", "61", "91")}

LOST_ANSWER_ACCOUNT = "0000000097"  # a payout to it
RETURNED_ACCOUNT = "0000000096"  # a payout to it succeeds; POST /api/sandbox/advance returns it
UNKNOWN_ACCOUNT = "0000000000"  # a name enquiry finds no account
ONE_TIME_CODE = "123456"


def by_amount(
    amount: int, table: dict[str, Outcome | Special] | dict[str, Outcome]
) -> Outcome | Special | None:
    """Return what the amount's last two digits trigger, if anything.

    >>> by_amount(10_051, CARD_AMOUNTS).code
    '20051'
    >>> by_amount(9_951, CARD_AMOUNTS) is None
    True
    """
    if amount < SMALLEST_TRIGGERING_AMOUNT:
        return None
    return table.get(f"{amount % 100:02}")


def by_payout(amount: int, account_number: str) -> Outcome | None:
    """Return how a payout is refused, if it is. Accounts with a meaning of their own come before the amount.

    >>> by_payout(10_051, "0123456789").gateway_code, by_payout(10_051, RETURNED_ACCOUNT)
    ('51', None)
    """
    if account_number in {LOST_ANSWER_ACCOUNT, RETURNED_ACCOUNT}:
        return None
    decided = by_amount(amount, PAYOUT_AMOUNTS)
    return decided if isinstance(decided, Outcome) else None


def account_name(account_number: str) -> str | None:
    """Return who holds an account, as a name enquiry tells.

    >>> account_name("0123456789"), account_name(UNKNOWN_ACCOUNT)
    ('Sandbox Account 6789', None)
    """
    return None if account_number == UNKNOWN_ACCOUNT else f"Sandbox Account {account_number[-4:]}"


def by_card(card_bin: str, last4: str) -> Outcome | Special | None:
    """Return what a test card triggers, if this is one. First six and last four tell them apart."""
    return _BY_ENDS.get((card_bin, last4))


_BY_ENDS = {(card.number[:6], card.number[-4:]): card.result for card in TEST_CARDS}

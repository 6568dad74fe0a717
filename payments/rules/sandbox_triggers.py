"""The sandbox's triggers and their outcomes. The rail, the guides and the tests all use these tables."""

from dataclasses import dataclass
from enum import Enum

from payments.rules import outcomes
from payments.rules.outcomes import Outcome

SMALLEST_TRIGGERING_AMOUNT = 10_000  # minor units; smaller amounts always succeed


class Special(Enum):
    """Effects of a trigger other than an outcome."""

    CHALLENGE = "3-D Secure challenge, whatever `3ds` says"
    FRICTIONLESS = "frictionless 3-D Secure, then success"
    LOST_ANSWER = "acquirer timeout: pending until the next query, then success"


@dataclass(frozen=True, slots=True)
class TestCard:
    """A card number with its own outcome, which takes precedence over the amount's."""

    __test__ = False  # pytest would collect it by its name

    number: str
    result: Outcome | Special


TEST_CARDS = (
    TestCard("4084080000005408", outcomes.NOT_SUFFICIENT_FUNDS),
    TestCard("4000000000002503", Special.CHALLENGE),
    TestCard("4000000000002701", Special.FRICTIONLESS),
    TestCard("4000000000002925", outcomes.AUTHENTICATION_FAILED),
)

# By the amount's last two digits, from SMALLEST_TRIGGERING_AMOUNT on.
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

DISPUTED_ENDING = "77"  # a card payment succeeds; POST /api/sandbox/advance has it disputed

LOST_ANSWER_ACCOUNT = "0000000097"  # the answer to a payout to it is lost
RETURNED_ACCOUNT = "0000000096"  # a payout to it succeeds; POST /api/sandbox/advance returns it
OTHER_NAME_ACCOUNT = "0000000095"  # compared with a name, it belongs to another one
SILENT_ACCOUNT = "0000000094"  # compared with a name, the enquiry isn't answered
UNKNOWN_ACCOUNT = "0000000000"  # a name enquiry finds no account
ONE_TIME_CODE = "123456"


def by_amount(
    amount: int, table: dict[str, Outcome | Special] | dict[str, Outcome]
) -> Outcome | Special | None:
    """Return the effect of the amount's last two digits, or None.

    >>> by_amount(10_051, CARD_AMOUNTS).code
    '20051'
    >>> by_amount(9_951, CARD_AMOUNTS) is None
    True
    """
    if amount < SMALLEST_TRIGGERING_AMOUNT:
        return None
    return table.get(f"{amount % 100:02}")


def by_payout(amount: int, account_number: str) -> Outcome | None:
    """Return the outcome if a payout is declined, or None. Special accounts take precedence over the amount.

    >>> by_payout(10_051, "0123456789").gateway_code, by_payout(10_051, RETURNED_ACCOUNT)
    ('51', None)
    """
    if account_number in {LOST_ANSWER_ACCOUNT, RETURNED_ACCOUNT}:
        return None
    decided = by_amount(amount, PAYOUT_AMOUNTS)
    return decided if isinstance(decided, Outcome) else None


def is_disputed(amount: int) -> bool:
    """Return whether a card payment of this amount is disputed when it is advanced.

    >>> is_disputed(10_077), is_disputed(9_977)
    (True, False)
    """
    return amount >= SMALLEST_TRIGGERING_AMOUNT and f"{amount % 100:02}" == DISPUTED_ENDING


def account_name(account_number: str, given_name: str = "") -> str | None:
    """Return the holder of an account for a name enquiry. Compared with a name, most accounts have that name.

    >>> account_name("0123456789"), account_name(UNKNOWN_ACCOUNT), account_name("0123456789", "Ada Obi")
    ('Sandbox Account 6789', None, 'Ada Obi')
    """
    if account_number == UNKNOWN_ACCOUNT:
        return None
    if given_name and account_number != OTHER_NAME_ACCOUNT:
        return given_name
    return f"Sandbox Account {account_number[-4:]}"


def by_card(card_bin: str, last4: str) -> Outcome | Special | None:
    """Return the effect of a test card, identified by its first six and last four digits, or None."""
    return _BY_ENDS.get((card_bin, last4))


_BY_ENDS = {(card.number[:6], card.number[-4:]): card.result for card in TEST_CARDS}

"""Why an attempt failed, in words for the payer. Codes, fraud and stolen cards are never mentioned."""

from payments.models import Transaction
from payments.rules import outcomes
from virtual_accounts.models import Session

BY_CODE = {
    outcomes.NOT_SUFFICIENT_FUNDS.code: (
        "Not enough money on this card for this payment. Use another card or pay by transfer."
    ),
    outcomes.EXPIRED_CARD.code: "This card has expired.",
    outcomes.AUTHENTICATION_FAILED.code: (
        "Your bank could not confirm that it is you. Try again, or use another card."
    ),
}
BY_THE_BANK = frozenset(
    each.code
    for each in (
        outcomes.DO_NOT_HONOUR,
        outcomes.LOST_CARD,
        outcomes.STOLEN_CARD,
        outcomes.NOT_SUFFICIENT_FUNDS,
        outcomes.EXPIRED_CARD,
        outcomes.SUSPECTED_FRAUD,
    )
)  # what others mean isn't known to be an answer of the bank
DECLINED = "Your bank did not accept this payment. Use another card, or ask your bank."
ENDED = "The last attempt was ended. Nothing was paid."
NOT_MADE = "The last attempt was ended."
IS_GIVEN_BACK = "If your bank shows a charge for it, you get the money back."  # `services.cards.late_charges`
MISMATCH = "Your money is not lost: ask the merchant."
SENT_BACK = "Your money is not lost: it is returned to your account."
WINDOW_OVER = "The time to pay is over. Please do not send money to that account any more."
# The field of the card form that a decline is about, and what it says.
FIELDS = {outcomes.EXPIRED_CARD.code: ("expiry", "This card has expired. Use another card.")}
OF_ANOTHER_CARD = ("number", "Use another card.")
ANY_CARD = frozenset(
    {outcomes.AUTHENTICATION_FAILED.code, outcomes.CANCELLED.code}
)  # the card itself may be fine


def title_for_payer(failed: Transaction) -> str:
    """Return the heading above the reason, for a card."""
    if failed.session is not None or failed.response_code == outcomes.CANCELLED.code:
        return ""
    is_by_the_bank = failed.response_code in BY_THE_BANK
    return "Your bank declined this card" if is_by_the_bank else "The payment was not made"


def fields_of(failed: Transaction) -> dict[str, str]:
    """Return the errors of the card form's fields after a decline."""
    if failed.session is not None or failed.response_code in ANY_CARD:
        return {}
    return dict([FIELDS.get(failed.response_code, OF_ANOTHER_CARD)])


def reason_for_payer(failed: Transaction) -> str:
    """Return why an attempt failed, as one or two sentences."""
    if failed.watches.may_be_charged().exists():
        return f"{_what_is_known(failed.response_code)} {IS_GIVEN_BACK}".strip()
    if failed.response_code == outcomes.CANCELLED.code:
        return ENDED
    if failed.session is not None and failed.session.is_sent_back:
        return SENT_BACK
    if failed.session is not None:
        return MISMATCH if failed.session.status == Session.Status.MISMATCH else WINDOW_OVER
    return BY_CODE.get(failed.response_code, DECLINED)


def _what_is_known(code: str) -> str:
    """Return why an attempt failed that may be charged all the same: nothing, if it isn't the bank's answer."""
    if code == outcomes.CANCELLED.code:
        return NOT_MADE
    return BY_CODE.get(code, DECLINED if code in BY_THE_BANK else "")

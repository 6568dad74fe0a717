"""Why a payment failed, in plain words for the merchant: where the cause is, and whether trying again helps.

>>> advice_on("20051").cause
"The customer's bank declined: there isn't enough money on the card."
>>> advice_on("20043").retry, advice_on("99999") == advice_on("20030")
('Trying this card again does not help. Ask for another card or a bank transfer.', True)
"""

from dataclasses import dataclass

from payments.rules import outcomes

OTHER_CARD = "Trying this card again does not help. Ask for another card or a bank transfer."
BANK = "Nothing is wrong on your side."


@dataclass(frozen=True, slots=True)
class Advice:
    """Where the cause of a failure is, and what helps."""

    cause: str
    retry: str


def advice_on(response_code: str) -> Advice:
    """Return the advice on a failed payment, by its response code."""
    return _BY_CODE.get(response_code, _UNEXPLAINED)


_UNEXPLAINED = Advice(
    "The payment was not approved, and the bank gave no reason.",
    f"{BANK} Trying again later can help. If it fails again, the customer should ask their bank or use another card.",
)
_BY_CODE = {
    outcomes.DO_NOT_HONOUR.code: Advice(
        "The customer's bank declined, without saying why.",
        f"{BANK} Trying again can help once the customer has asked their bank. Another card helps at once.",
    ),
    outcomes.NOT_SUFFICIENT_FUNDS.code: Advice(
        "The customer's bank declined: there isn't enough money on the card.",
        f"{BANK} Trying again helps when there is money on the card. A bank transfer or another card helps at once.",
    ),
    outcomes.LOST_CARD.code: Advice("The card was reported lost.", OTHER_CARD),
    outcomes.STOLEN_CARD.code: Advice("The card was reported stolen.", OTHER_CARD),
    outcomes.EXPIRED_CARD.code: Advice("The customer's card has expired.", OTHER_CARD),
    outcomes.SUSPECTED_FRAUD.code: Advice("The customer's bank suspects fraud.", OTHER_CARD),
    outcomes.AUTHENTICATION_FAILED.code: Advice(
        "The customer didn't pass the check of their bank (3-D Secure).",
        f"{BANK} Trying again helps: the customer needs the phone or the app that their bank asks for.",
    ),
    outcomes.AUTHORISATION_EXPIRED.code: Advice(
        "The time to pay was over before the payment was completed.",
        "Nothing was paid. Trying again helps.",
    ),
    outcomes.MISMATCH_CODE: Advice(
        "Another amount arrived than the payment expected.",
        "The payment stays failed. If the customer still wants to pay, send a new link.",
    ),
    outcomes.VOIDED.code: Advice(
        "You voided the payment.", "Nothing was paid. Send a new link if it was a mistake."
    ),
    outcomes.CANCELLED.code: Advice(
        "The payment was cancelled before it was paid.", "Nothing was paid. Trying again helps."
    ),
}

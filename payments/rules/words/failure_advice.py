"""Why a payment failed, in plain words for the merchant: where the cause is, and whether trying again helps.

>>> advice_on("20051").cause
"The customer's bank declined: there isn't enough money on the card."
>>> advice_on("20013").cause, advice_on("20013", is_transfer=True).cause
("The customer's bank approved only a part of the amount.", 'Another amount arrived than the payment expected.')
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


def advice_on(response_code: str, *, gateway_code: str = "", is_transfer: bool = False) -> Advice:
    """Return the advice on a failed payment. Transfers and cards share codes that mean different things."""
    if is_transfer:
        return _OF_TRANSFERS.get(response_code, UNEXPLAINED)
    if (response_code, gateway_code) == (outcomes.REVERSED.code, outcomes.REVERSED.gateway_code):
        return _REVERSED
    return _OF_CARDS.get(response_code, UNEXPLAINED)


UNEXPLAINED = Advice(
    "The payment was not approved, and no reason was given.",
    f"{BANK} Trying again later can help. If it fails again, the customer should ask their bank or use another card.",
)
_CANCELLED = Advice("The payment was cancelled before it was paid.", "Nothing was paid. Trying again helps.")
_REVERSED = Advice(
    "The bank's answer was lost, so the payment was reversed.",
    f"{BANK} The customer keeps the money. Trying again helps.",
)
_OF_CARDS = {
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
    outcomes.PARTLY_APPROVED.code: Advice(
        "The customer's bank approved only a part of the amount.",
        f"{BANK} Nothing was charged. Another card or a bank transfer helps.",
    ),
    outcomes.AUTHORISATION_EXPIRED.code: Advice(
        "The payment was authorised, but you didn't capture it in time.",
        "Nothing was charged. Trying again helps if you capture the payment while it is authorised.",
    ),
    outcomes.VOIDED.code: Advice(
        "You voided the payment.", "Nothing was paid. Send a new link if it was a mistake."
    ),
    outcomes.CANCELLED.code: _CANCELLED,
}
_OF_TRANSFERS = {
    outcomes.MISMATCH_CODE: Advice(
        "Another amount arrived than the payment expected.",
        "The payment stays failed. If the customer still wants to pay, send a new link.",
    ),
    outcomes.TRANSFER_EXPIRED.code: Advice(
        "The customer sent no money in time.", f"{BANK} Nothing was paid. Trying again helps."
    ),
    outcomes.ACCOUNT_DEACTIVATED.code: Advice(
        "The account was deactivated before the money arrived.",
        "The customer did nothing wrong. A new link has another account.",
    ),
    outcomes.CANCELLED.code: _CANCELLED,
}

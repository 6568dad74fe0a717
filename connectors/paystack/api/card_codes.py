"""What Paystack says of a card payment that failed, and what it means for us.

The gateway's code counts, and the ISO 8583 code if it is unknown. Older answers have neither: then it is the text. Only
the status says that a payment succeeded.

>>> outcome_of(code="insufficient_funds", iso="51", text="Declined").code
'20051'
>>> outcome_of(code="", iso="", text="Denied by fraud system").code, outcome_of(code="unknown", iso="41", text="").code
('20083', '20041')
>>> outcome_of(code="", iso="", text="").code, outcome_of(code="", iso="", text="").gateway_code
('20030', '')
"""

from dataclasses import replace

from kit.text.display_names import identifier_text
from payments.rules import outcomes
from payments.rules.outcomes import Outcome

LONGEST_CODE = 8  # characters of `gateway_code`

# An outcome of ours: their `gateway_response_code`s, ISO 8583 codes (with those of American Express), and texts in lower
# case. https://paystack.com/docs/payments/gateway-responses
_DECLINES: tuple[tuple[Outcome, str, str, tuple[str, ...]], ...] = (
    (outcomes.NOT_SUFFICIENT_FUNDS, "insufficient_funds", "51", ("insufficient funds",)),
    (
        outcomes.DO_NOT_HONOUR,
        (
            "do_not_honor declined refer_to_card_issuer transaction_not_permitted_cardholder restricted_card "
            "daily_limit_exceeded withdrawal_frequency_exceeded blocked_by_cardholder card_blocked_first_use "
            "customer_cancellation"
        ),
        "05 100 01 02 57 119 36 62 61 65 9G 78 17",
        ("declined", "do not hono"),
    ),
    (outcomes.LOST_CARD, "pickup_lost_card", "41", ("lost card",)),
    (
        outcomes.STOLEN_CARD,
        "pickup_stolen_card pickup_card pickup_card_special hard_capture",
        "43 04 200 07 67",
        ("stolen card", "pickup card"),
    ),
    (
        outcomes.SUSPECTED_FRAUD,
        "suspected_fraud security_violation call_acquirer_security",
        "34 59 63 37 66",
        ("fraud", "unable to process transaction"),
    ),
    (outcomes.EXPIRED_CARD, "expired_card", "33 54 101", ("expired card",)),
    (
        outcomes.AUTHENTICATION_FAILED,
        "invalid_pin pin_tries_exceeded unable_to_verify_pin pin_cryptographic_error identification_required",
        "55 117 38 75 106 83 81 46 130",
        ("token not generated", "enrolling you for otp", "authentication failed", "incorrect pin"),
    ),
)
_BY_CODE = {code: outcome for outcome, codes, _, _ in _DECLINES for code in codes.split()}
_BY_ISO = {code: outcome for outcome, _, codes, _ in _DECLINES for code in codes.split()}
_UNTOLD = frozenset({"", "unknown"})  # of `gateway_response_code`


def outcome_of(*, code: str, iso: str, text: str) -> Outcome:
    """Return the outcome of a failed payment. Its gateway code is the ISO code, if there is one."""
    found = _BY_CODE.get(code) or (_BY_ISO.get(iso) if code in _UNTOLD else None)
    if not code and not iso:
        found = next(
            (each for each, *_, texts in _DECLINES if any(one in text.lower() for one in texts)), None
        )
    return replace(
        found or outcomes.UNSPECIFIED_FAILURE, gateway_code=identifier_text(iso, length=LONGEST_CODE)
    )

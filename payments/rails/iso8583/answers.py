"""Outcomes of an acquirer's response codes: field 39 of ISO 8583:1987.

Only the listed codes are definite. Any other code, such as a network's private one, has an unknown outcome.

>>> outcome_of("51").code, outcome_of("59").code, outcome_of("61").summary
('20051', '20083', 'Declined - Unspecified failure')
"""

from dataclasses import replace

from payments.rules import outcomes
from payments.rules.outcomes import DO_NOT_RETRY, RETRY, Outcome

ACCEPTED = "00"  # of network messages: sign-on, echo

# Approved; honour with identification; VIP; update track 3.
APPROVED = frozenset({"00", "08", "11", "16"})
NO_REASON_TO_DECLINE = "85"  # approves a card check
PARTLY_APPROVED = outcomes.PARTLY_APPROVED.gateway_code

# Definite refusals; 83 (suspected fraud) is private, but the sandbox's and the simulator's. Not 09 (in progress), 68 (late), 90 (cut-off), 94 (duplicate), 95 and 96 (malfunctions).
REFUSED = frozenset(
    {
        "01", "02", "03", "04", "05", "06", "07", "12", "13", "14", "15", "17", "18", "19", "23", "30", "31",
        "33", "34", "35", "36", "37", "38", "39", "40", "41", "42", "43", "44", "51", "52", "53", "54", "55",
        "56", "57", "58", "59", "60", "61", "62", "63", "65", "66", "67", "75", "83", "91", "92", "93",
    }
)  # fmt: skip
# Of a capture, void or refund also: no such original, and another amount than the original's.
REFUSED_OPERATION = REFUSED | {"25", "64"}

# A reversal is complete: reversed now or earlier (21, 94), or there is no original (25), unless it was approved in part.
REVERSED = frozenset({"00", "21", "94"})
NO_SUCH_ORIGINAL = "25"

_DECLINES = {
    decline.gateway_code: decline
    for decline in outcomes.CARD_DECLINES
    if decline is not outcomes.AUTHENTICATION_FAILED
} | {
    "33": replace(outcomes.EXPIRED_CARD, gateway_code="33"),
    "34": replace(outcomes.SUSPECTED_FRAUD, gateway_code="34"),
    "59": replace(outcomes.SUSPECTED_FRAUD, gateway_code="59"),
}
# Codes about the card or the merchant, which a retry won't change.
_NEVER_AGAIN = frozenset({"03", "04", "07", "12", "14", "15", "35", "36", "37", "57", "58", "62"})


def outcome_of(code: str) -> Outcome:
    """Return the outcome of a definite code."""
    if code in APPROVED or code == NO_REASON_TO_DECLINE:
        return replace(outcomes.COMPLETED, gateway_code=code)
    advice = DO_NOT_RETRY if code in _NEVER_AGAIN else RETRY
    return _DECLINES.get(code) or replace(outcomes.UNSPECIFIED_FAILURE, gateway_code=code, advice=advice)

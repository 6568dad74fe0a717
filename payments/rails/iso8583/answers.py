"""Outcomes of an acquirer's response codes (field 39).

>>> outcome_of("51").code, outcome_of("59").code, outcome_of("61").summary
('20051', '20083', 'Declined - Unspecified failure')
"""

from dataclasses import replace

from payments import outcomes
from payments.outcomes import DO_NOT_RETRY, RETRY, Outcome

APPROVED = "00"

# The outcome is unknown (09, 68, 96), the message is a duplicate (94), or the amount is only partly approved (10).
# Authorisations are then reversed, and other messages repeated.
UNKNOWN = frozenset({"09", "10", "68", "94", "96"})

# A reversal is complete: reversed now or earlier (21, 94), or there is no original (25).
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
    """Return the outcome of a definite answer."""
    if code == APPROVED:
        return outcomes.COMPLETED
    advice = DO_NOT_RETRY if code in _NEVER_AGAIN else RETRY
    return _DECLINES.get(code) or replace(outcomes.UNSPECIFIED_FAILURE, gateway_code=code[:2], advice=advice)

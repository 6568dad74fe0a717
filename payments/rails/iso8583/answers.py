"""What an acquirer's response code (field 39) means to us.

>>> outcome_of("51").code, outcome_of("59").code, outcome_of("61").summary
('20051', '20083', 'Declined - Unspecified failure')
"""

from dataclasses import replace

from payments import outcomes
from payments.outcomes import DO_NOT_RETRY, RETRY, Outcome

APPROVED = "00"

# The acquirer does not know either (09, 68, 96), has seen the message before (94), or has taken another amount
# than we asked for (10). An authorisation is reversed then, anything else asked for again.
UNKNOWN = frozenset({"09", "10", "68", "94", "96"})

# A reversal's work is done: reversed now, before (21, 94), or there was nothing to reverse (25).
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
# They say something about the card or the merchant that a second try does not change.
_NEVER_AGAIN = frozenset({"03", "04", "07", "12", "14", "15", "35", "36", "37", "57", "58", "62"})


def outcome_of(code: str) -> Outcome:
    """Return the outcome of a definite answer."""
    if code == APPROVED:
        return outcomes.COMPLETED
    advice = DO_NOT_RETRY if code in _NEVER_AGAIN else RETRY
    return _DECLINES.get(code) or replace(outcomes.UNSPECIFIED_FAILURE, gateway_code=code[:2], advice=advice)

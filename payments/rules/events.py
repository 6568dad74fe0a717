"""The event of a finished transaction. A card check has none.

>>> event_of("payout", succeeded=False)
'payout.failed'
>>> event_of("card_check", succeeded=True) is None
True

A payment into a dynamic account that received a different amount has its own event.

>>> event_of("payment", succeeded=False, is_dynamic_mismatch=True)
'payment.mismatch'
"""

_EVENTS = {
    ("payment", True): "payment.success",
    ("payment", False): "payment.failed",
    ("payout", True): "payout.success",
    ("payout", False): "payout.failed",
}


def event_of(request_type: str, *, succeeded: bool, is_dynamic_mismatch: bool = False) -> str | None:
    if is_dynamic_mismatch:
        return "payment.mismatch"
    return _EVENTS.get((request_type, succeeded))

"""Which event a finished transaction makes. A card check makes none.

>>> event_of("payout", succeeded=False)
'payout.failed'
>>> event_of("card_check", succeeded=True) is None
True
"""

_EVENTS = {
    ("payment", True): "payment.success",
    ("payment", False): "payment.failed",
    ("payout", True): "payout.success",
    ("payout", False): "payout.failed",
}


def event_of(request_type: str, *, succeeded: bool) -> str | None:
    return _EVENTS.get((request_type, succeeded))

"""Fail a card payment or check that its acquirer refuses for a fault of ours, such as a revoked key.

The order had no effect there, and the card number to repeat it with is gone, so nothing is left to wait for.
"""

from collections.abc import Callable

import structlog

from payments.models import Transaction
from payments.rails.protocol import RailAnswer, RailBlocked
from payments.rules.outcomes import NOTHING_CHARGED

log = structlog.get_logger("sluice.rails")


def answer_of(call: Callable[[], RailAnswer], *, about: Transaction) -> RailAnswer:
    """Return an acquirer's answer, or that it refuses our account.

    :raises AnswerLost: the acquirer gave no definite answer
    """
    try:
        return call()
    except RailBlocked as blocked:
        log.error("acquirer refuses our account", account=about.account, reason=blocked.reason)  # noqa: TRY400  (the reason is enough)
        return RailAnswer(outcome=NOTHING_CHARGED)

"""Fail a card payment or check that its acquirer refuses for a fault of ours, such as a revoked key.

The order had no effect there, and the card number to repeat it with is gone, so nothing is left to wait for. The account
is blocked (`rail_queries/rail_blocks.py`): the next requests get 503 before anything is stored.
"""

from collections.abc import Callable
from dataclasses import replace

from payments.rails.protocol import NotSent, RailAnswer, RailBlocked
from payments.rules.outcomes import NOTHING_CHARGED


def answer_of(call: Callable[[], RailAnswer]) -> RailAnswer:
    """Return an acquirer's answer to a new order, which says whether our account is blocked there.

    :raises AnswerLost: the acquirer gave no definite answer
    """
    try:
        return replace(call(), is_accepted=True)
    except NotSent:
        return RailAnswer(outcome=NOTHING_CHARGED)  # which says nothing about the account
    except RailBlocked as blocked:
        return RailAnswer(outcome=NOTHING_CHARGED, blocked_reason=blocked.reason)

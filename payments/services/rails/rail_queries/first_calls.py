"""The first call of an order to its rail, under the lease that the order was created with."""

from collections.abc import Callable
from contextlib import suppress

from django.db import DatabaseError

from kit.db import clock
from payments.rails.protocol import AnswerLost, RailAnswer, RailBlocked
from payments.services.rails.rail_queries import query_leases, rail_blocks
from payments.services.rails.rail_queries.query_leases import Unanswered
from payments.services.refunds import return_attention


def answer_to(call: Callable[[], RailAnswer], *, about: Unanswered) -> RailAnswer | None:
    """Call a rail under the lease that a subject was created with.

    Returns None if the answer was lost. Unless the outcome is known, the lease is released, so that `requery` may query
    it at once. The rail's identifiers are stored even then.
    """
    answer = None
    try:
        answer = call()
        rail_blocks.follow(answer, about=about, now=clock.now())
        if not answer.is_definite:
            keep_unknown(about, answer)
    except RailBlocked as blocked:
        rail_blocks.record(blocked, about=about, now=clock.now())
        return None
    except AnswerLost:
        return None
    finally:
        if answer is None or not answer.is_definite:
            with suppress(DatabaseError):  # the lease expires anyway
                query_leases.release(about)
    return answer


def keep_unknown(subject: Unanswered, answer: RailAnswer) -> None:
    """Store what an answer tells although the outcome is still unknown: the rail's identifiers, and what staff must do."""
    subject.keep_identifiers(answer)
    return_attention.keep_attention(subject, answer.attention)

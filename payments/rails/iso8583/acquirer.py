"""The connector: maps orders to messages and answers to outcomes (decisions 0021 and 0019).

An authorisation without an answer is reversed. It can't be repeated, because the card number isn't stored, and
ISO 8583:1987 has no message to query it. A capture, void or refund needs no card number, so it is repeated with the
same STAN and RRN until it is answered.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from kit.db import clock
from kit.text.display_names import identifier_text
from payments.rails.iso8583 import messages
from payments.rails.iso8583.answers import (
    APPROVED,
    NO_REASON_TO_DECLINE,
    NO_SUCH_ORIGINAL,
    PARTLY_APPROVED,
    REFUSED,
    REFUSED_OPERATION,
    REVERSED,
    outcome_of,
)
from payments.rails.iso8583.connection import Link, LinkSettings, NotSent, Unanswered
from payments.rails.iso8583.messages import LARGEST_AMOUNT, Acceptor, Message
from payments.rails.iso8583.wire import UnencodableField
from payments.rails.protocol import (
    ActionKind,
    AnswerLost,
    CannotTell,
    CardCapabilities,
    CardOrder,
    OperationOrder,
    RailAnswer,
    Reverses,
    ThreeDSecureSupport,
)
from payments.rules import outcomes
from payments.rules.cards import Card
from payments.rules.outcomes import Outcome

REQUIRED = ("ACQUIRER_HOST", "ACQUIRER_TERMINAL_ID", "ACQUIRER_MERCHANT_ID", "ACQUIRER_INSTITUTION_ID")
LENGTHS = {"ACQUIRER_TERMINAL_ID": 8, "ACQUIRER_MERCHANT_ID": 15, "ACQUIRER_INSTITUTION_ID": 11}
# An authorisation is sent within this time of its intent or not at all. An unanswered one is reversed after ten
# seconds, and an acquirer may accept an authorisation that arrives after its reversal.
SEND_WITHIN = 5.0  # seconds
CONNECTION_WAIT = 2.0  # seconds that a request waits for a connection before it returns 503

INVALID_AMOUNT, FORMAT_ERROR, NO_CONNECTION = "13", "30", "91"

BUILDERS = {"capture": messages.completion, "refund": messages.refund, "void": messages.cancellation}


class Iso8583Acquirer:
    """An acquirer at the other end of a TCP connection."""

    name = "iso8583"
    capabilities = CardCapabilities(three_d_secure=ThreeDSecureSupport.NEVER, maximum_amount=LARGEST_AMOUNT)
    reverses = Reverses.DEFINITE

    def __init__(self) -> None:
        missing = [name for name in REQUIRED if not getattr(settings, name)]
        if missing:
            raise ImproperlyConfigured(f"The ISO 8583 acquirer needs {' and '.join(missing)}.")
        self.link = Link(_link_settings())
        self._acceptor = _acceptor()

    @cached_property
    def account(self) -> str:
        """Where messages go, and for which institution and terminal."""
        place = f"{settings.ACQUIRER_HOST}:{settings.ACQUIRER_PORT}"
        return f"iso8583:{place}/{self._acceptor.institution_id}/{self._acceptor.terminal_id}"

    def is_available(self) -> bool:
        return self.link.is_up(within=CONNECTION_WAIT)

    def authorise(self, order: CardOrder, *, card: Card) -> RailAnswer:
        if order.amount > LARGEST_AMOUNT:
            return RailAnswer(outcome=outcome_of(INVALID_AMOUNT))
        question = messages.authorisation(order, card=card, acceptor=self._acceptor)
        try:
            answer = self.link.exchange(question, send_by=_send_by(order))
        except NotSent:
            return RailAnswer(outcome=outcome_of(NO_CONNECTION))
        except UnencodableField:
            return RailAnswer(outcome=outcome_of(FORMAT_ERROR))
        except Unanswered:
            raise AnswerLost from None
        if answer.response_code == PARTLY_APPROVED and order.amount:
            return RailAnswer(outcome=outcomes.PARTLY_APPROVED, must_be_reversed=True)
        is_check = order.amount == 0
        definite = APPROVED | REFUSED | ({NO_REASON_TO_DECLINE} if is_check else set())
        return _rail_answer(answer, _definite(answer, definite), order)

    verify = authorise

    def answer_action(self, order: CardOrder, *, kind: ActionKind, value: Mapping[str, str]) -> RailAnswer:
        raise AnswerLost  # nothing is ever asked of a payer here

    def query(self, order: CardOrder) -> RailAnswer:
        raise CannotTell

    def reverse(self, order: CardOrder, *, is_repeat: bool) -> None:
        if order.amount == 0:
            return  # a card check reserves nothing
        answer = self._repeatable(messages.reversal(order, acceptor=self._acceptor, is_repeat=is_repeat))
        # An acquirer that approved the original and doesn't find it has reversed nothing.
        confirmed = REVERSED if order.is_partly_approved else REVERSED | {NO_SUCH_ORIGINAL}
        if answer.response_code not in confirmed:
            raise AnswerLost

    def operate(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        return self._operate(order, operation, is_repeat=False)

    def query_operation(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        return self._operate(order, operation, is_repeat=True)

    def _operate(self, order: CardOrder, operation: OperationOrder, *, is_repeat: bool) -> RailAnswer:
        make = BUILDERS[operation.kind]
        answer = self._repeatable(make(order, operation, acceptor=self._acceptor, is_repeat=is_repeat))
        if operation.kind == "void" and answer.response_code in REVERSED:
            return _rail_answer(answer, outcomes.COMPLETED, order)
        return _rail_answer(answer, _definite(answer, APPROVED | REFUSED_OPERATION), order)

    def _repeatable(self, question: Message) -> Message:
        """Send a message that is repeated until it is answered.

        An unsent message also has an unknown outcome, because another process may be repeating it.
        """
        try:
            return self.link.exchange(question)
        except (NotSent, Unanswered):
            raise AnswerLost from None


def _send_by(order: CardOrder) -> float:
    """Return the deadline for sending an authorisation, on the monotonic clock."""
    started_at = clock.steady()  # read first, so that a delay can only make the deadline earlier
    age = (clock.now() - order.created_at).total_seconds()
    return started_at + SEND_WITHIN - age


def _definite(answer: Message, codes: AbstractSet[str]) -> Outcome:
    """Return the outcome if the code is one of these.

    :raises AnswerLost: it isn't
    """
    if answer.response_code not in codes:
        raise AnswerLost
    return outcome_of(answer.response_code)


def _rail_answer(answer: Message, outcome: Outcome, order: CardOrder) -> RailAnswer:
    approved = outcome.is_success
    return RailAnswer(
        outcome=outcome,
        authorization_code=identifier_text(answer.fields.get(38), length=6) if approved else "",
        acquirer_transaction_id=identifier_text(answer.fields.get(63), length=64),
        merchant_descriptor=order.descriptor if approved else "",
    )


def _link_settings() -> LinkSettings:
    return LinkSettings(
        host=settings.ACQUIRER_HOST,
        port=settings.ACQUIRER_PORT,
        uses_tls=settings.ACQUIRER_TLS,
        timeout=settings.ACQUIRER_TIMEOUT,
        echo_interval=settings.ACQUIRER_ECHO_INTERVAL,
    )


def _acceptor() -> Acceptor:
    for name, longest in LENGTHS.items():
        if len(getattr(settings, name)) > longest:
            raise ImproperlyConfigured(f"{name} may have at most {longest} characters.")
    return Acceptor(
        terminal_id=settings.ACQUIRER_TERMINAL_ID,
        merchant_id=settings.ACQUIRER_MERCHANT_ID,
        category_code=settings.ACQUIRER_MERCHANT_CATEGORY,
        country=settings.ACQUIRER_COUNTRY,
        institution_id=settings.ACQUIRER_INSTITUTION_ID,
        place=settings.ACQUIRER_PLACE,
    )

"""The sandbox's acquirer and bank, which answer by the outcomes table.

Answers depend only on the order, so a query from any process returns the same one. A lost answer is decided but not
returned; a later query returns it.
"""

import hashlib
from collections.abc import Mapping
from uuid import UUID

from kit.connectors.capabilities import Capabilities
from payments.rails.protocol import (
    ActionKind,
    AnswerLost,
    CardCapabilities,
    CardOrder,
    OperationOrder,
    PayerAction,
    PayoutOrder,
    RailAnswer,
    Reverses,
    ThreeDSecureSupport,
)
from payments.rules import outcomes, sandbox_triggers
from payments.rules.cards import Card, has_expired
from payments.rules.outcomes import Outcome
from payments.rules.sandbox_triggers import Special

CHALLENGE = RailAnswer(outcome=outcomes.PROCESSING, action=PayerAction(kind=ActionKind.OTP))


class SandboxAcquirer:
    """An acquirer that decides by test card, expiry date and amount, in this order."""

    name = account = "sandbox"
    capabilities = CardCapabilities(three_d_secure=ThreeDSecureSupport.ON_REQUEST)
    reverses = Reverses.DEFINITE

    def is_available(self) -> bool:
        return True

    def authorise(self, order: CardOrder, *, card: Card) -> RailAnswer:
        return CHALLENGE if _needs_challenge(order) else self._authorised(order)

    def verify(self, order: CardOrder, *, card: Card) -> RailAnswer:
        return self._answer(order, self._decide(order))

    def answer_action(self, order: CardOrder, *, kind: ActionKind, value: Mapping[str, str]) -> RailAnswer:
        is_right = value[kind] == sandbox_triggers.ONE_TIME_CODE
        return self._authorised(order) if is_right else CHALLENGE

    def _authorised(self, order: CardOrder) -> RailAnswer:
        decided = self._decide(order)
        if decided is Special.LOST_ANSWER:
            raise AnswerLost
        return self._answer(order, decided)

    def query(self, order: CardOrder) -> RailAnswer:
        return CHALLENGE if _needs_challenge(order) else self._answer(order, self._decide(order))

    def reverse(self, order: CardOrder, *, is_repeat: bool) -> None:
        """Do nothing. Never called, because `query` always answers."""

    def operate(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        if self._decide_operation(operation) is Special.LOST_ANSWER:
            raise AnswerLost
        return self.query_operation(order, operation)

    def query_operation(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        return self._answer(order, self._decide_operation(operation))

    def _decide(self, order: CardOrder) -> Outcome | Special | None:
        return _card_refusal(order) or _by_amount(order)

    def _decide_operation(self, operation: OperationOrder) -> Outcome | Special | None:
        tables = {"capture": sandbox_triggers.CAPTURE_AMOUNTS, "refund": sandbox_triggers.REFUND_AMOUNTS}
        return sandbox_triggers.by_amount(operation.amount, tables.get(operation.kind, {}))

    def _answer(self, order: CardOrder, decided: Outcome | Special | None) -> RailAnswer:
        digest = int.from_bytes(hashlib.sha256(order.id.bytes).digest()[:12])
        if isinstance(decided, Outcome):
            return RailAnswer(outcome=decided, acquirer_transaction_id=f"{digest % 10**21:021}")
        return RailAnswer(
            outcome=outcomes.COMPLETED,
            authorization_code=f"{digest % 10**6:06}",
            acquirer_transaction_id=f"{digest % 10**21:021}",
            merchant_descriptor=order.descriptor,
        )


class SandboxBank:
    """A bank that decides by amount. For one account number its answer is lost."""

    name = account = "sandbox"
    capabilities = Capabilities()

    def is_available(self) -> bool:
        return True

    def send(self, order: PayoutOrder) -> RailAnswer:
        if order.account_number == sandbox_triggers.LOST_ANSWER_ACCOUNT:
            raise AnswerLost
        return self.query(order)

    def query(self, order: PayoutOrder) -> RailAnswer:
        refused = sandbox_triggers.by_payout(order.amount, order.account_number)
        if refused is not None:
            return RailAnswer(outcome=refused)
        return RailAnswer(outcome=outcomes.COMPLETED, acquirer_transaction_id=_session_id(order.id))

    def account_name(self, *, account_number: str, nip_code: str, given_name: str = "") -> str | None:
        if given_name and account_number == sandbox_triggers.SILENT_ACCOUNT:
            raise AnswerLost
        return sandbox_triggers.account_name(account_number, given_name)


def _session_id(order_id: UUID) -> str:
    """Return a NIP session id: 30 digits."""
    return f"{int.from_bytes(hashlib.sha256(order_id.bytes).digest()[:16]) % 10**30:030}"


def _card_refusal(order: CardOrder) -> Outcome | None:
    """Return the outcome if this card is declined at any amount, or None."""
    if has_expired(month=order.card_expiry_month, year=order.card_expiry_year, now=order.created_at):
        return outcomes.EXPIRED_CARD
    by_card = sandbox_triggers.by_card(order.card_bin, order.card_last4)
    return by_card if isinstance(by_card, Outcome) else None


def _by_amount(order: CardOrder) -> Outcome | Special | None:
    if sandbox_triggers.by_card(order.card_bin, order.card_last4) is Special.FRICTIONLESS:
        return None  # succeeds at any amount
    return sandbox_triggers.by_amount(order.amount, sandbox_triggers.CARD_AMOUNTS)


def _needs_challenge(order: CardOrder) -> bool:
    is_check = order.amount == 0
    if is_check or order.has_passed_challenge or _card_refusal(order) is not None:
        return False
    by_card = sandbox_triggers.by_card(order.card_bin, order.card_last4)
    if by_card is Special.CHALLENGE:
        return True
    if by_card is Special.FRICTIONLESS:
        return False
    return order.three_ds.enabled and order.three_ds.challenge_preference != "no_challenge"

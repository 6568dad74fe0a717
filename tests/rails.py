"""Connectors that misbehave or record their calls. Settings name them like any other connector."""

import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn
from uuid import UUID

from django.db import OperationalError

from kit.connectors.capabilities import Capabilities
from payments.rails.protocol import (
    AnswerLost,
    CardCapabilities,
    CardOrder,
    OperationOrder,
    PayoutOrder,
    RailAnswer,
    ThreeDSecureSupport,
)
from payments.rails.sandbox import SandboxAcquirer, SandboxBank
from payments.rules.cards import Card
from payments.rules.outcomes import DO_NOT_HONOUR, PROCESSING
from virtual_accounts.providers.protocol import AccountCapabilities
from virtual_accounts.providers.sandbox import SandboxProvider


class CardLeakingAcquirer(SandboxAcquirer):
    """Raises an exception whose message contains the card, as a careless connector might."""

    name = account = "card-leaking"

    def is_available(self) -> bool:
        return True

    def authorise(self, _order: object, *, card: Card, **_: object) -> NoReturn:
        number, cvv = card.secret.reveal_number(), card.secret.reveal_cvv()
        raise RuntimeError(f"No route for pan={number} cvv={cvv}")

    verify = authorise


class AcquirerWithoutDatabase(SandboxAcquirer):
    """Fails with a database error during every call."""

    name = account = "without-database"

    def is_available(self) -> bool:
        return True

    def authorise(self, _order: object, **_: object) -> NoReturn:
        raise OperationalError("connection to server was lost: 10.0.0.7")

    verify = authorise


class RecordingAcquirer(SandboxAcquirer):
    """Writes a line for each call into the file that RECORDED_CALLS names, so that tests can count them."""

    def authorise(self, order: CardOrder, **rest: Any) -> RailAnswer:
        self._record("authorise", order)
        return super().authorise(order, **rest)

    def verify(self, order: CardOrder, **rest: Any) -> RailAnswer:
        self._record("verify", order)
        return super().verify(order, **rest)

    def operate(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        self._record(operation.kind, order)
        return super().operate(order, operation)

    def _record(self, call: str, order: CardOrder) -> None:
        with Path(os.environ["RECORDED_CALLS"]).open("a") as file:
            file.write(f"{call} {order.id}\n")


class DeliberateAcquirer(SandboxAcquirer):
    """Takes a third of a second for each authorisation, so that a test can kill its process meanwhile."""

    def authorise(self, order: CardOrder, **rest: Any) -> RailAnswer:
        time.sleep(1 / 3)
        return super().authorise(order, **rest)


class CrashingAcquirer(SandboxAcquirer):
    """Executes each order, and then fails with an unexpected error."""

    def authorise(self, order: CardOrder, **rest: Any) -> NoReturn:
        super().authorise(order, **rest)
        raise LookupError("the answer has a form that the connector does not know")

    def operate(self, order: CardOrder, operation: OperationOrder) -> NoReturn:
        super().operate(order, operation)
        raise LookupError("the answer has a form that the connector does not know")


class FailingQueryAcquirer(SandboxAcquirer):
    """Fails to query orders with an amount of 666, and answers all others."""

    def query(self, order: CardOrder) -> RailAnswer:
        if order.amount == 666:
            raise LookupError("no such order")
        return super().query(order)


class SlowAcquirer(SandboxAcquirer):
    """Answers "processing" at first, and returns the outcome when it is queried."""

    def authorise(self, order: CardOrder, **rest: Any) -> RailAnswer:
        return _not_yet(super().authorise(order, **rest))

    def operate(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        return _not_yet(super().operate(order, operation))


class SilentAcquirer(SandboxAcquirer):
    """Answers every query with "processing"."""

    def query(self, order: CardOrder) -> RailAnswer:
        return _not_yet(super().query(order))

    def query_operation(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        return _not_yet(super().query_operation(order, operation))


class RefusingAcquirer(SandboxAcquirer):
    """Refuses every capture, void and refund."""

    def operate(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        return replace(self.query_operation(order, operation), outcome=DO_NOT_HONOUR)


class UncallableAcquirer(SandboxAcquirer):
    """Fails the test if a capture, void or refund is sent."""

    def operate(self, order: CardOrder, operation: OperationOrder) -> NoReturn:
        raise AssertionError(f"Unexpected {operation.kind} of {order.id} at the acquirer.")


class AcquirerWithoutThreeDSecure(SandboxAcquirer):
    """Has no 3-D Secure."""

    capabilities = CardCapabilities(three_d_secure=ThreeDSecureSupport.NEVER)


class LimitedAcquirer(SandboxAcquirer):
    """Only takes payments in NGN of NGN 50 to NGN 1,000 in full naira, which are captured at once and refunded in full."""

    capabilities = CardCapabilities(
        three_d_secure=ThreeDSecureSupport.PROVIDER_DECIDES,
        captures_later=False,
        voids=False,
        partial_refunds=False,
        checks_cards=False,
        currencies=frozenset({"NGN"}),
        minimum_amount={"NGN": 5_000},
        maximum_amount=100_000,
        amount_multiple_of={"NGN": 100},
    )


class CoarseAcquirer(SandboxAcquirer):
    """Takes multiples of ten only, as Checkout.com does in currencies with three decimals."""

    capabilities = replace(SandboxAcquirer.capabilities, amount_multiple_of={"NGN": 10})


class UnreachableLimitedAcquirer(LimitedAcquirer):
    """Is limited, and can't be reached."""

    def is_available(self) -> bool:
        return False


class HostedAcquirer(SandboxAcquirer):
    """Takes cards on its own page only."""

    capabilities = CardCapabilities(three_d_secure=ThreeDSecureSupport.ON_REQUEST, hosted_only=True)


class LimitedBank(SandboxBank):
    """Pays out in NGN, from NGN 100."""

    capabilities = Capabilities(currencies=frozenset({"NGN"}), minimum_amount={"NGN": 10_000})


class LimitedProvider(SandboxProvider):
    """Hosts accounts in NGN. Payments into them take 15 minutes to 8 hours, from NGN 100."""

    capabilities = AccountCapabilities(
        currencies=frozenset({"NGN"}),
        minimum_amount={"NGN": 10_000},
        shortest_session=15 * 60,
        longest_session=8 * 3600,
    )


class SlowBank(SandboxBank):
    """Accepts a transfer, and returns its outcome when it is queried."""

    def send(self, order: PayoutOrder) -> RailAnswer:
        return _not_yet(super().query(order))


def _not_yet(answer: RailAnswer) -> RailAnswer:
    return replace(answer, outcome=PROCESSING, authorization_code="", acquirer_transaction_id="")


class UncallableBank(SandboxBank):
    """Fails the test if a payout is sent or queried."""

    def send(self, order: PayoutOrder) -> NoReturn:
        raise AssertionError(f"Unexpected payout of {order.amount} at the bank.")

    query = send


class HangingBank(SandboxBank):
    """Answers no query until `may_answer` is set. Records all queries and the highest number of
    concurrent ones.
    """

    may_answer = threading.Event()
    queries: ClassVar[list[UUID]] = []
    in_progress: ClassVar[set[UUID]] = set()
    most_concurrent = 0
    duplicate_queries: ClassVar[list[UUID]] = []
    _lock = threading.Lock()

    @classmethod
    def hang(cls) -> None:
        cls.may_answer.clear()
        cls.queries.clear()
        cls.duplicate_queries.clear()
        cls.most_concurrent = 0

    def send(self, order: PayoutOrder) -> NoReturn:
        raise AnswerLost

    def query(self, order: PayoutOrder) -> RailAnswer:
        with self._lock:
            self.queries.append(order.id)
            if order.id in self.in_progress:
                self.duplicate_queries.append(order.id)
            self.in_progress.add(order.id)
            type(self).most_concurrent = max(self.most_concurrent, len(self.in_progress))
        try:
            assert self.may_answer.wait(60)
            return super().query(order)
        finally:
            with self._lock:
                self.in_progress.discard(order.id)


class SilentBank(SandboxBank):
    """Loses every answer."""

    def send(self, order: PayoutOrder) -> NoReturn:
        raise AnswerLost

    def query(self, order: PayoutOrder) -> NoReturn:
        raise AnswerLost


class OtherBank(UncallableBank):
    """A bank other than the one that an earlier order was sent to."""

    name = account = "another"


class RecordingProvider(SandboxProvider):
    """An account provider that records its calls, and fails or hangs if a test requires it."""

    PATIENCE = 20  # seconds: the longest that it hangs
    calls: ClassVar[list[tuple[str, str]]] = []
    fails = False
    may_answer = threading.Event()

    @classmethod
    def begin(cls) -> None:
        cls.calls.clear()
        cls.fails = False
        cls.may_answer.set()

    def close(self, number: str) -> None:
        self._answer("close", number)

    def reopen(self, number: str) -> None:
        self._answer("reopen", number)

    def _answer(self, kind: str, number: str) -> None:
        self.calls.append((kind, number))
        self.may_answer.wait(self.PATIENCE)
        if self.fails:
            raise AnswerLost

"""An acquirer whose answers are scripted by a test. It can ask a payer for anything, lose answers, and records its calls.

`use_scripted_acquirer` makes it the acquirer of new transactions.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from payments.rails.protocol import (
    ActionKind,
    AnswerLost,
    CardCapabilities,
    CardOrder,
    OperationOrder,
    PayerAction,
    RailAnswer,
    Reverses,
    ThreeDSecureSupport,
)
from payments.rules import outcomes
from payments.rules.cards import Card
from payments.rules.outcomes import Outcome

Answer: TypeAlias = RailAnswer | Exception | Callable[[], RailAnswer]

LOST = AnswerLost()


@dataclass(frozen=True)
class Call:
    """A call that the acquirer got."""

    name: str
    order: CardOrder
    operation: OperationOrder | None = None
    kind: str = ""
    value: Mapping[str, str] | None = None


class ScriptedAcquirer:
    """Answers each call with the next answer of its script. Without one, the test fails."""

    name = account = "scripted"
    capabilities = CardCapabilities(three_d_secure=ThreeDSecureSupport.ON_REQUEST)
    reverses = Reverses.DEFINITE
    is_up = True
    calls: ClassVar[list[Call]] = []
    _scripts: ClassVar[dict[str, deque[Answer]]] = defaultdict(deque)

    @classmethod
    def begin(cls) -> None:
        """Forget every call and script."""
        cls.is_up = True
        cls.calls.clear()
        cls._scripts.clear()

    @classmethod
    def answers(cls, name: str, *answers: Answer) -> None:
        """Add answers to the script of the calls of this name. An exception is raised, a function is called."""
        cls._scripts[name].extend(answers)

    @classmethod
    def calls_of(cls, name: str) -> list[Call]:
        return [call for call in cls.calls if call.name == name]

    def is_available(self) -> bool:
        return self.is_up

    def authorise(self, order: CardOrder, *, card: Card) -> RailAnswer:
        return self._answer(Call("authorise", order))

    def verify(self, order: CardOrder, *, card: Card) -> RailAnswer:
        return self._answer(Call("verify", order))

    def answer_action(self, order: CardOrder, *, kind: ActionKind, value: Mapping[str, str]) -> RailAnswer:
        return self._answer(Call("answer_action", order, kind=kind, value=value))

    def query(self, order: CardOrder) -> RailAnswer:
        return self._answer(Call("query", order))

    def reverse(self, order: CardOrder, *, is_repeat: bool) -> None:
        self._answer(Call("reverse", order))

    def operate(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        return self._answer(Call("operate", order, operation))

    def query_operation(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        return self._answer(Call("query_operation", order, operation))

    def _answer(self, call: Call) -> RailAnswer:
        self.calls.append(call)
        script = self._scripts[call.name]
        assert script, f"No answer is scripted for this {call.name}."
        answer = script.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, RailAnswer) else answer()


def use_scripted_acquirer(settings: Any) -> type[ScriptedAcquirer]:
    settings.CARD_ACQUIRER = f"{__name__}.{ScriptedAcquirer.__name__}"
    ScriptedAcquirer.begin()
    return ScriptedAcquirer


def asks(kind: ActionKind, prompt: str = "", url: str = "", **answered: Any) -> RailAnswer:
    action = PayerAction(kind=kind, prompt=prompt, url=url)
    return RailAnswer(outcome=outcomes.PROCESSING, action=action, **answered)


def redirects(url: str = "https://bank.example/acs?id=7", **answered: Any) -> RailAnswer:
    return asks(ActionKind.REDIRECT, url=url, **answered)


def ends(outcome: Outcome = outcomes.COMPLETED, **answered: Any) -> RailAnswer:
    return RailAnswer(outcome=outcome, **answered)


PENDING = RailAnswer(outcome=outcomes.PROCESSING)

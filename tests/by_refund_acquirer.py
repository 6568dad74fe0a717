"""A scripted acquirer that takes back only what it knows, as most providers do, and its usual answers."""

from typing import Any, TypeAlias

from payments.rails.protocol import AnswerLost, NoRecord, RailAnswer, Reverses
from payments.rules.outcomes import (
    AUTHENTICATION_FAILED,
    COMPLETED,
    DO_NOT_HONOUR,
    PARTLY_APPROVED,
    PROCESSING,
)
from tests.scripted_acquirer import Answer, Call, ScriptedAcquirer, redirects

BY_REFUND = "tests.by_refund_acquirer.ByRefundAcquirer"

APPROVED = RailAnswer(
    outcome=COMPLETED,
    acquirer_reference="pay_1",
    acquirer_transaction_id="102828",
    authorization_code="591055",
)
DECLINED = RailAnswer(outcome=DO_NOT_HONOUR)
NOT_AUTHENTICATED = RailAnswer(outcome=AUTHENTICATION_FAILED)
PARTLY = RailAnswer(outcome=PARTLY_APPROVED, must_be_reversed=True)
PENDING = RailAnswer(outcome=PROCESSING, acquirer_reference="pay_1")
ACCEPTED = RailAnswer(outcome=PROCESSING, acquirer_reference="act_1")
REDIRECT = redirects(acquirer_reference="pay_1")
LOST, UNKNOWN = AnswerLost(), NoRecord()
DONE = None  # of a reversal

Scripted: TypeAlias = Answer | None


class ByRefundAcquirer(ScriptedAcquirer):
    """Repeats the last answer of each script."""

    name = account = "by_refund"
    reverses = Reverses.BY_REFUND

    @classmethod
    def answers(cls, name: str, *answers: Scripted) -> None:
        """Replace the script of the calls of this name. An exception is raised, a function is called for the answer."""
        cls._scripts[name].clear()
        cls._scripts[name].extend(answers)

    @classmethod
    def count(cls, name: str) -> int:
        return len(cls.calls_of(name))

    def _answer(self, call: Call) -> Any:
        self.calls.append(call)
        script = self._scripts[call.name]
        assert script, f"No answer is scripted for this {call.name}."
        answer = script.popleft() if len(script) > 1 else script[0]
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer

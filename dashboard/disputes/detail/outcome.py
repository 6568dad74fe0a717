"""Where a dispute stands, said plainly: what to do, what is waited for, or how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dashboard.ui.deadlines import time_left
from dashboard.ui.times import moment_text
from disputes.models import Dispute
from disputes.services.answers import answer_files
from disputes.services.rails import outbox
from kit.money.money import money
from payments.rules.words.dispute_words import FOR_THE_BUSINESS, Status


@dataclass(frozen=True, slots=True)
class Outcome:
    """A heading, a sentence, and the tone of both."""

    tone: str  # of callouts
    name: str
    text: str
    icon: str = ""  # instead of that of the tone


def outcome_of(dispute: Dispute, *, now: datetime) -> Outcome:
    if dispute.status == Status.NEEDS_RESPONSE:
        return Outcome("warning", _deadline(dispute, now=now), _what_silence_costs(dispute), icon="clock")
    if dispute.status == Status.UNDER_REVIEW:
        return _under_review(dispute)
    return _ended(dispute)


def _under_review(dispute: Dispute) -> Outcome:
    if answer_files.is_unsent(dispute) or outbox.is_being_sent(dispute):
        text = f"After that, the cardholder's bank decides. {_held_until_then(dispute)}"
        return Outcome("plain", "Your answer is being sent", text)
    return Outcome("plain", "The cardholder's bank is deciding", _held_until_then(dispute))


def _deadline(dispute: Dispute, *, now: datetime) -> str:
    if dispute.respond_by is None:
        return "Respond to this dispute"
    if dispute.is_overdue(at=now):
        return f"The time to respond ended on {moment_text(dispute.respond_by)}"
    return f"Respond by {moment_text(dispute.respond_by)}. {time_left(dispute.respond_by, now=now).text}"


def _what_silence_costs(dispute: Dispute) -> str:
    if not dispute.moves_money:
        return "This is a question of the cardholder's bank, and no money moves. Without a response, it may become a chargeback. You can respond once."
    return f"You can respond once. Without a response the dispute is lost, and the cardholder gets {_money(dispute, dispute.amount)}."


def _held_until_then(dispute: Dispute) -> str:
    if not dispute.moves_money:
        return "No money moves in an inquiry."
    return f"{_money(dispute, dispute.amount)} stays held until then. You'll get an email about the decision."


def _ended(dispute: Dispute) -> Outcome:
    back, lost = dispute.outcome_amount or 0, dispute.amount_lost
    fee = f" The fee of {_money(dispute, dispute.fee)} was given back." if _is_fee_returned(dispute) else ""
    if not dispute.moves_money:
        return Outcome(*_of_inquiry(dispute))
    if dispute.status in FOR_THE_BUSINESS:
        name = "You won this dispute" if dispute.status == Status.WON else "The dispute was withdrawn"
        name = f"{name} in part" if lost else name
        rest = f" The cardholder keeps {_money(dispute, lost)}." if lost else ""
        return Outcome("success", name, f"You got {_money(dispute, back)} back.{rest}{fee}")
    given_back = f" You got {_money(dispute, back)} back." if back else ""
    gone = f"The cardholder got {_money(dispute, lost)}.{given_back}" if lost else given_back.strip()
    if dispute.status == Status.ACCEPTED:
        return Outcome("plain", "You accepted this dispute", gone)
    if dispute.status == Status.EXPIRED:
        return Outcome("danger", "This dispute is lost", f"There was no response in time. {gone}")
    return Outcome("danger", "You lost this dispute", gone)


def _of_inquiry(dispute: Dispute) -> tuple[str, str, str]:
    if dispute.status == Status.EXPIRED:
        return (
            "danger",
            "There was no response in time",
            "No money moved. The inquiry may become a chargeback.",
        )
    return "plain", "This inquiry has ended", "No money moved."


def _is_fee_returned(dispute: Dispute) -> bool:
    return any(step.fee < 0 for step in dispute.steps.all())


def _money(dispute: Dispute, amount: int) -> str:
    return money(amount, dispute.currency)

"""What an acquirer reports about a case, in our words, whether by a file, an answer or the sandbox."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from disputes.models import DisputeReport
from kit.text.masking import mask_card_numbers
from kit.time.timestamps import timestamp
from payments.rules.words.dispute_words import Reason, Stage, Status

NETWORK_DEADLINE = "network_due_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedCase:
    """A case at one stage, as an acquirer reported it. Amounts are minor units."""

    connector: str
    account: str
    case_number: str
    stage: Stage
    status: Status
    amount: int
    currency: str
    reason: Reason
    network_reason: str = ""
    rrn: str = ""
    acquirer_reference: str = ""  # one that looks like a card number is matched as it is, and stored masked
    payment: UUID | None = None  # our own id, which the provider repeats
    acquirer_payment: str = ""  # the provider's id of the payment, which we sent or received
    respond_by: datetime | None = None
    network_due_at: datetime | None = None  # the network's deadline, where it is reported
    opened_at: datetime | None = None
    outcome_amount: int | None = None  # of a part that was won
    source: str  # the name of a file, or the connector
    line: int | None = None

    @property
    def told(self) -> dict[str, Any]:
        """Return the values as a report stores them.

        The network's deadline isn't among `values`, so that reports from before it was stored aren't taken twice.
        """
        network = {NETWORK_DEADLINE: timestamp(self.network_due_at)} if self.network_due_at else {}
        return self.values | network

    @property
    def values(self) -> dict[str, Any]:
        """Return the values as plain types, of which the digest of a report is made."""
        return {
            "case_number": self.case_number,
            "stage": self.stage.value,
            "status": self.status.value,
            "rrn": self.rrn,
            "acquirer_reference": mask_card_numbers(self.acquirer_reference),
            "amount": self.amount,
            "currency": self.currency,
            "reason": self.reason.value,
            "network_reason": self.network_reason,
            "respond_by": timestamp(self.respond_by) if self.respond_by else "",
            "opened_at": timestamp(self.opened_at) if self.opened_at else "",
            "outcome_amount": self.outcome_amount,
        } | self._identifiers_of_provider

    @property
    def _identifiers_of_provider(self) -> dict[str, str]:
        """Return the identifiers that only providers report. Without them, digests of files' rows stay the same."""
        identifiers = {
            "payment": str(self.payment) if self.payment else "",
            "acquirer_payment": self.acquirer_payment,
        }
        return {name: value for name, value in identifiers.items() if value}


def digest(connector: str, account: str, values: Any) -> str:
    """Return the key of a report: equal ones of an account are stored once."""
    return hashlib.sha256(json.dumps([connector, account, values], sort_keys=True).encode()).hexdigest()


def stored_case(report: DisputeReport) -> ReportedCase:
    """Return the case of a stored report."""
    values = dict(report.told)
    for name in ("respond_by", "opened_at", "network_due_at"):
        values[name] = datetime.fromisoformat(values[name]) if values.get(name) else None
    for name, words in {"stage": Stage, "status": Status, "reason": Reason}.items():
        values[name] = words(values[name])
    if "payment" in values:
        values["payment"] = UUID(values["payment"])
    where = {name: getattr(report, name) for name in ("connector", "account", "source", "line")}
    return ReportedCase(**where, **values)

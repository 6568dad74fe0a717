"""Models of transactions, their operations and transitions, settlement and staff decisions."""

from payments.models.account_declarations import AccountDeclaration
from payments.models.batches import (
    BatchTransition,
    SettlementBatch,
    SettlementBatchQuerySet,
    SettlementItem,
)
from payments.models.challenges import Challenge
from payments.models.counters import TraceCounter
from payments.models.fees import Tariff
from payments.models.hourly_totals import CountedDay, HourlyTotals
from payments.models.link_counts import LinkCardAttempt, LinkDay
from payments.models.links import Checkout, PaymentLink, PaymentLinkQuerySet, new_slug
from payments.models.operations import CardOperation
from payments.models.payout_returns import PayoutReturn
from payments.models.proposals import Proposal, ProposalQuerySet
from payments.models.rail_blocks import RailBlock
from payments.models.rail_choices import RailChoice
from payments.models.rail_silences import RailSilence
from payments.models.reconciliations import Reconciliation, ReconciliationLine
from payments.models.reversals import Reversal
from payments.models.state_errors import AlreadyTransitioned, InvalidState
from payments.models.transactions import (
    COLLECTED,
    Transaction,
    TransactionQuerySet,
    Transition,
    retry_window,
)
from payments.models.watches import WatchedAuthorisation

__all__ = [
    "COLLECTED",
    "AccountDeclaration",
    "AlreadyTransitioned",
    "BatchTransition",
    "CardOperation",
    "Challenge",
    "Checkout",
    "CountedDay",
    "HourlyTotals",
    "InvalidState",
    "LinkCardAttempt",
    "LinkDay",
    "PaymentLink",
    "PaymentLinkQuerySet",
    "PayoutReturn",
    "Proposal",
    "ProposalQuerySet",
    "RailBlock",
    "RailChoice",
    "RailSilence",
    "Reconciliation",
    "ReconciliationLine",
    "Reversal",
    "SettlementBatch",
    "SettlementBatchQuerySet",
    "SettlementItem",
    "Tariff",
    "TraceCounter",
    "Transaction",
    "TransactionQuerySet",
    "Transition",
    "WatchedAuthorisation",
    "new_slug",
    "retry_window",
]

"""Models of transactions, their operations and transitions, settlement and staff decisions."""

from payments.models.challenges import Challenge
from payments.models.fee_invoices import FeeInvoice, FeeInvoiceLine, FeeInvoiceQuerySet
from payments.models.fees import Tariff
from payments.models.link_counts import LinkCardAttempt, LinkDay
from payments.models.links import Checkout, PaymentLink, PaymentLinkQuerySet, new_slug
from payments.models.payouts.beneficiaries import Beneficiary, BeneficiaryQuerySet
from payments.models.payouts.payout_approvals import PayoutApproval, PayoutApprovalGrant, PayoutServerQuestion
from payments.models.payouts.payout_controls import PayoutControls, PayoutControlsChange, PayoutLimitCheck
from payments.models.payouts.payout_returns import PayoutReturn
from payments.models.payouts.reserved_references import ReservedReference
from payments.models.payouts.reversals import Reversal
from payments.models.rail_blocks import RailBlock
from payments.models.rail_choices import RailChoice
from payments.models.rail_silences import RailSilence
from payments.models.reconciliations import Reconciliation, ReconciliationLine
from payments.models.settlement.batches import (
    BatchTransition,
    SettlementBatch,
    SettlementBatchQuerySet,
    SettlementItem,
    dispute_steps,
)
from payments.models.settlement.debts import Debt
from payments.models.settlement.holidays import Holiday
from payments.models.settlement.reserves import ReserveHold, ReserveHoldQuerySet, ReserveReturn, RiskTerms
from payments.models.settlement.settlement_accounts import (
    SettlementAccount,
    SettlementAccountChange,
    SettlementAccountQuerySet,
    SettlementPayout,
    SettlementPayoutBatch,
)
from payments.models.staff.account_declarations import AccountDeclaration
from payments.models.staff.journals import Journal, JournalLeg
from payments.models.staff.proposals import Proposal, ProposalQuerySet
from payments.models.state_errors import AlreadyTransitioned, InvalidState
from payments.models.transactions.counters import TraceCounter
from payments.models.transactions.hourly_totals import CountedDay, HourlyTotals
from payments.models.transactions.operations import CardOperation
from payments.models.transactions.transactions import (
    COLLECTED,
    Transaction,
    TransactionQuerySet,
    Transition,
    retry_window,
)
from payments.models.transactions.watches import WatchedAuthorisation

__all__ = [
    "COLLECTED",
    "AccountDeclaration",
    "AlreadyTransitioned",
    "BatchTransition",
    "Beneficiary",
    "BeneficiaryQuerySet",
    "CardOperation",
    "Challenge",
    "Checkout",
    "CountedDay",
    "Debt",
    "FeeInvoice",
    "FeeInvoiceLine",
    "FeeInvoiceQuerySet",
    "Holiday",
    "HourlyTotals",
    "InvalidState",
    "Journal",
    "JournalLeg",
    "LinkCardAttempt",
    "LinkDay",
    "PaymentLink",
    "PaymentLinkQuerySet",
    "PayoutApproval",
    "PayoutApprovalGrant",
    "PayoutControls",
    "PayoutControlsChange",
    "PayoutLimitCheck",
    "PayoutReturn",
    "PayoutServerQuestion",
    "Proposal",
    "ProposalQuerySet",
    "RailBlock",
    "RailChoice",
    "RailSilence",
    "Reconciliation",
    "ReconciliationLine",
    "ReserveHold",
    "ReserveHoldQuerySet",
    "ReserveReturn",
    "ReservedReference",
    "Reversal",
    "RiskTerms",
    "SettlementAccount",
    "SettlementAccountChange",
    "SettlementAccountQuerySet",
    "SettlementBatch",
    "SettlementBatchQuerySet",
    "SettlementItem",
    "SettlementPayout",
    "SettlementPayoutBatch",
    "Tariff",
    "TraceCounter",
    "Transaction",
    "TransactionQuerySet",
    "Transition",
    "WatchedAuthorisation",
    "dispute_steps",
    "new_slug",
    "retry_window",
]

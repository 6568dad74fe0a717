"""The payments app and its database triggers."""

from django.apps import AppConfig

from kit.db.triggers import (
    ITS_COLUMNS,
    AppendOnly,
    Final,
    Kept,
    KeptUnless,
    NeverDeleted,
    PermanentRows,
    SumToZero,
    Transitions,
    create_after_migrate,
)
from payments.rules.settlement.settlement_transitions import BATCH_TRANSITIONS, PAYMENT_TRANSITIONS

TRIGGERS = (
    AppendOnly("payments_accountdeclaration"),
    AppendOnly("payments_transition"),
    AppendOnly("payments_tariff"),
    AppendOnly("payments_feeinvoice"),
    AppendOnly("payments_feeinvoiceline"),
    AppendOnly("payments_riskterms"),
    AppendOnly("payments_reservereturn"),
    PermanentRows("payments_reservehold", ("business_id", "currency", "batch_id", "amount", "created_at")),
    PermanentRows("payments_debt", ("business_id", "currency", "since")),
    PermanentRows("payments_settlementaccount", ("business_id", "currency")),
    PermanentRows(
        "payments_settlementaccountchange",
        ("account_id", "bank_code", "account_number", "needs_second_owner", "made_by_id", "created_at"),
    ),
    Final("payments_settlementaccountchange", "state", unless="open"),
    PermanentRows("payments_settlementpayout", ("payout_id", "account_id", "trigger", "day")),
    Transitions("payments_settlementpayout", "outcome", {"": ["paid", "failed"], "paid": ["returned"]}),
    PermanentRows("payments_settlementpayoutbatch", ("payout_id", "batch_id")),
    AppendOnly("payments_batchtransition"),
    AppendOnly("payments_reconciliation"),
    AppendOnly("payments_reconciliationline"),
    AppendOnly("payments_reversal"),
    AppendOnly("payments_journal"),
    AppendOnly("payments_journalleg"),
    SumToZero("payments_journalleg", "journal_id", "the legs of a journal sum to zero"),
    PermanentRows(
        "payments_proposal",
        (
            "action",
            "target",
            "currency",
            "amount",
            "parameters",
            "reason",
            "evidence",
            "proposed_by_id",
            "created_at",
            "expires_at",
        ),
    ),
    Kept("payments_proposal", ("made_about", "confirmers", "business_id")),
    Final("payments_proposal", "state", unless="open"),
    NeverDeleted("payments_payoutreturn"),
    Kept(
        "payments_payoutreturn",
        (
            "bank_reference",
            "payout_reference",
            "amount",
            "currency",
            "reason",
            "actor",
            "extra_members",
            "at",
        ),
    ),
    Transitions("payments_payoutreturn", "applied", {"unmatched": ["reversed"]}),
    NeverDeleted("payments_reservedreference"),
    # Another account is another beneficiary.
    PermanentRows(
        "payments_beneficiary", ("business_id", "reference", "account_number", "bank_code", "currency")
    ),
    # Rows without a foreign key refer to it (decision 0005).
    NeverDeleted("payments_transaction"),
    Kept("payments_transaction", ("id", "business_id")),
    Final("payments_transaction", "status", unless="pending"),
    Kept("payments_transaction", ("account_number", "bank_code"), ITS_COLUMNS),
    PermanentRows("payments_settlementitem", ("transaction_id", "gross", "fee", "refunded")),
    # A part of a batch whose money hasn't arrived becomes a batch of its own.
    KeptUnless(
        "payments_settlementitem",
        "batch_id",
        """
        SELECT 1 FROM payments_settlementbatch former JOIN payments_settlementbatch rest
            ON rest.business_id = former.business_id AND rest.currency = former.currency AND rest.day = former.day
        WHERE former.id = OLD.batch_id AND rest.id = NEW.batch_id
            AND former.state = 'pending' AND rest.state = 'pending'
        """,
    ),
    Kept("payments_settlementitem", ("dispute_step_id", "disputed")),
    Kept("payments_settlementitem", ("fee_tax",)),
    Transitions("payments_transaction", "settle_status", PAYMENT_TRANSITIONS),
    Transitions("payments_settlementbatch", "state", BATCH_TRANSITIONS),
    Final("payments_cardoperation", "status", unless="pending"),
    Kept("payments_cardoperation", ("destination_account_number", "destination_bank_code"), ITS_COLUMNS),
    Kept("payments_cardoperation", ("wallet_sequence", "pending_sequence")),
    Kept("payments_transaction", ("payment_link_id", "checkout_id")),
    Kept("payments_transaction", ("purpose",)),
    NeverDeleted("payments_watchedauthorisation"),
    Kept("payments_watchedauthorisation", ("id", "transaction_id", "opened_at", "until")),
    # Where an order was sent: no other account is asked about it (decision 0019).
    Kept("payments_transaction", ("connector", "account")),
    Kept("payments_cardoperation", ("connector", "account")),
    # A printed code must not ask for another price, and all payments of a link mean the same.
    Kept(
        "payments_paymentlink",
        (
            "reference",
            "business_id",
            "slug",
            "currency",
            "amount",
            "amount_min",
            "amount_max",
            "suggested_amounts",
            "quantity_max",
            "customer_reference",
            "customer_email",
            "customer_name",
        ),
    ),
    Kept("payments_checkout", ("link_id", "token", "amount", "quantity", "currency", "expires_at")),
)


class PaymentsConfig(AppConfig):
    name = "payments"
    verbose_name = "Payments"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)

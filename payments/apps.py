"""The payments app and its database triggers."""

from django.apps import AppConfig

from kit.db.triggers import (
    ITS_COLUMNS,
    append_only,
    create_after_migrate,
    final,
    kept,
    kept_unless,
    never_deleted,
    permanent_rows,
    sum_to_zero,
    transitions,
)
from payments.rules.settlement.settlement_transitions import BATCH_TRANSITIONS, PAYMENT_TRANSITIONS

TRIGGERS = (
    append_only("payments_accountdeclaration"),
    append_only("payments_transition"),
    append_only("payments_tariff"),
    append_only("payments_feeinvoice"),
    append_only("payments_feeinvoiceline"),
    append_only("payments_riskterms"),
    append_only("payments_reservereturn"),
    permanent_rows("payments_reservehold", ("business_id", "currency", "batch_id", "amount", "created_at")),
    permanent_rows("payments_debt", ("business_id", "currency", "since")),
    permanent_rows("payments_settlementaccount", ("business_id", "currency")),
    permanent_rows(
        "payments_settlementaccountchange",
        ("account_id", "bank_code", "account_number", "needs_second_owner", "made_by_id", "created_at"),
    ),
    final("payments_settlementaccountchange", "state", unless="open"),
    permanent_rows("payments_settlementpayout", ("payout_id", "account_id", "trigger", "day")),
    transitions("payments_settlementpayout", "outcome", {"": ["paid", "failed"], "paid": ["returned"]}),
    permanent_rows("payments_settlementpayoutbatch", ("payout_id", "batch_id")),
    append_only("payments_batchtransition"),
    append_only("payments_reconciliation"),
    append_only("payments_reconciliationline"),
    append_only("payments_reversal"),
    append_only("payments_journal"),
    append_only("payments_journalleg"),
    sum_to_zero("payments_journalleg", "journal_id", "the legs of a journal sum to zero"),
    permanent_rows(
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
    kept("payments_proposal", ("made_about", "confirmers", "business_id")),
    final("payments_proposal", "state", unless="open"),
    never_deleted("payments_payoutreturn"),
    kept(
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
    transitions("payments_payoutreturn", "applied", {"unmatched": ["reversed"]}),
    never_deleted("payments_reservedreference"),
    # Another account is another beneficiary.
    permanent_rows(
        "payments_beneficiary", ("business_id", "reference", "account_number", "bank_code", "currency")
    ),
    # Rows without a foreign key refer to it (decision 0005).
    never_deleted("payments_transaction"),
    kept("payments_transaction", ("id", "business_id")),
    final("payments_transaction", "status", unless="pending"),
    kept("payments_transaction", ("account_number", "bank_code"), ITS_COLUMNS),
    permanent_rows("payments_settlementitem", ("transaction_id", "gross", "fee", "refunded")),
    # A part of a batch whose money hasn't arrived becomes a batch of its own.
    kept_unless(
        "payments_settlementitem",
        "batch_id",
        """
        SELECT 1 FROM payments_settlementbatch former JOIN payments_settlementbatch rest
            ON rest.business_id = former.business_id AND rest.currency = former.currency AND rest.day = former.day
        WHERE former.id = OLD.batch_id AND rest.id = NEW.batch_id
            AND former.state = 'pending' AND rest.state = 'pending'
        """,
    ),
    kept("payments_settlementitem", ("dispute_step_id", "disputed")),
    kept("payments_settlementitem", ("fee_tax",)),
    transitions("payments_transaction", "settle_status", PAYMENT_TRANSITIONS),
    transitions("payments_settlementbatch", "state", BATCH_TRANSITIONS),
    final("payments_cardoperation", "status", unless="pending"),
    kept("payments_cardoperation", ("destination_account_number", "destination_bank_code"), ITS_COLUMNS),
    kept("payments_cardoperation", ("wallet_sequence", "pending_sequence")),
    kept("payments_transaction", ("payment_link_id", "checkout_id")),
    kept("payments_transaction", ("purpose",)),
    never_deleted("payments_watchedauthorisation"),
    kept("payments_watchedauthorisation", ("id", "transaction_id", "opened_at", "until")),
    # Where an order was sent: no other account is asked about it (decision 0019).
    kept("payments_transaction", ("connector", "account")),
    kept("payments_cardoperation", ("connector", "account")),
    # A printed code must not ask for another price, and all payments of a link mean the same.
    kept(
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
    kept("payments_checkout", ("link_id", "token", "amount", "quantity", "currency", "expires_at")),
)


class PaymentsConfig(AppConfig):
    name = "payments"
    verbose_name = "Payments"

    def ready(self) -> None:
        create_after_migrate(self, TRIGGERS)

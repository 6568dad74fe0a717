"""Invariants between disputes, payments and the ledger."""

from ledger.invariants import Invariant
from payments.invariants.entry_sql import moved

# What each step moves out of pending settlement, and into `disputes_held`, of the disputes that move money.
_STEPS = """
    SELECT step.id, step.kind, step.taken, step.fee, dispute.amount, dispute.currency, dispute.business_id
    FROM disputes_disputestep step JOIN disputes_dispute dispute ON dispute.id = step.dispute_id
    WHERE dispute.stage <> 'inquiry'
"""

_SETTLED = """
    SELECT 'report ' || report.id FROM disputes_disputereport report
    WHERE report.settled_at IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM merchants_auditentry audit
        WHERE audit.action IN ('dispute_report.assigned', 'dispute_report.credited', 'dispute_report.dismissed')
        AND {is_target})
"""


def _booked(name: str, rule: str, *, steps: str, posting: tuple[str, str], amount: str) -> Invariant:
    """Return the rule that these steps have an entry with a posting of an amount, and that no other such entry exists."""
    return Invariant(
        name=name,
        rule=rule,
        sql=f"""
            SELECT 'step ' || coalesce(step.id, booked.cause)
            FROM (SELECT * FROM ({_STEPS}) each_step WHERE {steps}) step
                FULL JOIN ({moved(*posting)}) booked ON booked.cause = step.id
            WHERE step.id IS NULL OR booked.amount IS NULL OR booked.amount <> {amount}
                OR booked.currency <> step.currency OR booked.business_id <> step.business_id
        """,
    )


INVARIANTS = (
    Invariant(
        name="held_money_is_of_open_disputes",
        rule="The account of held money is the sum of the open disputes past inquiry.",
        sql="""
            SELECT 'account ' || account.id || ': ' || account.balance || ', open ' || coalesce(amount, 0)
            FROM ledger_account account LEFT JOIN (
                SELECT business_id, currency, sum(amount) AS amount FROM disputes_dispute
                WHERE status IN ('needs_response', 'under_review') AND stage <> 'inquiry'
                GROUP BY business_id, currency
            ) held ON held.business_id = account.business_id AND held.currency = account.currency
            WHERE account.kind = 'disputes_held' AND account.balance <> coalesce(amount, 0)
        """,
    ),
    Invariant(
        name="disputed_amounts_are_sums",
        rule="What disputes withhold from refunds is the sum of the open ones past inquiry and of what was lost.",
        sql="""
            SELECT 'transaction ' || payment.id || ': ' || payment.amount_disputed || ', disputes ' || disputed.amount
            FROM payments_transaction payment JOIN (
                SELECT transaction_id, sum(amount - coalesce(outcome_amount, 0)) AS amount
                FROM disputes_dispute dispute WHERE stage <> 'inquiry' GROUP BY transaction_id
            ) disputed ON disputed.transaction_id = payment.id
            WHERE payment.amount_disputed <> disputed.amount
            UNION ALL
            SELECT 'transaction ' || payment.id || ': ' || payment.amount_disputed || ', no dispute'
            FROM payments_transaction payment
            WHERE payment.amount_disputed <> 0 AND NOT EXISTS (
                SELECT 1 FROM disputes_dispute dispute
                WHERE dispute.transaction_id = payment.id AND dispute.stage <> 'inquiry')
        """,
        keys={"payments_transaction payment": "id", "disputes_dispute dispute": "transaction_id"},
    ),
    Invariant(
        name="no_payment_is_paid_back_twice",
        rule="Refunds, open disputes and lost ones stay within what was captured, unless the payment was refunded before.",
        sql="""
            SELECT 'transaction ' || payment.id
            FROM payments_transaction payment
            WHERE payment.amount_disputed > 0
                AND payment.amount_refunded + payment.amount_being_refunded + payment.amount_disputed
                    > payment.amount_captured
                AND NOT EXISTS (
                    SELECT 1 FROM disputes_dispute dispute
                    WHERE dispute.transaction_id = payment.id AND dispute.already_refunded)
        """,
        keys={"payments_transaction payment": "id", "disputes_dispute dispute": "transaction_id"},
    ),
    Invariant(
        name="dispute_steps_match_their_disputes",
        rule="A dispute was opened once and, if it ended, closed once; its steps took its amount and gave back its outcome.",
        sql="""
            SELECT 'dispute ' || dispute.id
            FROM disputes_dispute dispute LEFT JOIN (
                SELECT dispute_id, sum(taken) AS taken, sum(CASE kind WHEN 'opened' THEN fee ELSE 0 END) AS fee,
                    sum(CASE kind WHEN 'opened' THEN 1 ELSE 0 END) AS opened,
                    sum(CASE kind WHEN 'closed' THEN 1 ELSE 0 END) AS closed
                FROM disputes_disputestep step GROUP BY dispute_id
            ) steps ON steps.dispute_id = dispute.id
            WHERE coalesce(opened, 0) <> 1 OR steps.fee <> dispute.fee
                OR closed <> CASE WHEN dispute.resolved_at IS NULL THEN 0 ELSE 1 END
                OR taken <> CASE dispute.stage WHEN 'inquiry' THEN 0
                    ELSE dispute.amount - coalesce(dispute.outcome_amount, 0) END
        """,
    ),
    _booked(
        "opened_disputes_are_booked",
        "A dispute past inquiry that was opened has an entry of the amount held; no other entry of this kind exists.",
        steps="kind = 'opened'",
        posting=("dispute_opened", "disputes_held"),
        amount="step.amount",
    ),
    _booked(
        "closed_disputes_are_booked",
        "A dispute past inquiry that ended has an entry that releases the amount held; no other entry of this kind exists.",
        steps="kind = 'closed'",
        posting=("dispute_closed", "disputes_held"),
        amount="-step.amount",
    ),
    _booked(
        "what_disputes_give_back_is_booked",
        "The entry of a dispute that ended credits pending settlement with what came back.",
        steps="kind = 'closed' AND taken <> 0",
        posting=("dispute_closed", "pending_settlement"),
        amount="-step.taken",
    ),
    _booked(
        "corrected_disputes_are_booked",
        "What was given back after a dispute was lost is booked; no other entry of this kind exists.",
        steps="kind = 'corrected'",
        posting=("dispute_corrected", "pending_settlement"),
        amount="-step.taken",
    ),
    _booked(
        "fees_of_disputes_are_booked",
        "A fee of a dispute, and its return, has an entry; no other entry of this kind exists.",
        steps="fee <> 0",
        posting=("dispute_fee", "fees"),
        amount="step.fee",
    ),
    Invariant(
        name="debits_of_disputes_are_cleared",
        rule="What the acquirer debited for disputes that are open stands in the house's clearing account.",
        sql="""
            SELECT 'clearing ' || coalesce(account.currency, debited.currency) || ': ' || coalesce(account.balance, 0)
                || ', debited ' || coalesce(debited.amount, 0)
            FROM (SELECT currency, balance FROM ledger_account WHERE kind = 'chargeback_clearing') account FULL JOIN (
                SELECT currency, sum(amount) AS amount FROM disputes_dispute
                WHERE debited_at IS NOT NULL AND status IN ('needs_response', 'under_review') GROUP BY currency
            ) debited ON debited.currency = account.currency
            WHERE coalesce(account.balance, 0) <> -coalesce(debited.amount, 0)
        """,
    ),
    Invariant(
        name="told_cases_have_a_dispute",
        rule="What an acquirer reported has a dispute, or stands under Unmatched disputes until two people settle it.",
        sql="""
            SELECT 'report ' || report.id FROM disputes_disputereport report
            WHERE report.why = '' AND report.dispute_id IS NULL
        """,
    ),
    Invariant(
        name="settled_reports_of_disputes_are_audited",
        rule="What stood under Unmatched disputes was settled by an audited decision of staff.",
        sql=_SETTLED.format(is_target="audit.target = CAST(report.id AS text)"),
        on_sqlite=_SETTLED.format(is_target="replace(audit.target, '-', '') = report.id"),
    ),
)

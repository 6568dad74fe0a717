"""Invariants of staff decisions: confirmed by a second person, performed as confirmed, and audited."""

from ledger.invariants import Invariant

# The audit entry of an action on a target.
_AUDITED = """
    SELECT 1 FROM merchants_auditentry audit
    WHERE audit.action = '{action}' AND audit.target = CAST({target} AS text)
"""
_AUDITED_ON_SQLITE = """
    SELECT 1 FROM merchants_auditentry audit
    WHERE audit.action = '{action}' AND replace(audit.target, '-', '') = {target}
"""
_CONFIRMED = """
    SELECT 'proposal ' || proposal.id FROM payments_proposal proposal
    WHERE proposal.state = 'confirmed' AND (
        proposal.decided_by_id IS NULL OR proposal.decided_by_id = proposal.proposed_by_id
        OR NOT EXISTS ({audited}))
"""
_RESOLVED = """
    SELECT 'transaction ' || moved.transaction_id || ': ' || moved.attribute
    FROM payments_transition moved
    WHERE moved.cause = 'staff' AND NOT EXISTS ({audited}) AND NOT EXISTS (
        SELECT 1 FROM payments_cardoperation operation
        WHERE operation.transaction_id = moved.transaction_id AND EXISTS ({operation_audited}))
"""
# The decision's own audit entry has the proposal's time, and the state in which it was made.
_AS_PROPOSED = """
    SELECT 'proposal ' || proposal.id || ': ' || proposal.action
    FROM payments_proposal proposal
    WHERE proposal.state = 'confirmed' AND proposal.made_about IS NOT NULL AND NOT CASE
        WHEN proposal.action = 'resolve_transaction' THEN EXISTS ({resolved}
            AND audit.at = proposal.decided_at
            AND audit.before ->> 'awaiting' = proposal.made_about ->> 'awaiting'
            AND audit.after ->> 'resolved_as' = proposal.parameters ->> 'outcome')
        WHEN proposal.action = 'resolve_operation' THEN EXISTS ({resolved}
            AND audit.at = proposal.decided_at
            AND audit.before ->> 'kind' = proposal.made_about ->> 'kind'
            AND audit.after ->> 'resolved_as' = proposal.parameters ->> 'outcome')
        WHEN proposal.action IN ('approve_batch', 'approve_unfunded', 'release_batch') THEN EXISTS (
            SELECT 1 FROM payments_batchtransition moved
            WHERE moved.batch_id = proposal.target AND moved.at = proposal.decided_at
            AND moved.before = proposal.made_about ->> 'state')
        ELSE TRUE END
"""
_REVERSED = """
    SELECT 'payout return ' || returned.id FROM payments_payoutreturn returned
    WHERE returned.applied = 'reversed' AND NOT EXISTS ({audited})
"""


def _postgresql(action: str, target: str) -> str:
    return _AUDITED.format(action=action, target=target)


def _sqlite(action: str, target: str) -> str:
    return _AUDITED_ON_SQLITE.format(action=action, target=target)


INVARIANTS = (
    Invariant(
        name="confirmed_proposals_had_a_second_person",
        rule="Every confirmed proposal was confirmed by someone other than its proposer, and has an audit entry.",
        sql=_CONFIRMED.format(audited=_postgresql("proposal.confirmed", "proposal.id")),
        on_sqlite=_CONFIRMED.format(audited=_sqlite("proposal.confirmed", "proposal.id")),
    ),
    Invariant(
        name="confirmed_proposals_were_performed",
        rule="Every confirmed proposal was performed as proposed: booked, decided or resolved.",
        sql="""
            SELECT 'proposal ' || proposal.id || ': ' || proposal.action
            FROM payments_proposal proposal
                LEFT JOIN ledger_entry entry ON entry.kind = 'top_up' AND entry.cause = proposal.target
                LEFT JOIN payments_settlementbatch batch ON batch.id = proposal.target
                LEFT JOIN virtual_accounts_unappliedmoney money ON money.id = proposal.target
                LEFT JOIN payments_transaction payment ON payment.id = proposal.target
                LEFT JOIN payments_cardoperation operation ON operation.id = proposal.target
                LEFT JOIN payments_payoutreturn returned ON returned.id = proposal.target
                LEFT JOIN virtual_accounts_unclaimedtransfer unclaimed ON unclaimed.id = proposal.target
                LEFT JOIN virtual_accounts_transfer assigned ON assigned.bank_reference = unclaimed.bank_reference
                    AND assigned.reason = 'assigned'
                LEFT JOIN disputes_disputereport report ON report.id = proposal.target
            WHERE proposal.state = 'confirmed' AND NOT CASE proposal.action
                WHEN 'top_up' THEN entry.id IS NOT NULL
                WHEN 'approve_batch' THEN coalesce(batch.state IN ('approved', 'released'), FALSE)
                WHEN 'approve_unfunded' THEN coalesce(batch.state IN ('approved', 'released'), FALSE)
                WHEN 'release_batch' THEN coalesce(batch.state = 'released', FALSE)
                WHEN 'collect_reserve' THEN proposal.amount = (
                    SELECT coalesce(sum(returned.amount), 0) FROM payments_reservereturn returned
                        JOIN payments_reservehold hold ON hold.id = returned.hold_id
                    WHERE hold.business_id = proposal.business_id AND hold.currency = proposal.currency
                        AND returned.reason = 'collected' AND returned.at = proposal.decided_at)
                WHEN 'credit_unapplied' THEN coalesce(money.state = 'credited', FALSE)
                WHEN 'return_unapplied' THEN EXISTS (
                    SELECT 1 FROM payments_transaction sent WHERE sent.business_id = money.business_id
                        AND sent.reference = 'return_' || replace(CAST(money.id AS text), '-', ''))
                WHEN 'reverse_payout' THEN coalesce(payment.amount_returned >= proposal.amount, FALSE)
                WHEN 'resolve_transaction' THEN
                    coalesce(payment.awaiting NOT IN ('rail', 'reversal'), FALSE)
                WHEN 'resolve_operation' THEN coalesce(operation.status <> 'pending', FALSE)
                WHEN 'assign_unclaimed' THEN assigned.id IS NOT NULL
                WHEN 'write_off_unclaimed' THEN unclaimed.resolved_at IS NOT NULL AND assigned.id IS NULL
                WHEN 'match_return' THEN coalesce(returned.applied = 'reversed', FALSE)
                WHEN 'write_off_return' THEN returned.resolved_at IS NOT NULL AND returned.applied = 'unmatched'
                WHEN 'assign_dispute' THEN report.settled_at IS NOT NULL AND report.dispute_id IS NOT NULL
                WHEN 'credit_dispute' THEN report.settled_at IS NOT NULL AND EXISTS (
                    SELECT 1 FROM disputes_disputestep step
                    WHERE step.dispute_id = report.dispute_id AND step.kind = 'corrected')
                WHEN 'dismiss_dispute' THEN report.settled_at IS NOT NULL
                WHEN 'record_dispute_debit' THEN EXISTS (
                    SELECT 1 FROM disputes_dispute debited
                    WHERE debited.id = proposal.target AND debited.debited_at IS NOT NULL)
                WHEN 'journal' THEN EXISTS (SELECT 1 FROM payments_journal WHERE id = proposal.target)
                WHEN 'reverse_journal' THEN EXISTS (
                    SELECT 1 FROM payments_journal WHERE reverses_id = proposal.target)
                ELSE TRUE END
        """,
    ),
    Invariant(
        name="confirmed_proposals_meant_what_was_proposed",
        rule="Every confirmed proposal was performed in the state that it was made about.",
        sql=_AS_PROPOSED.format(resolved=_postgresql("unknown.resolved", "proposal.target")),
        on_sqlite=_AS_PROPOSED.format(resolved=_sqlite("unknown.resolved", "proposal.target")),
    ),
    Invariant(
        name="resolved_unknowns_are_audited",
        rule="Every transition that staff caused has an audit entry with the person, the reason and the evidence.",
        sql=_RESOLVED.format(
            audited=_postgresql("unknown.resolved", "moved.transaction_id"),
            operation_audited=_postgresql("unknown.resolved", "operation.id"),
        ),
        on_sqlite=_RESOLVED.format(
            audited=_sqlite("unknown.resolved", "moved.transaction_id"),
            operation_audited=_sqlite("unknown.resolved", "operation.id"),
        ),
        keys={"payments_transition moved": "id"},
    ),
    Invariant(
        name="reversals_are_audited",
        rule="Every return that reversed a payout has an audit entry.",
        sql=_REVERSED.format(audited=_postgresql("payout.reversed", "returned.transaction_id")),
        on_sqlite=_REVERSED.format(audited=_sqlite("payout.reversed", "returned.transaction_id")),
    ),
)

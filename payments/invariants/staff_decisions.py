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
            WHERE proposal.state = 'confirmed' AND NOT CASE proposal.action
                WHEN 'top_up' THEN entry.id IS NOT NULL
                WHEN 'approve_batch' THEN coalesce(batch.state IN ('approved', 'released'), FALSE)
                WHEN 'release_batch' THEN coalesce(batch.state = 'released', FALSE)
                WHEN 'credit_unapplied' THEN coalesce(money.state = 'credited', FALSE)
                WHEN 'return_unapplied' THEN coalesce(money.state = 'returned', FALSE)
                WHEN 'reverse_payout' THEN coalesce(payment.amount_returned >= proposal.amount, FALSE)
                WHEN 'resolve_transaction' THEN
                    coalesce(payment.awaiting NOT IN ('rail', 'reversal'), FALSE)
                WHEN 'resolve_operation' THEN coalesce(operation.status <> 'pending', FALSE)
                ELSE TRUE END
        """,
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

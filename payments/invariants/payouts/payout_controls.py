"""Invariants of the controls of payouts: limits, approvals and the questions to businesses' servers."""

from ledger.invariants import Invariant

_LIVE = "sum(CASE WHEN payout.status <> 'failed' THEN {} ELSE 0 END) OVER (PARTITION BY limits.business_id, {} ORDER BY limits.id)"
_ACCOUNT = "limits.currency, payout.account_number, payout.bank_code"

INVARIANTS = (
    Invariant(
        name="payouts_keep_their_limits",
        rule=(
            "A payout is within the limits that it was accepted under, counted over the payouts of its day that were "
            "accepted before it and have not failed, unless it waited for approval instead."
        ),
        sql=f"""
            SELECT 'payout ' || counted.transaction_id FROM (
                SELECT limits.*, payout.status, payout.amount,
                    {_LIVE.format("payout.amount", "limits.currency, limits.day_began_at")} AS of_day,
                    {_LIVE.format("payout.amount", f"{_ACCOUNT}, limits.day_began_at")} AS of_account,
                    {_LIVE.format("payout.amount", f"{_ACCOUNT}, limits.account_since")} AS of_new_account,
                    {_LIVE.format("1", "limits.day_began_at")} AS number
                FROM payments_payoutlimitcheck limits
                    JOIN payments_transaction payout ON payout.id = limits.transaction_id
            ) counted
            WHERE NOT counted.is_over AND counted.status <> 'failed' AND (
                counted.amount > counted.per_payout OR counted.of_day > counted.per_day
                OR counted.of_account > counted.per_beneficiary_and_day
                OR counted.of_new_account > counted.new_beneficiaries
                OR counted.number > counted.number_per_day)
        """,
    ),
    Invariant(
        name="payouts_wait_for_their_approval",
        rule=(
            "A payout awaits approval exactly while its approval waits. One whose approval was rejected, cancelled or "
            "expired has failed."
        ),
        sql="""
            SELECT 'payout ' || payout.id
            FROM payments_transaction payout
                LEFT JOIN payments_payoutapproval approval ON approval.transaction_id = payout.id
            WHERE payout.awaiting = 'approval' AND coalesce(approval.state, '') <> 'waiting'
                OR approval.state = 'waiting' AND payout.awaiting <> 'approval'
                OR approval.state IN ('rejected', 'cancelled', 'expired') AND payout.status <> 'failed'
        """,
        keys={
            "payments_transaction payout": "id",
            "payments_payoutapproval approval": "transaction_id",
        },
    ),
    Invariant(
        name="approved_payouts_had_other_members",
        rule="Approved payouts have as many approvals as they needed, of members who didn't make them.",
        sql="""
            SELECT 'approval ' || approval.id FROM payments_payoutapproval approval
            WHERE approval.state = 'approved' AND approval.needed > (
                SELECT count(*) FROM payments_payoutapprovalgrant granted
                WHERE granted.approval_id = approval.id AND granted.user_id <> coalesce(approval.maker_id, 0))
        """,
    ),
    Invariant(
        name="payouts_wait_for_their_server",
        rule=(
            "A payout awaits its business's server exactly while the question is open. One that was denied, or not "
            "answered, has failed."
        ),
        sql="""
            SELECT 'payout ' || payout.id
            FROM payments_transaction payout
                LEFT JOIN payments_payoutserverquestion question ON question.transaction_id = payout.id
            WHERE payout.awaiting = 'server' AND coalesce(question.state, '') <> 'asking'
                OR question.state = 'asking' AND payout.awaiting <> 'server'
                OR question.state IN ('denied', 'unanswered', 'cancelled') AND payout.status <> 'failed'
        """,
        keys={
            "payments_transaction payout": "id",
            "payments_payoutserverquestion question": "transaction_id",
        },
    ),
)

"""Invariants of settlement payouts: what they paid, where to, and that none overlaps another."""

from ledger.invariants import Invariant

INVARIANTS = (
    Invariant(
        name="settlement_payouts_go_to_the_account",
        rule="A settlement payout is a payout of its account's business in its currency, to an account that an owner's "
        "change has named.",
        sql="""
            SELECT 'settlement payout ' || made.payout_id
            FROM payments_settlementpayout made
                JOIN payments_settlementaccount account ON account.id = made.account_id
                LEFT JOIN payments_transaction payout ON payout.id = made.payout_id
            WHERE payout.id IS NULL OR payout.request_type <> 'payout'
                OR payout.business_id <> account.business_id OR payout.currency <> account.currency
                OR NOT EXISTS (
                    SELECT 1 FROM payments_settlementaccountchange change
                    WHERE change.account_id = account.id AND change.state = 'applied'
                        AND change.account_number = payout.account_number
                        AND change.bank_code = payout.bank_code
                )
        """,
    ),
    Invariant(
        name="settlement_accounts_are_their_last_change",
        rule="A settlement account is the one that its last applied change has named.",
        sql="""
            SELECT 'settlement account ' || account.id
            FROM payments_settlementaccount account
            WHERE account.since IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM payments_settlementaccountchange change
                WHERE change.account_id = account.id AND change.state = 'applied'
                    AND change.decided_at = account.since
                    AND change.account_number = account.account_number AND change.bank_code = account.bank_code
            )
        """,
    ),
    Invariant(
        name="settlement_payouts_do_not_overlap",
        rule="A business has at most one settlement payout per currency without a known outcome.",
        sql="""
            SELECT 'settlement account ' || made.account_id
            FROM payments_settlementpayout made
                JOIN payments_transaction payout ON payout.id = made.payout_id
            WHERE made.outcome = '' OR payout.status = 'pending'
            GROUP BY made.account_id HAVING count(*) > 1
        """,
    ),
    Invariant(
        name="outcomes_of_settlement_payouts_are_of_payouts",
        rule="A settlement payout is paid, failed or returned as its payout is.",
        sql="""
            SELECT 'settlement payout ' || made.payout_id
            FROM payments_settlementpayout made
                JOIN payments_transaction payout ON payout.id = made.payout_id
            WHERE made.outcome = 'failed' AND payout.status <> 'failed'
                OR made.outcome IN ('paid', 'returned') AND payout.status <> 'success'
                OR made.outcome = 'returned' AND made.amount_returned = 0
                OR made.amount_returned > payout.amount_returned
        """,
    ),
    Invariant(
        name="scheduled_settlement_payouts_name_batches",
        rule="A settlement payout of the schedule names the batches that it pays.",
        sql="""
            SELECT 'settlement payout ' || made.payout_id
            FROM payments_settlementpayout made
            WHERE made.trigger = 'schedule' AND NOT EXISTS (
                SELECT 1 FROM payments_settlementpayoutbatch named WHERE named.payout_id = made.payout_id
            )
        """,
    ),
    Invariant(
        name="settlement_payouts_pay_released_batches",
        rule="A settlement payout names released batches of its business and currency, and pays none once its money is "
        "in the wallet again.",
        sql="""
            SELECT 'batch ' || named.batch_id
            FROM payments_settlementpayoutbatch named
                JOIN payments_settlementpayout made ON made.payout_id = named.payout_id
                JOIN payments_settlementaccount account ON account.id = made.account_id
                JOIN payments_settlementbatch batch ON batch.id = named.batch_id
            WHERE batch.state <> 'released'
                OR batch.business_id <> account.business_id OR batch.currency <> account.currency
                OR named.is_live AND made.outcome = 'failed'
        """,
    ),
)

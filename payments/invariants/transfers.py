"""Invariants between bank transfers, payments, unapplied money and the ledger."""

from kit import banks
from ledger.invariants import Invariant
from payments.invariants.entry_sql import moved

# The same condition as in `return_destinations.sender_of`: the bank sent an account of the sender that payouts can
# reach. Adding a bank to the list also applies to earlier transfers, so returns to other accounts are then reported.
_LISTED_BANKS = ", ".join(sorted(f"'{bank.code}'" for bank in banks.all_banks()))
_SENDER_IS_KNOWN = (
    "length(transfer.sender_account_number) = 10 AND ltrim(transfer.sender_account_number, '0123456789') = ''"
    f" AND transfer.sender_bank_code IN ({_LISTED_BANKS})"
)

# Unapplied money whose return failed, or was sent back by the bank: the payout as cause.
_CAME_BACK = f"""
    {moved("payout_failed", "unapplied")}
    UNION ALL
    SELECT returned.transaction_id, back.currency, back.business_id, back.amount
    FROM ({moved("payout_reversed", "unapplied")}) back
        JOIN payments_payoutreturn returned ON returned.id = back.cause
"""

_RELEASED_BEFORE = """
    SELECT 1 FROM payments_settlementitem item
        JOIN ledger_entry entry ON entry.kind = 'settlement_released' AND entry.cause = item.batch_id
        JOIN ledger_posting posting ON posting.entry_id = entry.id AND posting.sequence <= refund.pending_sequence
        JOIN ledger_account account ON account.id = posting.account_id AND account.kind = 'pending_settlement'
    WHERE item.transaction_id = payment.id AND item.operation_id IS NULL AND item.is_live
"""


def _balance_at(kind: str, sequence: str) -> str:
    """Return a balance when a refund was accepted, from the last posting before it."""
    return f"""coalesce((
        SELECT posting.balance_after FROM ledger_account account
            JOIN ledger_posting posting ON posting.account_id = account.id AND posting.sequence = refund.{sequence}
        WHERE account.business_id = refund.business_id AND account.currency = payment.currency
            AND account.kind = '{kind}'), 0)"""


INVARIANTS = (
    Invariant(
        name="transfer_payments_are_booked",
        rule="A successful payment into a virtual account has an entry of its amount; no other entry of this kind exists.",
        sql=f"""
            SELECT 'transaction ' || coalesce(payment.id, booked.cause)
            FROM (
                SELECT * FROM payments_transaction paid WHERE method = 'virtual_account' AND status = 'success'
            ) payment FULL JOIN ({moved("virtual_account", "bank_clearing")}) booked ON booked.cause = payment.id
            WHERE payment.id IS NULL OR booked.amount IS NULL OR booked.amount <> -payment.amount
                OR booked.currency <> payment.currency OR booked.business_id <> payment.business_id
        """,
        keys={"payments_transaction paid": "id", "ledger_entry entry": "cause"},
    ),
    Invariant(
        name="transfer_payments_have_transfers",
        rule="A successful payment into a virtual account has the transfer that paid it, and vice versa.",
        sql="""
            SELECT 'session ' || coalesce(payment.session_id, transfer.session_id)
            FROM (
                SELECT * FROM payments_transaction paid WHERE method = 'virtual_account' AND status = 'success'
            ) payment FULL JOIN (
                SELECT * FROM virtual_accounts_transfer arrived WHERE applied <> 'unapplied'
            ) transfer ON transfer.session_id = payment.session_id
            WHERE payment.id IS NULL OR transfer.id IS NULL OR transfer.amount <> payment.amount
                OR transfer.currency <> payment.currency
        """,
        keys={"payments_transaction paid": "session_id", "virtual_accounts_transfer arrived": "session_id"},
    ),
    Invariant(
        name="transfers_end_sessions_of_their_account",
        rule="A transfer that belongs to a session arrived for the account of that session.",
        sql="""
            SELECT 'transfer ' || transfer.id
            FROM virtual_accounts_transfer transfer
                JOIN virtual_accounts_session session ON session.id = transfer.session_id
            WHERE transfer.account_id <> session.account_id
        """,
        keys={"virtual_accounts_transfer transfer": "session_id", "virtual_accounts_session session": "id"},
    ),
    Invariant(
        name="transfer_refunds_are_booked",
        rule="A successful refund of a transfer payment has an entry of its amount; no other entry of this kind exists.",
        sql=f"""
            SELECT 'refund ' || coalesce(refund.id, booked.cause)
            FROM (
                SELECT refund.id, refund.amount, payment.currency, payment.business_id
                FROM payments_cardoperation refund
                    JOIN payments_transaction payment ON payment.id = refund.transaction_id
                WHERE refund.kind = 'refund' AND refund.status = 'success' AND refund.connector <> ''
            ) refund FULL JOIN ({moved("refund", "bank_clearing")}) booked ON booked.cause = refund.id
            WHERE refund.id IS NULL OR booked.amount IS NULL OR booked.amount <> refund.amount
                OR booked.currency <> refund.currency OR booked.business_id <> refund.business_id
        """,
        keys={"payments_cardoperation refund": "id", "ledger_entry entry": "cause"},
    ),
    Invariant(
        name="transfer_refunds_are_of_transfer_payments",
        rule="Refunds of transfer payments, and no others, are sent to a bank.",
        sql="""
            SELECT 'refund ' || refund.id
            FROM payments_cardoperation refund
                JOIN payments_transaction payment ON payment.id = refund.transaction_id
            WHERE (refund.connector <> '') <> (payment.method = 'virtual_account')
        """,
        keys={"payments_cardoperation refund": "id"},
    ),
    Invariant(
        name="transfer_refunds_do_not_exceed_payments",
        rule="The successful and pending refunds of a transfer payment sum to at most the received amount.",
        sql="""
            SELECT 'transaction ' || payment.id || ': ' || refunds.amount
            FROM (
                SELECT transaction_id, sum(amount) AS amount FROM payments_cardoperation
                WHERE connector <> '' AND status <> 'failed' GROUP BY transaction_id
            ) refunds
                JOIN payments_transaction payment ON payment.id = refunds.transaction_id
                LEFT JOIN virtual_accounts_transfer transfer ON transfer.session_id = payment.session_id
            WHERE payment.status <> 'success' OR refunds.amount > coalesce(transfer.amount, 0)
        """,
    ),
    Invariant(
        name="covered_refunds_were_covered",
        rule="A refund by bank transfer that had to be covered was at most the wallet's balance less the business's "
        "debt, with its payment if that was unreleased and still pending.",
        sql=f"""
            SELECT 'refund ' || id || ': ' || wallet || ' in the wallet, pending ' || pending
            FROM (
                SELECT refund.id, refund.amount, {_balance_at("wallet", "wallet_sequence")} AS wallet,
                    {_balance_at("pending_settlement", "pending_sequence")} AS pending,
                    EXISTS ({_RELEASED_BEFORE}) AS is_released, payment.amount AS paid,
                    payment.fee + payment.fee_tax AS charged
                FROM payments_cardoperation refund
                    JOIN payments_transaction payment ON payment.id = refund.transaction_id
                WHERE refund.wallet_sequence IS NOT NULL
            ) refund
            WHERE amount > wallet + CASE
                WHEN is_released THEN CASE WHEN pending < 0 THEN pending ELSE 0 END
                WHEN pending + charged < paid THEN pending + charged ELSE paid END
        """,
        keys={"payments_cardoperation refund": "id"},
    ),
    Invariant(
        name="transfer_refunds_go_to_the_sender",
        rule="A refund of a transfer payment goes to the account that the bank named as the sender's, if it named one. "
        "Only a provider that received the transfer sends it back without an account.",
        sql=f"""
            SELECT 'refund ' || refund.id
            FROM payments_cardoperation refund
                JOIN payments_transaction payment ON payment.id = refund.transaction_id
                JOIN virtual_accounts_transfer transfer ON transfer.session_id = payment.session_id
            WHERE refund.connector <> '' AND (
                (refund.destination_account_number <> transfer.sender_account_number
                    OR refund.destination_bank_code <> transfer.sender_bank_code)
                AND {_SENDER_IS_KNOWN}
                OR (refund.destination_account_number = '') <> (transfer.provider_account <> ''))
        """,
    ),
    Invariant(
        name="unapplied_transfers_are_kept",
        rule="A transfer that matches no payment is unapplied money of the number's owner; no other transfer is.",
        sql="""
            SELECT 'transfer ' || coalesce(transfer.id, money.transfer_id)
            FROM (
                SELECT transfer.*, account.business_id FROM virtual_accounts_transfer transfer
                    JOIN virtual_accounts_virtualaccount account ON account.id = transfer.account_id
                WHERE transfer.applied = 'unapplied'
            ) transfer FULL JOIN virtual_accounts_unappliedmoney money ON money.transfer_id = transfer.id
            WHERE transfer.id IS NULL OR money.id IS NULL OR money.amount <> transfer.amount
                OR money.currency <> transfer.currency OR money.business_id <> transfer.business_id
        """,
    ),
    Invariant(
        name="unapplied_money_is_booked",
        rule="Unapplied money has an entry of its amount; no other entry of this kind exists.",
        sql=f"""
            SELECT 'transfer ' || coalesce(money.transfer_id, booked.cause)
            FROM virtual_accounts_unappliedmoney money
                FULL JOIN ({moved("unapplied_in", "unapplied")}) booked ON booked.cause = money.transfer_id
            WHERE money.id IS NULL OR booked.amount IS NULL OR booked.amount <> money.amount
                OR booked.currency <> money.currency OR booked.business_id <> money.business_id
        """,
    ),
    Invariant(
        name="decided_unapplied_money_is_debited",
        rule="Returned or credited unapplied money was debited from its account; open unapplied money was not.",
        # Held by its transfer, and again by each return that came back. The last one of open money is not debited.
        sql=f"""
            SELECT 'unapplied money held by ' || coalesce(decided.cause, booked.cause)
            FROM (
                SELECT transfer_id AS cause, amount FROM virtual_accounts_unappliedmoney
                WHERE state <> 'open' OR reference <> ''
                UNION ALL
                SELECT back.cause, back.amount FROM ({_CAME_BACK}) back
                    JOIN payments_transaction payout ON payout.id = back.cause
                    LEFT JOIN virtual_accounts_unappliedmoney money ON money.business_id = payout.business_id
                        AND money.reference = payout.reference AND money.state = 'open'
                WHERE money.id IS NULL
            ) decided FULL JOIN ({moved("unapplied_out", "unapplied")}) booked ON booked.cause = decided.cause
            WHERE decided.cause IS NULL OR booked.amount IS NULL OR booked.amount <> -decided.amount
        """,
    ),
    Invariant(
        name="refused_returns_are_open_again",
        rule="Money whose latest return was credited back to its account is open; no other open money has a return.",
        sql=f"""
            SELECT 'unapplied money ' || money.id
            FROM virtual_accounts_unappliedmoney money
                LEFT JOIN payments_transaction payout ON payout.business_id = money.business_id
                    AND payout.reference = money.reference
                LEFT JOIN ({_CAME_BACK}) back ON back.cause = payout.id
            WHERE money.reference <> ''
                AND ((money.state = 'open') <> (back.cause IS NOT NULL) OR back.amount <> money.amount)
        """,
    ),
    Invariant(
        name="returned_money_has_payouts",
        rule="Unapplied money that was returned has a payout of its amount.",
        sql="""
            SELECT 'unapplied money ' || money.id
            FROM virtual_accounts_unappliedmoney money
                LEFT JOIN payments_transaction payout ON payout.business_id = money.business_id
                    AND payout.reference = money.reference AND payout.request_type = 'payout'
            WHERE money.state = 'returned' AND (payout.id IS NULL
                OR payout.amount <> money.amount OR payout.currency <> money.currency)
        """,
    ),
    Invariant(
        name="returned_money_goes_to_the_sender",
        rule="Unapplied money is returned to the account that the bank named as the sender's, if it named one.",
        sql=f"""
            SELECT 'unapplied money ' || money.id
            FROM virtual_accounts_unappliedmoney money
                JOIN virtual_accounts_transfer transfer ON transfer.id = money.transfer_id
                JOIN payments_transaction payout
                    ON payout.business_id = money.business_id AND payout.reference = money.reference
            WHERE money.state = 'returned' AND (
                payout.account_number <> transfer.sender_account_number
                OR payout.bank_code <> transfer.sender_bank_code)
                AND {_SENDER_IS_KNOWN}
        """,
    ),
    Invariant(
        name="sessions_match_their_payments",
        rule="A session has one payment: pending or successful as the session is, and failed otherwise.",
        sql="""
            SELECT 'session ' || session.id
            FROM virtual_accounts_session session
                LEFT JOIN payments_transaction payment ON payment.session_id = session.id
            WHERE payment.id IS NULL OR payment.status <> CASE
                WHEN session.status IN ('pending', 'success') THEN session.status ELSE 'failed' END
        """,
        keys={"virtual_accounts_session session": "id", "payments_transaction payment": "session_id"},
    ),
    Invariant(
        name="numbers_are_held_while_sessions_are_open",
        rule="A dynamic account has a number exactly while its session is open; a static account keeps its own.",
        sql="""
            SELECT 'number ' || number.number
            FROM virtual_accounts_accountnumber number
                LEFT JOIN virtual_accounts_virtualaccount holder ON holder.id = number.holder_id
                LEFT JOIN virtual_accounts_session session
                    ON session.number_id = number.number AND session.status = 'pending'
            WHERE holder.type = 'static' AND holder.account_number <> number.number
                OR holder.type = 'dynamic' AND session.id IS NULL
                OR holder.id IS NULL AND session.id IS NOT NULL
        """,
    ),
)

"""Invariants of journals: booked as they say, by people who are named, and reversed at most once."""

from ledger.invariants import Invariant
from payments.invariants.entry_sql import moved, without_cause

# What a journal says of each account. What it says of accounts with statements is booked to bank clearing.
_LEGS = """
    SELECT journal_id AS id, CASE WHEN kind IN ('bank', 'acquirer', 'provider') THEN 'bank_clearing' ELSE kind END AS kind,
        CASE WHEN kind IN ('bank', 'acquirer', 'provider') THEN '' ELSE name END AS name, amount
    FROM payments_journalleg
"""
# What was booked for journals, with the opposite sign. A business and the house balance each other in bank clearing.
_BOOKED = """
    SELECT journal.id, account.kind, account.name, -posting.amount
    FROM payments_journal journal
        JOIN ledger_entry entry ON entry.cause = journal.id AND entry.kind IN ('journal', 'journal_house', 'top_up')
        JOIN ledger_posting posting ON posting.entry_id = entry.id
        JOIN ledger_account account ON account.id = posting.account_id
"""
_AUDITED = """
    SELECT 'journal ' || journal.id FROM payments_journal journal
    WHERE NOT EXISTS (
        SELECT 1 FROM merchants_auditentry audit
        WHERE audit.action = CASE WHEN journal.code = 'funding' THEN 'wallet.topped_up' ELSE 'journal.booked' END
            AND {is_target}
            AND (audit.business_id = journal.business_id OR journal.business_id IS NULL))
"""

INVARIANTS = (
    Invariant(
        name="journals_sum_to_zero",
        rule="The legs of a journal sum to zero, and there are at least two.",
        sql="""
            SELECT 'journal ' || journal.id || ': ' || coalesce(sum(leg.amount), 0)
            FROM payments_journal journal LEFT JOIN payments_journalleg leg ON leg.journal_id = journal.id
            GROUP BY journal.id HAVING coalesce(sum(leg.amount), 0) <> 0 OR count(leg.id) < 2
        """,
    ),
    Invariant(
        name="journals_are_their_entries",
        rule="A journal has entries that post its legs; those of accounts with statements are posted to bank clearing.",
        sql=f"""
            SELECT 'journal ' || id || ': ' || kind || ' ' || sum(amount)
            FROM ({_LEGS} UNION ALL {_BOOKED}) moved GROUP BY id, kind, name HAVING sum(amount) <> 0
        """,
    ),
    Invariant(
        name="entries_of_journals_have_journals",
        rule="An entry of a journal belongs to a journal of its business and currency.",
        sql=without_cause(
            "journal",
            table="payments_journal",
            alias="journal",
            condition="journal.business_id = entry.business_id AND journal.currency = entry.currency",
        ),
    ),
    Invariant(
        name="house_entries_of_journals_have_journals",
        rule="An entry of house accounts by a journal belongs to a journal of its currency.",
        sql=without_cause(
            "journal_house",
            table="payments_journal",
            alias="journal",
            condition="journal.currency = entry.currency",
        ),
    ),
    Invariant(
        name="journals_are_audited",
        rule="A journal is in the audit trail, with the person and the reason.",
        sql=_AUDITED.format(is_target="audit.target = CAST(journal.id AS text)"),
        on_sqlite=_AUDITED.format(is_target="replace(audit.target, '-', '') = journal.id"),
    ),
    Invariant(
        name="reversals_undo_their_journals",
        rule="A reversal has the legs of its journal with the opposite signs.",
        sql="""
            SELECT 'journal ' || reversal || ': ' || kind || ' ' || sum(amount)
            FROM (
                SELECT journal.id AS reversal, leg.kind, leg.name, leg.amount
                FROM payments_journal journal JOIN payments_journalleg leg ON leg.journal_id = journal.id
                WHERE journal.reverses_id IS NOT NULL
                UNION ALL
                SELECT journal.id, leg.kind, leg.name, leg.amount
                FROM payments_journal journal JOIN payments_journalleg leg ON leg.journal_id = journal.reverses_id
            ) legs GROUP BY reversal, kind, name HAVING sum(amount) <> 0
        """,
    ),
    Invariant(
        name="paired_journals_balance",
        rule="What a journal takes of one business, its pair gives another one: bank clearing between them is zero.",
        sql="""
            SELECT 'journal ' || pair.id
            FROM payments_journal pair
                JOIN payments_journal journal ON journal.id = pair.paired_with_id
            WHERE journal.business_id IS NULL OR journal.business_id = pair.business_id
                OR journal.currency <> pair.currency OR journal.paired_with_id IS NOT NULL
                OR 0 <> (
                    SELECT coalesce(sum(leg.amount), 0) FROM payments_journalleg leg
                    WHERE leg.journal_id IN (journal.id, pair.id) AND leg.kind = 'bank_clearing')
        """,
    ),
    Invariant(
        name="journals_of_clearing_mend_write_offs",
        rule="A journal of house accounts that takes money out of bank clearing takes all that one old write-off left there, once.",
        sql=f"""
            SELECT 'journal ' || journal.id
            FROM payments_journal journal
                JOIN payments_journalleg leg ON leg.journal_id = journal.id AND leg.kind = 'bank_clearing'
                LEFT JOIN ({moved("suspense_out", "bank_clearing")}) left_there
                    ON left_there.cause = (SELECT entry.cause FROM ledger_entry entry
                        WHERE entry.id = journal.entry_id AND entry.kind = 'suspense_out')
            WHERE journal.business_id IS NULL AND journal.reverses_id IS NULL AND (
                leg.amount <> -coalesce(left_there.amount, 0)
                OR EXISTS (
                    SELECT 1 FROM payments_payoutreturn returned
                    WHERE returned.id = left_there.cause AND returned.applied <> 'unmatched')
                OR EXISTS (
                    SELECT 1 FROM virtual_accounts_unclaimedtransfer unclaimed
                        JOIN virtual_accounts_transfer assigned ON assigned.bank_reference = unclaimed.bank_reference
                    WHERE unclaimed.id = left_there.cause AND assigned.reason = 'assigned')
                OR EXISTS (
                    SELECT 1 FROM payments_journal again
                        JOIN payments_journalleg its ON its.journal_id = again.id AND its.kind = 'bank_clearing'
                    WHERE again.entry_id = journal.entry_id AND again.id <> journal.id AND NOT EXISTS (
                        SELECT 1 FROM payments_journal undone
                        WHERE undone.reverses_id IN (again.id, journal.id))))
        """,
    ),
    Invariant(
        name="explained_breaks_have_journals",
        rule="A break that a journal explains has ended by it. The journal's leg of the bank account is its difference.",
        sql="""
            SELECT 'break ' || explained.id
            FROM payments_journal journal
                JOIN cash_break explained ON explained.id = journal.explained_id
                JOIN cash_bankaccount bank ON bank.id = explained.account_id
                LEFT JOIN payments_journalleg leg
                    ON leg.journal_id = journal.id AND leg.kind = bank.kind
                    AND leg.name = CASE bank.kind WHEN 'bank' THEN bank.name ELSE bank.connector_account END
            WHERE explained.ended_by <> 'entry'
                OR coalesce(leg.amount, 0) <> explained.ledger_amount - explained.bank_amount
        """,
    ),
)

"""Invariants of the invoices of fees."""

from ledger.invariants import Invariant

INVARIANTS = (
    Invariant(
        name="fee_invoices_match_ledger",
        rule="The net of a business's invoices in a currency is what the ledger booked as its fees in months with invoices, and "
        "their taxes are what it booked as its taxes, without what was remitted. What was booked after the last invoice of a month "
        "isn't on one yet.",
        sql="""
            WITH invoiced AS (
                SELECT business_id, currency, sum(net) AS fees, sum(tax + stamp_duty) AS taxes,
                    max(fees_through) AS fees_through, max(taxes_through) AS taxes_through
                FROM payments_feeinvoice GROUP BY business_id, currency
            )
            SELECT 'business ' || found.business_id || ', ' || found.currency
                || ': fees differ by ' || sum(found.fees) || ', taxes by ' || sum(found.taxes)
            FROM (
                SELECT business_id, currency, fees, taxes FROM invoiced
                UNION ALL
                SELECT account.business_id, account.currency,
                    CASE WHEN account.kind = 'fees' THEN -posting.amount ELSE 0 END,
                    CASE WHEN account.kind = 'fees' THEN 0 ELSE -posting.amount END
                FROM (SELECT DISTINCT month, begins_at, ends_at FROM payments_feeinvoice) period
                    JOIN ledger_entry entry ON entry.at >= period.begins_at AND entry.at < period.ends_at
                    JOIN ledger_posting posting ON posting.entry_id = entry.id
                    JOIN ledger_account account ON account.id = posting.account_id
                    LEFT JOIN invoiced ON invoiced.business_id = account.business_id
                        AND invoiced.currency = account.currency
                WHERE account.kind IN ('fees', 'taxes_payable') AND account.business_id IS NOT NULL
                    AND (account.kind = 'fees' OR entry.kind <> 'journal' OR EXISTS (
                        SELECT 1 FROM ledger_posting given JOIN ledger_account own ON own.id = given.account_id
                        WHERE given.entry_id = entry.id AND own.kind IN ('wallet', 'pending_settlement', 'unapplied')))
                    AND (period.month < (SELECT max(month) FROM payments_feeinvoice) OR posting.sequence
                        <= CASE WHEN account.kind = 'fees' THEN fees_through ELSE taxes_through END)
            ) found
            GROUP BY found.business_id, found.currency
            HAVING sum(found.fees) <> 0 OR sum(found.taxes) <> 0
        """,
    ),
    Invariant(
        name="fee_invoices_equal_their_lines",
        rule="Net, tax and stamp duty of an invoice are the sums of its lines.",
        sql="""
            SELECT 'invoice ' || invoice.number
            FROM payments_feeinvoice invoice
                LEFT JOIN payments_feeinvoiceline line ON line.invoice_id = invoice.id
            GROUP BY invoice.id, invoice.number, invoice.net, invoice.tax, invoice.stamp_duty
            HAVING invoice.net <> coalesce(sum(line.net), 0) OR invoice.tax <> coalesce(sum(line.tax), 0)
                OR invoice.stamp_duty <> coalesce(sum(line.stamp_duty), 0)
        """,
    ),
    Invariant(
        name="fee_invoices_have_no_gaps",
        rule="The numbers of invoices run from 1 without gaps.",
        sql="""
            SELECT 'numbers up to ' || max(number) || ' of ' || count(*) || ' invoices'
            FROM payments_feeinvoice HAVING count(*) <> coalesce(max(number), 0)
        """,
    ),
)

"""Invariants of bank accounts of ours: what the ledger says of them follows from statements, and nothing is matched twice."""

from ledger.invariants import Invariant
from payments.services.reconciliation.ledger_line import OF_ACQUIRERS

_OF_ACQUIRERS = ", ".join(f"'{kind}'" for kind in sorted(OF_ACQUIRERS))

INVARIANTS = (
    Invariant(
        name="bank_accounts_hold_what_was_matched",
        rule="A bank account's balance in the ledger is the opening balance of its first statement with its matched lines.",
        sql="""
            SELECT 'account ' || name || ': ' || held || ', opened with ' || opening || ', matched ' || matched
            FROM (
                SELECT bank.name AS name, -coalesce(account.balance, 0) AS held,
                    coalesce((
                        SELECT opening FROM cash_statement WHERE account_id = bank.id ORDER BY last_day, id LIMIT 1
                    ), 0) AS opening,
                    coalesce((
                        SELECT sum(line.amount)
                        FROM cash_match JOIN cash_matchedline matched ON matched.match_id = cash_match.id
                            JOIN cash_statementline line ON line.id = matched.line_id
                        WHERE cash_match.account_id = bank.id
                    ), 0) AS matched
                FROM cash_bankaccount bank
                    LEFT JOIN ledger_account account ON account.business_id IS NULL AND account.kind = bank.kind
                        AND account.name = CASE bank.kind WHEN 'bank' THEN bank.name ELSE bank.connector_account END
                        AND account.currency = bank.currency
            ) accounts
            WHERE held <> opening + matched
        """,
    ),
    Invariant(
        name="matches_balance",
        rule="The lines of a match are what the ledger expected of it, to the last minor unit.",
        sql="""
            SELECT 'match ' || id || ': ' || lines || ' on lines, ' || items || ' expected'
            FROM (
                SELECT id,
                    coalesce((
                        SELECT sum(line.amount) FROM cash_matchedline matched
                            JOIN cash_statementline line ON line.id = matched.line_id
                        WHERE matched.match_id = cash_match.id
                    ), 0) AS lines,
                    coalesce((
                        SELECT sum(amount) FROM cash_matcheditem item WHERE item.match_id = cash_match.id
                    ), 0) AS items
                FROM cash_match
            ) matches
            WHERE lines <> items
        """,
    ),
    Invariant(
        name="statement_entries_are_their_matches",
        rule="The entry of a run of matches moves its lines, and of what they confirm, what acquirers owe and costs.",
        sql=f"""
            SELECT 'booking ' || coalesce(entries.booking, matches.booking)
            FROM (
                SELECT entry.cause AS booking,
                    sum(CASE WHEN account.kind IN ('bank', 'acquirer', 'provider') THEN -posting.amount ELSE 0 END) AS lines,
                    sum(CASE WHEN account.kind = 'acquirer_receivable' THEN posting.amount ELSE 0 END) AS owed,
                    sum(CASE WHEN account.kind = 'costs' THEN posting.amount ELSE 0 END) AS costs
                FROM ledger_entry entry JOIN ledger_posting posting ON posting.entry_id = entry.id
                    JOIN ledger_account account ON account.id = posting.account_id
                WHERE entry.kind = 'statement_matched' GROUP BY entry.cause
            ) entries FULL JOIN (
                SELECT booking, sum(lines) AS lines, sum(owed) AS owed, sum(costs) AS costs
                FROM (
                    SELECT id, booking, coalesce((
                        SELECT sum(line.amount) FROM cash_matchedline matched
                            JOIN cash_statementline line ON line.id = matched.line_id
                        WHERE matched.match_id = cash_match.id
                    ), 0) AS lines, coalesce((
                        SELECT sum(amount) FROM cash_matcheditem item
                        WHERE item.match_id = cash_match.id AND item.kind IN ({_OF_ACQUIRERS})
                    ), 0) AS owed, coalesce((
                        SELECT sum(amount) FROM cash_matcheditem item
                        WHERE item.match_id = cash_match.id AND item.kind = 'cost'
                    ), 0) AS costs
                    FROM cash_match
                ) single GROUP BY booking
            ) matches ON matches.booking = entries.booking
            WHERE coalesce(entries.lines, 0) <> coalesce(matches.lines, 0)
                OR coalesce(entries.owed, 0) <> coalesce(matches.owed, 0)
                OR coalesce(entries.costs, 0) <> coalesce(matches.costs, 0)
        """,
    ),
    Invariant(
        name="lines_are_matched_or_breaks",
        rule="A line of a statement is matched, or an open break has it, never both.",
        sql="""
            SELECT 'line ' || line.id
            FROM cash_statementline line
            WHERE EXISTS (SELECT 1 FROM cash_matchedline matched WHERE matched.line_id = line.id)
                = EXISTS (SELECT 1 FROM cash_break WHERE cash_break.line_id = line.id AND ended_at IS NULL)
        """,
    ),
    Invariant(
        name="statements_are_their_lines",
        rule="A statement's closing balance is its opening balance with its lines.",
        sql="""
            SELECT 'statement ' || id || ': ' || closing || ' after ' || opening || ' and ' || coalesce(lines, 0)
            FROM cash_statement LEFT JOIN (
                SELECT statement_id, sum(amount) AS lines, count(*) AS number FROM cash_statementline GROUP BY statement_id
            ) summed ON statement_id = id
            WHERE closing <> opening + coalesce(lines, 0) OR lines_count <> coalesce(number, 0)
        """,
    ),
)

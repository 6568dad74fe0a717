"""Invariants of currencies and fees."""

from kit import banks
from ledger.invariants import Invariant
from payments.rules.fees import HOME_CURRENCY

# The rows that can cause a ledger entry, by id.
_CAUSES = """
    SELECT id AS cause, business_id, currency, 'transaction' AS subject FROM payments_transaction
    UNION ALL
    SELECT refund.id, refund.business_id, payment.currency, 'operation' FROM payments_cardoperation refund
        JOIN payments_transaction payment ON payment.id = refund.transaction_id
    UNION ALL
    SELECT id, business_id, currency, 'batch' FROM payments_settlementbatch
    UNION ALL
    SELECT returned.id, payment.business_id, returned.currency, 'payout return' FROM payments_payoutreturn returned
        JOIN payments_transaction payment ON payment.id = returned.transaction_id
    UNION ALL
    SELECT transfer_id, business_id, currency, 'transfer' FROM virtual_accounts_unappliedmoney
"""


def _currency_of_bank() -> str:
    """Return the SQL of the currency of a payout's bank. Only banks outside the home currency are listed."""
    others = {
        f"WHEN '{code}' THEN '{bank.currency}'"
        for bank in banks.all_banks()
        for code in (bank.code, bank.nip_code)
        if bank.currency != HOME_CURRENCY
    }
    return (
        f"CASE bank_code {' '.join(sorted(others))} ELSE '{HOME_CURRENCY}' END"
        if others
        else f"'{HOME_CURRENCY}'"
    )


# The fee and its tax as computed by `fees.charge` and `fees.withheld_charge`, from the rule stored with the transaction.
# Percentages are computed in two parts, because a large amount times 10,000 basis points would overflow 64 bits.
_FEES = """
    SELECT 'transaction ' || id || ': ' || fee || ' and tax ' || fee_tax || ', by its rule ' || due
    FROM (
        SELECT id, fee, fee_tax, stamp_duty, duty, tax_basis_points,
            CASE WHEN request_type = 'payment' AND charged > most THEN most ELSE charged END AS due
        FROM (
            SELECT id, fee, fee_tax, stamp_duty, tax_basis_points, request_type,
                CASE WHEN request_type = 'payout' AND base >= duty_from THEN duty ELSE 0 END AS duty,
                CASE WHEN cap < share + fixed THEN cap ELSE share + fixed END AS charged,
                base / (10000 + tax_basis_points) * 10000
                    + (base % (10000 + tax_basis_points) * 10000 + 4999) / (10000 + tax_basis_points) AS most
            FROM (
                SELECT id, fee, fee_tax, stamp_duty, duty, duty_from, tax_basis_points, request_type, base, cap,
                    base / 10000 * basis_points + (base % 10000 * basis_points + 5000) / 10000 AS share,
                    CASE WHEN base < waived_below THEN 0 ELSE coalesce(step, fixed) END AS fixed
                FROM ({rules}) rule
            ) part
        ) total
    ) price
    WHERE fee <> due
        OR fee_tax <> due / 10000 * tax_basis_points + (due % 10000 * tax_basis_points + 5000) / 10000
        OR stamp_duty <> duty
"""
_RULES = """
    SELECT id, fee, fee_tax, stamp_duty, request_type, base,
        coalesce((fee_rule ->> 'basis_points')::bigint, 0) AS basis_points,
        coalesce((fee_rule ->> 'tax_basis_points')::bigint, 0) AS tax_basis_points,
        coalesce((fee_rule ->> 'stamp_duty')::bigint, 0) AS duty,
        coalesce((fee_rule ->> 'stamp_duty_from')::bigint, 0) AS duty_from,
        coalesce((fee_rule ->> 'fixed')::bigint, 0) AS fixed,
        coalesce((fee_rule ->> 'fixed_waived_below')::bigint, 0) AS waived_below,
        (fee_rule ->> 'cap')::bigint AS cap,
        (SELECT (one ->> 1)::bigint FROM jsonb_array_elements(coalesce(fee_rule -> 'steps', '[]')) one
            WHERE base <= (one ->> 0)::bigint ORDER BY (one ->> 0)::bigint LIMIT 1) AS step
    FROM ({successes}) success
"""
_RULES_ON_SQLITE = """
    SELECT id, fee, fee_tax, stamp_duty, request_type, base,
        coalesce(json_extract(fee_rule, '$.basis_points'), 0) AS basis_points,
        coalesce(json_extract(fee_rule, '$.tax_basis_points'), 0) AS tax_basis_points,
        coalesce(json_extract(fee_rule, '$.stamp_duty'), 0) AS duty,
        coalesce(json_extract(fee_rule, '$.stamp_duty_from'), 0) AS duty_from,
        coalesce(json_extract(fee_rule, '$.fixed'), 0) AS fixed,
        coalesce(json_extract(fee_rule, '$.fixed_waived_below'), 0) AS waived_below,
        json_extract(fee_rule, '$.cap') AS cap,
        (SELECT json_extract(one.value, '$[1]')
            FROM json_each(coalesce(json_extract(fee_rule, '$.steps'), '[]')) one
            WHERE base <= json_extract(one.value, '$[0]') ORDER BY json_extract(one.value, '$[0]') LIMIT 1) AS step
    FROM ({successes}) success
"""
_SUCCESSES = """
    SELECT id, fee, fee_tax, stamp_duty, fee_rule, request_type,
        CASE WHEN method = 'card' THEN amount_captured ELSE amount END AS base
    FROM payments_transaction payment WHERE status = 'success' AND request_type IN ('payment', 'payout')
"""

INVARIANTS = (
    Invariant(
        name="entries_are_in_the_currency_of_their_cause",
        rule="An entry has the business and currency of its cause.",
        sql=f"""
            SELECT 'entry ' || entry.id || ': ' || entry.currency || ' for a ' || cause.subject || ' in '
                || cause.currency
            FROM ledger_entry entry JOIN ({_CAUSES}) cause ON cause.cause = entry.cause
            WHERE entry.currency <> cause.currency OR entry.business_id <> cause.business_id
        """,
    ),
    Invariant(
        name="batches_keep_to_one_currency",
        rule="Every payment in a batch has the business and currency of the batch.",
        sql="""
            SELECT 'item ' || item.id
            FROM payments_settlementitem item
                JOIN payments_settlementbatch batch ON batch.id = item.batch_id
                JOIN payments_transaction payment ON payment.id = item.transaction_id
            WHERE payment.currency <> batch.currency OR payment.business_id <> batch.business_id
        """,
        keys={"payments_settlementitem item": "id"},
    ),
    Invariant(
        name="payouts_are_in_their_banks_currency",
        rule="A payout is in the currency of its bank, unless it is older than this rule or has failed.",
        # The first release had no currencies of banks, so its payouts are exempt. A database from after the squash has
        # this row since it was created, or doesn't have it.
        sql=f"""
            SELECT 'transaction ' || id || ': ' || currency
            FROM payments_transaction payment
            WHERE request_type = 'payout' AND status <> 'failed' AND currency <> {_currency_of_bank()}
                AND NOT EXISTS (
                    SELECT 1 FROM django_migrations WHERE app = 'payments'
                        AND name = '0014_tariff_currency' AND applied > created_at)
        """,
        keys={"payments_transaction payment": "id"},
    ),
    Invariant(
        name="fees_follow_their_rules",
        rule="The fee of a successful transaction, and its tax, follow the rule that it was created with.",
        sql=_FEES.format(rules=_RULES.format(successes=_SUCCESSES)),
        on_sqlite=_FEES.format(rules=_RULES_ON_SQLITE.format(successes=_SUCCESSES)),
        keys={"payments_transaction payment": "id"},
    ),
)

"""Invariants of reserves: what is held back of released settlements, and its returns."""

from ledger.invariants import Invariant
from payments.invariants.entry_sql import moved, without_cause

INVARIANTS = (
    Invariant(
        name="reserves_are_open_holds",
        rule="The reserve of a business is what is left of its holds.",
        sql="""
            SELECT 'account ' || account.id || ': ' || account.balance || ', held ' || coalesce(held.amount, 0)
            FROM ledger_account account LEFT JOIN (
                SELECT business_id, currency, sum("left") AS amount
                FROM payments_reservehold GROUP BY business_id, currency
            ) held ON held.business_id = account.business_id AND held.currency = account.currency
            WHERE account.kind = 'reserve' AND account.balance <> coalesce(held.amount, 0)
        """,
    ),
    Invariant(
        name="holds_are_left_by_returns",
        rule="What is left of a hold is its amount less its returns.",
        sql="""
            SELECT 'hold ' || hold.id
            FROM payments_reservehold hold LEFT JOIN (
                SELECT hold_id, sum(amount) AS amount FROM payments_reservereturn GROUP BY hold_id
            ) returned ON returned.hold_id = hold.id
            WHERE hold."left" <> hold.amount - coalesce(returned.amount, 0)
        """,
    ),
    Invariant(
        name="batches_are_reserved_by_holds",
        rule="A batch's reserved amount is the sum of its holds, which have its business and currency.",
        sql="""
            SELECT 'batch ' || batch.id
            FROM payments_settlementbatch batch LEFT JOIN (
                SELECT batch_id, business_id, currency, sum(amount) AS amount
                FROM payments_reservehold GROUP BY batch_id, business_id, currency
            ) held ON held.batch_id = batch.id
            WHERE batch.reserved <> coalesce(held.amount, 0)
                OR held.business_id <> batch.business_id OR held.currency <> batch.currency
        """,
    ),
    Invariant(
        name="holds_are_booked",
        rule="A hold has moved its amount from the wallet to the reserve.",
        sql=f"""
            SELECT 'hold ' || hold.id
            FROM payments_reservehold hold LEFT JOIN ({moved("reserve_held", "reserve")}) booked
                ON booked.cause = hold.id
            WHERE coalesce(booked.amount, 0) <> hold.amount
        """,
    ),
    Invariant(
        name="house_reserves_are_those_of_businesses",
        rule="The house account of reserves is the sum of the reserves of businesses.",
        sql="""
            SELECT 'reserves ' || currency || ': ' || sum(CASE kind WHEN 'reserves' THEN balance ELSE 0 END)
                || ', held ' || sum(CASE kind WHEN 'reserve' THEN balance ELSE 0 END)
            FROM ledger_account WHERE kind IN ('reserve', 'reserves') GROUP BY currency
            HAVING sum(CASE kind WHEN 'reserve' THEN balance ELSE -balance END) <> 0
        """,
    ),
    Invariant(
        name="changes_of_reserves_are_mirrored",
        rule="What an entry changes of a business's reserve, another one of the same cause changes of the house's reserves.",
        sql=f"""
            SELECT 'held by ' || coalesce(own.cause, mirror.cause)
            FROM (
                {moved("reserve_held", "reserve")} UNION ALL {moved("reserve_returned", "reserve")}
            ) own FULL JOIN ({moved("reserves_mirrored", "reserves")}) mirror ON mirror.cause = own.cause
            WHERE own.cause IS NULL OR mirror.cause IS NULL OR own.amount <> mirror.amount
                OR own.currency <> mirror.currency
        """,
    ),
    Invariant(
        name="entries_of_holds_have_holds",
        rule="An entry of a hold belongs to a hold.",
        sql=without_cause("reserve_held", table="payments_reservehold", alias="hold", condition="TRUE"),
    ),
    Invariant(
        name="reserve_returns_are_booked",
        rule="A return of a hold has moved its amount from the reserve to the wallet.",
        sql=f"""
            SELECT 'return ' || returned.id
            FROM payments_reservereturn returned LEFT JOIN ({moved("reserve_returned", "wallet")}) booked
                ON booked.cause = returned.id
            WHERE coalesce(booked.amount, 0) <> returned.amount
        """,
    ),
    Invariant(
        name="entries_of_reserve_returns_have_returns",
        rule="An entry of a return from the reserve belongs to a return.",
        sql=without_cause(
            "reserve_returned", table="payments_reservereturn", alias="returned", condition="TRUE"
        ),
    ),
)

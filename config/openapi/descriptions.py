"""Texts of the API description, separate from the schemas."""

from payments.sandbox_guide import Table, tables

INTRODUCTION = """\
Sluice takes card payments and payments by bank transfer, checks cards and pays out to bank accounts. Amounts are whole
numbers in minor units (`50000` is NGN 500.00); times are RFC 3339 in UTC.

## Signing

Every call is signed with a key pair: a public id (`pk_…`) and a secret key (`sk_…`). Join five parts with line feeds,
without one at the end:

1. `X-Timestamp`: Unix seconds, within 300 seconds of the server's clock
2. `X-Nonce`: 16 to 128 characters of `A-Z a-z 0-9 - _`, used once
3. the method in upper case
4. the request target exactly as sent: path, and `?query` if there is one
5. the lower-case hex SHA-256 of the raw body (of no bytes if there is no body)

`X-Signature` is the hex HMAC-SHA256 of that text, keyed with the text of the secret key; `X-Api-Key` is the
public id. If a signature is wrong, the sandbox returns the `string_to_sign` that it computed.
`manage.py sign_request GET /api/banks` prints a signed curl command.

## References

You choose the `reference`. It identifies the resource and makes retries safe: the same reference with the same request
returns 200 with `Idempotent-Replayed: true` and executes nothing twice; with a different request it returns 409
`duplicate_reference`. After a timeout, repeat the same request with a new nonce. You can repeat a request with a card
for 24 hours, and until 5 requests with its reference had a different card number. After that, its reference returns 409
for every card. You can repeat other requests at any time.

## Errors

Errors are RFC 9457 problem details (`application/problem+json`). Handle them by `code`; [each code has a
page](/docs/errors/). A declined payment isn't an error: it returns 201 with `status: failed`, a `response_code`
and a `response_summary`. No text may contain the character U+0000.
"""


def sandbox_tables(*names: str) -> str:
    """Return what triggers which outcome in the sandbox, as Markdown."""
    return "\n\n".join(_markdown(table) for table in tables() if table.name in names)


def _markdown(table: Table) -> str:
    head = [
        f"**{table.title}** (sandbox). {table.note}\n",
        f"| {table.trigger_heading} | Status | Code | Result |",
    ]
    rows = [f"| {row.trigger} | `{row.status}` | {row.code} | {row.result} |" for row in table.rows]
    return "\n".join([*head, "|---|---|---|---|", *rows])


CREATE_PAYMENT = """\
`request_type` (and, for payments, `payment_method`) determines which fields the request has.

A card payment that needs 3-D Secure is `pending` with a `redirect_link`: redirect the payer to it. The payer returns to
your `redirect_url` with `reference`, `id` and `status` in the query. The query is no proof of payment, so look up the
payment. A payment to a virtual account is `pending`, with the account number for the payer's transfer in
`virtual_account_details`. With `capture: false`, the amount is only authorised, and the payment stays `pending` until
you capture or void it, or 7 days have passed.

"""

CREATE_ACCOUNT = """\
`type` and `account_type` determine which fields the request has.

A `static` account belongs to one customer and has a permanent number. A `dynamic` account has no permanent number: each
payment to it (`payment_method: virtual_account`) gets a new one. A business's account is always static.
"""

BALANCE = """\
`available` is your wallet: released settlements less payouts and their fees. A payout is deducted when it is accepted,
and returned if it fails. `pending` is what you have earned but hasn't been released yet, less fees and refunds.

Either may be negative: `pending` if more was refunded than earned since the last settlement, `available` where payouts
need no balance (the sandbox). A negative amount is deducted from the next settlement.
"""

MOVEMENTS = """\
The statement of your wallet: each credit and debit, with the balance after it. With `currency`, the response also has
the `opening_balance` and `closing_balance` of the period from `created_from` to `created_to`, on every page:
`opening_balance` plus all amounts of the period is `closing_balance`, and `opening_balance` equals the
`closing_balance` of the previous period.

"""

REFUND = """\
Refund a payment in whole or in parts, until nothing is left. A card payment is refunded to its card, a transfer payment
to its sender's account. If the bank didn't name that account, `destination` is required; if it did, `destination` isn't
allowed. The amount of a pending refund counts as refunded; a failed refund releases it.

Refunds of card payments follow the first table, those of transfer payments the second.

"""

SIMULATE = """\
Simulates a bank transfer to one of your account numbers. You receive the outcome by webhook, as for a real transfer.
Money that matches no payment (the payment has ended, the account is inactive) arrives too: `message` says that it was
booked as unapplied.
"""

EVENTS = """\
Every event that you were subscribed to when it happened, with the state of its delivery, and your test events. Get a
single event to see its exact body and its attempts.
"""

ADVANCE = """\
Makes the next event that the payment is waiting for happen now, with all its usual effects. `advanced` is the event:

- `challenge`: the 3-D Secure page expired (20151)
- `authorisation`: the authorisation expired (20068)
- `session`: the session of the virtual account expired (20068)
- `question`: the acquirer or bank was queried for a lost answer: of the payment, a capture, void, refund or reversal
- `return`: the bank returned a successful payout to account `0000000096`

Of simultaneous calls, one advances the payment. If nothing can be advanced, the response is 409 `invalid_state`.
"""

DECIDE_UNAPPLIED = """\
Needs a key with full access. Your business must also allow API keys to decide about unapplied transfers, which is off
by default; otherwise the response is 403 `key_may_not_decide`. Repeating the same decision returns 200 and the
transfer's current state; a different decision returns 409 `invalid_state`.
"""

"""Texts of the API description that belong to no single view."""

from payments.sandbox.sandbox_guide import Table, tables

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
`sluice sign GET /api/banks --curl` prints a signed curl command.

## References

You choose the `reference`. It identifies the resource and makes retries safe: the same reference with the same request
returns 200 with `Idempotent-Replayed: true` and executes nothing twice; with a different request it returns 409
`duplicate_reference`. After a timeout, repeat the same request with a new nonce. You can repeat a request with a card
for 24 hours, and until 5 requests with its reference had a different card number. After that, its reference returns 409
for every card. You can repeat other requests at any time.

## Lists

Lists of what grows come in pages, newest first: `data`, and the URLs of the neighbouring pages in `next` and `previous`, or
null. `limit` sets the size, from 1 to 100; the default is 20. Sign the path and the query of `next` exactly as they are.
Pages stay stable while new objects are created.

## Errors

Errors are RFC 9457 problem details (`application/problem+json`). Handle them by `code`; [each code has a
page](/docs/errors/). A declined payment isn't an error: it returns 201 with `status: failed`, a `response_code`
and a `response_summary`. No text may contain the character U+0000.
"""


TAGS = [
    {"name": "Payments", "description": "Payments by card or bank transfer, payouts and card checks."},
    {"name": "Refunds", "description": "Refunds of card and transfer payments."},
    {"name": "Payment links", "description": "Pages on which your payers pay, and who paid or tried."},
    {"name": "Beneficiaries", "description": "Bank accounts that you pay, verified by name enquiry."},
    {"name": "Payout batches", "description": "Many payouts as one request: checked, approved and followed."},
    {"name": "Virtual accounts", "description": "Account numbers that receive money."},
    {"name": "Unapplied transfers", "description": "Money that arrived and matches no payment."},
    {"name": "Disputes", "description": "What cardholders' banks take back, and your answers."},
    {"name": "Settlements", "description": "Batches of payments on their way to your balance."},
    {"name": "Events", "description": "Events that you were notified of, with the state of each delivery."},
    {
        "name": "Webhook endpoints",
        "description": "The URLs that receive your events, and their signing keys.",
    },
    {"name": "Webhooks", "description": "The requests that your endpoint receives."},
    {"name": "Requests", "description": "The log of your requests to this API."},
    {"name": "Balance", "description": "Your balance, and what is on its way into it."},
    {"name": "Sandbox", "description": "What only the sandbox does."},
    {"name": "Banks", "description": "Where payouts can go."},
    {"name": "Capabilities", "description": "What can be done in each currency."},
]

# The tables of what triggers which outcome in the sandbox, by the operation whose description has them.
_TABLES = {
    "createPayment": ("cards", "amounts", "3ds", "payouts"),
    "capturePayment": ("captures",),
    "createRefund": ("refunds", "payouts"),
}


def sandbox_tables(operation: str) -> list[str]:
    """Return what triggers which outcome of an operation in the sandbox, as Markdown."""
    return [_markdown(table) for table in tables() if table.name in _TABLES.get(operation, ())]


def _markdown(table: Table) -> str:
    head = [
        f"**{table.title}** (sandbox). {table.note}\n",
        f"| {table.trigger_heading} | Status | Code | Result |",
    ]
    rows = [f"| {row.trigger} | `{row.status}` | {row.code} | {row.result} |" for row in table.rows]
    return "\n".join([*head, "|---|---|---|---|", *rows])

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


def sandbox_tables(*names: str) -> list[str]:
    """Return what triggers which outcome in the sandbox, as Markdown."""
    return [_markdown(table) for table in tables() if table.name in names]


def _markdown(table: Table) -> str:
    head = [
        f"**{table.title}** (sandbox). {table.note}\n",
        f"| {table.trigger_heading} | Status | Code | Result |",
    ]
    rows = [f"| {row.trigger} | `{row.status}` | {row.code} | {row.result} |" for row in table.rows]
    return "\n".join([*head, "|---|---|---|---|", *rows])


DECIDE_UNAPPLIED = """\
Needs a key with full access. Your business must also allow API keys to decide about unapplied transfers, which is off
by default; otherwise the response is 403 `key_may_not_decide`. Repeating the same decision returns 200 and the
transfer's current state; a different decision returns 409 `invalid_state`.
"""

"""Texts of the API description, separate from the schemas."""

from typing import Any, NamedTuple

from payments.sandbox_guide import Table, tables


class Word(NamedTuple):
    """What a field means, and a value that the sandbox takes."""

    text: str
    example: Any = None


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

# Title and description of each request schema and its nested objects.
ABOUT_REQUESTS = {
    "CardPayment": ("Card payment", "Take a payment from a card."),
    "VirtualAccountPayment": ("Virtual account payment", "Take a payment by bank transfer."),
    "Payout": ("Payout", "Pay out to a bank account."),
    "CardCheck": ("Card check", "Check whether a card is valid. No money moves."),
    "Source": ("Card", "Responses never contain its number or CVV."),
    "CheckedSource": ("Card to check", "Responses never contain its number or CVV."),
    "BillingAddress": ("Billing address", "The cardholder's billing address."),
    "Payer": ("Payer", "If you send any of these fields, `reference` and `email` are required."),
    "Beneficiary": ("Beneficiary", "The recipient of the payout."),
    "ThreeDSecure": ("3-D Secure", "Options for 3-D Secure."),
    "Capture": ("Capture", "Capture the authorised amount or part of it. The rest is released."),
    "Cancel": ("Cancellation", "Has no fields."),
    "Void": ("Void", "Has no fields: send an empty object or no body."),
    "ResolveBeneficiary": ("Name enquiry", "The account to look up."),
    "Advance": ("Advance", "The payment to advance."),
    "CreditUnapplied": ("Credit", "Credit an unapplied transfer to your wallet."),
    "ReturnUnapplied": ("Return", "Return an unapplied transfer to its sender."),
    "Destination": ("Destination", "The bank account that money is returned to."),
    "Refund": ("Refund", "Refund a payment or part of it."),
    "StaticAccount": ("Static account", "An account with a permanent number for one customer."),
    "DynamicAccount": ("Dynamic account", "An account with a new number for each payment."),
    "BusinessAccount": ("Business account", "A business's static account."),
    "Deactivate": ("Deactivation", "Has no fields: send an empty object or no body."),
    "Simulate": ("Simulated transfer", "The transfer that the bank would report."),
    "Address": ("Address", "The address where the holder lives or is registered."),
}

_REQUEST_TYPE = Word("The kind of request. Determines which fields the request has.")
_CURRENCY = Word(
    "ISO 4217, and enabled for your business (by default NGN and USD). A payout's must be the bank's.", "NGN"
)
_CARD: dict[str, Word] = {
    "type": Word("Always `card`.", "card"),
    "pan": Word(
        "Card number: 12 to 19 digits that pass the Luhn check. Spaces are ignored.", "4084084084084081"
    ),
    "name": Word("Cardholder's name.", "Ada Obi"),
    "expiry_month": Word("Two digits, 01 to 12.", "12"),
    "expiry_year": Word(
        "Four digits. An expired card is declined with 20054, not rejected as invalid.", "2035"
    ),
    "cvv": Word("3 or 4 digits. Used once, never stored.", "408"),
}
_METADATA = Word(
    "Your own keys and values: at most 20 keys of 1 to 40 characters, each with a string of up to 500. Returned "
    "unchanged in responses and webhooks, and compared when a request is repeated. Search the dashboard by `key=value`.",
    {"order": "1042", "shop": "Lagos"},
)
_ORDER: dict[str, Word] = {
    "request_type": _REQUEST_TYPE,
    "reference": Word("Your unique reference of the transaction, and its idempotency key.", "order-1042"),
    "amount": Word('Minor units. A whole number: `1000` and `1000.0`, not `10.5` or `"1000"`.', 50_000),
    "currency": _CURRENCY,
    "narration": Word("Free text.", "Two books"),
    "metadata": _METADATA,
    "payment_ip": Word("The payer's IPv4 or IPv6 address, for fraud scoring.", "203.0.113.7"),
    "authorization_type": Word("Reserved for future use.", "regular"),
}
_ACCOUNT: dict[str, Word] = {
    "type": Word("`static` or `dynamic`.", "static"),
    "account_type": Word("`individual` (the default) or `business`.", "individual"),
    "reference": Word("Your unique reference of the account, and its idempotency key.", "customer-7"),
    "email": Word("E-mail address.", "ada@shop.example"),
    "currency": _CURRENCY,
    "address": Word("Address."),
    "metadata": _METADATA,
}
_HOLDER: dict[str, Word] = {
    "first_name": Word("First name.", "Ada"),
    "last_name": Word("Last name.", "Obi"),
}
_BVN = Word("Bank Verification Number: 11 digits. Stored encrypted and never returned.", "22212345678")
_IGNORED = Word("Ignored.")
REQUEST_WORDS: dict[str, dict[str, Word]] = {
    "StaticAccount": _ACCOUNT
    | _HOLDER
    | {
        "middle_name": Word("Middle name.", "Ngozi"),
        "phone_number": Word("1 to 11 characters.", "08012345678"),
        "dob": Word("Date of birth, YYYY-MM-DD; in the past.", "1990-12-31"),
        "gender": Word("`male` or `female`.", "female"),
        "bvn": _BVN,
    },
    "DynamicAccount": _ACCOUNT
    | {"type": Word("`static` or `dynamic`.", "dynamic")}
    | _HOLDER
    | dict.fromkeys(("middle_name", "phone_number", "dob", "gender", "bvn"), _IGNORED),
    "BusinessAccount": _ACCOUNT
    | {
        "account_type": Word("`individual` (the default) or `business`.", "business"),
        "business_name": Word("Approved name of the business.", "Ada Books Ltd"),
        "phone_number": Word("At most 11 digits.", "08012345678"),
        "bvn": _BVN,
    }
    | dict.fromkeys(("first_name", "middle_name", "last_name", "dob", "gender"), _IGNORED),
    "Address": {
        "address_line1": Word("Street and number.", "12 Marina"),
        "address_line2": Word("Flat, floor, building.", "Flat 3"),
        "city": Word("City.", "Lagos"),
        "state": Word("State or region.", "Lagos"),
        "postal_code": Word("Postal code.", "101241"),
        "country": Word("ISO 3166-1 alpha-3.", "NGA"),
    },
    "AccountFilter": {
        "status": Word("Only accounts in this status."),
        "type": Word("Only accounts of this type."),
        "created_from": Word("Created at this time or later, to the millisecond.", "2026-01-31T00:00:00Z"),
        "created_to": Word("Created at this time or earlier, to the millisecond.", "2026-01-31T23:59:59Z"),
        "id": Word("The account with this id.", "01980a5e-7b00-7c00-8000-000000000003"),
    },
    "MovementFilter": {
        "currency": Word("Only movements of this wallet. Adds the balances of the period.", "NGN"),
        "created_from": Word("Booked at this time or later.", "2026-01-31T00:00:00Z"),
        "created_to": Word("Booked at this time or earlier.", "2026-01-31T23:59:59Z"),
    },
    "EventFilter": {
        "state": Word("Only events in this state."),
        "event": Word("Only events of this type."),
        "reference": Word(
            "Only events about the payment, payout or refund with this reference.", "order-1042"
        ),
        "created_from": Word("Created at this time or later, to the millisecond.", "2026-01-31T00:00:00Z"),
        "created_to": Word("Created at this time or earlier, to the millisecond.", "2026-01-31T23:59:59Z"),
    },
    "SettlementFilter": {
        "status": Word("Only batches in this status."),
        "currency": Word("Only batches of this currency.", "NGN"),
        "created_from": Word("Created at this time or later, to the millisecond.", "2026-01-31T00:00:00Z"),
        "created_to": Word("Created at this time or earlier, to the millisecond.", "2026-01-31T23:59:59Z"),
    },
    "CardPayment": _ORDER
    | {
        "payment_method": Word("How the payer pays.", "card"),
        "source": Word("The card."),
        "customer": Word("The payer."),
        "3ds": Word("Options for 3-D Secure."),
        "redirect_url": Word(
            "The page that the payer returns to. Absolute, without credentials; https in production.",
            "https://shop.example/back",
        ),
        "capture": Word("`false` authorises without capturing. Default `true`.", True),
    },
    "VirtualAccountPayment": _ORDER
    | {
        "payment_method": Word("How the payer pays.", "virtual_account"),
        "payment_method_id": Word(
            "The `id` of one of your active virtual accounts.", "01980a5e-7b00-7c00-8000-000000000003"
        ),
        "expiry_duration": Word("Seconds that the account number accepts the transfer.", 900),
        "customer": Word("The payer."),
    },
    "Simulate": {
        "account_number": Word("Of `virtual_account_details`, or of a static account.", "1000000014"),
        "amount": Word("Minor units.", 50_000),
        "sender_name": Word("The sender's name. Default: a sandbox sender.", "Ada Obi"),
        "sender_account_number": Word(
            "The sender's account, 10 digits, with `sender_bank_code`. Default: unknown.", "0123456789"
        ),
        "sender_bank_code": Word(
            "The sender's bank. A code that GET /api/banks doesn't list makes the sender unknown.", "058"
        ),
    },
    "Payout": _ORDER | {"customer": Word("The beneficiary.")},
    "CardCheck": {
        "request_type": _REQUEST_TYPE,
        "reference": Word(
            "Your unique reference of the check. Default: a generated one, `chk_…`.", "check-77"
        ),
        "amount": Word("Omit it or send 0: no money moves.", 0),
        "currency": _CURRENCY,
        "source": Word("The card to check."),
        "metadata": _METADATA,
    },
    "Source": _CARD | {"billing_address": Word("The cardholder's address.")},
    "CheckedSource": _CARD | {"type": Word("Always `card`, in any case.", "CARD")},
    "BillingAddress": {
        "address_line1": Word("Street and number.", "12 Marina"),
        "address_line2": Word("Flat, floor, building.", "Flat 3"),
        "city": Word("City.", "Lagos"),
        "state": Word("State or region.", "Lagos"),
        "postal_code": Word("Postal code.", "101241"),
        "country": Word("ISO 3166-1 alpha-3.", "NGA"),
    },
    "Payer": {
        "reference": Word("Your reference of the customer. Required with `name` or `email`.", "customer-7"),
        "name": Word("Full name.", "Ada Obi"),
        "email": Word("Required with `reference` or `name`.", "ada@shop.example"),
    },
    "Beneficiary": {
        "name": Word("Full name of the account's holder.", "Ada Obi"),
        "account_number": Word("Exactly 10 digits.", "0123456789"),
        "bank_code": Word("`code` or `nip_code` of a bank listed by GET /api/banks.", "058"),
        "reference": Word("Your reference of the customer.", "customer-7"),
        "email": Word("E-mail address.", "ada@shop.example"),
    },
    "ThreeDSecure": {
        "enabled": Word("`true` requests 3-D Secure. Default `false`.", True),
        "challenge_preference": Word(
            "`no_challenge` requests the frictionless flow; every other value challenges the payer.",
            "challenge_mandated",
        ),
    },
    "Capture": {
        "amount": Word("Minor units, up to the authorised amount. Default: the full amount.", 50_000)
    },
    "Refund": {
        "reference": Word("Your unique reference of the refund, and its idempotency key.", "refund-9"),
        "amount": Word("Minor units, up to the amount left. Default: everything left.", 20_000),
        "reason": Word("Free text.", "One book came back"),
        "destination": Word("Only for transfer payments whose sender's account is unknown."),
    },
    "ResolveBeneficiary": {
        "account_number": Word("Exactly 10 digits.", "0123456789"),
        "bank_code": Word("`code` or `nip_code` of a bank listed by GET /api/banks.", "058"),
    },
    "Advance": {"payment": Word("Your reference of the payment, payout or card check.", "order-1047")},
    "CreditUnapplied": {"reason": Word("The reason. Stored with the decision.", "Paid twice")},
    "ReturnUnapplied": {
        "reason": Word(
            "The reason. Stored with the decision and sent to the bank as the narration.", "Paid twice"
        ),
        "destination": Word(
            "The account to return it to. Required if the bank didn't name an account of the sender that payouts can reach; "
            "otherwise not allowed."
        ),
    },
    "Destination": {
        "name": Word("Full name of the account's holder.", "Bisi Ojo"),
        "account_number": Word("Exactly 10 digits.", "0123456789"),
        "bank_code": Word("`code` or `nip_code` of a bank listed by GET /api/banks.", "058"),
    },
    "UnappliedFilter": {
        "state": Word("Only transfers in this state."),
        "created_from": Word("Received at this time or later, to the millisecond.", "2026-01-31T00:00:00Z"),
        "created_to": Word("Received at this time or earlier, to the millisecond.", "2026-01-31T23:59:59Z"),
    },
    "Filter": {
        "status": Word("Only transactions in this status."),
        "request_type": Word("Only transactions of this kind."),
        "payment_method": Word("Only payments paid this way; never card checks."),
        "settle_status": Word("Only payments with this settlement status."),
        "created_from": Word("Created at this time or later, to the millisecond.", "2026-01-31T00:00:00Z"),
        "created_to": Word("Created at this time or earlier, to the millisecond.", "2026-01-31T23:59:59Z"),
        "id": Word("The transaction with this id.", "01980a5e-7b00-7c00-8000-000000000001"),
    },
}

"""What an integrator reads in the API's description: the words, apart from the shapes."""

from typing import Any, NamedTuple

from payments import outcomes
from payments.sandbox_tables import Table, tables


class Word(NamedTuple):
    """What a field means, and a value that the sandbox takes."""

    text: str
    example: Any = None


INTRODUCTION = """\
Sluice takes card payments, checks cards and pays out to bank accounts. Amounts are whole numbers in minor
units (`50000` is 500.00 NGN); moments are RFC 3339 in UTC.

## Signing

Every call is signed with a key pair: a public id (`pk_…`) and a secret key (`sk_…`). Join five parts with one
line feed, without one at the end:

1. `X-Timestamp`: Unix seconds, within 300 seconds of the server's clock
2. `X-Nonce`: 16 to 128 characters of `A-Z a-z 0-9 - _`, used once
3. the method in capitals
4. the request target exactly as sent: path, and `?query` if there is one
5. the lower-case hex SHA-256 of the raw body (of no bytes where there is none)

`X-Signature` is the hex HMAC-SHA256 of that text, keyed with the secret key's own text; `X-Api-Key` is the
public id. Where a signature is wrong, the sandbox answers with the `string_to_sign` that it built.
`manage.py sign_request GET /api/banks` prints a signed curl line.

## References

A `reference` is yours, names the resource, and makes a repeated request safe: the same reference with the
same request answers 200 with `Idempotent-Replayed: true` and executes nothing twice; with another request it
answers 409 `duplicate_reference`. After a timeout, send the same request again, with a new nonce. A request with a
card is replayed for 24 hours, and until 5 requests with its reference had a different card number. After that, its
reference answers 409 for every card. Other requests are replayed for ever.

## Errors

Errors are RFC 9457 problem details (`application/problem+json`). Decide by `code`; [each of them has a
page](/docs/errors/). A declined payment is no error: it answers 201 with `status: failed`, a `response_code`
and a `response_summary`. No text may hold the character U+0000.
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
`request_type` (and, for payments, `payment_method`) decides which fields the request has.

A card payment that needs 3-D Secure answers `pending` with a `redirect_link`: send the payer there. The payer
comes back to your `redirect_url` with `reference`, `id` and `status` in the query; that is no proof of
payment, so look the payment up. A payment into a virtual account answers `pending` with the number that the payer
transfers to, in `virtual_account_details`. With `capture: false` the amount is only authorised, and the payment stays
`pending` until you capture or void it, or 7 days have passed.

"""

CREATE_ACCOUNT = """\
`type` and `account_type` decide which fields the request has.

A `static` account belongs to one customer and has a permanent number from its creation on. A `dynamic` account
has none of its own: each payment into it (`payment_method: virtual_account`) gets a fresh one. A business's
account is always static.
"""

BALANCE = """\
`available` is your wallet: released settlements, less payouts with their fees. A payout is taken out of it when
it is accepted, and put back if it fails. `pending` is what you have earned and what is not released yet, less
fees and refunds.

Either may be below zero: `pending` where more was refunded than earned since the last settlement, `available`
where payouts need not be covered (the sandbox). The next settlement is netted by it.
"""

MOVEMENTS = """\
The statement of your wallet: each amount that went in or out, with the balance after it. With `currency`, the answer
also has `opening_balance` and `closing_balance` of the period from `created_from` to `created_to`, whichever page you
read: `opening_balance` plus all amounts of the period is `closing_balance`, and it is the `closing_balance` of the
period before.

"""

REFUND = """\
In whole or in parts, until nothing is left. A card payment is refunded to its card, a transfer payment to its sender's
account. Where the bank did not name that account, `destination` is required; where it did, `destination` is not
allowed. An amount that is being refunded counts as refunded; a refund that fails releases it.

Refunds of card payments follow the first table, those of transfer payments the second.

"""

SIMULATE = """\
Treats the call as a bank transfer that arrived at one of your account numbers. The outcome is told by webhook, as
a real one's. Money that fits nothing (the payment is over, the account inactive) arrives too: `message` says that
it was booked as unapplied.
"""

EVENTS = """\
Every event that you were subscribed to when it happened, with the state of its delivery, and your test events. Get one
event to see its exact body and its attempts.
"""

ADVANCE = """\
What the payment waits for happens now, with all its usual effects. `advanced` says what happened:

- `challenge`: the 3-D Secure page expired (20151)
- `authorisation`: the authorisation expired (20068)
- `session`: the session of the virtual account expired (20068)
- `question`: the acquirer or bank was asked for an answer that was lost: of the payment, a capture, void, refund or
  reversal
- `return`: the bank returned a successful payout to account `0000000096`

Of calls at the same time one advances the payment. Where nothing can be advanced, the answer is 409 `invalid_state`.
"""

DECIDE_UNAPPLIED = """\
Needs a key with full access. Your business must also let API keys decide about unapplied transfers, which is off at
first; otherwise the answer is 403 `key_may_not_decide`. The same decision again is answered with 200 and the transfer
as it is; another decision is 409 `invalid_state`.
"""

RESPONSE_CODES = (
    outcomes.COMPLETED,
    outcomes.PROCESSING,
    *outcomes.CARD_DECLINES,
    outcomes.payout_failure("51"),
    outcomes.AUTHORISATION_EXPIRED,
    outcomes.TRANSFER_EXPIRED,
    outcomes.amount_mismatch(expected=50_000, received=40_000, currency="NGN"),
    outcomes.VOIDED,
    outcomes.CANCELLED,
)


def response_code_list() -> str:
    """Return the outcome codes and what they mean, in one sentence."""
    return "; ".join(f"`{outcome.code}` {outcome.summary}" for outcome in RESPONSE_CODES)


# Of each kind of request, and of each object in one: its title, and what it is.
ABOUT_REQUESTS = {
    "CardPayment": ("Card payment", "Take a payment from a card."),
    "VirtualAccountPayment": ("Virtual account payment", "Take a payment by bank transfer."),
    "Payout": ("Payout", "Pay out to a bank account."),
    "CardCheck": ("Card check", "Is this card alive? No money moves."),
    "Source": ("Card", "Its number and CVV are never given back."),
    "CheckedSource": ("Card to check", "Its number and CVV are never given back."),
    "BillingAddress": ("Billing address", "Where the cardholder's statements go."),
    "Payer": ("Payer", "`reference` and `email` come together, and with `name`."),
    "Beneficiary": ("Beneficiary", "Who is paid."),
    "ThreeDSecure": ("3-D Secure", "How it is asked for."),
    "Capture": ("Capture", "Take an authorised amount, or part of it; the rest is released."),
    "Cancel": ("Cancellation", "Has no fields."),
    "Void": ("Void", "A void says nothing: an empty object, or no body at all."),
    "ResolveBeneficiary": ("Name enquiry", "The account to look up."),
    "Advance": ("Advance", "The payment to advance."),
    "CreditUnapplied": ("Credit", "Credit an unapplied transfer to your wallet."),
    "ReturnUnapplied": ("Return", "Return an unapplied transfer to its sender."),
    "Destination": ("Destination", "The bank account that money is returned to."),
    "Refund": ("Refund", "Give back a payment, or part of it."),
    "StaticAccount": ("Static account", "One customer and a permanent number."),
    "DynamicAccount": ("Dynamic account", "A fresh number for each payment."),
    "BusinessAccount": ("Business account", "A business's static account."),
    "Deactivate": ("Deactivation", "A deactivation says nothing: an empty object, or no body at all."),
    "Simulate": ("Simulated transfer", "What the bank would tell."),
    "Address": ("Address", "Where the holder lives, or is registered."),
}

_REQUEST_TYPE = Word("What is asked for; it decides which fields the request has.")
_CURRENCY = Word(
    "ISO 4217, and enabled for your business (by default NGN and USD). A payout's must be the bank's.", "NGN"
)
_CARD: dict[str, Word] = {
    "type": Word("Always `card`.", "card"),
    "pan": Word(
        "Card number: 12 to 19 digits that pass the Luhn check. Spaces fall away.", "4084084084084081"
    ),
    "name": Word("Cardholder's name.", "Ada Obi"),
    "expiry_month": Word("Two digits, 01 to 12.", "12"),
    "expiry_year": Word("Four digits. A card in the past is declined with 20054, not refused.", "2035"),
    "cvv": Word("3 or 4 digits. Used once, never stored.", "408"),
}
_METADATA = Word(
    "Your own keys and values: at most 20 keys of 1 to 40 characters, each with a string of up to 500. Returned as "
    "sent in answers and webhooks, and part of what makes two requests the same. The dashboard finds it by `key=value`.",
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
_BVN = Word("Bank Verification Number: 11 digits. Encrypted, and never given back.", "22212345678")
_IGNORED = Word("Not looked at.")
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
        "created_from": Word("Created at this moment or later, to the millisecond.", "2026-01-31T00:00:00Z"),
        "created_to": Word("Created at this moment or earlier, to the millisecond.", "2026-01-31T23:59:59Z"),
        "id": Word("The account with this id.", "01980a5e-7b00-7c00-8000-000000000003"),
    },
    "MovementFilter": {
        "currency": Word("Only movements of this wallet. Adds the balances of the period.", "NGN"),
        "created_from": Word("Booked at this moment or later.", "2026-01-31T00:00:00Z"),
        "created_to": Word("Booked at this moment or earlier.", "2026-01-31T23:59:59Z"),
    },
    "EventFilter": {
        "state": Word("Only events in this state."),
        "event": Word("Only events of this kind."),
        "reference": Word(
            "Only events about the payment, payout or refund with this reference.", "order-1042"
        ),
        "created_from": Word("Created at this moment or later, to the millisecond.", "2026-01-31T00:00:00Z"),
        "created_to": Word("Created at this moment or earlier, to the millisecond.", "2026-01-31T23:59:59Z"),
    },
    "SettlementFilter": {
        "status": Word("Only batches in this status."),
        "currency": Word("Only batches of this currency.", "NGN"),
        "created_from": Word("Created at this moment or later, to the millisecond.", "2026-01-31T00:00:00Z"),
        "created_to": Word("Created at this moment or earlier, to the millisecond.", "2026-01-31T23:59:59Z"),
    },
    "CardPayment": _ORDER
    | {
        "payment_method": Word("How the payer pays.", "card"),
        "source": Word("The card."),
        "customer": Word("Who pays."),
        "3ds": Word("How 3-D Secure is asked for."),
        "redirect_url": Word(
            "Where the payer comes back to. Absolute, without credentials; https in production.",
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
        "customer": Word("Who pays."),
    },
    "Simulate": {
        "account_number": Word("Of `virtual_account_details`, or of a static account.", "1000000014"),
        "amount": Word("Minor units.", 50_000),
        "sender_name": Word("Who sends it. Default: a sandbox sender.", "Ada Obi"),
        "sender_account_number": Word(
            "The sender's account, 10 digits, with `sender_bank_code`. Default: unknown.", "0123456789"
        ),
        "sender_bank_code": Word(
            "The sender's bank. A code that GET /api/banks doesn't list makes the sender unknown.", "058"
        ),
    },
    "Payout": _ORDER | {"customer": Word("Who is paid.")},
    "CardCheck": {
        "request_type": _REQUEST_TYPE,
        "reference": Word("Your unique reference of the check. Default: one of ours, `chk_…`.", "check-77"),
        "amount": Word("Left out or 0: no money moves.", 0),
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
        "enabled": Word("`true` asks for 3-D Secure. Default `false`.", True),
        "challenge_preference": Word(
            "`no_challenge` asks for the frictionless way; every other value shows the payer a challenge.",
            "challenge_mandated",
        ),
    },
    "Capture": {"amount": Word("Minor units, up to what was authorised. Default: all of it.", 50_000)},
    "Refund": {
        "reference": Word("Your unique reference of the refund, and its idempotency key.", "refund-9"),
        "amount": Word("Minor units, up to what is left. Default: all that is left.", 20_000),
        "reason": Word("Free text.", "One book came back"),
        "destination": Word("Refunds of transfer payments whose sender's account is unknown."),
    },
    "ResolveBeneficiary": {
        "account_number": Word("Exactly 10 digits.", "0123456789"),
        "bank_code": Word("`code` or `nip_code` of a bank listed by GET /api/banks.", "058"),
    },
    "Advance": {"payment": Word("Your reference of the payment, payout or card check.", "order-1047")},
    "CreditUnapplied": {"reason": Word("Why. Kept with the decision.", "Paid twice")},
    "ReturnUnapplied": {
        "reason": Word("Why. Kept with the decision, and sent to the bank as the narration.", "Paid twice"),
        "destination": Word(
            "Where to return it. Required where the bank did not name an account of the sender that payouts can reach; "
            "not allowed otherwise."
        ),
    },
    "Destination": {
        "name": Word("Full name of the account's holder.", "Bisi Ojo"),
        "account_number": Word("Exactly 10 digits.", "0123456789"),
        "bank_code": Word("`code` or `nip_code` of a bank listed by GET /api/banks.", "058"),
    },
    "UnappliedFilter": {
        "state": Word("Only transfers in this state."),
        "created_from": Word("Received at this moment or later, to the millisecond.", "2026-01-31T00:00:00Z"),
        "created_to": Word("Received at this moment or earlier, to the millisecond.", "2026-01-31T23:59:59Z"),
    },
    "Filter": {
        "status": Word("Only transactions in this status."),
        "request_type": Word("Only transactions of this kind."),
        "payment_method": Word("Only payments paid this way; never card checks."),
        "settle_status": Word("Only payments whose settlement is at this point."),
        "created_from": Word("Created at this moment or later, to the millisecond.", "2026-01-31T00:00:00Z"),
        "created_to": Word("Created at this moment or earlier, to the millisecond.", "2026-01-31T23:59:59Z"),
        "id": Word("The transaction with this id.", "01980a5e-7b00-7c00-8000-000000000001"),
    },
}

"""What the API answers, in JSON Schema: the shapes that `payments.representation` writes, and problems."""

from typing import Any, TypeAlias

from config.openapi_words import response_code_list
from config.problems import PROBLEMS, problem
from merchants.strict_fields import MAX_AMOUNT, NOT_ALLOWED_HERE, UNKNOWN_FIELD
from payments.models import CardOperation, Transaction
from virtual_accounts.models import Session, VirtualAccount

Schema: TypeAlias = dict[str, Any]

REQUEST_ID = "5f0c6c1f0c9e4b0f8a3a2e1d7c6b5a49"
PAYMENT_ID = "01980a5e-7b00-7c00-8000-000000000001"
ACCOUNT_ID = "01980a5e-7b00-7c00-8000-000000000003"
REFUND_ID = "01980a5e-9440-7c00-8000-000000000002"
SERVER_TIME = 1_769_846_400
STRING_TO_SIGN = (
    f"{SERVER_TIME}\nA1b2C3d4E5f6G7h8\nGET\n/api/banks\n"
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)


def _text(description: str, example: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more, "examples": [example]}


def _minor_units(description: str, example: int) -> Schema:
    limits = {"minimum": 0, "maximum": MAX_AMOUNT}
    return {
        "type": "integer", "format": "int64", "description": description, **limits, "examples": [example],
    }  # fmt: skip


def _balance(description: str, example: int) -> Schema:
    return {"type": "integer", "format": "int64", "description": description, "examples": [example]}


def _one_of(description: str, values: list[str]) -> Schema:
    return {"type": "string", "description": description, "enum": values}


def _object(description: str, properties: Schema, *, optional: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "description": description,
        "required": [name for name in properties if name not in optional],
        "properties": properties,
    }


def _ref(name: str, description: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}", "description": description}


def _page(description: str, items: str) -> Schema:
    link = {"type": ["string", "null"], "format": "uri"}
    return _object(
        description,
        {
            "data": {"type": "array", "items": {"$ref": f"#/components/schemas/{items}"}},
            "next": link | {"description": "Address of the next page, older ones; null on the last."},
            "previous": link | {"description": "Address of the page before; null on the first."},
        },
    )


_UUID = {"format": "uuid"}
_MOMENT = {"format": "date-time"}
_CODE = {"pattern": "^[0-9]{5}$"}
_CURRENCY = _text("ISO 4217.", "NGN", pattern="^[A-Z]{3}$")

_PAYMENT: Schema = {
    "request_type": _one_of("What was asked for.", Transaction.RequestType.values),
    "id": _text("Our identifier of the transaction.", PAYMENT_ID, **_UUID),
    "reference": _text("Your reference.", "order-1042"),
    "status": _one_of("`success` and `failed` are final.", Transaction.Status.values),
    "response_code": _text(f"Outcome code: {response_code_list()}.", "10000", **_CODE),
    "response_summary": _text("The outcome in words.", "Payment completed"),
    "gateway_code": _text("The acquirer's or bank's own response code.", "00"),
    "gateway_recommendation": _one_of("After a decline: is a second try of use?", ["retry", "do_not_retry"]),
    "acquirer_transaction_id": _text("The acquirer's identifier.", "102828035606231591055"),
    "authorization_code": _text("The issuer's authorisation code. Cards.", "591055"),
    "merchant_descriptor": _text("What the cardholder's statement shows. Cards.", "Ada Books"),
    "retrieval_reference_number": _text("RRN. Cards.", "632421000001", pattern="^[0-9]{12}$"),
    "system_trace_audit_number": _text("STAN. Cards.", "000001", pattern="^[0-9]{6}$"),
    "amount": _minor_units("Minor units; 0 for a card check.", 50_000),
    "currency": _CURRENCY,
    "payment_timestamp": _text("When it was created.", "2026-01-31T08:00:00.000Z", **_MOMENT),
    "fee": _minor_units("Processing fee, minor units. Payments and payouts.", 750),
    "refund_status": _one_of("Card payments.", Transaction.RefundStatus.values),
    "settle_status": _one_of(
        "How far a payment's money is on its way to your wallet. Once it is in a batch.",
        Transaction.SettleStatus.values,
    ),
    "redirect_link": _text(
        "Send the payer here for 3-D Secure. While the challenge is open.",
        "https://pay.example/3ds/5d2Vk_V7IXLl_lke93joezePD3MxfuB8",
        format="uri",
    ),
    "source": _ref("CardShown", "The card. Card payments and card checks."),
    "customer": _ref("Customer", "Payer or beneficiary."),
    "virtual_account_details": _ref("TransferDetails", "Where the payer transfers to. Virtual accounts."),
    "total_amount_captured": _minor_units("Captured so far. Card payments.", 50_000),
    "total_amount_available_to_refund": _minor_units("Left to refund. Card payments.", 50_000),
    "total_amount_refunded": _minor_units("Refunded so far. Card payments.", 0),
}
_ALWAYS_THERE = (
    "request_type", "id", "reference", "status", "response_code", "response_summary",
    "amount", "currency", "payment_timestamp",
)  # fmt: skip

_REFUND: Schema = {
    "id": _text("Our identifier of the refund.", REFUND_ID, **_UUID),
    "reference": _text("Your reference of the refund.", "refund-9"),
    "payment_reference": _text("Your reference of the payment.", "order-1042"),
    "status": _one_of("`success` and `failed` are final.", CardOperation.Status.values),
    "response_code": _text("Outcome code, as of payments.", "10000", **_CODE),
    "response_summary": _text("The outcome in words.", "Payment completed"),
    "amount": _minor_units("Minor units.", 20_000),
    "currency": _CURRENCY,
    "created_at": _text("When it was asked for.", "2026-01-31T08:05:00.000Z", **_MOMENT),
    "gateway_code": _text("The acquirer's own response code.", "00"),
    "reason": _text("Your reason.", "One book came back"),
}

_PROBLEM: Schema = {
    "type": _text("Address of a page about this code.", "https://pay.example/docs/errors/not_found"),
    "title": _text("What the code means.", PROBLEMS["not_found"].title),
    "status": {"type": "integer", "description": "The HTTP status.", "examples": [404]},
    "detail": _text("What to do about it. Never repeats a value that was sent.", PROBLEMS["not_found"].help),
    "code": _one_of("Decide by this.", [code for code in PROBLEMS if code != "duplicate_reference"]),
    "request_id": _text("The answer's `X-Request-Id`: tell it to us when you ask.", REQUEST_ID),
    "errors": {
        "type": "array",
        "description": "For invalid requests: every wrong field at once.",
        "items": {"$ref": "#/components/schemas/FieldError"},
    },
    "server_time": {
        "type": "integer",
        "description": "`timestamp_out_of_range`: our clock, in Unix seconds.",
        "examples": [SERVER_TIME],
    },
    "string_to_sign": _text(
        "`invalid_signature`, in the sandbox: the text that the server built and signed.",
        STRING_TO_SIGN,
    ),
    "success": {"const": False, "description": "Errors of the simulation."},
    "message": _text("Errors of the simulation: the same as `detail`.", PROBLEMS["unknown_account"].help),
}
_EXTRA_MEMBERS = ("errors", "server_time", "string_to_sign", "success", "message")
# Its `status` is the first resource's: contract before RFC 9457, whose own `status` is advisory.
_DUPLICATE: Schema = {name: form for name, form in _PROBLEM.items() if name not in _EXTRA_MEMBERS} | {
    "code": _one_of("Decide by this.", ["duplicate_reference"]),
    "id": _text("Our identifier of the first resource.", PAYMENT_ID, **_UUID),
    "status": _one_of(
        "What became of the first resource.", [*Transaction.Status.values, *VirtualAccount.Status.values]
    ),
}

SCHEMAS: Schema = {
    "Payment": _object(
        "A payment, a payout or a card check. Fields that do not belong to its kind, or are not known yet, "
        "are left out.",
        _PAYMENT,
        optional=tuple(name for name in _PAYMENT if name not in _ALWAYS_THERE),
    ),
    "CardShown": _object(
        "A card, as far as it may be shown.",
        {
            "type": _one_of("Always `card`.", ["card"]),
            "card_type": _text("Brand, or UNKNOWN.", "VISA"),
            "card_bin": _text("First six digits.", "408408", pattern="^[0-9]{6}$"),
            "card_last4": _text("Last four digits.", "4081", pattern="^[0-9]{4}$"),
            "expiry_month": _text("Two digits.", "12", pattern="^[0-9]{2}$"),
            "expiry_year": _text("Four digits.", "2035", pattern="^[0-9]{4}$"),
        },
    ),
    "TransferDetails": _object(
        "Where a payment is transferred to, and what arrived.",
        {
            "account_number": _text("The payer transfers to it.", "1000000014", pattern="^[0-9]{10}$"),
            "bank": _text("The bank that hosts it.", "Wema Bank"),
            "account_name": _text("Name on the account.", "Ada Obi"),
            "expected_amount": _text("Minor units, as text.", "50000", pattern="^[0-9]+$"),
            "amount_received": _text("Empty until the transfer arrives.", "50000", pattern="^[0-9]*$"),
            "expires_at": _text("Funds are accepted before it.", "2026-01-31T08:15:00.000Z", **_MOMENT),
            "status": _one_of("All but `pending` are final.", Session.Status.values),
        },
    ),
    "Simulated": _object(
        "A simulated transfer arrived.",
        {
            "success": {"const": True, "examples": [True]},
            "message": _text(
                "What came of it.",
                "Payment simulated: 50000 NGN arrived at 1000000014 and completed its payment.",
            ),
        },
    ),
    "Customer": _object(
        "Payer or beneficiary.",
        {
            "name": _text("Full name.", "Ada Obi"),
            "account_number": _text("Payouts.", "0123456789", pattern="^[0-9]{10}$"),
            "bank_code": _text("Payouts: the bank's `code`.", "058"),
            "bank_name": _text("Payouts.", "Guaranty Trust Bank"),
            "merchant_reference": _text("Your reference of the customer.", "customer-7"),
        },
        optional=("name", "account_number", "bank_code", "bank_name", "merchant_reference"),
    ),
    "Refund": _object("A refund of a card payment.", _REFUND, optional=("gateway_code", "reason")),
    "VirtualAccount": _object(
        "An account that receives money.",
        {
            "id": _text("Our identifier: the `payment_method_id` of payments.", ACCOUNT_ID, **_UUID),
            "currency": _CURRENCY,
            "status": _one_of("An inactive account accepts nothing.", VirtualAccount.Status.values),
            "reference": _text("Your reference.", "customer-7"),
            "customer": _ref("AccountHolder", "Its holder."),
        },
    ),
    "AccountHolder": _object(
        "The holder of a virtual account.",
        {
            "name": _text("Full name.", "Ada Ngozi Obi"),
            "account_number": _text("Empty for a dynamic account.", "1000000014", pattern="^([0-9]{10})?$"),
            "bank_code": _text("The bank that hosts it.", "035"),
            "email": _text("E-mail address.", "ada@shop.example"),
            "reference": _text("Your reference.", "customer-7"),
        },
    ),
    "VirtualAccountList": _page("A page of virtual accounts, newest first.", "VirtualAccount"),
    "Balance": _object(
        "What you have in one currency, in minor units.",
        {
            "currency": _CURRENCY,
            "available": _balance("Your wallet.", 250_000),
            "pending": _balance("Earned, and not released yet.", 49_250),
        },
    ),
    "Bank": _object(
        "A bank that payouts can reach.",
        {
            "code": _text("CBN code: what answers give.", "058"),
            "name": _text("Name.", "Guaranty Trust Bank"),
            "nip_code": _text("NIP code; requests may use either.", "000013"),
            "country": _text("ISO 3166-1 alpha-3.", "NGA"),
            "currency": _CURRENCY,
        },
    ),
    "PaymentList": _page("A page of transactions, newest first.", "Payment"),
    "RefundList": _page("A page of refunds, newest first.", "Refund"),
    "BalanceList": _object(
        "Every currency.",
        {"data": {"type": "array", "items": {"$ref": "#/components/schemas/Balance"}}},
    ),
    "BankList": _object(
        "Every bank, sorted by name.",
        {"data": {"type": "array", "items": {"$ref": "#/components/schemas/Bank"}}},
    ),
    "Problem": _object("RFC 9457 problem details.", _PROBLEM, optional=_EXTRA_MEMBERS),
    "DuplicateReference": _object("The reference belongs to another request.", _DUPLICATE),
    "FieldError": _object(
        "What is wrong with one field.",
        {
            "field": _text("Dotted path.", "source.pan"),
            "code": _text("Decide by this.", "invalid_card_number"),
            "message": _text("In words.", "This field must be a card number."),
        },
    ),
}

HEADERS: Schema = {
    "X-Request-Id": ("Names this exchange; yours is kept, if it is a sane one.", {"type": "string"}),
    "Location": ("Path of the resource.", {"type": "string", "format": "uri-reference"}),
    "Idempotent-Replayed": ("The reference was seen before; nothing was done.", {"const": "true"}),
    "ETag": ("Send it back in `If-None-Match`.", {"type": "string"}),
    "Retry-After": ("Seconds to wait.", {"type": "integer", "minimum": 1}),
    "RateLimit": ("What is left of the limit, and until when.", {"type": "string"}),
    "RateLimit-Policy": ("The limit: calls (`q`) a window of seconds (`w`).", {"type": "string"}),
    "WWW-Authenticate": ("The scheme.", {"const": "Sluice-HMAC-SHA256"}),
}


def headers(*names: str) -> Schema:
    """Return the headers of an answer: those that every answer has, and these."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-Id", *names)}


def components() -> dict[str, Schema]:
    """Return everything here that the document refers to by name."""
    return {
        "schemas": SCHEMAS,
        "headers": {name: {"description": words, "schema": form} for name, (words, form) in HEADERS.items()},
        "examples": {code: {"summary": PROBLEMS[code].title, "value": _example(code)} for code in PROBLEMS},
    }


def _example(code: str) -> Schema:
    return problem(code, request_id=REQUEST_ID) | _EXAMPLES.get(code, {})


def _wrong(field: str, code: str, message: str) -> Schema:
    return {"errors": [{"field": field, "code": code, "message": message}]}


_EXAMPLES: dict[str, Schema] = {
    "invalid_request": _wrong("source.pan", "invalid_card_number", "This field must be a card number."),
    "unknown_field": _wrong("amuont", "unknown_field", UNKNOWN_FIELD),
    "not_allowed_here": _wrong("redirect_url", "not_allowed_here", NOT_ALLOWED_HERE),
    "unsupported_currency": _wrong(
        "currency", "unsupported_currency", "This business is enabled for NGN or USD only."
    ),
    "timestamp_out_of_range": {"server_time": SERVER_TIME},
    "invalid_signature": {"string_to_sign": STRING_TO_SIGN},
    "duplicate_reference": {"id": PAYMENT_ID, "status": "success"},
}

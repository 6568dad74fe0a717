"""JSON Schemas of API responses: the representations of `payments.representation`, and problems."""

from typing import Any, TypeAlias

from config.error_codes import ERROR_CODES
from config.openapi.descriptions import response_code_list
from config.openapi.fields import metadata_schema
from config.problems import problem
from kit.api.field_errors import NOT_ALLOWED_HERE, UnknownField
from kit.api.strict_fields import MAX_AMOUNT
from payments.event_representation import EVENT_STATES
from payments.models import CardOperation, Transaction
from payments.services.reporting.wallet_statement import MOVEMENT_KINDS
from payments.services.sandbox_clock import Advanced
from payments.services.transfers.return_destinations import DESTINATION_REQUIRED
from virtual_accounts.models import Session, Transfer, UnappliedMoney, VirtualAccount
from webhooks.models import Event

Schema: TypeAlias = dict[str, Any]

REQUEST_ID = "5f0c6c1f0c9e4b0f8a3a2e1d7c6b5a49"
PAYMENT_ID = "01980a5e-7b00-7c00-8000-000000000001"
ACCOUNT_ID = "01980a5e-7b00-7c00-8000-000000000003"
REFUND_ID = "01980a5e-9440-7c00-8000-000000000002"
UNAPPLIED_ID = "01980a5e-9c10-7000-8000-000000000005"
SETTLEMENT_ID = "01980a5e-9440-7c00-8000-000000000004"
EVENT_ID = "5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11"
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


def _page(description: str, items: str, *, next_is: str = "older", beside: Schema | None = None) -> Schema:
    link = {"type": ["string", "null"], "format": "uri"}
    return _object(
        description,
        {
            "data": {"type": "array", "items": {"$ref": f"#/components/schemas/{items}"}},
            "next": link | {"description": f"URL of the next page, {next_is} ones; null on the last page."},
            "previous": link | {"description": "URL of the previous page; null on the first page."},
            **(beside or {}),
        },
        optional=tuple(beside or ()),
    )


_UUID = {"format": "uuid"}
_MOMENT = {"format": "date-time"}
_CODE = {"pattern": "^[0-9]{5}$"}
_CURRENCY = _text("ISO 4217.", "NGN", pattern="^[A-Z]{3}$")

_METADATA = metadata_schema() | {
    "description": "Your own keys and values, as you sent them. Present if you sent any.",
    "examples": [{"order": "1042", "shop": "Lagos"}],
}

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
    "amount_authorized": _minor_units(
        "What the issuer has authorised, minor units. Card payments with `capture: false`.", 50_000
    ),
    "currency": _CURRENCY,
    "payment_timestamp": _text("When it was created.", "2026-01-31T08:00:00.000Z", **_MOMENT),
    "completed_at": _text(
        "When `status` became `success` or `failed`. Once it is final.", "2026-01-31T08:00:01.250Z", **_MOMENT
    ),
    "payment_method": _one_of("How the payer pays. Payments.", ["card", "virtual_account"]),
    "narration": _text("Your free text. Present if you sent any.", "Two books"),
    "metadata": _METADATA,
    "fee": _minor_units("Processing fee, minor units. Payments and payouts.", 750),
    "refund_status": _one_of("Payments.", Transaction.RefundStatus.values),
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
    "reversal": _ref(
        "Reversal", "The part of a successful payout that the bank has returned. Its status stays `success`."
    ),
    "virtual_account_details": _ref("TransferDetails", "Where the payer transfers to. Virtual accounts."),
    "total_amount_captured": _minor_units("Captured so far. Card payments.", 50_000),
    "total_amount_available_to_refund": _minor_units("What can still be refunded. Payments.", 50_000),
    "total_amount_refunded": _minor_units("Refunded so far. Payments.", 0),
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
    "created_at": _text("When it was requested.", "2026-01-31T08:05:00.000Z", **_MOMENT),
    "gateway_code": _text("The acquirer's or bank's own response code.", "00"),
    "reason": _text("Your reason.", "One book came back"),
    "destination": _ref("RefundDestination", "Where the money goes. Refunds of transfer payments."),
}

_SETTLEMENT: Schema = {
    "id": _text("Our identifier of the batch.", SETTLEMENT_ID, **_UUID),
    "number": {
        "type": "integer",
        "description": "Counts the batches of one day and currency, from 1.",
        "minimum": 1,
        "examples": [1],
    },
    "currency": _CURRENCY,
    "day": _text("The business day, Africa/Lagos.", "2026-01-31", format="date"),
    "status": _one_of("`released` and `rejected` are final.", Transaction.SettleStatus.values),
    "gross": _balance("Captured or received, minor units.", 50_000),
    "fees": _balance("Fees of its payments.", 750),
    "refunds": _balance("Refunds that are netted in it.", 10_000),
    "net": _balance("What goes to your wallet.", 39_250),
    "count": {"type": "integer", "description": "Payments in it.", "minimum": 0, "examples": [1]},
    "brought_forward": _minor_units("Not covered by earlier batches. Present if above zero.", 5_000),
    "carried_forward": _minor_units("Not covered by this batch. Present if above zero.", 5_000),
    "created_at": _text("When it was created.", "2026-02-01T00:10:00.000Z", **_MOMENT),
    "released_at": _text("When its net was credited to your wallet.", "2026-02-02T09:00:00.000Z", **_MOMENT),
}
_OPTIONAL_OF_SETTLEMENTS = ("brought_forward", "carried_forward", "released_at")

_UNAPPLIED: Schema = {
    "id": _text("Our identifier of the unapplied transfer.", UNAPPLIED_ID, **_UUID),
    "account_number": _text("The account number that received it.", "1000000014", pattern="^[0-9]{10}$"),
    "amount": _minor_units("Minor units.", 40_000),
    "currency": _CURRENCY,
    "received_at": _text("When it arrived.", "2026-01-31T08:10:00.000Z", **_MOMENT),
    "sender": _ref("Sender", "The sender, as far as the bank named it."),
    "why": _one_of(
        "Why it matches no payment: another amount than expected, after the payment's end, a second transfer, "
        "an inactive account, another currency.",
        [reason.value for reason in Transfer.Reason if reason.value],
    ),
    "payment_reference": _text(
        "Your reference of the payment that it was meant for, if there is one.", "order-1047"
    ),
    "state": _one_of("`credited` and `returned` are final.", UnappliedMoney.State.values),
    "reason": _text("Why it was credited or returned.", "Paid twice"),
    "decided_at": _text("When it was credited or returned.", "2026-01-31T09:00:00.000Z", **_MOMENT),
    "return_reference": _text(
        "The reference of the payout that returns it.", "return_01980a5e9c1070008000000000000005"
    ),
}
_OPTIONAL_OF_UNAPPLIED = ("payment_reference", "reason", "decided_at", "return_reference")

_NULLABLE_TEXT = {"type": ["string", "null"]}

_EVENT: Schema = {
    "event_id": _text("Our identifier of the event.", EVENT_ID, **_UUID),
    "event": _one_of("What happened.", Event.labels),
    "state": _one_of(
        "`waiting` for an attempt, `held` while the endpoint is disabled, `delivered`, `dead` after the last "
        "attempt, `skipped` where you no longer want it, `test_failed` for a test event.",
        list(EVENT_STATES.values()),
    ),
    "created_at": _text("When it happened.", "2026-01-31T08:00:00.000Z", **_MOMENT),
    "delivered_at": _NULLABLE_TEXT
    | _MOMENT
    | {"description": "When your server answered with 2xx.", "examples": ["2026-01-31T08:00:00.250Z"]},
    "next_attempt_at": _NULLABLE_TEXT
    | _MOMENT
    | {
        "description": "When the next attempt is due; null while one is under way.",
        "examples": ["2026-01-31T08:00:30.000Z"],
    },
    "attempts_made": {
        "type": "integer",
        "description": "Automatic and manual ones.",
        "minimum": 0,
        "examples": [1],
    },
    "is_test": {"type": "boolean", "description": "A test event of the dashboard.", "examples": [False]},
    "subject": {
        "description": "The object that the event is about; null for a test event.",
        "oneOf": [{"$ref": "#/components/schemas/EventSubject"}, {"type": "null"}],
    },
}

_PROBLEM: Schema = {
    "type": _text("URL of the page about this code.", "https://pay.example/docs/errors/not_found"),
    "title": _text("What the code means.", ERROR_CODES["not_found"].title),
    "status": {"type": "integer", "description": "The HTTP status.", "examples": [404]},
    "detail": _text(
        "What to do about it. Never repeats a value that was sent.", ERROR_CODES["not_found"].help
    ),
    "code": _one_of("Decide by this.", list(ERROR_CODES)),
    "request_id": _text("The response's `X-Request-Id`. Quote it to support.", REQUEST_ID),
    "errors": {
        "type": "array",
        "description": "For invalid requests: every wrong field at once.",
        "items": {"$ref": "#/components/schemas/FieldError"},
    },
    "existing": _object(
        "`duplicate_reference`: the resource of the first request with this reference.",
        {
            "id": _text("Its identifier.", PAYMENT_ID, **_UUID),
            "status": _one_of(
                "Its current status.", [*Transaction.Status.values, *VirtualAccount.Status.values]
            ),
        },
    ),
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
    "message": _text("Errors of the simulation: the same as `detail`.", ERROR_CODES["unknown_account"].help),
}
_EXTRA_MEMBERS = ("errors", "existing", "server_time", "string_to_sign", "success", "message")

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
            "account_number": _text(
                "The account number for the payer's transfer.", "1000000014", pattern="^[0-9]{10}$"
            ),
            "bank": _text("The bank that hosts it.", "Wema Bank"),
            "account_name": _text("Name on the account.", "Ada Obi"),
            "expected_amount": _text("Minor units, as text.", "50000", pattern="^[0-9]+$"),
            "amount_received": _text("Empty until the transfer arrives.", "50000", pattern="^[0-9]*$"),
            "expires_at": _text("When the session expires.", "2026-01-31T08:15:00.000Z", **_MOMENT),
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
    "Reversal": _object(
        "The part of a successful payout that the bank has returned. It was credited to your wallet; the fee "
        "isn't returned.",
        {
            "amount": _minor_units("Sum of all returns, minor units.", 50_000),
            "at": _text("When the last return was booked.", "2026-01-31T09:00:00.000Z", **_MOMENT),
            "reason": _text("The bank's reason for the last return.", "Account closed"),
        },
    ),
    "Refund": _object("A refund.", _REFUND, optional=("gateway_code", "reason", "destination")),
    "RefundDestination": _object(
        "The account that a transfer payment is refunded to.",
        {
            "name": _text("Name of the account's holder.", "Bisi Ade"),
            "account_number": _text("10 digits.", "0123456789", pattern="^[0-9]{10}$"),
            "bank_code": _text("The bank's `code`.", "058"),
        },
    ),
    "Settlement": _object(
        "A settlement batch: the payments of a business day in one currency. "
        "`net` is `gross - fees - refunds - brought_forward + carried_forward`.",
        _SETTLEMENT,
        optional=_OPTIONAL_OF_SETTLEMENTS,
    ),
    "SettlementWithItems": _object(
        "A settlement batch with a page of its items.",
        _SETTLEMENT | {"items": _ref("SettlementItemList", "Its items, oldest first.")},
        optional=_OPTIONAL_OF_SETTLEMENTS,
    ),
    "SettlementItem": _object(
        "A line of a settlement batch. Amounts are minor units; `net` is `amount - fee`.",
        {
            "kind": _one_of(
                "A payment, a refund, or an amount carried from one batch to another.",
                ["payment", "refund", "brought_forward", "carried_forward"],
            ),
            "reference": _text("Your reference of the payment or refund; else empty.", "order-1042"),
            "amount": _balance("Below zero for refunds and amounts brought forward.", 50_000),
            "fee": _balance("Fee of the payment; 0 for every other kind.", 750),
            "net": _balance("What the line adds to the batch's net.", 49_250),
        },
    ),
    "SettlementList": _page("A page of settlement batches, newest first.", "Settlement"),
    "SettlementItemList": _page(
        "A page of items, in the order of the statement.", "SettlementItem", next_is="later"
    ),
    "VirtualAccount": _object(
        "An account that receives money.",
        {
            "id": _text("Our identifier: the `payment_method_id` of payments.", ACCOUNT_ID, **_UUID),
            "currency": _CURRENCY,
            "status": _one_of("An inactive account accepts nothing.", VirtualAccount.Status.values),
            "reference": _text("Your reference.", "customer-7"),
            "customer": _ref("AccountHolder", "Its holder."),
            "metadata": _METADATA,
        },
        optional=("metadata",),
    ),
    "AccountHolder": _object(
        "The holder of a virtual account.",
        {
            "name": _text("Full name.", "Ada Ngozi Obi"),
            "account_number": _text(
                "The number to transfer to. Of a dynamic account that of its open session while exactly one is "
                "open, and empty otherwise.",
                "1000000014",
                pattern="^([0-9]{10})?$",
            ),
            "bank_code": _text("The bank that hosts it.", "035"),
            "email": _text("E-mail address.", "ada@shop.example"),
            "reference": _text("Your reference.", "customer-7"),
        },
    ),
    "VirtualAccountList": _page("A page of virtual accounts, newest first.", "VirtualAccount"),
    "UnappliedTransfer": _object(
        "A transfer that matches no payment. It stays open until it is credited to your wallet or returned.",
        _UNAPPLIED,
        optional=_OPTIONAL_OF_UNAPPLIED,
    ),
    "Sender": _object(
        "The sender of a transfer. Fields that the bank did not send are left out.",
        {
            "name": _text("Name.", "Bisi Ojo"),
            "account_number": _text("Account number, as the bank sent it.", "0123456789"),
            "bank_code": _text("Bank code: `code` if GET /api/banks lists the bank.", "058"),
        },
        optional=("name", "account_number", "bank_code"),
    ),
    "UnappliedTransferList": _page("A page of unapplied transfers, newest first.", "UnappliedTransfer"),
    "Balance": _object(
        "What you have in one currency, in minor units.",
        {
            "currency": _CURRENCY,
            "available": _balance("Your wallet.", 250_000),
            "pending": _balance("Earned, and not released yet.", 49_250),
        },
    ),
    "Movement": _object(
        "A movement of your wallet.",
        {
            "id": _text(
                "Currency and position in the statement.", "NGN-42", pattern="^[A-Z]{3}-[1-9][0-9]*$"
            ),
            "kind": _one_of("What caused the movement.", list(MOVEMENT_KINDS)),
            "amount": _balance("Minor units: above zero into the wallet, below zero out of it.", -151_000),
            "balance_after": _balance("The wallet's balance afterwards.", 249_000),
            "currency": _CURRENCY,
            "reference": _text(
                "Your reference of the payout; else the id of the settlement, unapplied transfer or top-up.",
                "salary-2026-01",
            ),
            "created_at": _text("When it was booked.", "2026-01-31T08:00:00.000Z", **_MOMENT),
        },
    ),
    "MovementList": _page(
        "A page of movements, newest first.",
        "Movement",
        beside={
            "opening_balance": _balance("Before the filtered period, with `currency` only.", 400_000),
            "closing_balance": _balance("At the end of the filtered period, with `currency` only.", 249_000),
        },
    ),
    "Bank": _object(
        "A bank that payouts can reach.",
        {
            "code": _text("CBN code, as in responses.", "058"),
            "name": _text("Name.", "Guaranty Trust Bank"),
            "nip_code": _text("NIP code; requests may use either.", "000013"),
            "country": _text("ISO 3166-1 alpha-3.", "NGA"),
            "currency": _CURRENCY,
        },
    ),
    "EventSubject": _object(
        "What an event is about.",
        {
            "type": _one_of("What it is.", ["transaction", "refund", "transfer", "settlement"]),
            "id": _text("Its identifier.", PAYMENT_ID, **_UUID),
            "reference": _NULLABLE_TEXT
            | {
                "description": "Your reference of the payment, payout or refund; else null.",
                "examples": ["order-1042"],
            },
            "request_type": {
                "type": ["string", "null"],
                "description": "Of a transaction; else null.",
                "enum": [*Transaction.RequestType.values, None],
                "examples": ["payment"],
            },
        },
    ),
    "Event": _object("An event and the state of its delivery.", _EVENT),
    "EventInDetail": _object(
        "An event with its body and its attempts.",
        _EVENT
        | {
            "body": _NULLABLE_TEXT
            | {
                "description": "The body exactly as it is sent in every attempt; null once it has been purged.",
                "examples": ['{"event":"payment.success"}'],
            },
            "attempts": {
                "type": "array",
                "description": "The stored attempts, oldest first.",
                "items": {"$ref": "#/components/schemas/EventAttempt"},
            },
        },
    ),
    "EventAttempt": _object(
        "One attempt at a delivery.",
        {
            "number": {
                "type": "integer",
                "description": "1 for the first.",
                "minimum": 1,
                "examples": [1],
            },
            "is_manual": {"type": "boolean", "description": "A resend or a test.", "examples": [False]},
            "started_at": _text("When it started.", "2026-01-31T08:00:00.000Z", **_MOMENT),
            "status": {
                "type": ["integer", "null"],
                "description": "The HTTP status of your answer; null without one.",
                "examples": [204],
            },
            "error": _NULLABLE_TEXT
            | {"description": "The class of the failure; null after a success.", "examples": ["timeout"]},
            "explanation": _NULLABLE_TEXT
            | {"description": "A description of the failure.", "examples": ["No answer within 10 seconds."]},
            "total_ms": {
                "type": "number",
                "description": "Milliseconds from the lookup of your host name to the end of your response's headers.",
                "examples": [38.5],
            },
        },
    ),
    "EventList": _page("A page of events, newest first.", "Event"),
    "WebhookEvent": _object(
        "The request that your endpoint receives. Verify its signature before anything else.",
        {
            "id": _text("The same as `event_id`.", EVENT_ID, **_UUID),
            "event_id": _text("Our identifier of the event; the same in every attempt.", EVENT_ID, **_UUID),
            "event": _one_of("What happened.", Event.labels),
            "test": {"const": True, "description": "Test events only."},
            "created_at": _text("When it happened.", "2026-01-31T08:00:00.000Z", **_MOMENT),
            "data": {
                "type": "object",
                "description": "The object that the event is about, at the time of the event.",
            },
        },
        optional=("test",),
    ),
    "Beneficiary": _object(
        "An account and the name of its holder.",
        {
            "account_name": _text("The holder's name, as the bank has it.", "Bisi Ade"),
            "account_number": _text("Its number.", "0123456789", pattern="^[0-9]{10}$"),
            "bank_code": _text("The bank's `code`.", "058"),
        },
    ),
    "AdvancedPayment": _object(
        "The payment as it is now, and what happened.",
        _PAYMENT | {"advanced": _one_of("What happened.", [advanced.value for advanced in Advanced])},
        optional=tuple(name for name in _PAYMENT if name not in _ALWAYS_THERE),
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
    "FieldError": _object(
        "What is wrong with one field.",
        {
            "field": _text("Dotted path.", "source.pan"),
            "code": _text("Error code of the field.", "invalid_card_number"),
            "message": _text("Description of the error.", "This field must be a card number."),
            "suggestion": _text(
                "`unknown_field`: the field of this object whose name is closest, if one is close.", "amount"
            ),
        },
        optional=("suggestion",),
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
        "examples": {
            code: {"summary": ERROR_CODES[code].title, "value": _example(code)} for code in ERROR_CODES
        },
    }


def _example(code: str) -> Schema:
    return problem(code, request_id=REQUEST_ID) | _EXAMPLES.get(code, {})


def _wrong(field: str, code: str, message: str) -> Schema:
    return {"errors": [{"field": field, "code": code, "message": message}]}


_EXAMPLES: dict[str, Schema] = {
    "invalid_request": _wrong("source.pan", "invalid_card_number", "This field must be a card number."),
    "unknown_field": {
        "errors": [
            {
                "field": "amuont",
                "code": "unknown_field",
                "message": str(UnknownField(suggestion="amount")),
                "suggestion": "amount",
            }
        ]
    },
    "reserved_reference": _wrong("reference", "reserved_reference", "This field may not begin with va_."),
    "not_allowed_here": _wrong("redirect_url", "not_allowed_here", NOT_ALLOWED_HERE),
    "unsupported_currency": _wrong(
        "currency", "unsupported_currency", "This business is enabled for NGN or USD only."
    ),
    "destination_required": _wrong("destination", "destination_required", DESTINATION_REQUIRED),
    "no_price": _wrong("currency", "no_price", "This isn't offered in JPY."),
    "timestamp_out_of_range": {"server_time": SERVER_TIME},
    "invalid_signature": {"string_to_sign": STRING_TO_SIGN},
    "duplicate_reference": {"existing": {"id": PAYMENT_ID, "status": "success"}},
}

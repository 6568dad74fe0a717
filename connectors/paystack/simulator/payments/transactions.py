"""Transactions: their shapes, queries and ends."""

from connectors.paystack.simulator import tables
from connectors.paystack.simulator.answers import (
    Answer,
    Document,
    Refused,
    Request,
    ok,
    page,
    timestamp,
    within,
)
from connectors.paystack.simulator.integration import Integration
from connectors.paystack.simulator.records import Customer, Refund, Transaction

# Members of each shape, as the samples have them.
CORE = frozenset(
    "id domain status reference amount message gateway_response paid_at created_at channel currency ip_address "  # noqa: SIM905  (one line a member is no easier to read)
    "metadata log fees fees_split customer authorization plan split order_id paidAt createdAt requested_amount "
    "pos_transaction_data subaccount".split()
)
CODES = {"gateway_response_code", "response_code"}
CHARGED = CORE | {"source", "fees_breakdown", "transaction_date", "plan_object"}
SHAPES = {
    "charge": CHARGED,
    "verify": CHARGED | CODES | {"receipt_number", "connect"},
    "fetch": CORE | CODES | {"source", "fees_breakdown", "receipt_number", "helpdesk_link", "connect"},
    "list": CORE | CODES | {"source", "connect"},
    "settlement": CORE | CODES | {"source"},
    "event": CORE - {"createdAt"} | CODES | {"source", "fees_breakdown"},
    "dispute": CORE - {"pos_transaction_data"},
    "dispute_list": CORE - {"requested_amount"},
    "dispute_event": CORE - {"createdAt"},
}
NULL = [
    "receipt_number",
    "message",
    "helpdesk_link",
    "log",
    "fees_split",
    "order_id",
    "pos_transaction_data",
    "fees_breakdown",
    "connect",
]
OPEN_REFUNDS = {"pending", "processing", "needs-attention"}


def customer(shown: Customer, *, is_short: bool = False) -> Document:
    more = {} if is_short else {"international_format_phone": None}
    return {
        "id": shown.id,
        "first_name": shown.first_name,
        "last_name": shown.last_name,
        "email": shown.email,
        "customer_code": shown.code,
        "phone": shown.phone,
        "metadata": shown.metadata,
        "risk_action": "default",
    } | more


def refunds_of(integration: Integration, paid: Transaction) -> list[Refund]:
    """Return the refunds of a transaction that count against its amount."""
    all_refunds = integration.tables.refunds.values()
    return [each for each in all_refunds if each.transaction is paid and each.status != "failed"]


def status(integration: Integration, shown: Transaction) -> str:
    """Return the status that verify, lists and events show."""
    if shown.status != "success":
        return tables.VERIFIED_AS.get(shown.status, shown.status)
    refunds = refunds_of(integration, shown)
    processed = sum(each.amount for each in refunds if each.status == "processed")
    if any(each.status in OPEN_REFUNDS for each in refunds):
        return integration.variants["pending_refund"]
    is_reversed = processed == shown.amount or (
        processed and integration.variants["partial_refund"] == "reversed"
    )
    return "reversed" if is_reversed or shown.is_disputed_away else "success"


def codes(integration: Integration, shown: Transaction) -> Document:
    """Return the gateway's codes, which transactions have since 2026 [D3, D4]."""
    if integration.variants["charge_codes"] == "nowhere" or not shown.gateway_code:
        return {}
    code = "unknown" if shown.gateway_code in tables.UNLISTED else shown.gateway_code
    return {"gateway_response_code": code, "response_code": tables.GATEWAY[shown.gateway_code][1]}


def document(integration: Integration, shown: Transaction, shape: str) -> Document:
    paid_at, created_at = timestamp(shown.paid_at), timestamp(shown.created_at)
    response, _ = tables.GATEWAY.get(shown.gateway_code, ("The transaction was not completed", None))
    everything: Document = (
        dict.fromkeys(NULL)
        | {
            "id": shown.id,
            "domain": integration.domain,
            "status": status(integration, shown),
            "reference": shown.reference,
            "amount": shown.amount,
            "gateway_response": response,
            "paid_at": paid_at,
            "created_at": created_at,
            "channel": shown.channel,
            "currency": shown.currency,
            "ip_address": "127.0.0.1",
            "metadata": shown.metadata,
            "fees": shown.fees,
            "authorization": shown.authorization,
            "customer": customer(shown.customer, is_short=shape in {"list", "settlement"}),
            "plan": None if shape in {"verify", "charge"} else {},
            "paidAt": paid_at,
            "createdAt": created_at,
            "requested_amount": shown.amount,
            "source": _source(shown, shape),
            "transaction_date": created_at,
            "split": {},
            "plan_object": {},
            "subaccount": {},
        }
        | codes(integration, shown)
    )
    return {name: value for name, value in everything.items() if name in SHAPES[shape]}


def _source(shown: Transaction, shape: str) -> Document | None:
    if shape in {"verify", "charge"}:
        return None
    known = {"source": "merchant_api", "type": "api", "identifier": None}
    return known if shape == "fetch" else known | {"entry_point": shown.entry_point}


def succeed(integration: Integration, paid: Transaction) -> None:
    """Take the money of a transaction, and notify the merchant."""
    paid.status, paid.gateway_code, paid.paid_at = "success", "approved", integration.now()
    fee = tables.account_fee if paid.channel == "dedicated_nuban" else tables.card_fee
    paid.fees = fee(paid.amount)
    integration.books.unsettled += paid.amount - paid.fees
    announce(integration, paid, "charge.success")


def fail(integration: Integration, failed: Transaction, gateway_code: str, *, status: str = "failed") -> None:
    """End a charge without money. A failure has no event [D1], except by the variant [D3]."""
    failed.status, failed.gateway_code = status, gateway_code
    if integration.variants["failure_events"] != "none":
        announce(integration, failed, "charge.failed")


def announce(integration: Integration, about: Transaction, event: str) -> None:
    data = document(integration, about, "event")
    if integration.variants["event_fees"] == "null":
        data["fees"] = None
    integration.event(event, data)


def verify(integration: Integration, request: Request) -> Answer:
    found = integration.transaction(request.params["reference"])
    if found is None:
        raise Refused("transaction_missing", status=int(integration.variants["unknown_transaction"]))
    return ok("Verification successful", document(integration, found, "verify"))


def fetch(integration: Integration, request: Request) -> Answer:
    found = by_id(integration, request.params["id"])
    if found is None:
        raise Refused("transaction_missing")
    return ok("Transaction retrieved", document(integration, found, "fetch"))


def by_id(integration: Integration, number: str) -> Transaction | None:
    """Return a transaction by its numeric id.

    :raises Refused: the id is no number
    """
    if not number.isdecimal():
        raise Refused("transaction_id")
    seen = (integration.transaction(reference) for reference in integration.tables.transactions)
    return next((each for each in seen if each and each.id == int(number)), None)


def list_all(integration: Integration, request: Request) -> Answer:
    """Return transactions, newest first. The customer is a numeric id, not a code [M1]."""
    query = request.query
    asked = {
        name: query[name]
        for name in ("status", "amount", "customer", "channel", "settlement")
        if query.get(name)
    }
    rows = [
        shown
        for shown in reversed(integration.tables.transactions.values())
        if shown.visible_from <= integration.now()
        and within(shown.created_at, query)
        and all(_filters(integration, shown)[name] == value for name, value in asked.items())
    ]
    shown_rows, meta = page(rows, query, volume=sum(row.amount for row in rows))
    return ok("Transactions retrieved", [document(integration, row, "list") for row in shown_rows], meta=meta)


def _filters(integration: Integration, shown: Transaction) -> dict[str, str]:
    return {
        "status": status(integration, shown),
        "amount": str(shown.amount),
        "customer": str(shown.customer.id),
        "channel": shown.channel,
        "settlement": str(shown.settlement),
    }

"""Refunds: queued, processed later, without a reference of the merchant's own."""

from datetime import timedelta

from connectors.paystack.simulator import tables
from connectors.paystack.simulator.answers import (
    Answer,
    Document,
    Refused,
    Request,
    dates,
    ok,
    page,
    timestamp,
    whole_amount,
)
from connectors.paystack.simulator.control import timelines
from connectors.paystack.simulator.integration import Integration
from connectors.paystack.simulator.payments import transactions
from connectors.paystack.simulator.records import Refund, Transaction

FINAL = {"processed", "failed"}
STATUSES = FINAL | transactions.OPEN_REFUNDS
EXPECTED = timedelta(days=9)
STAFF = "staff@simulator.example"


class NoSuchRefund(ValueError):
    """There is no such refund, or it cannot get this status."""


def create(integration: Integration, request: Request) -> Answer:
    """Queue a refund. A repeat makes a second one, as long as the sum allows it [?]."""
    paid = _refundable(integration, request.text("transaction"))
    if request.text("currency") not in {"", paid.currency}:
        raise Refused("currency")
    amount = _refund_amount(integration, request, paid)
    note = f"Refund for transaction {paid.reference}"
    now = integration.now()
    made = Refund(
        id=integration.next_id(),
        transaction=paid,
        amount=amount,
        customer_note=request.text("customer_note") or note,
        merchant_note=request.text("merchant_note") or f"{note} by {STAFF}",
        created_at=now,
        updated_at=now,
        status="",
    )
    integration.tables.refunds[made.id] = made
    integration.books.unsettled -= amount
    _follow(integration, made, integration.timeline("refund"))
    return ok("Refund has been queued for processing", _created(integration, made))


def _refundable(integration: Integration, key: str) -> Transaction:
    """Return a paid transaction by reference or numeric id."""
    paid = integration.transaction(key) or (transactions.by_id(integration, key) if key.isdecimal() else None)
    if paid is None or paid.status != "success":
        raise Refused("transaction_missing")
    return paid


def _refund_amount(integration: Integration, request: Request, paid: Transaction) -> int:
    counted = transactions.refunds_of(integration, paid)
    rest = paid.amount - sum(each.amount for each in counted)
    if rest <= 0 or paid.is_disputed_away:
        raise Refused("reversed")
    is_open = any(each.status in transactions.OPEN_REFUNDS for each in counted)
    if is_open and integration.variants["open_refund"] == "refuses_another":
        raise Refused("refund_open")
    amount = whole_amount(request.body["amount"]) if request.text("amount") else rest
    if amount > rest:
        raise Refused("refund_amount")
    if amount > integration.books.unsettled + integration.books.balance:
        raise Refused("refund_balance")
    return amount


def _follow(integration: Integration, changed: Refund, timeline: timelines.Timeline) -> None:
    timelines.follow(timeline, integration.schedule, lambda status: change(integration, changed, status))


def change(integration: Integration, changed: Refund, status: str) -> bool:
    """Give a refund its next status, and notify the merchant. Return False if it has ended."""
    if changed.status in FINAL or changed.status == status:
        return False
    changed.status, changed.updated_at = status, integration.now()
    if status == "failed":  # the amount is credited back [D11]
        integration.books.unsettled += changed.amount
    if status in FINAL:
        changed.reference = f"{changed.id:012}"[-12:]
    integration.event(f"refund.{status}", _event(integration, changed))
    return True


def change_by_id(integration: Integration, number: int, status: str) -> str:
    """Change a refund from outside, as the processor would.

    :raises NoSuchRefund: there is none, or it has ended
    """
    found = integration.tables.refunds.get(number)
    if found is None or status not in STATUSES or not change(integration, found, status):
        raise NoSuchRefund(f"refund {number} cannot become {status!r}")
    return found.status


def retry(integration: Integration, request: Request) -> Answer:
    """Take the payer's account for a refund that needs attention. `bank_id` is the bank's numeric id."""
    refund = _by_id(integration, request.params["id"])
    if refund.status != "needs-attention":
        raise Refused("refund_state")
    details = request.section("refund_account_details")
    if str(details.get("bank_id")) not in {str(each.id) for each in tables.BANKS.values()}:
        raise Refused("bank")
    _follow(integration, refund, timelines.read("processing 3 processed"))
    unset = dict.fromkeys(("bank_reference", "customer", "reversed_at", "session_id"))
    more = unset | {"reason": refund.status.upper(), "initiated_by": STAFF}
    shown = _shown(integration, refund) | more
    return ok("Refund retried and has been queued for processing", shown)


def fetch(integration: Integration, request: Request) -> Answer:
    found = _by_id(integration, request.params["id"])
    return ok("Refund retrieved", _shown(integration, found) | dates(found.created_at, found.updated_at))


def _by_id(integration: Integration, number: str) -> Refund:
    found = integration.tables.refunds.get(int(number)) if number.isdecimal() else None
    if found is None:
        raise Refused("refund_missing")
    return found


def list_all(integration: Integration, request: Request) -> Answer:
    """List refunds, newest first. `transaction` is a numeric id; a reference finds none [M1]."""
    wanted = request.query.get("transaction")
    rows = [
        each
        for each in reversed(integration.tables.refunds.values())
        if wanted in {None, str(each.transaction.id)}
    ]
    shown, meta = page(rows, request.query)
    return ok("Refunds retrieved", [_listed(integration, each) for each in shown], meta=meta)


def _created(integration: Integration, shown: Refund) -> Document:
    paid = transactions.document(integration, shown.transaction, "list")
    of_transaction = {
        "authorization": dict.fromkeys(("exp_month", "exp_year", "account_name")),
        "customer": {"international_format_phone": None},
        "subaccount": {"currency": None},
        "source": None,
        "fees_breakdown": None,
    }
    kept = (
        "id domain reference amount paid_at channel currency plan split order_id paidAt pos_transaction_data"
    )
    known = _shown(integration, shown) | dates(shown.created_at, shown.updated_at)
    for member in ("transaction_reference", "dispute", "settlement", "refunded_at"):
        del known[member]
    return known | {
        "transaction": {name: paid[name] for name in kept.split()} | of_transaction,
        "deducted_amount": 0,
        "channel": None,
        "fully_deducted": False,
    }


def _status(integration: Integration, shown: Refund) -> str:
    return integration.variants["needs_attention"] if shown.status == "needs-attention" else shown.status


def _shown(integration: Integration, shown: Refund) -> Document:
    return integration.origin() | {
        "transaction": shown.transaction.id,
        "transaction_reference": shown.transaction.reference,  # in newer answers [T airbytehq/airbyte#37219]
        "dispute": None,
        "settlement": shown.settlement,
        "id": shown.id,
        "amount": shown.amount,
        "status": _status(integration, shown),
        "refunded_at": timestamp(shown.updated_at) if shown.status == "processed" else None,
        "refunded_by": STAFF,
        "expected_at": timestamp(shown.created_at + EXPECTED),
        "channel": shown.transaction.channel,
        "customer_note": shown.customer_note,
        "merchant_note": shown.merchant_note,
        "deducted_amount": shown.amount,
        "fully_deducted": True,
    }


def _listed(integration: Integration, shown: Refund) -> Document:
    """Describe a refund as the list does, which spells some members differently (sample)."""
    dates = {"created_at": timestamp(shown.created_at), "updated_at": timestamp(shown.updated_at)}
    return _shown(integration, shown) | dates | {"fully_deducted": 1}


def _event(integration: Integration, shown: Refund) -> Document:
    """Describe a refund as its events do: the amount is a text except in `failed`, and only `needs-attention` has an id."""
    payer = shown.transaction.customer
    return {
        "status": shown.status,
        "transaction_reference": shown.transaction.reference,
        "refund_reference": shown.reference,
        "amount": shown.amount if shown.status == "failed" else str(shown.amount),
        "currency": shown.transaction.currency,
        "processor": "mpgs_zen" if shown.transaction.channel == "card" else "instant-transfer",
        "customer": {"first_name": payer.first_name, "last_name": payer.last_name, "email": payer.email},
        "integration": integration.settings.integration,
        "domain": integration.domain,
    } | ({"id": str(shown.id)} if shown.status == "needs-attention" else {})

"""Disputes: opened by a bank, answered by the merchant, accepted automatically at their deadline."""

from typing import Any

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
    within,
)
from connectors.paystack.simulator.integration import Integration
from connectors.paystack.simulator.payments import transactions
from connectors.paystack.simulator.records import Dispute, Transaction

OPEN = {"awaiting-merchant-feedback", "awaiting-bank-feedback", "pending"}
LOST = {"merchant-accepted", "auto-accepted"}
BANK, MERCHANT = "bank@simulator.example", "merchant@simulator.example"
EVIDENCE = (
    "customer_email",
    "customer_name",
    "customer_phone",
    "service_details",
    "delivery_address",
    "delivery_date",
)


class NoSuchDispute(ValueError):
    """There is no such payment, or no such open dispute."""


def open_dispute(
    integration: Integration,
    *,
    reference: str,
    amount: int = 0,
    category: str | None = "chargeback",
    message: str = "Debit without value",
) -> int:
    """Open a dispute as the payer's bank, and return its id.

    :raises NoSuchDispute: the transaction is no success
    """
    paid, now = integration.tables.transactions.get(reference), integration.now()
    if paid is None or paid.status != "success":
        raise NoSuchDispute(f"transaction {reference!r} is no success")
    made = Dispute(
        id=integration.next_id() % 10**9,
        transaction=paid,
        amount=amount or paid.amount,
        category=category,
        created_at=now,
        updated_at=now,
        due_at=integration.clock.after(tables.DISPUTE_SECONDS),
    )
    integration.tables.disputes[made.id] = made
    _note(integration, made, BANK, status="pending")
    _say(integration, made, BANK, message)
    _announce(integration, made, "create")
    integration.schedule.add(tables.REMINDER_SECONDS, lambda: _remind(integration, made))
    integration.schedule.add(tables.DISPUTE_SECONDS, lambda: _accept_automatically(integration, made))
    return made.id


def dispute_by_amount(integration: Integration, paid: Transaction) -> None:
    """Have a card payment disputed soon, if its amount asks for it."""
    if paid.amount >= tables.SMALLEST_DISPUTED and paid.amount % 100 == tables.DISPUTED_ENDING:
        integration.schedule.add(tables.DISPUTED_AFTER, lambda: _dispute_if_charged(integration, paid))


def _dispute_if_charged(integration: Integration, paid: Transaction) -> None:
    if transactions.status(integration, paid) == "success":
        open_dispute(integration, reference=paid.reference, category="fraud")


def _remind(integration: Integration, about: Dispute) -> None:
    if about.status == "awaiting-merchant-feedback" and integration.now() < about.due_at:
        _announce(integration, about, "remind")
        integration.schedule.add(tables.REMINDER_SECONDS, lambda: _remind(integration, about))


def _accept_automatically(integration: Integration, late: Dispute) -> None:
    if late.status == "awaiting-merchant-feedback":
        _end(integration, late, "auto-accepted")


def decide(integration: Integration, number: int, resolution: str) -> str:
    """End a dispute as the bank: `declined` is won by the merchant, `merchant-accepted` or `auto-accepted` lost.

    :raises NoSuchDispute: there is none that is open
    """
    found = integration.tables.disputes.get(number)
    if found is None or found.status not in OPEN or resolution not in LOST | {"declined"}:
        raise NoSuchDispute(f"dispute {number} cannot be {resolution!r}")
    _end(integration, found, resolution)
    return resolution


def _end(integration: Integration, ended: Dispute, resolution: str) -> None:
    ended.status, ended.resolution = "resolved", resolution
    ended.resolved_at = integration.now()
    _note(integration, ended, BANK)
    if resolution in LOST:
        integration.books.unsettled -= ended.amount
        ended.transaction.is_disputed_away = True
    _announce(integration, ended, "resolve")


def _note(integration: Integration, changed: Dispute, by: str, *, status: str = "") -> None:
    changed.updated_at = integration.now()
    now = timestamp(changed.updated_at)
    changed.history.append({"status": status or changed.status, "by": by, "createdAt": now})


def _say(integration: Integration, about: Dispute, sender: str, body: str) -> None:
    about.messages.append({"sender": sender, "body": body, "createdAt": timestamp(integration.now())})


def _dated(integration: Integration, about: Dispute) -> Document:
    return {"dispute": about.id, "id": integration.next_id()} | dates(integration.now())


def _announce(integration: Integration, about: Dispute, kind: str) -> None:
    data = document(integration, about, "dispute_event")
    data["created_at"], data["updated_at"] = data.pop("createdAt"), data.pop("updatedAt")
    integration.event(f"charge.dispute.{kind}", data)


def document(integration: Integration, shown: Dispute, shape: str = "dispute") -> Document:
    card = shown.transaction.authorization
    payer = None if shape == "dispute_list" else {"international_format_phone": None}
    return {
        "id": shown.id,
        "refund_amount": shown.amount if shown.shown_amount is None else shown.shown_amount,
        "currency": shown.transaction.currency,
        "status": shown.status,
        "resolution": shown.resolution,
        "domain": integration.domain,
        "transaction": transactions.document(integration, shown.transaction, shape)
        | {"authorization": {}, "customer": payer},
        "transaction_reference": None,
        "category": shown.category,
        "customer": transactions.customer(shown.transaction.customer),
        "bin": card.get("bin"),
        "last4": card.get("last4"),
        "dueAt": timestamp(shown.due_at),
        "resolvedAt": timestamp(shown.resolved_at),
        "evidence": shown.evidence,
        "attachments": shown.attachments,
        "note": None,
        "history": shown.history,
        "messages": shown.messages,
    } | dates(shown.created_at, shown.updated_at)


def list_all(integration: Integration, request: Request) -> Answer:
    query = request.query
    rows = [
        each
        for each in reversed(integration.tables.disputes.values())
        if query.get("status") in {None, each.status}
        and query.get("transaction") in {None, str(each.transaction.id)}
        and within(each.created_at, query)
    ]
    shown, meta = page(rows, query)
    return ok(
        "Disputes retrieved", [document(integration, each, "dispute_list") for each in shown], meta=meta
    )


def fetch(integration: Integration, request: Request) -> Answer:
    return ok("Dispute retrieved", document(integration, _by_id(integration, request)))


def _by_id(integration: Integration, request: Request, *, is_open: bool = False) -> Dispute:
    number = request.params["id"]
    found = integration.tables.disputes.get(int(number)) if number.isdecimal() else None
    if found is None:
        raise Refused("dispute_missing")
    if is_open and found.status not in OPEN:
        raise Refused("dispute_over")
    return found


def _set_amount(changed: Dispute, value: Any) -> None:
    amount = whole_amount(value)
    if amount > changed.transaction.amount:
        raise Refused("dispute_amount")
    changed.amount = amount


def _decide_by_words(integration: Integration, answered: Dispute, message: str) -> None:
    """Have the bank decide soon, if a line of the message says how. The last one counts."""
    words = [line.strip() for line in message.splitlines() if line.strip() in tables.DECISIONS]
    if words:
        resolution = tables.DECISIONS[words[-1]]
        integration.schedule.add(
            tables.DECIDED_AFTER, lambda: _end_if_open(integration, answered, resolution)
        )


def _end_if_open(integration: Integration, answered: Dispute, resolution: str) -> None:
    if answered.status in OPEN:
        _end(integration, answered, resolution)


def upload_url(integration: Integration, request: Request) -> Answer:
    """Give an address for a file. It is valid for 30 minutes."""
    _by_id(integration, request)
    name = integration.code("file").removeprefix("file_")
    url = f"{integration.base_url}/simulator/uploads/{name}?X-Amz-Expires=1800"
    return ok("Upload url generated", {"signedUrl": url, "fileName": name})


def add_evidence(integration: Integration, request: Request) -> Answer:
    request.need("customer_email", "customer_name", "customer_phone", "service_details")
    changed = _by_id(integration, request, is_open=True)
    given = {name: request.body[name] for name in EVIDENCE if name in request.body}
    changed.evidence = given | _dated(integration, changed)
    return ok("Evidence created", changed.evidence)


def resolve(integration: Integration, request: Request) -> Answer:
    """Take the merchant's answer: `merchant-accepted` is final, `declined` goes to the bank."""
    request.need("resolution", "message", "refund_amount")
    if integration.variants["dispute_file"] == "required":
        request.need("uploaded_filename")
    answered = _by_id(integration, request, is_open=True)
    if request.text("resolution") not in {"merchant-accepted", "declined"}:
        raise Refused("missing")
    if request.text("resolution") == "merchant-accepted":
        _set_amount(answered, request.body["refund_amount"])
    elif integration.variants["declined_amount"] == "replaced":
        answered.shown_amount = whole_amount(request.body["refund_amount"])
    answered.attachments = request.text("uploaded_filename") or None
    _say(integration, answered, MERCHANT, request.text("message"))
    if (
        request.text("resolution") == "declined"
        and integration.variants["declined_dispute"] == "bank_decides"
    ):
        answered.status = integration.variants["answered_dispute"]
        _note(integration, answered, MERCHANT)
        _decide_by_words(integration, answered, request.text("message"))
    else:
        _end(integration, answered, request.text("resolution"))
    shown = document(integration, answered)
    del shown["customer"], shown["history"], shown["messages"]
    said = {"sender": MERCHANT, "body": request.text("message")} | _dated(integration, answered)
    more = {"merchant_transaction_reference": None, "created_by": None, "message": said}
    return ok("Dispute successfully resolved", shown | more)

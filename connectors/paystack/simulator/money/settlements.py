"""Settlements: what is paid out of payments, less fees, refunds and lost disputes, and the books of all of it."""

from connectors.paystack.simulator.answers import Answer, Document, Refused, Request, dates, ok, page, within
from connectors.paystack.simulator.integration import Integration
from connectors.paystack.simulator.payments import disputes, transactions
from connectors.paystack.simulator.records import Dispute, Refund, Settlement, Transaction


def settle(integration: Integration) -> int:
    """Settle everything until now, and return the settlement's id. It is never negative: the next one deducts the rest."""
    kept = integration.tables
    number = integration.next_id() % 10**9
    paid = [
        each for each in kept.transactions.values() if each.status == "success" and each.settlement is None
    ]
    refunded = [
        each for each in kept.refunds.values() if each.status == "processed" and each.settlement is None
    ]
    lost = [
        each
        for each in kept.disputes.values()
        if each.resolution in disputes.LOST and each.settlement is None
    ]
    included: list[Transaction | Refund | Dispute] = [*paid, *refunded, *lost]
    for each in included:
        each.settlement = number
    processed, fees = sum(each.amount for each in paid), sum(each.fees or 0 for each in paid)
    owed = integration.books.owed + sum(each.amount for each in included) - processed
    deductions = min(owed, max(processed - fees, 0))
    integration.books.owed = owed - deductions
    amount = max(processed - fees - deductions, 0)
    kept.settlements[number] = Settlement(number, integration.now(), processed, fees, deductions, amount)
    integration.books.unsettled -= amount
    if integration.variants["settles_to"] == "balance":
        integration.books.move(amount, model="Settlement", row=number, reason="Settlement")
    else:
        integration.books.settled_to_bank += amount
    return number


def _document(integration: Integration, shown: Settlement) -> Document:
    known = {
        "id": shown.id,
        "status": "success",
        "total_amount": shown.paid,
        "effective_amount": shown.paid,
        "total_fees": shown.fees,
        "total_processed": shown.processed,
        "deductions": shown.deductions or None,
        "settlement_date": f"{shown.created_at:%Y-%m-%d}T00:00:00.000Z",
        "settled_by": None,
    }
    return integration.origin() | dates(shown.created_at) | known


def list_all(integration: Integration, request: Request) -> Answer:
    settlements = reversed(integration.tables.settlements.values())
    shown, meta = page(
        [each for each in settlements if within(each.created_at, request.query)], request.query
    )
    return ok("Settlements retrieved", [_document(integration, each) for each in shown], meta=meta)


def list_transactions(integration: Integration, request: Request) -> Answer:
    """List the payments of a settlement. Refunds, disputes and transfers are not in it."""
    number = request.params["id"]
    if not number.isdecimal() or int(number) not in integration.tables.settlements:
        raise Refused("settlement_missing")
    rows = [each for each in integration.tables.transactions.values() if each.settlement == int(number)]
    shown, meta = page(rows, request.query, volume=sum(each.amount for each in rows))
    return ok(
        "Transactions retrieved",
        [transactions.document(integration, each, "settlement") for each in shown],
        meta=meta,
    )


def books(integration: Integration) -> Document:
    """Return the provider's books, in minor units, by our references where it has them."""
    kept, own = integration.tables, integration.books
    paid = [each for each in kept.transactions.values() if each.status == "success"]
    return {
        "charged": {each.reference: each.amount for each in paid},
        "fees": {each.reference: each.fees for each in paid},
        "refunds": {
            str(each.id): {
                "reference": each.transaction.reference,
                "amount": each.amount,
                "status": each.status,
                "merchant_note": each.merchant_note,
            }
            for each in kept.refunds.values()
        },
        "refunded": {each.reference: _refunded(integration, each.reference) for each in paid},
        "lost_disputes": {
            str(each.id): each.amount for each in kept.disputes.values() if each.resolution in disputes.LOST
        },
        "transfers": {
            each.reference: {"amount": each.amount, "fee": each.fee, "status": each.status}
            for each in kept.transfers.values()
        },
        "paid_out": {
            each.reference: each.amount for each in kept.transfers.values() if each.status == "success"
        },
        "received": own.received,
        "sent_back": own.sent_back,
        "balance": own.balance,
        "unsettled": own.unsettled,
        "settled_to_bank": own.settled_to_bank,
    }


def _refunded(integration: Integration, reference: str) -> int:
    refunds = transactions.refunds_of(integration, integration.tables.transactions[reference])
    return sum(each.amount for each in refunds if each.status == "processed")

"""Payouts: recipients, transfers, and the balance that pays them."""

import re
from datetime import UTC
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
)
from connectors.paystack.simulator.control import timelines
from connectors.paystack.simulator.integration import Integration
from connectors.paystack.simulator.money import banks
from connectors.paystack.simulator.records import BalanceLine, Recipient, Transfer

REFERENCE = re.compile(r"[a-z0-9_-]{16,50}")  # [D5]
FINAL = {"failed", "reversed", "abandoned", "blocked", "rejected"}
STATUSES = FINAL | {"pending", "received", "otp", "success"}
EVENTS = {"success", "failed", "reversed"}  # the others have no event


class NoSuchTransfer(ValueError):
    """There is no such transfer, or it cannot get this status."""


def create_recipient(integration: Integration, request: Request) -> Answer:
    """Create a recipient. The same account again is the existing record [O]."""
    request.need("type", "name", "account_number", "bank_code")
    number, code, name = (request.text(each) for each in ("account_number", "bank_code", "name"))
    bank = tables.BANKS.get(code)
    if not (bank or banks.is_test_bank(integration, code)):
        raise Refused("bank")
    if (found := banks.account_name(integration, number)) == "":
        raise Refused("account_details")
    known = integration.tables.recipients.values()
    made = next((each for each in known if (each.account_number, each.bank_code) == (number, code)), None)
    if made is None:
        made = Recipient(
            id=integration.next_id(),
            code=integration.code("RCP"),
            name=name,
            account_number=number,
            account_name=found,
            bank_code=code,
            bank_name=bank.name if bank else "Test Bank",
            currency=request.text("currency") or integration.settings.currency,
            created_at=integration.now(),
        )
        integration.tables.recipients[made.code] = made
    elif integration.variants["recipient_name"] == "replaced":
        made.name = name
    shown = recipient(integration, made)
    for member in ("description", "email", "isDeleted", "metadata"):  # are not in the sample of this answer
        del shown[member]
    return ok("Transfer recipient created successfully", shown, status=201)


def recipient(integration: Integration, shown: Recipient) -> Document:
    return (
        integration.origin()
        | dates(shown.created_at)
        | {
            "active": True,
            "currency": shown.currency,
            "description": "",
            "email": None,
            "id": shown.id,
            "metadata": None,
            "name": shown.name,
            "recipient_code": shown.code,
            "type": "nuban",
            "is_deleted": False,
            "isDeleted": False,
            "details": {
                "authorization_code": None,
                "account_number": shown.account_number,
                "account_name": shown.account_name,
                "bank_code": shown.bank_code,
                "bank_name": shown.bank_name,
            },
        }
    )


def send(integration: Integration, request: Request) -> Answer:
    """Send a transfer. Amount and fee are deducted at once [D6]."""
    payee = integration.tables.recipients.get(request.text("recipient"))
    _check_business(integration)
    if payee is None:
        raise Refused("recipient")
    amount, reference = _payout_amount(request), request.text("reference") or f"{integration.next_id():032x}"
    if not REFERENCE.fullmatch(reference):
        raise Refused("reference")
    if reference in integration.tables.transfers:
        raise _repeated(integration)
    fee = tables.payout_fee(amount)
    if amount + fee > integration.books.balance:
        raise Refused("transfer_balance")
    made = _stored(integration, request, payee, amount=amount, fee=fee, reference=reference)
    timeline = timelines.read("otp") if integration.switches["otp"] else integration.timeline("transfer")
    timelines.follow(timeline, integration.schedule, lambda status: change(integration, made, status))
    if made.status == "otp":
        integration.schedule.add(tables.OTP_SECONDS, lambda: _abandon(integration, made))
    message = "Transfer requires OTP to continue" if made.status == "otp" else "Transfer has been queued"
    more = {"transfersessionid": [], "transfertrials": [], "recipient": payee.id}
    return ok(message, _core(integration, made) | more)


def _check_business(integration: Integration) -> None:
    for name in ("starter", "on_hold"):
        if integration.switches[name]:
            raise Refused(name)


def _payout_amount(request: Request) -> int:
    amount = whole_amount(request.body.get("amount"))
    if request.text("source") != "balance" or amount < tables.MINIMUM_PAYOUT:
        raise Refused("transfer_amount")
    return amount


def _repeated(integration: Integration) -> Refused:
    kind = integration.variants["transfer_repeated"]
    changes: Document = {"code": ""} if kind == "without_code" else {"status": int(kind)}
    return Refused("transfer_repeated", **changes)


def _stored(integration: Integration, request: Request, payee: Recipient, **amounts: Any) -> Transfer:
    now = integration.now()
    made = Transfer(
        id=integration.next_id(),
        currency=integration.settings.currency,
        recipient=payee,
        code=integration.code("TRF"),
        reason=request.text("reason"),
        created_at=now,
        updated_at=now,
        visible_from=integration.visible_from(),
        **amounts,
    )
    integration.tables.transfers[made.reference] = made
    _move_balance(integration, made, -made.amount - made.fee)
    return made


def _move_balance(integration: Integration, moved: Transfer, difference: int) -> None:
    integration.books.move(difference, model="Transfer", row=moved.id, reason=moved.reason)


def _abandon(integration: Integration, made: Transfer) -> None:
    if made.status == "otp":
        change(integration, made, "abandoned")


def change(integration: Integration, changed: Transfer, status: str) -> bool:
    """Give a transfer its next status, and notify the merchant. Return False if it has ended.

    A success can still be reversed. What ends without success returns the amount.
    """
    if changed.status in FINAL or (changed.status == "success" and status not in {"success", "reversed"}):
        return False
    if status == "success" and changed.status == "success":
        return True
    changed.status, changed.updated_at = status, integration.now()
    if status == "success" and integration.domain == "live":  # test transfers have no session (samples)
        changed.session_id, changed.transferred_at = f"110006{changed.id:024}", integration.now()
    if status in FINAL:
        is_returned = integration.variants["failed_transfer_fee"] == "returned"
        _move_balance(integration, changed, changed.amount + (changed.fee if is_returned else 0))
    if status in EVENTS:
        integration.event(f"transfer.{status}", _event(integration, changed))
    return True


def change_by_reference(integration: Integration, reference: str, status: str) -> str:
    """Change a transfer from outside, as the bank or the approval URL would.

    :raises NoSuchTransfer: there is none, or it has ended
    """
    found = integration.tables.transfers.get(reference)
    if found is None or status not in STATUSES or not change(integration, found, status):
        raise NoSuchTransfer(f"transfer {reference!r} cannot become {status!r}")
    return found.status


def _core(integration: Integration, shown: Transfer) -> Document:
    known = {
        "amount": shown.amount,
        "id": shown.id,
        "reason": shown.reason,
        "reference": shown.reference,
        "source": "balance",
        "status": shown.status,
        "transfer_code": shown.code,
        "transferred_at": timestamp(shown.transferred_at),
        "request": shown.id + 1,
    }
    unset = dict.fromkeys(("failures", "source_details", "titan_code"))
    return integration.origin() | dates(shown.created_at, shown.updated_at) | known | unset


def _full(integration: Integration, shown: Transfer) -> Document:
    return _core(integration, shown) | {
        "recipient": recipient(integration, shown.recipient),
        "session": {"provider": "nip" if shown.session_id else None, "id": shown.session_id},
        "fee_charged": shown.fee,
        "fees_breakdown": None,
        "gateway_response": None,
    }


def _event(integration: Integration, shown: Transfer) -> Document:
    """Describe a transfer as its events do. Those of a failure spell times differently, and have no fee (samples)."""
    document = _full(integration, shown) | {
        "integration": {
            "id": integration.settings.integration,
            "is_live": integration.domain == "live",
            "business_name": integration.settings.business,
            "logo_path": "",
        }
    }
    parts, dropped = (document, document["recipient"]), ["request", "fees_breakdown", "isDeleted"]
    if shown.status != "success":
        dropped += ["fee_charged", "gateway_response"]
        del document["integration"]["logo_path"]
        for part in parts:
            part["created_at"], part["updated_at"] = part.pop("createdAt"), part.pop("updatedAt")
    for part in parts:
        for member in dropped:
            part.pop(member, None)
    return document


def verify(integration: Integration, request: Request) -> Answer:
    found = integration.tables.transfers.get(request.params["reference"])
    if found is None or found.visible_from > integration.now():
        raise Refused("transfer_missing")
    return ok("Transfer retrieved", _full(integration, found))


def list_all(integration: Integration, request: Request) -> Answer:
    wanted = request.query.get("status")
    rows = [
        each
        for each in reversed(integration.tables.transfers.values())
        if each.visible_from <= integration.now() and wanted in {None, each.status}
    ]
    shown, meta = page(rows, request.query)
    return ok("Transfers retrieved", [_listed(integration, each) for each in shown], meta=meta)


def _listed(integration: Integration, shown: Transfer) -> Document:
    """Describe a transfer as the list does, without times of the transfer and without a request (samples)."""
    document = _core(integration, shown) | {"recipient": recipient(integration, shown.recipient)}
    for member in ("reference", "titan_code", "transferred_at", "request"):
        document.pop(member)
    return document


def balance(integration: Integration, request: Request) -> Answer:
    row = {"currency": integration.settings.currency, "balance": integration.books.balance}
    return ok("Balances retrieved", [row])


def ledger(integration: Integration, request: Request) -> Answer:
    """List the changes of the balance, newest first. Filters are by day, and `from` is exclusive [M1]."""
    start, end = request.query.get("from", "")[:10], request.query.get("to", "9")[:10]
    lines = reversed(integration.books.lines)
    rows = [each for each in lines if start < f"{each.at.astimezone(UTC):%Y-%m-%d}" <= end]
    shown, meta = page(rows, request.query)
    return ok("Balance ledger retrieved", [_line(integration, each) for each in shown], meta=meta)


def _line(integration: Integration, shown: BalanceLine) -> Document:
    return (
        integration.origin()
        | dates(shown.at)
        | {
            "balance": shown.balance,
            "difference": shown.difference,
            "reason": shown.reason,
            "model_responsible": shown.model,
            "model_row": shown.row,
            "id": shown.id,
        }
    )

"""Settlements of a day as a statement: payments, what Paystack kept and deducted, and what it paid to our bank account.

What Paystack couldn't deduct yet is the closing balance: a later settlement deducts it. A file is what `fetch` returns, or the answer of Paystack to `GET /settlement/{id}/transactions`.
"""

import json
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any, BinaryIO
from uuid import NAMESPACE_OID, UUID, uuid5

from django.conf import settings

from cash.models import BankAccount
from cash.services.repeated_settlements import PAID_OUT, first_late_day, references_told, settlements_told
from cash.statement_files import InvalidFile, NotYet, Parsed, ParsedLine, of_day
from connectors.paystack.api.client import PaystackClient, Refused
from kit.files import bounded_json
from kit.text.display_names import identifier_text
from payments.rails.protocol import AnswerLost
from payments.services.rails.declared_accounts import same_as

Document = dict[str, Any]

OWN_REFERENCE = re.compile(r"[0-9a-f]{32}\Z", re.ASCII)
CARD, PAYMENT = "card", "payment"
PAID, OPEN = "success", frozenset({"pending", "processing"})
LISTED, MOST_PAGES = 25, 8_000  # answers of more than 64 KB aren't read
LISTED_BEFORE = timedelta(days=14)  # settlements are listed by creation, which may be earlier than their day
LATE = timedelta(days=7)  # a settlement that appears later is imported manually
OF_REFUNDS = timedelta(days=120)  # refunds may be deducted long after they were asked for
TRANSACTION = ("id", "reference", "amount", "fees", "channel", "paid_at")
SETTLEMENT = ("id", "effective_amount", "total_processed", "total_fees", "deductions")


def fetch(account: BankAccount, day: date) -> bytes | None:
    """Return the settlements of a day, and those that were added to earlier days since, as a file, or None without any.

    :raises NotYet: one isn't paid out yet
    :raises AnswerLost: Paystack doesn't answer, and the other errors of its client
    """
    client = PaystackClient()
    if f"paystack:{settings.PAYSTACK_INTEGRATION}" not in same_as("paystack", account.connector_account):
        raise AnswerLost
    try:
        listed = sorted(_settlements(client, account, day), key=_listed_at)
        new = _new(listed, account=account, day=day)
        found = [_detailed(client, each) for each in new]
    except Refused:
        raise AnswerLost from None
    return json.dumps({"day": day.isoformat(), "settlements": found}).encode() if found else None


def read(file: BinaryIO, account: BankAccount) -> list[Parsed]:
    """Return the statement of a file. What `fetch` returned may have none: settlements that were told before.

    :raises InvalidFile: it can't be read, or its sums contradict its payments
    """
    try:
        document = bounded_json.loads(file.read().decode())
        if is_fetched := "settlements" in document:
            day, settlements = date.fromisoformat(document["day"]), document["settlements"]
        else:
            settlements = [{"transactions": document["data"]}]
            day = max(_day_of(each) for each in document["data"])
        lines = _new_lines(settlements, account=account, day=day)
    except (ValueError, LookupError, TypeError, AttributeError) as wrong:
        if isinstance(wrong, InvalidFile):
            raise
        raise InvalidFile(f"This is not a settlement of Paystack ({type(wrong).__name__}).") from None
    if not lines and is_fetched:
        return []
    if not lines:
        raise InvalidFile("The file has no new payments.")
    return [of_day(account, day, lines)]


def _settlements(client: PaystackClient, account: BankAccount, day: date) -> Iterator[Document]:
    first = first_late_day(account, day, longest=LATE).isoformat()
    query = {"from": (day - LISTED_BEFORE).isoformat(), "to": (day + timedelta(days=1)).isoformat()}
    for each in _pages(client, "/settlement", query):
        settled, status = str(each.get("settlement_date"))[:10], each.get("status")
        if each.get("currency") != account.currency or not first <= settled <= day.isoformat():
            continue
        if status in OPEN and settled == day.isoformat():
            raise NotYet
        if status == PAID:
            yield client.own(each)


def _listed_at(settlement: Document) -> tuple[str, str]:
    return str(settlement.get("settlement_date")), str(settlement.get("createdAt"))


def _new(settlements: list[Document], *, account: BankAccount, day: date) -> list[Document]:
    """Return the settlements that no statement of another day has."""
    places = [_place(each, day) for each in settlements]
    told = settlements_told({each: _key(account, each) for each in places}, account=account, day=day)
    return [each for each, place in zip(settlements, places, strict=True) if place not in told]


def _place(settlement: Document, day: date) -> str:
    return f"settlement {identifier_text(settlement.get('id'), length=20) or f'of {day}'}"


def _key(account: BankAccount, place: str) -> UUID:
    return uuid5(NAMESPACE_OID, f"sluice {account.connector_account} {place}")


def _detailed(client: PaystackClient, settlement: Document) -> Document:
    """Return what is kept of a settlement, with its payments and its refunds."""
    number = identifier_text(settlement.get("id"), length=20)
    path = f"/settlement/{number}/transactions"
    paid = _pages(client, path, {}, endpoint="/settlement/{id}/transactions")
    kept = {name: settlement.get(name) for name in SETTLEMENT}
    kept["transactions"] = [{name: each.get(name) for name in TRANSACTION} for each in paid]
    kept["refunds"] = list(_refunds(client, settlement)) if settlement.get("deductions") else []
    return kept


def _refunds(client: PaystackClient, settlement: Document) -> Iterator[Document]:
    day = date.fromisoformat(str(settlement.get("settlement_date"))[:10])
    query = {"from": (day - OF_REFUNDS).isoformat(), "to": (day + timedelta(days=1)).isoformat()}
    for each in _pages(client, "/refund", query):
        if each.get("settlement") == settlement.get("id"):
            yield {name: each.get(name) for name in ("id", "amount", "merchant_note")}


def _pages(
    client: PaystackClient, path: str, query: dict[str, str], *, endpoint: str = ""
) -> Iterator[Document]:
    for number in range(1, MOST_PAGES + 1):
        page = {**query, "perPage": str(LISTED), "page": str(number)}
        found = client.get(path, query=page, endpoint=endpoint, until=client.deadline()).data
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise AnswerLost
        yield from found
        if len(found) < LISTED:
            return


def _new_lines(settlements: list[Document], *, account: BankAccount, day: date) -> list[ParsedLine]:
    """Return the lines of what no statement of another day has.

    :raises InvalidFile: a settlement's own sums contradict its payments
    """
    lines, balance = list[ParsedLine](), account.closing_before(day)
    for each in _new(settlements, account=account, day=day):
        found = list(_lines(each, day, account, balance=balance))
        balance += sum(line.amount for line in found)
        lines += found
    return lines


def _lines(settlement: Document, day: date, account: BankAccount, *, balance: int) -> Iterator[ParsedLine]:
    """Yield payments, refunds, what else was deducted, the fee, and what was paid out.

    :raises InvalidFile: the settlement's own sums contradict its payments
    """
    number, place = identifier_text(settlement.get("id"), length=20), _place(settlement, day)
    paid, refunds = settlement["transactions"], settlement.get("refunds", [])
    sent = _paid_out(settlement, place)

    def line(amount: int, kind: str, reference: str = "", order: UUID | None = None) -> ParsedLine:
        return ParsedLine(
            place=place, booked_on=day, amount=amount, order=order, reference=reference, kind=kind, text=place
        )

    payments = [_payment(each, line(_whole(each["amount"]), PAYMENT)) for each in paid]
    references = {each.reference for each in payments}
    told = references_told(references, kind=PAYMENT, account=account, day=day)
    fees = 0
    for row, payment in zip(paid, payments, strict=True):
        fee = _whole(row["fees"])
        if payment.reference in told:  # in a file that staff imported, which had it as paid out
            sent -= payment.amount - fee
            continue
        fees += fee
        balance += payment.amount
        yield payment
    for each in refunds:
        reference = identifier_text(each.get("id"), length=20)
        balance -= (amount := _whole(each["amount"]))
        yield line(-amount, "refund", reference, _own(each.get("merchant_note")))
    rest = balance - fees - sent
    is_carried = rest < 0 and (sent <= 0 or settlement.get("effective_amount") is None)
    others = [
        line(0 if is_carried else -rest, "deduction"),
        line(-fees, "provider fee"),
        line(-sent, PAID_OUT if sent > 0 else "difference", number or place, _key(account, place)),
    ]
    yield from (each for each in others if each.amount)


def _paid_out(settlement: Document, place: str) -> int:
    """Return what a settlement paid out, or what remains of its payments if it doesn't say.

    :raises InvalidFile: its own sums contradict its payments
    """
    paid = settlement["transactions"]
    processed, fees = _sum(paid, "amount"), _sum(paid, "fees")
    for told, ours in (("total_processed", processed), ("total_fees", fees)):
        if settlement.get(told) not in {None, ours}:
            raise InvalidFile(f"{place}: {told} isn't the sum of its payments.")
    sent = settlement.get("effective_amount")
    if sent is None:
        return max(processed - fees - _whole(settlement.get("deductions")), 0)
    return _whole(sent)


def _payment(told: Document, line: ParsedLine) -> ParsedLine:
    """Return the line of a payment. A bank transfer is known by Paystack's number, as its notification was."""
    number = identifier_text(told.get("id"), length=40)
    is_card = told.get("channel", CARD) == CARD
    return ParsedLine(
        place=line.place,
        booked_on=line.booked_on,
        amount=line.amount,
        order=_own(told.get("reference")) if is_card else None,
        reference=number if is_card else f"paystack:{number}",
        kind=line.kind,
        text=line.text,
    )


def _own(reference: object) -> UUID | None:
    return UUID(reference) if isinstance(reference, str) and OWN_REFERENCE.match(reference) else None


def _sum(rows: list[Document], member: str) -> int:
    return sum(_whole(each[member]) for each in rows)


def _whole(amount: object) -> int:
    if isinstance(amount, bool) or not isinstance(amount, int | str | None):
        raise TypeError
    return int(amount or 0)


def _day_of(paid: Document) -> date:
    return datetime.fromisoformat(str(paid.get("paid_at") or paid.get("paidAt"))).date()

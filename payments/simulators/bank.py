"""The simulated bank: accepts transfers and name enquiries as signed JSON, and injects faults on command.

Commands are unsigned HTTP requests to /control, because it listens on localhost only.
"""

import hmac
import json
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from kit.money.money import decimal_amount
from payments.rails.bank_signing import (
    CLIENT_HEADER,
    SIGNATURE_HEADER,
    TIMESTAMP_HEADER,
    answer_signature,
    is_signed,
    request_signature,
)
from payments.rules import sandbox_triggers
from payments.rules.settlement.business_days import business_day
from payments.simulators.fault_injection import ANSWER, Fault, FaultKind, UnknownFault
from payments.simulators.http_server import Conversation, SimulatorServer, post, written
from payments.simulators.statement_lines import COLUMNS, IN, OUT

DONE, UNKNOWN, NOT_FOUND, DUPLICATE, NO_ACCOUNT = "00", "01", "25", "94", "07"
TOLERANCE = 300  # seconds between the two clocks
NOTIFICATION_TIMEOUT = 10  # seconds


@dataclass(slots=True)
class Transfer:
    amount: int
    currency: str
    account_number: str
    code: str
    session_id: str
    merchant_reference: str = ""
    returns: list[int] = field(default_factory=list)  # minor units

    @property
    def paid(self) -> int:
        """Return the amount that the beneficiary has received and kept, in minor units."""
        return self.amount - sum(self.returns) if self.code == DONE else 0

    def document(self, reference: str) -> dict[str, Any]:
        return {
            "reference": reference,
            "amount": self.amount,
            "response_code": self.code,
            "session_id": self.session_id,
        }


class NoSuchTransfer(ValueError):
    """The bank has not paid such a transfer."""


class BankLedger:
    """Transfers by the sender's reference. Each is executed once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._transfers: dict[str, Transfer] = {}
        self._lines: list[str] = []  # of the statement
        self.next_codes: deque[str] = deque()  # answers to the next transfers, whatever became of them

    def send(self, order: dict[str, Any]) -> dict[str, Any]:
        reference, account = order["reference"], order["beneficiary"]["account_number"]
        with self._lock:
            if reference in self._transfers:
                return {"reference": reference, "response_code": DUPLICATE}
            refused = sandbox_triggers.by_payout(order["amount"], account)
            is_lost = account == sandbox_triggers.LOST_ANSWER_ACCOUNT
            code = refused.gateway_code if refused else DONE
            number = f"{len(self._transfers) + 1:030}" if code == DONE else ""
            made = self._transfers[reference] = Transfer(
                order["amount"], order["currency"], account, code, number, order.get("merchant_reference", "")
            )
            if code == DONE:
                self._note(reference, made.amount, made.currency, OUT)
            if self.next_codes:
                return made.document(reference) | {"response_code": self.next_codes.popleft()}
        document = made.document(reference)
        return document | {"response_code": UNKNOWN} if is_lost else document

    def find(self, reference: str) -> dict[str, Any]:
        with self._lock:
            found = self._transfers.get(reference)
            if found is None:
                return {"reference": reference, "response_code": NOT_FOUND}
            return found.document(reference)

    def sent(self, reference: str) -> Transfer:
        """Return a transfer as the bank received it."""
        with self._lock:
            return self._transfers[reference]

    def paid(self, reference: str) -> int:
        """Return the amount that the beneficiary has received and kept, in minor units."""
        with self._lock:
            found = self._transfers.get(reference)
            return found.paid if found else 0

    def return_payout(self, reference: str, *, amount: int | None = None, reason: str = "") -> dict[str, Any]:
        """Return a transfer to its sender in full or in part. Returns the notification about it.

        :raises NoSuchTransfer: no transfer with this reference was paid, or its rest is smaller
        """
        with self._lock:
            found = self._transfers.get(reference)
            returned = amount or (found.paid if found else 0)
            if found is None or not 0 < returned <= found.paid:
                raise NoSuchTransfer(f"Transfer {reference!r} has no such amount to return.")
            found.returns.append(returned)
            bank_reference = f"return-{reference}-{len(found.returns)}"
            self._note(bank_reference, returned, found.currency, IN)
            return {
                "bank_reference": bank_reference,
                "payout_reference": reference,
                "amount": returned,
                "currency": found.currency,
                **({"reason": reason} if reason else {}),
            }

    def receive(
        self, *, account_number: str, amount: int, currency: str = "NGN", **sender: str
    ) -> dict[str, Any]:
        """Credit a virtual account with an incoming transfer. Returns the notification about it."""
        with self._lock:
            reference = f"transfer-{len(self._lines) + 1:06}"
            self._note(reference, amount, currency, IN)
        return {
            "bank_reference": reference,
            "account_number": account_number,
            "amount": amount,
            "currency": currency,
            **sender,
        }

    def statement(self) -> str:
        """Return the bank's statement as CSV, which `import_statement` reads by a mapping."""
        with self._lock:
            return "\n".join([",".join(COLUMNS), *self._lines])

    def _note(self, reference: str, amount: int, currency: str, direction: str) -> None:
        self._lines.append(
            f"{reference},{decimal_amount(amount, currency)},{currency},{_today()},{direction}"
        )

    def all_paid(self) -> dict[str, int]:
        return {reference: self.paid(reference) for reference in list(self._transfers)}


class BankSimulator(SimulatorServer):
    """The bank as a server on localhost."""

    def __init__(
        self,
        *,
        port: int = 0,
        client_id: str,
        key: str,
        notify_url: str = "",
        notify_key: str = "",
    ) -> None:
        super().__init__(_Exchange, port=port)
        self.books = BankLedger()
        self.plan: deque[Fault] = deque()  # faults of the next calls, one each
        self.client_id, self.key = client_id, key
        self.notify_url, self.notify_key = notify_url, notify_key  # of the service to notify

    def return_payout(self, reference: str, *, amount: int | None = None, reason: str = "") -> dict[str, Any]:
        """Return a transfer, and notify the service if its URL is configured.

        :raises NoSuchTransfer: there is nothing to return
        """
        notification = self.books.return_payout(reference, amount=amount, reason=reason)
        return self._notify("/bank/payout-returns", notification)

    def receive(self, **transfer: Any) -> dict[str, Any]:
        """Credit a virtual account, and notify the service if its URL is configured."""
        return self._notify("/bank/transfers", self.books.receive(**transfer))

    def _notify(self, path: str, notification: dict[str, Any]) -> dict[str, Any]:
        url, key = self.notify_url, self.notify_key
        return {
            "notification": notification,
            "answer": _notify(url, path, key, notification) if url else None,
        }


class _Exchange(Conversation):
    server: BankSimulator

    def _exchange(self) -> None:
        body, path = self.read_body(), urlsplit(self.path).path
        if path.startswith("/control"):
            return self._control(body)
        if not self._is_ours(body):
            return self._send(HTTPStatus.UNAUTHORIZED, {"response_code": "63"})
        fault = self.server.plan.popleft() if self.server.plan else ANSWER
        return self._misbehave(fault, path, body)

    do_GET = do_POST = _exchange  # noqa: N815  (names of the library)

    def _misbehave(self, fault: Fault, path: str, body: bytes) -> None:
        kind = fault.kind
        if kind is FaultKind.ARRIVE_LATE:
            self.server.is_over.wait(fault.seconds)
        is_lost = kind in {FaultKind.LOSE, FaultKind.LOSE_AND_CUT}
        document = {} if is_lost else self._act(path, json.loads(body or b"{}"))
        self._send(HTTPStatus.OK, document, fault=fault)

    def _act(self, path: str, order: dict[str, Any]) -> dict[str, Any]:
        match path.strip("/").split("/"):
            case ["transfers"]:
                return self.server.books.send(order)
            case ["transfers", reference]:
                return self.server.books.find(reference)
            case ["name-enquiries"]:
                name = sandbox_triggers.account_name(order["account_number"])
                return {"response_code": DONE if name else NO_ACCOUNT, "account_name": name}
            case _:
                return {"response_code": "30"}

    def _control(self, body: bytes) -> None:
        try:
            order = json.loads(body or b"{}")
            self.server.plan.extend(Fault.read(word) for word in order.get("plan", []))
            notification = self.server.return_payout(**order["return"]) if "return" in order else {}
            if "receive" in order:
                notification = self.server.receive(**order["receive"])
            if order.get("statement"):
                notification["statement"] = self.server.books.statement()
        except (ValueError, TypeError, OSError, UnknownFault) as problem:
            return self._send(HTTPStatus.BAD_REQUEST, {"error": str(problem)})
        state = {"paid": self.server.books.all_paid(), "plan": len(self.server.plan)}
        return self._send(HTTPStatus.OK, state | notification)

    def _is_ours(self, body: bytes) -> bool:
        timestamp = self.headers.get(TIMESTAMP_HEADER, "0")
        right = request_signature(
            self.server.key, timestamp=timestamp, method=self.command, target=self.path, body=body
        )
        return (
            self.headers.get(CLIENT_HEADER) == self.server.client_id
            and timestamp.isdecimal()
            and abs(time.time() - int(timestamp)) <= TOLERANCE
            and is_signed(self.headers.get(SIGNATURE_HEADER, ""), right)
        )

    def _send(self, status: int, document: dict[str, Any], *, fault: Fault = ANSWER) -> None:
        body = json.dumps(document).encode()
        asked = self.headers.get(SIGNATURE_HEADER, "")
        signature = answer_signature(self.server.key, asked=asked, body=body)
        headers = {"Content-Type": "application/json", SIGNATURE_HEADER: signature}
        whole = written(status, headers, body)
        if fault.kind is FaultKind.GARBAGE:
            whole = whole.replace(b"00", b"ZZ")
        elif fault.kind is FaultKind.REDIRECT:
            whole = _redirect(self.path)
        self.send_under(fault, whole)


def _today() -> date:
    return business_day(datetime.now(UTC))


def _notify(url: str, path: str, key: str, notification: dict[str, Any]) -> dict[str, Any]:
    """Send a notification to the service, signed as described in `docs/bank-transfers.md`."""
    body = json.dumps(notification).encode()
    timestamp = str(int(time.time()))
    signature = hmac.digest(key.encode(), timestamp.encode() + b"." + body, "sha256").hex()
    headers = {
        "Content-Type": "application/json",
        "X-Bank-Timestamp": timestamp,
        "X-Bank-Signature": signature,
    }
    parts = urlsplit(url)
    status, answer = post(
        f"{parts.scheme}://{parts.netloc}{path}", headers, body, timeout=NOTIFICATION_TIMEOUT
    )
    return {"status": status, "body": answer.decode(errors="replace")}


def _redirect(path: str) -> bytes:
    return f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {path}?again\r\nContent-Length: 0\r\n\r\n".encode()

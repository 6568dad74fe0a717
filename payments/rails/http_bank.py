"""A bank that accepts transfers as signed JSON over HTTP and answers with NIP codes.

Our own reference is the idempotency key of a transfer. An unknown outcome is queried, and the transfer is sent again
if the bank has no record of it.
"""

import re
import threading
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from kit.connectors.capabilities import Capabilities
from kit.connectors.http_client import NoAnswer
from kit.db import clock
from kit.text.display_names import identifier_text, printable_line
from payments.rails.protocol import AnswerLost, PayoutOrder, RailAnswer
from payments.rails.signed_calls import Peer, SignedCaller
from payments.rules import outcomes

log = structlog.get_logger("sluice.bank")

REQUIRED = ("BANK_URL", "BANK_CLIENT_ID", "BANK_SECRET_KEY")

DONE = "00"
# The definite refusals of NIP (docs/rails.md has the list with their meanings). After any other code the beneficiary may
# or may not have been credited.
REFUSED = frozenset(
    {
        "03", "05", "06", "07", "08", "12", "13", "16", "21", "30", "34", "35", "51", "57", "58", "61", "63",
        "65", "92",
    }
)  # fmt: skip
SENT_BEFORE = frozenset({"26", "94"})
NO_SUCH_TRANSFER = "25"
# Concurrent name enquiries of a process. Fewer than `http_client.MOST_CALLS`, so that hanging enquiries leave room
# for transfers.
MOST_ENQUIRIES = 8
_RESPONSE_CODE = re.compile("[0-9A-Za-z]{2}")
LONGEST_NAME = 100  # characters
NO_SUCH_ACCOUNT = frozenset({"07", "16", "25"})


class HttpBank:
    """A bank at an HTTP address."""

    name = "http"
    capabilities = Capabilities()

    def __init__(self) -> None:
        missing = [name for name in REQUIRED if not getattr(settings, name)]
        if missing:
            raise ImproperlyConfigured(f"The HTTP bank needs {' and '.join(missing)}.")
        self._caller = SignedCaller(
            Peer(
                url=settings.BANK_URL,
                client_id=settings.BANK_CLIENT_ID,
                key=settings.BANK_SECRET_KEY,
                timeout=settings.BANK_TIMEOUT,
                ca_file=settings.BANK_CA_FILE,
            )
        )

        self._enquiries = threading.BoundedSemaphore(MOST_ENQUIRIES)

    @cached_property
    def account(self) -> str:
        """The bank's host, and who we are there."""
        url = urlsplit(settings.BANK_URL)
        port = url.port or {"http": 80, "https": 443}[url.scheme]
        return f"http:{url.hostname}:{port}/{settings.BANK_CLIENT_ID}"

    def is_available(self) -> bool:
        return self._caller.has_room()

    def send(self, order: PayoutOrder) -> RailAnswer:
        if order.send_by is not None and clock.now() >= order.send_by:
            log.warning("transfer not sent because its lease has expired", id=str(order.id))
            raise AnswerLost
        answer = self._transfer("POST", "/transfers", order, _transfer(order))
        if answer["response_code"] in SENT_BEFORE:
            answer = self._find(order)
        if answer["response_code"] == NO_SUCH_TRANSFER:
            raise AnswerLost  # a duplicate, but not found; query again later
        return _answer(answer)

    def query(self, order: PayoutOrder) -> RailAnswer:
        answer = self._find(order)
        if answer["response_code"] != NO_SUCH_TRANSFER:
            return _answer(answer)
        if order.may_be_repeated:
            return self.send(order)
        # Payouts are frozen, or it is old: the bank either executed and deleted it, or never received it. Staff have to find out.
        log.error("transfer not found at the bank, and not sent again", id=str(order.id))
        return RailAnswer(outcome=outcomes.PROCESSING)

    def account_name(self, *, account_number: str, nip_code: str, given_name: str = "") -> str | None:
        if not self._enquiries.acquire(blocking=False):
            raise AnswerLost
        try:
            answer = self._call(
                "POST", "/name-enquiries", {"account_number": account_number, "nip_code": nip_code}
            )
        finally:
            self._enquiries.release()
        if answer["response_code"] in NO_SUCH_ACCOUNT:
            return None
        name = answer.get("account_name")
        if answer["response_code"] != DONE or not isinstance(name, str) or not printable_line(name):
            raise AnswerLost
        return printable_line(name)[:LONGEST_NAME]

    def _find(self, order: PayoutOrder) -> dict[str, Any]:
        return self._transfer("GET", f"/transfers/{order.id.hex}", order)

    def _transfer(
        self, method: str, path: str, order: PayoutOrder, document: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        answer = self._call(method, path, document)
        if answer.get("reference") != order.id.hex or answer.get("amount", order.amount) != order.amount:
            log.error("the bank answered about a different transfer", id=str(order.id))
            raise AnswerLost
        return answer

    def _call(self, method: str, path: str, document: dict[str, Any] | None) -> dict[str, Any]:
        try:
            answer = self._caller.call(method, path, document)
        except NoAnswer as reason:
            log.warning("no answer from the bank", reason=str(reason), path=path)
            raise AnswerLost from None
        code = answer.get("response_code")
        if not (isinstance(code, str) and _RESPONSE_CODE.fullmatch(code)):
            raise AnswerLost
        return answer


def _answer(answer: dict[str, Any]) -> RailAnswer:
    code = answer["response_code"]
    if code == DONE:
        number = identifier_text(answer.get("session_id"), length=64)
        return RailAnswer(outcome=outcomes.COMPLETED, acquirer_transaction_id=number)
    return RailAnswer(outcome=outcomes.payout_failure(code) if code in REFUSED else outcomes.PROCESSING)


def _transfer(order: PayoutOrder) -> dict[str, Any]:
    return {
        "reference": order.id.hex,
        "amount": order.amount,
        "currency": order.currency,
        "beneficiary": {
            "name": order.beneficiary,
            "account_number": order.account_number,
            "nip_code": order.nip_code,
        },
        "narration": order.narration,
        "merchant_reference": order.merchant_reference,
    }

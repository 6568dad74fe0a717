"""Payouts by Paystack's transfers: a recipient for the account, then a transfer with our reference.

The reference is the idempotency key. Paystack keeps it for ever and carries out one transfer with it.
"""

import threading
from datetime import timedelta
from functools import cached_property
from http import HTTPStatus
from typing import Any

import structlog
from django.conf import settings

from connectors.paystack.api import codes
from connectors.paystack.api.bank_codes import BankList
from connectors.paystack.api.client import PaystackConnector, Refused
from connectors.paystack.api.refusal_counter import RefusalCounter
from kit.connectors.capabilities import Capabilities
from kit.connectors.connector_metrics import RAIL_DIFFERENCES
from kit.connectors.provider_client import Deadline
from kit.db import clock
from kit.text.display_names import identifier_text, printable_line
from payments.rails.protocol import AnswerLost, NotReceived, PayoutOrder, RailAnswer, RailBlocked
from payments.rules import outcomes

log = structlog.get_logger("sluice.paystack")

MINIMUM = {"NGN": 10_000}  # kobo
RESEND_AFTER = timedelta(seconds=60)  # while a transfer is validated, queries don't find it
MOST_ENQUIRIES = 8  # concurrent name enquiries of a process, so that hanging ones leave room for transfers
LONGEST_NAME = 100  # characters
REASON_LENGTH = 100  # characters of a narration; the limit there isn't published


class PaystackBank(PaystackConnector):
    """Transfers from the balance of an integration at Paystack."""

    def __init__(self) -> None:
        super().__init__()
        self._banks = BankList(self._client)
        self._refusals = RefusalCounter()
        self._enquiries = threading.BoundedSemaphore(MOST_ENQUIRIES)

    @cached_property
    def capabilities(self) -> Capabilities:
        return Capabilities(currencies=frozenset(settings.PAYSTACK_CURRENCIES), minimum_amount=MINIMUM)

    def is_available(self) -> bool:
        return self._client.has_room("POST /transferrecipient", "POST /transfer")

    def send(self, order: PayoutOrder) -> RailAnswer:
        until = self._client.deadline()
        bank_code = self._banks.find(order.nip_code, until=until)
        if not bank_code:
            log.warning(
                "Paystack doesn't have the bank of a payout", id=str(order.id), nip_code=order.nip_code
            )
            return self._found_or_failed(order, until)
        try:
            recipient = self._recipient(order, bank_code, until)
            _require_lease(order)
            transfer = self._transfer(order, recipient, until)
        except Refused as refused:
            return self._answer_to_refusal(order, refused, until)
        self._refusals.reset()
        if transfer.get("recipient") not in (recipient.get("id"), recipient["recipient_code"]):
            raise _difference(order, "recipient")
        return self._answer(order, transfer, is_accepted=True)

    def query(self, order: PayoutOrder) -> RailAnswer:
        found = self._find(order, self._client.deadline())
        if found is not None:
            return self._answer(order, found)
        raise NotReceived(resend_after=RESEND_AFTER)

    def account_name(self, *, account_number: str, nip_code: str, given_name: str = "") -> str | None:
        if not self._enquiries.acquire(blocking=False):
            raise AnswerLost
        try:
            return self._account_name(account_number, nip_code, self._client.deadline())
        finally:
            self._enquiries.release()

    def _account_name(self, account_number: str, nip_code: str, until: Deadline) -> str | None:
        bank_code = self._banks.find(nip_code, until=until)
        if not bank_code:
            return None
        try:
            asked = {"account_number": account_number, "bank_code": bank_code}
            answer = self._client.get("/bank/resolve", query=asked, until=until)
        except Refused as refused:
            # A wrong number and a bank that is down have the same answer, 422.
            is_unknown = refused.status == HTTPStatus.UNPROCESSABLE_ENTITY
            if is_unknown or refused.code in codes.INVALID_BANK_CODES:
                return None
            raise AnswerLost from None
        name = answer.data.get("account_name") if isinstance(answer.data, dict) else None
        if not isinstance(name, str) or not printable_line(name):
            raise AnswerLost
        return printable_line(name)[:LONGEST_NAME]

    def _recipient(self, order: PayoutOrder, bank_code: str, until: Deadline) -> dict[str, Any]:
        """Create the recipient of an order. The same account again is the existing one. No money moves."""
        document = {
            "type": "nuban",
            "name": order.beneficiary or order.account_number,  # required there
            "account_number": order.account_number,
            "bank_code": bank_code,
            "currency": order.currency,
        }
        recipient = self._client.own(self._client.post("/transferrecipient", document, until=until).data)
        details = recipient.get("details")
        told = details.get("account_number") if isinstance(details, dict) else None
        if told != order.account_number or not isinstance(recipient.get("recipient_code"), str):
            raise _difference(order, "recipient")
        return recipient

    def _transfer(self, order: PayoutOrder, recipient: dict[str, Any], until: Deadline) -> dict[str, Any]:
        document = {
            "source": "balance",
            "amount": order.amount,
            "currency": order.currency,
            "recipient": recipient["recipient_code"],
            "reference": order.id.hex,
            "reason": order.narration[:REASON_LENGTH],
        }
        return self._client.own(self._client.post("/transfer", document, until=until).data)

    def _find(self, order: PayoutOrder, until: Deadline) -> dict[str, Any] | None:
        """Return the transfer with an order's reference and its recipient's account, or None if Paystack has none.

        :raises AnswerLost: the transfer differs from the order
        """
        path = f"/transfer/verify/{order.id.hex}"
        try:
            found = self._client.own(self._client.get(path, endpoint="/transfer/verify", until=until).data)
        except Refused as refused:
            if codes.is_missing(refused.code, refused.message):
                return None
            raise AnswerLost from None
        if (differs := self._differing_account(order, found, until)) != "":
            raise _difference(order, differs)
        return found

    def _differing_account(self, order: PayoutOrder, found: dict[str, Any], until: Deadline) -> str:
        """Return what differs between the recipient's account and the order's, or an empty string.

        A bank that has left Paystack's list since can't be compared.
        """
        recipient = found.get("recipient")
        details = recipient.get("details") if isinstance(recipient, dict) else None
        if not isinstance(details, dict) or details.get("account_number") != order.account_number:
            return "account_number"
        bank_code = self._banks.find(order.nip_code, until=until)
        return "" if bank_code in {"", details.get("bank_code")} else "bank_code"

    def _answer(
        self, order: PayoutOrder, transfer: dict[str, Any], *, is_accepted: bool = False
    ) -> RailAnswer:
        """Return what a transfer's status means for its order.

        :raises AnswerLost: the transfer differs from the order
        """
        for member, ordered in (
            ("reference", order.id.hex),
            ("amount", order.amount),
            ("currency", order.currency),
        ):
            if str(transfer.get(member)) != str(ordered):
                raise _difference(order, member)
        status = identifier_text(transfer.get("status"), length=40)
        if status == codes.SUCCESS:
            return RailAnswer(
                outcome=outcomes.COMPLETED,
                acquirer_transaction_id=_identifier(transfer),
                cost=_cost(transfer),
                is_accepted=is_accepted,
            )
        if status in codes.FAILED:
            return RailAnswer(outcome=outcomes.payout_failure(""), is_accepted=is_accepted)
        if status in codes.FAILED_BY_SETTINGS:
            # The money is back and the reference is used up, so the payout has failed.
            reason = codes.FAILED_BY_SETTINGS[status]
            return RailAnswer(outcome=outcomes.payout_failure(""), blocked_reason=reason)
        if status == codes.WAITS_FOR_CODE and is_accepted:
            # Found by a query, it may have been sent before one-time passwords were turned off.
            return RailAnswer(outcome=outcomes.PROCESSING, blocked_reason=codes.ONE_TIME_CODES)
        if status not in codes.PENDING | {codes.WAITS_FOR_CODE}:
            log.error("unknown status of a transfer", id=str(order.id), status=status)
        return RailAnswer(outcome=outcomes.PROCESSING, is_accepted=is_accepted)

    def _answer_to_refusal(self, order: PayoutOrder, refused: Refused, until: Deadline) -> RailAnswer:
        """Return what an error means for an order.

        :raises RailBlocked: it is a fault of ours; nothing was done
        :raises AnswerLost: it doesn't say whether the transfer exists, and Paystack doesn't find it
        """
        code, message = refused.code, refused.message
        if codes.is_duplicate(code, message):
            return self._found_or_lost(order, until)
        if codes.is_low_balance(code, message):
            raise RailBlocked(codes.LOW_BALANCE, amount=order.amount)
        if advice := codes.fault_of_business(message):
            raise RailBlocked(advice)
        if codes.is_refusal(code, message):
            self._refusals.reset()
            return self._found_or_failed(order, until)
        log.error("Paystack refuses a transfer", id=str(order.id), code=code, message=message)
        self._refusals.count(code, message)
        return self._found_or_lost(order, until)

    def _found_or_failed(self, order: PayoutOrder, until: Deadline) -> RailAnswer:
        """Return the failure of a refused order, unless an earlier attempt has arrived after all."""
        found = self._find(order, until)
        return (
            RailAnswer(outcome=outcomes.payout_failure("")) if found is None else self._answer(order, found)
        )

    def _found_or_lost(self, order: PayoutOrder, until: Deadline) -> RailAnswer:
        found = self._find(order, until)
        if found is None:
            raise AnswerLost
        return self._answer(order, found)


def _require_lease(order: PayoutOrder) -> None:
    """Check that this process may still send an order. It may have been suspended meanwhile.

    :raises AnswerLost: its lease has expired
    """
    if order.send_by is not None and clock.now() >= order.send_by:
        log.warning("transfer not sent because its lease has expired", id=str(order.id))
        raise AnswerLost


def _difference(order: PayoutOrder, member: str) -> AnswerLost:
    """Report that a transfer of ours has other values than its order. It is never a success."""
    RAIL_DIFFERENCES.labels(PaystackBank.name).inc()
    log.error("a transfer at Paystack differs from its payout", id=str(order.id), differs=member)
    return AnswerLost()


def _cost(transfer: dict[str, Any]) -> int | None:
    """Return what Paystack charges us for a transfer, in kobo, or None if it doesn't say."""
    told = transfer.get("fee_charged")
    return told if isinstance(told, int) and not isinstance(told, bool) and told >= 0 else None


def _identifier(transfer: dict[str, Any]) -> str:
    """Return the NIP session, which the beneficiary's bank asks for, or Paystack's code if there is none."""
    session = transfer.get("session")
    number = identifier_text(session.get("id"), length=64) if isinstance(session, dict) else ""
    return number or identifier_text(transfer.get("transfer_code"), length=64)

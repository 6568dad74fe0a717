"""Virtual accounts at Paystack: dedicated accounts of customers, and one-time accounts of charges by bank transfer.

Paystack chooses each number. A customer is ours by its e-mail address, which has our id of the account as a tag, so
opening an account twice finds the first one.
"""

import re
from functools import cached_property
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings

from connectors.paystack.api import codes
from connectors.paystack.api.client import PaystackConnector, Refused
from kit import banks
from kit.connectors.provider_client import Deadline
from kit.text.display_names import identifier_text, printable_line
from kit.time.timestamps import parsed_moment, timestamp
from payments.rails.protocol import AnswerLost, RailBlocked
from virtual_accounts.providers.protocol import (
    AccountCapabilities,
    AccountOrder,
    Issues,
    OpenedAccount,
    OpenedSession,
    OpeningRefused,
    Pending,
    ProviderTransfer,
    SessionOrder,
)

log = structlog.get_logger("sluice.paystack")

MINIMUM = {"NGN": 10_000}  # kobo
SESSION_SECONDS = (15 * 60, 8 * 3600)  # Paystack silently keeps every expiry within these
LONGEST_NAME = 100  # characters, also of a narration
TAGGED = re.compile(r"[^@\s]+\+va-([0-9a-f]{32})@[^@\s]+")
OWN_REFERENCE = re.compile(r"[0-9a-f]{32}")
NUMBER = re.compile(r"[0-9]{1,20}")  # a transaction's id


def tagged_email(account_id: UUID) -> str:
    """Return the e-mail address of the customer who stands for one of our accounts."""
    name, _, domain = settings.PAYSTACK_FALLBACK_EMAIL.rpartition("@")
    return f"{name}+va-{account_id.hex}@{domain}"


def account_of_email(email: Any) -> UUID | None:
    """Return our id of an account from its customer's e-mail address, or None if the customer isn't ours.

    >>> account_of_email("pay+va-0198abcd0198abcd0198abcd0198abcd@shop.example")
    UUID('0198abcd-0198-abcd-0198-abcd0198abcd')
    """
    found = TAGGED.fullmatch(email) if isinstance(email, str) else None
    return UUID(found[1]) if found else None


class PaystackAccounts(PaystackConnector):
    """Accounts of an integration at Paystack."""

    issues = Issues.ACCOUNTS

    @cached_property
    def capabilities(self) -> AccountCapabilities:
        shortest, longest = SESSION_SECONDS
        return AccountCapabilities(
            currencies=frozenset({"NGN"} & set(settings.PAYSTACK_CURRENCIES)),
            minimum_amount=MINIMUM,
            shortest_session=shortest,
            longest_session=longest,
        )

    def is_available(self) -> bool:
        return self._client.has_room("POST /customer", "POST /charge")

    def open(self, order: AccountOrder) -> OpenedAccount | Pending | OpeningRefused:
        until = self._client.deadline()
        try:
            customer = self._customer(order, until)
        except Refused as refused:
            log.warning("Paystack refuses a customer", id=str(order.id), message=refused.message)
            return OpeningRefused(refused.message) if refused.is_definite else Pending(refused.message)
        except AnswerLost as lost:
            if isinstance(lost, RailBlocked):  # at the next step, it may be about accounts only
                self._client.breaker.open(lost.reason)
            return _pending(lost)
        try:
            return self._opened(customer, until) or self._create(customer, until)
        except Refused as refused:
            log.exception("Paystack refuses an account", id=str(order.id), message=refused.message)
            return Pending(codes.account_refusal(refused.message))
        except AnswerLost as lost:
            return _pending(lost)

    def open_session(self, order: SessionOrder) -> OpenedSession:
        document = {
            "email": tagged_email(order.account_id),
            "amount": order.amount,
            "currency": order.currency,
            "reference": order.id.hex,
            "bank_transfer": {"account_expires_at": timestamp(order.expires_at)},
        }
        try:
            answer = self._client.post("/charge", document, until=self._client.deadline())
        except Refused as refused:
            log.exception("Paystack refuses a session", id=str(order.id), message=refused.message)
            raise AnswerLost from None
        except RailBlocked as blocked:
            self._client.breaker.open(blocked.reason)
            raise
        charge = self._client.own(answer.data)
        number, bank = _number(charge.get("account_number")), charge.get("bank")
        expires_at = parsed_moment(charge.get("account_expires_at"))
        if charge.get("reference") != order.id.hex or not number or expires_at is None:
            log.error("Paystack opened no session", id=str(order.id), status=charge.get("status"))
            raise AnswerLost
        return OpenedSession(
            number=number,
            **_bank(bank),
            account_name=_line(charge.get("account_name")),
            expires_at=expires_at,
        )

    def find_transfer(self, subject: str) -> ProviderTransfer | None:
        by_id = NUMBER.fullmatch(subject) is not None
        path, endpoint = (
            (f"/transaction/{subject}", "/transaction")
            if by_id
            else (f"/transaction/verify/{subject}", "/transaction/verify")
        )
        try:
            answer = self._client.get(path, endpoint=endpoint, until=self._client.deadline())
        except Refused as refused:
            if codes.is_missing_transaction(refused.code, refused.message):
                return None
            raise AnswerLost from None
        return self._transfer(self._client.own(answer.data))

    def _customer(self, order: AccountOrder, until: Deadline) -> str:
        """Create the customer who stands for an account, or find it, and return its code."""
        document = {
            "email": tagged_email(order.id),
            "first_name": order.first_name,
            "last_name": order.last_name,
            "phone": order.phone_number,
        }
        customer = self._client.own(self._client.post("/customer", document, until=until).data)
        code = identifier_text(customer.get("customer_code"), length=60)
        if not code or account_of_email(customer.get("email")) != order.id:
            raise AnswerLost
        return code

    def _opened(self, customer: str, until: Deadline) -> OpenedAccount | None:
        """Return the account that a customer has, if any. Creating another one might give a second number."""
        answer = self._client.get(f"/customer/{customer}", endpoint="/customer", until=until)
        account = self._client.own(answer.data).get("dedicated_account")
        return _account(account) if isinstance(account, dict) else None

    def _create(self, customer: str, until: Deadline) -> OpenedAccount | Pending:
        document = {"customer": customer}
        if settings.PAYSTACK_PREFERRED_BANK:
            document["preferred_bank"] = settings.PAYSTACK_PREFERRED_BANK
        answer = self._client.post("/dedicated_account", document, until=until)
        created = _account(self._client.own(answer.data))
        return created or Pending("Paystack has not returned the account's number yet.")

    def _transfer(self, told: dict[str, Any]) -> ProviderTransfer | None:
        """Return what a transaction of Paystack says about a transfer. None: it isn't one to an account of ours."""
        reference, customer = str(told.get("reference")), told.get("customer")
        is_session = told.get("channel") == codes.TO_SESSION and OWN_REFERENCE.fullmatch(reference)
        if not is_session and told.get("channel") != codes.TO_ACCOUNT:
            return None
        sent = told.get("authorization")
        sender = sent if isinstance(sent, dict) else {}
        status = str(told.get("status"))
        has_arrived = status in codes.PAID
        return ProviderTransfer(
            has_arrived=has_arrived,
            has_failed=status in codes.NEVER_ARRIVES,
            session_id=UUID(reference) if is_session else None,
            account_number=_number(sender.get("receiver_bank_account_number")),
            opened_for=account_of_email(customer.get("email")) if isinstance(customer, dict) else None,
            bank_reference=f"paystack:{identifier_text(told.get('id'), length=40)}",
            amount=_amount(told.get("amount")) if has_arrived else 0,
            currency=identifier_text(told.get("currency"), length=3),
            sender_name=_line(sender.get("sender_name")),
            sender_account_number=identifier_text(sender.get("sender_bank_account_number"), length=20),
            sender_bank=_line(sender.get("sender_bank")),
            narration=_line(sender.get("narration")),
        )


def _account(told: dict[str, Any]) -> OpenedAccount | None:
    number = _number(told.get("account_number"))
    return OpenedAccount(number=number, **_bank(told.get("bank"))) if number else None


def _bank(told: Any) -> dict[str, str]:
    bank = told if isinstance(told, dict) else {}
    known = banks.find(codes.BANKS_OF_ACCOUNTS.get(str(bank.get("slug")), ""))
    name = _line(bank.get("name"))
    return {"bank_code": known.code if known else "", "bank_name": name or (known.name if known else "")}


def _number(told: Any) -> str:
    """Return an account number, or an empty string if it is none."""
    return told if isinstance(told, str) and banks.ACCOUNT_NUMBER.fullmatch(told) else ""


def _amount(told: Any) -> int:
    """Return an amount in kobo.

    :raises AnswerLost: it is none
    """
    if not isinstance(told, int) or isinstance(told, bool) or told <= 0:
        raise AnswerLost
    return told


def _line(told: Any) -> str:
    return printable_line(told)[:LONGEST_NAME] if isinstance(told, str) else ""


def _pending(lost: AnswerLost) -> Pending:
    if isinstance(lost, RailBlocked):
        return Pending(lost.reason)
    return Pending("Paystack didn't answer.", is_answer=False)

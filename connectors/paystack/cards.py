"""Card payments at Paystack: on its own page, so that no card number reaches us, or with the card sent from here.

Paystack is queried by our reference. A payer can try again on its page after a declined card, and for
days, so a failure there is only final when ours has ended, and it is watched then.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import Any
from uuid import uuid5

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from connectors.paystack import charges, refunds
from connectors.paystack.api import card_codes, codes
from connectors.paystack.api.client import PaystackConnector, Refused
from kit.connectors.connector_metrics import RAIL_DIFFERENCES
from kit.connectors.provider_client import Deadline
from kit.db import clock
from kit.text.display_names import identifier_text
from payments.rails.protocol import (
    ActionKind,
    AnswerLost,
    CardCapabilities,
    CardOrder,
    MaskedCard,
    NoRecord,
    NotSent,
    OperationOrder,
    PayerAction,
    RailAnswer,
    RateLimited,
    Reverses,
    ThreeDSecureSupport,
)
from payments.rules import outcomes
from payments.rules.cards import Card

log = structlog.get_logger("sluice.paystack")

Document = dict[str, Any]

MINIMUM = {"NGN": 5_000, "USD": 200, "GHS": 10, "ZAR": 100, "KES": 300}
# A page is opened within this time of its intent or not at all: a process that was suspended must not do it later.
SEND_WITHIN = timedelta(seconds=5)
FAILED = "failed"
NOT_PAID = "abandoned"  # nothing was tried on the page, or it was left
_WORDS = re.compile(r"[a-z_]{1,80}", re.ASCII)
NO_EMAIL = "Paystack needs an e-mail address: let payment links ask for it, or set PAYSTACK_FALLBACK_EMAIL."


_NOT_AUTHENTICATED = replace(outcomes.AUTHENTICATION_FAILED, gateway_code="")


class PaystackAcquirer(PaystackConnector):
    """Card payments at an integration of Paystack, captured at once."""

    page_of = "Paystack"
    reverses = Reverses.BY_REFUND

    def __init__(self) -> None:
        self._is_hosted = settings.PAYSTACK_CARDS == "hosted"
        if not self._is_hosted and not settings.PAYSTACK_FALLBACK_EMAIL:
            raise ImproperlyConfigured("PAYSTACK_CARDS=direct needs PAYSTACK_FALLBACK_EMAIL.")
        super().__init__()

    @cached_property
    def capabilities(self) -> CardCapabilities:
        return CardCapabilities(
            three_d_secure=ThreeDSecureSupport.PROVIDER_DECIDES,
            captures_later=False,
            voids=False,
            checks_cards=False,
            hosted_only=self._is_hosted,
            currencies=frozenset(settings.PAYSTACK_CURRENCIES),
            minimum_amount=MINIMUM,
        )

    def is_available(self) -> bool:
        return self._client.has_room("POST /transaction/initialize" if self._is_hosted else "POST /charge")

    def open_page(self, order: CardOrder) -> RailAnswer:
        _require_new(order)
        email = order.payer.email or _fallback_email(order)
        if not email:
            log.error(NO_EMAIL, id=str(order.id))
            return RailAnswer(outcome=outcomes.NOTHING_CHARGED)
        document = {
            "email": email,
            "amount": order.amount,
            "currency": order.currency,
            "reference": order.id.hex,
            "callback_url": order.return_url,
            "channels": ["card"],
            "metadata": {"cancel_action": order.return_url},
        }
        try:
            answer = self._client.post("/transaction/initialize", document, until=self._client.deadline())
        except Refused as refused:
            return _of_refusal(order, refused)
        except RateLimited:
            raise NotSent from None  # a 429 has no effect
        page = self._client.own(answer.data)
        url = page.get("authorization_url")
        if page.get("reference") != order.id.hex or not isinstance(url, str):
            raise AnswerLost
        return RailAnswer(outcome=outcomes.PROCESSING, action=PayerAction(kind=ActionKind.REDIRECT, url=url))

    def authorise(self, order: CardOrder, *, card: Card) -> RailAnswer:
        _require_new(order)
        email = order.payer.email or _fallback_email(order)
        try:
            answer = self._client.post(
                charges.CHARGE, charges.body(order, card, email=email), until=self._client.deadline()
            )
        except Refused as refused:
            return _of_refusal(order, refused)
        except RateLimited:
            raise NotSent from None  # a 429 has no effect
        return self._of_charge(order, self._client.own(answer.data))

    def verify(self, order: CardOrder, *, card: Card) -> RailAnswer:
        """Refuse: Paystack has no card check (`checks_cards`)."""
        raise TypeError("Paystack checks no cards")

    def answer_action(self, order: CardOrder, *, kind: ActionKind, value: Mapping[str, str]) -> RailAnswer:
        path, document = charges.submission(order, kind, value)
        try:
            answer = self._client.post(path, document, until=self._client.deadline())
        except Refused:  # which may also say that the charge failed
            return self.query(replace(order, has_passed_challenge=True))
        return self._of_charge(replace(order, has_passed_challenge=True), self._client.own(answer.data))

    def query(self, order: CardOrder) -> RailAnswer:
        until = self._client.deadline()
        answer = self._answer(order, self._find(order, until))
        if answer.outcome.is_pending and order.card_last4:
            return replace(answer, action=self._action(order, until))
        return answer

    def reverse(self, order: CardOrder, *, is_repeat: bool) -> None:
        """Refund what was charged and isn't refunded yet. It is over when Paystack has processed all of it."""
        until = self._client.deadline()
        found = self._find(order, until)
        if str(found.get("status")) not in codes.PAID:
            raise NoRecord
        listed = refunds.of_transaction(self._client, _number(found), until=until)
        returned = sum(each["amount"] for each in listed if each.get("status") == refunds.PROCESSED)
        if returned >= order.amount:
            return
        if not any(refunds.is_open(each) for each in listed):
            rest = order.amount - returned
            self._refund_rest(order, rest, number=_number(found), step=len(listed), until=until)
        raise AnswerLost  # it is decided later

    def operate(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        until = self._client.deadline()

        def number() -> str:
            return order.acquirer_reference or _number(self._find(order, until))

        return refunds.send(self._client, order.id.hex, operation, transaction_id=number, until=until)

    def query_operation(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        until = self._client.deadline()
        number = order.acquirer_reference or _number(self._find(order, until))
        return refunds.query(self._client, number, operation, until=until)

    def give_account(
        self, refund: OperationOrder, *, currency: str, account_number: str, nip_code: str
    ) -> RailAnswer:
        account = {"currency": currency, "account_number": account_number, "nip_code": nip_code}
        return refunds.give_account(self._client, refund, **account, until=self._client.deadline())

    def _of_charge(self, order: CardOrder, charge: Document) -> RailAnswer:
        """Return what the answer to a charge means. Only the transaction says how one ended, so that is looked up then."""
        action = charges.action_of(charge)
        if action is not None:
            return RailAnswer(outcome=outcomes.PROCESSING, action=action)
        if str(charge.get("status")) in {codes.SUCCESS, FAILED}:
            return self.query(order)
        return RailAnswer(outcome=outcomes.PROCESSING)

    def _action(self, order: CardOrder, until: Deadline) -> PayerAction | None:
        """Return what an open charge asks the payer for at present, or None."""
        path = f"{charges.CHARGE}/{order.id.hex}"
        try:
            found = self._client.get(path, endpoint=charges.CHARGE, until=until)
        except Refused:
            return None
        return charges.action_of(self._client.own(found.data))

    def _refund_rest(self, order: CardOrder, amount: int, *, number: str, step: int, until: Deadline) -> None:
        rest = OperationOrder(
            id=uuid5(order.id, f"return {step}"),
            kind="refund",
            amount=amount,
            system_trace_audit_number="",
            retrieval_reference_number="",
            created_at=clock.now(),
        )
        refunds.send(self._client, order.id.hex, rest, transaction_id=lambda: number, until=until)

    def _find(self, order: CardOrder, until: Deadline) -> Document:
        """Return the transaction with our reference.

        :raises NoRecord: there is none at present
        :raises RailBlocked: it is of another environment
        :raises AnswerLost: there is no readable answer, or the transaction isn't ours
        """
        path = f"/transaction/verify/{order.id.hex}"
        try:
            answer = self._client.get(path, endpoint="/transaction/verify", until=until)
        except Refused as refused:
            if codes.is_missing_transaction(refused.code, refused.message):
                raise NoRecord from None
            raise AnswerLost from None
        found = self._client.own(answer.data)
        expected = {"reference": order.id.hex, "amount": order.amount, "currency": order.currency}
        differs = [name for name, ours in expected.items() if found.get(name) != ours]
        if differs:
            RAIL_DIFFERENCES.labels(self.name).inc()
            log.error("a transaction at Paystack differs from its payment", id=str(order.id), differs=differs)
            raise AnswerLost
        return found

    def _answer(self, order: CardOrder, found: Document) -> RailAnswer:
        """Return what a transaction's status means. Unknown statuses are pending."""
        status, number = str(found.get("status")), identifier_text(found.get("id"), length=64)
        is_on_page = not order.card_last4
        if status in codes.PAID:
            return RailAnswer(
                outcome=outcomes.COMPLETED,
                acquirer_reference=number,
                acquirer_transaction_id=number,
                card=_card(found.get("authorization")),
            )
        if status == NOT_PAID and is_on_page:
            return RailAnswer(outcome=_NOT_AUTHENTICATED, is_final=False, acquirer_reference=number)
        if status == FAILED:
            return RailAnswer(
                outcome=_decline(order, found), is_final=not is_on_page, acquirer_reference=number
            )
        return RailAnswer(outcome=outcomes.PROCESSING, acquirer_reference=number)


def _fallback_email(order: CardOrder) -> str:
    """Return an address of ours that is different for each payment, or an empty string."""
    name, _, host = settings.PAYSTACK_FALLBACK_EMAIL.partition("@")
    return f"{name}+{order.id.hex}@{host}" if host else ""


def _of_refusal(order: CardOrder, refused: Refused) -> RailAnswer:
    """Return the failure of a payment that is refused. Their message isn't logged: it may echo the card.

    :raises AnswerLost: a transaction with our reference exists, or may exist
    """
    code = refused.code if _WORDS.fullmatch(refused.code) else ""
    log.error("Paystack refuses a payment", id=str(order.id), code=code)
    if not refused.is_definite or codes.is_duplicate(refused.code, refused.message):
        raise AnswerLost from None
    return RailAnswer(outcome=outcomes.NOTHING_CHARGED)


def _require_new(order: CardOrder) -> None:
    if clock.now() - order.created_at > SEND_WITHIN:
        log.warning("payment not sent because it is too old", id=str(order.id))
        raise NotSent


def _decline(order: CardOrder, found: Document) -> outcomes.Outcome:
    """Return why a payment failed. Without a reason, it was the payer's authentication, if there was one."""
    code, iso, text = (
        identifier_text(found.get(name), length=80)
        for name in ("gateway_response_code", "response_code", "gateway_response")
    )
    outcome = card_codes.outcome_of(code=code, iso=iso, text=text)
    has_no_reason = outcome.code == outcomes.UNSPECIFIED_FAILURE.code and code in {"", "unknown"} and not iso
    return _NOT_AUTHENTICATED if has_no_reason and order.has_passed_challenge else outcome


def _card(authorization: Any) -> MaskedCard | None:
    """Return the card that was paid with, if all of it has the published form."""
    card = authorization if isinstance(authorization, dict) else {}
    year = str(card.get("exp_year"))
    year = f"20{year}" if len(year) == 2 else year  # noqa: PLR2004
    return MaskedCard.read(card.get("bin"), card.get("last4"), card.get("exp_month"), year)


def _number(found: Document) -> str:
    """Return their number of a transaction. It becomes a part of addresses."""
    number = identifier_text(found.get("id"), length=64)
    if not number.isdecimal():
        raise AnswerLost
    return number

"""The connector: maps orders to calls and their documents to outcomes (decision 0085).

An authorisation can't be taken back: an answer that is lost is looked up by our reference, and an empty list proves nothing.
Captures, voids and refunds are accepted and decided later.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from connectors.checkout import hosted_pages, payments, reversals
from connectors.checkout.api import answers, codes, request_bodies
from connectors.checkout.api.client import CheckoutClient, NotAnswered, Refused
from kit.connectors.provider_client import Deadline
from kit.db import clock
from kit.money.money import decimals_of
from payments.rails.protocol import (
    ActionKind,
    AnswerLost,
    CardCapabilities,
    CardOrder,
    NoRecord,
    NotSent,
    OperationOrder,
    RailAnswer,
    RailBlocked,
    Reverses,
    ThreeDSecureSupport,
)
from payments.rules import outcomes
from payments.rules.cards import Card

log = structlog.get_logger("sluice.checkout")

Document = dict[str, Any]

REQUIRED = ("CHECKOUT_SECRET_KEY", "CHECKOUT_PROCESSING_CHANNEL", "CHECKOUT_URL")
LARGEST_AMOUNT = 999_999_999  # minor units: at most nine digits
THREE_DECIMALS = 3  # the last digit of such an amount must be 0
# An authorisation is sent within this time of its intent or not at all: a process that was suspended must not send it later.
SEND_WITHIN = timedelta(seconds=5)
# A payment without an answer is repeated once if this many seconds are left. The first attempt ends early enough for it,
# with a margin for the time that ending it takes.
REPEAT_NEEDS, MARGIN = 3.0, 0.2
# A capture, void or refund that isn't among the payment's actions is sent again with its key from these ages, when whatever
# had arrived is decided and listed, and before the last one. Checkout.com keeps keys for 24 hours, and after an error of its own
# (5xx) not at all. A refund waits longer, unless it came before the capture and was refused: if its first request arrived
# after a repeat that failed, the payer would get the money twice, which nothing takes back. A second capture or void is refused.
REPEATED_FROM, REFUND_REPEATED_FROM = timedelta(minutes=10), timedelta(hours=2)
REPEATED_UNTIL = timedelta(hours=23)
# A refund waits this long for the automatic capture, which takes seconds, or is declined.
CAPTURED_WITHIN = timedelta(hours=1)
CALLS = {"capture": "captures", "void": "voids", "refund": "refunds"}

BLOCKED_BECAUSE: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "Checkout.com refuses CHECKOUT_SECRET_KEY (401).",
    HTTPStatus.FORBIDDEN: "Checkout.com refuses our requests (403): the key lacks a permission, or card details from a server aren't enabled.",
    HTTPStatus.TOO_MANY_REQUESTS: "Checkout.com's limit of requests is exceeded (429).",
}


class CheckoutAcquirer:
    """Card payments and card checks at one processing channel of Checkout.com: with the full card details, or on its page."""

    name = "checkout"
    page_of = "Checkout.com"
    reverses = Reverses.BY_REFUND
    may_charge_twice = True  # it keeps no keys of errors

    def __init__(self) -> None:
        missing = [name for name in REQUIRED if not getattr(settings, name)]
        if missing:
            raise ImproperlyConfigured(f"Checkout.com needs {' and '.join(missing)}.")
        self.client = CheckoutClient(
            self.account,
            url=settings.CHECKOUT_URL,
            secret_key=settings.CHECKOUT_SECRET_KEY,
            timeout=settings.CHECKOUT_TIMEOUT,
            ca_file=settings.CHECKOUT_CA_FILE,
        )

    @cached_property
    def account(self) -> str:
        """The processing channel, with whichever key."""
        return f"checkout:{settings.CHECKOUT_PROCESSING_CHANNEL}"

    @cached_property
    def capabilities(self) -> CardCapabilities:
        currencies = frozenset(settings.CHECKOUT_CURRENCIES)
        return CardCapabilities(
            three_d_secure=ThreeDSecureSupport.ON_REQUEST,
            currencies=currencies,
            maximum_amount=LARGEST_AMOUNT,
            amount_multiple_of={each: 10 for each in currencies if decimals_of(each) == THREE_DECIMALS},
            hosted_only=settings.CHECKOUT_CARDS == "hosted",
        )

    def is_available(self) -> bool:
        return self.client.is_available()

    def authorise(self, order: CardOrder, *, card: Card) -> RailAnswer:
        if clock.now() - order.created_at > SEND_WITHIN:
            log.warning("payment not sent because it is too old", id=str(order.id))
            raise NotSent
        body = request_bodies.payment(
            order,
            card=card,
            channel=settings.CHECKOUT_PROCESSING_CHANNEL,
            city=settings.CHECKOUT_CITY,
            country=settings.CHECKOUT_COUNTRY,
        )
        try:
            return self._made(order, body, self.client.deadline())
        except Refused as refused:
            self._raise_if_blocked(refused, also=HTTPStatus.FORBIDDEN)
            return RailAnswer(outcome=codes.outcome_of_refusal(refused.error_codes))

    verify = authorise

    def open_page(self, order: CardOrder) -> RailAnswer:
        if clock.now() - order.created_at > SEND_WITHIN:
            raise NotSent
        body = request_bodies.page(
            order,
            channel=settings.CHECKOUT_PROCESSING_CHANNEL,
            city=settings.CHECKOUT_CITY,
            country=settings.CHECKOUT_COUNTRY,
        )
        try:
            made = self.client.post(
                "/hosted-payments", body, key=str(order.id), deadline=self.client.deadline()
            )
        except Refused as refused:
            self._raise_if_blocked(refused, also=HTTPStatus.FORBIDDEN)
            return RailAnswer(outcome=codes.outcome_of_refusal(refused.error_codes))
        return hosted_pages.opened(order, made)

    def answer_action(self, order: CardOrder, *, kind: ActionKind, value: Mapping[str, str]) -> RailAnswer:
        """Query the payment: its payer answers at the issuer's page, and brings nothing back that can be believed."""
        return self.query(order)

    def query(self, order: CardOrder) -> RailAnswer:
        deadline = self.client.deadline(of_query=True)
        query = partial(self._query, deadline=deadline)
        if hosted_pages.is_page(order.acquirer_reference):
            return hosted_pages.outcome_of(self.client, order, query=query, deadline=deadline)
        return query(order)

    def reverse(self, order: CardOrder, *, is_repeat: bool) -> None:
        if order.amount == 0:
            return  # a card check reserves nothing
        if hosted_pages.is_page(order.acquirer_reference):
            order = replace(order, acquirer_reference="")
        deadline = self.client.deadline(of_query=True)
        found = self._payments(order, deadline)
        if not found:
            raise NoRecord
        if not reversals.take_steps(self.client, found, of=order.id, deadline=deadline):
            raise AnswerLost  # the steps are decided later

    def operate(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        deadline = self.client.deadline()
        payment = order.acquirer_reference or answers.payment_id(self._payment(order, deadline))
        try:
            return self._send(payment, operation, deadline)
        except Refused as refused:
            self._raise_if_blocked(refused)
            return self._refused(payment, operation, refused, deadline)

    def query_operation(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        deadline = self.client.deadline(of_query=True)
        payment = order.acquirer_reference or answers.payment_id(self._payment(order, deadline))
        actions = payments.actions_of(self.client, payment, deadline=deadline)
        found = answers.of_operation(operation, actions)
        if found is not None:
            return found
        if operation.acquirer_reference:
            return RailAnswer(outcome=outcomes.PROCESSING)  # accepted, and not listed yet
        is_late = operation.kind == "refund" and not answers.is_captured_after(operation.created_at, actions)
        repeated_from = REFUND_REPEATED_FROM if is_late else REPEATED_FROM
        return self._repeated(payment, operation, deadline, repeated_from=repeated_from)

    # Authorisations

    def _made(self, order: CardOrder, body: Document, deadline: Deadline) -> RailAnswer:
        """Send a payment, and once more with its key if there is no answer.

        The card is only here, so this can't be done later. After an answer, whichever, it isn't: keys of errors aren't kept.
        So a first attempt that failed at theirs, or arrives late, may be carried out beside its repeat.

        :raises Refused: nothing happened
        :raises AnswerLost: it may or may not have been carried out
        """
        post = partial(self.client.post, "/payments", body, key=str(order.id), deadline=deadline)
        try:
            return answers.of_payment(order, post(reserve=REPEAT_NEEDS + MARGIN))
        except NotAnswered:
            if deadline.left < REPEAT_NEEDS:
                raise
        try:
            return replace(answers.of_payment(order, post()), was_repeated=True)
        except Refused:  # which doesn't say what became of the first
            raise AnswerLost from None

    def _query(self, order: CardOrder, *, deadline: Deadline) -> RailAnswer:
        payment = self._payment(order, deadline)
        actions = partial(payments.actions_of, self.client, answers.payment_id(payment), deadline=deadline)
        answer = answers.of_payment(order, payment, actions=actions)
        is_told = answer.outcome.is_success and not order.card_last4
        return replace(answer, card=hosted_pages.card_of(payment)) if is_told else answer

    def _payment(self, order: CardOrder, deadline: Deadline) -> Document:
        """Return the payment that we know. Of several with our reference, it is the oldest that is approved.

        :raises NoRecord: there is none at present
        :raises AnswerLost: there is no readable answer
        """
        if order.acquirer_reference:
            return payments.with_id(self.client, order.acquirer_reference, deadline=deadline)
        found = self._payments(order, deadline)
        if not found:
            raise NoRecord
        if len(found) > 1:
            ids = " ".join(map(answers.payment_id, found))
            log.error("several payments with our reference", id=str(order.id), found=ids)
        return min(
            reversed(found), key=lambda each: (reversals.is_over(each), each.get("approved") is not True)
        )

    def _payments(self, order: CardOrder, deadline: Deadline) -> list[Document]:
        """Return every payment of an order, newest first, but those that aren't meant."""
        found = payments.of_order(self.client, order.id, deadline=deadline)
        known = order.acquirer_reference
        if known and known not in {answers.payment_id(each) for each in found}:
            found.append(payments.with_id(self.client, known, deadline=deadline))
        return [each for each in found if answers.payment_id(each) not in order.beside]

    # Captures, voids and refunds

    def _send(self, payment: str, operation: OperationOrder, deadline: Deadline) -> RailAnswer:
        path, body = f"/payments/{payment}/{CALLS[operation.kind]}", request_bodies.operation(operation)
        return answers.accepted(self.client.post(path, body, key=str(operation.id), deadline=deadline))

    def _refused(
        self, payment: str, operation: OperationOrder, refused: Refused, deadline: Deadline
    ) -> RailAnswer:
        """Return the outcome of an operation that was refused: perhaps an earlier attempt did it, or it isn't needed.

        :raises AnswerLost: it only came too early, as a refund before the automatic capture does
        """
        found = answers.of_operation(operation, payments.actions_of(self.client, payment, deadline=deadline))
        if found is not None:
            return found
        state = str(payments.with_id(self.client, payment, deadline=deadline).get("status"))
        if operation.kind == "void" and state in answers.ENDED:
            return RailAnswer(outcome=codes.approved(""))  # it has expired, or was voided elsewhere
        is_captured_soon = clock.now() - operation.created_at < CAPTURED_WITHIN
        if operation.kind == "refund" and state == answers.AUTHORIZED and is_captured_soon:
            raise AnswerLost
        return RailAnswer(outcome=codes.outcome_of_refusal(refused.error_codes))

    def _repeated(
        self, payment: str, operation: OperationOrder, deadline: Deadline, *, repeated_from: timedelta
    ) -> RailAnswer:
        """Send an operation again that may never have arrived."""
        age = clock.now() - operation.created_at
        if not repeated_from <= age < REPEATED_UNTIL:
            log.warning("operation not found", id=str(operation.id), payment=payment, age=str(age))
            raise AnswerLost
        try:
            return self._send(payment, operation, deadline)
        except Refused as refused:
            if refused.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS} or codes.blocking(
                refused.error_codes
            ):
                raise AnswerLost from None
            return self._refused(payment, operation, refused, deadline)

    # The account

    def _raise_if_blocked(self, refused: Refused, *, also: int = 0) -> None:
        """Raise `RailBlocked` and refuse new payments if a refusal is about our account there, and not about the order.

        `also` is a further status that means it. For captures, voids and refunds, 403 is about the payment's state.
        """
        faults = codes.blocking(refused.error_codes)
        if faults:
            reason = f"Checkout.com refuses our account: {', '.join(faults)}."
        elif refused.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS, also}:
            reason = BLOCKED_BECAUSE[refused.status]
        else:
            return
        self.client.breaker.open(reason)
        raise RailBlocked(reason) from None

"""The connector: maps orders to calls and their documents to outcomes (decision 0085).

An authorisation can't be taken back: an answer that is lost is looked up by our reference, and an empty list proves nothing.
Captures, voids and refunds are accepted and decided later.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from connectors.checkout import answers, codes, payments, request_bodies, reversals
from connectors.checkout.client import (
    Access,
    CheckoutClient,
    Deadline,
    NotAnswered,
    Refused,
    Transport,
)
from kit.connectors.http_client import HttpClient
from kit.db import clock
from kit.money.money import decimals_of
from payments.rails.protocol import (
    ActionKind,
    AnswerLost,
    CardCapabilities,
    CardOrder,
    NoRecord,
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
# A capture, void or refund that isn't among the payment's actions is sent again with its key from the first of these ages,
# when whatever had arrived is decided and listed, and before the second. Checkout.com keeps keys for 24 hours, and after
# an error of its own (5xx) not at all.
REPEATED_FROM, REPEATED_UNTIL = timedelta(minutes=10), timedelta(hours=23)
# A payment is listed within this time, or its order's other payments are believed not to exist.
LISTED_WITHIN = timedelta(minutes=1)
# A payment waits this long for the reversal of other payments of its order.
REVERSED_WITHIN = timedelta(days=1)
# A refund waits this long for the automatic capture, which takes seconds, or is declined.
CAPTURED_WITHIN = timedelta(hours=1)
CALLS = {"capture": "captures", "void": "voids", "refund": "refunds"}

BLOCKED_BECAUSE: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "Checkout.com refuses CHECKOUT_SECRET_KEY (401).",
    HTTPStatus.FORBIDDEN: "Checkout.com refuses our requests (403): the key lacks a permission, or card details from a server aren't enabled.",
    HTTPStatus.TOO_MANY_REQUESTS: "Checkout.com's limit of requests is exceeded (429).",
}


class CheckoutAcquirer:
    """Card payments and card checks with the full card details, at one processing channel of Checkout.com."""

    name = "checkout"
    reverses = Reverses.BY_REFUND

    def __init__(self, *, transport: Transport | None = None) -> None:
        missing = [name for name in REQUIRED if not getattr(settings, name)]
        if missing:
            raise ImproperlyConfigured(f"Checkout.com needs {' and '.join(missing)}.")
        access = Access(
            self.account, settings.CHECKOUT_URL, settings.CHECKOUT_SECRET_KEY, settings.CHECKOUT_TIMEOUT
        )
        self._client = CheckoutClient(access, transport or HttpClient(ca_file=settings.CHECKOUT_CA_FILE))

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
        return self._client.is_available()

    def authorise(self, order: CardOrder, *, card: Card) -> RailAnswer:
        if clock.now() - order.created_at > SEND_WITHIN:
            log.warning("payment not sent because it is too old", id=str(order.id))
            return RailAnswer(outcome=codes.outcome_of(""))
        channel, city = settings.CHECKOUT_PROCESSING_CHANNEL, settings.CHECKOUT_CITY
        body = request_bodies.payment(order, card=card, channel=channel, city=city)
        try:
            return self._made(order, body, self._client.deadline())
        except Refused as refused:
            self._raise_if_blocked(refused, also=HTTPStatus.FORBIDDEN)
            return RailAnswer(outcome=codes.outcome_of_refusal(refused.error_codes))

    verify = authorise

    def answer_action(self, order: CardOrder, *, kind: ActionKind, value: Mapping[str, str]) -> RailAnswer:
        """Query the payment: its payer answers at the issuer's page, and brings nothing back that can be believed."""
        return self.query(order)

    def query(self, order: CardOrder) -> RailAnswer:
        deadline = self._client.deadline(of_query=True)
        payment = self._payment(order, deadline)
        actions = partial(payments.actions_of, self._client, answers.payment_id(payment), deadline=deadline)
        return answers.of_payment(order, payment, actions=actions)

    def reverse(self, order: CardOrder, *, is_repeat: bool) -> None:
        if order.amount == 0:
            return  # a card check reserves nothing
        deadline = self._client.deadline(of_query=True)
        found = self._payments(order, deadline)
        if not found:
            raise NoRecord
        if not reversals.take_steps(self._client, found, of=order.id, deadline=deadline):
            raise AnswerLost  # the steps are decided later

    def operate(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        deadline = self._client.deadline()
        payment = order.acquirer_reference or answers.payment_id(self._payment(order, deadline))
        try:
            return self._send(payment, operation, deadline)
        except Refused as refused:
            self._raise_if_blocked(refused)
            return self._refused(payment, operation, refused, deadline)

    def query_operation(self, order: CardOrder, operation: OperationOrder) -> RailAnswer:
        deadline = self._client.deadline(of_query=True)
        payment = order.acquirer_reference or answers.payment_id(self._payment(order, deadline))
        found = answers.of_operation(operation, payments.actions_of(self._client, payment, deadline=deadline))
        if found is not None:
            return found
        if operation.acquirer_reference:
            return RailAnswer(outcome=outcomes.PROCESSING)  # accepted, and not listed yet
        return self._repeated(payment, operation, deadline)

    # Authorisations

    def _made(self, order: CardOrder, body: Document, deadline: Deadline) -> RailAnswer:
        """Send a payment, and once more with its key if there is no answer.

        The card is only here, so this can't be done later. After an answer, whichever, it isn't: keys of errors aren't kept.
        So a first attempt that failed at theirs may have been carried out beside its repeat. Unless the repeat is known to
        be the only payment, a query decides.

        :raises Refused: nothing happened
        :raises AnswerLost: it may or may not have been carried out
        """
        post = partial(self._client.post, "/payments", body, key=str(order.id), deadline=deadline)
        try:
            return answers.of_payment(order, post(reserve=REPEAT_NEEDS + MARGIN))
        except NotAnswered:
            if deadline.left < REPEAT_NEEDS:
                raise
        try:
            answer = answers.of_payment(order, post())
        except Refused:  # which doesn't say what became of the first
            raise AnswerLost from None
        if answer.action is not None or self._is_only_payment(order, answer, deadline):
            return answer
        return RailAnswer(outcome=outcomes.PROCESSING, acquirer_reference=answer.acquirer_reference)

    def _is_only_payment(self, order: CardOrder, answer: RailAnswer, deadline: Deadline) -> bool:
        """Return whether a payment is listed, and no other one of its order is."""
        try:
            found = payments.of_order(self._client, order.id, deadline=deadline)
        except AnswerLost:
            return False
        return [answers.payment_id(each) for each in found] == [answer.acquirer_reference]

    def _payment(self, order: CardOrder, deadline: Deadline) -> Document:
        """Return the payment of an order. Of several, it is the oldest that is approved, or the one that we know.

        The rule must choose the same one each time, because the others are reversed.

        :raises NoRecord: there is none at present
        :raises AnswerLost: there is no readable answer
        """
        known = order.acquirer_reference
        if known:
            found = self._known_and_others(order, deadline)
        else:
            found = payments.of_order(self._client, order.id, deadline=deadline)
        if not found:
            raise NoRecord
        ours = min(
            reversed(found),
            key=lambda each: (
                reversals.is_over(each), each.get("approved") is not True, answers.payment_id(each) != known,
            ),
        )  # fmt: skip
        self._reverse_others(order, ours, found, deadline)
        return ours

    def _known_and_others(self, order: CardOrder, deadline: Deadline) -> list[Document]:
        """Return the payment that we know, and further ones of its order if it has ended.

        :raises AnswerLost: it isn't listed yet, so that others may be missing too. A payer who was redirected doesn't wait for that.
        """
        known = payments.with_id(self._client, order.acquirer_reference, deadline=deadline)
        if known.get("status") == answers.PENDING:
            return [known]
        listed: list[Document] = []
        with suppress(AnswerLost):
            listed = payments.of_order(self._client, order.id, deadline=deadline)
        others = [each for each in listed if answers.payment_id(each) != order.acquirer_reference]
        is_listed, age = len(others) < len(listed), clock.now() - order.created_at
        if not (is_listed or order.has_passed_challenge or age > LISTED_WITHIN):
            raise AnswerLost
        return [known, *others]

    def _reverse_others(
        self, order: CardOrder, ours: Document, found: list[Document], deadline: Deadline
    ) -> None:
        """Void or refund further payments of an order, which only an error at theirs can make. Staff see it in the log.

        :raises AnswerLost: that isn't done yet, and it would not be looked at again if the payment ended now
        """
        others = [each for each in found if answers.payment_id(each) != answers.payment_id(ours)]
        if not others:
            return
        ids = " ".join(map(answers.payment_id, others))
        log.error("several payments with our reference", id=str(order.id), reversing=ids)
        is_done = reversals.take_steps(self._client, others, of=order.id, deadline=deadline)
        if not is_done and clock.now() - order.created_at < REVERSED_WITHIN:
            raise AnswerLost

    def _payments(self, order: CardOrder, deadline: Deadline) -> list[Document]:
        """Return every payment of an order. More than one is an error of theirs, and all of them are reversed."""
        found = payments.of_order(self._client, order.id, deadline=deadline)
        known = order.acquirer_reference
        if known and known not in {answers.payment_id(each) for each in found}:
            found.append(payments.with_id(self._client, known, deadline=deadline))
        return found

    # Captures, voids and refunds

    def _send(self, payment: str, operation: OperationOrder, deadline: Deadline) -> RailAnswer:
        path, body = f"/payments/{payment}/{CALLS[operation.kind]}", request_bodies.operation(operation)
        return answers.accepted(self._client.post(path, body, key=str(operation.id), deadline=deadline))

    def _refused(
        self, payment: str, operation: OperationOrder, refused: Refused, deadline: Deadline
    ) -> RailAnswer:
        """Return the outcome of an operation that was refused: perhaps an earlier attempt did it, or it isn't needed.

        :raises AnswerLost: it only came too early, as a refund before the automatic capture does
        """
        found = answers.of_operation(operation, payments.actions_of(self._client, payment, deadline=deadline))
        if found is not None:
            return found
        state = payments.with_id(self._client, payment, deadline=deadline).get("status")
        if operation.kind == "void" and state in answers.ENDED:
            return RailAnswer(outcome=codes.approved(""))  # it has expired, or was voided elsewhere
        is_captured_soon = clock.now() - operation.created_at < CAPTURED_WITHIN
        if operation.kind == "refund" and state == answers.AUTHORIZED and is_captured_soon:
            raise AnswerLost
        return RailAnswer(outcome=codes.outcome_of_refusal(refused.error_codes))

    def _repeated(self, payment: str, operation: OperationOrder, deadline: Deadline) -> RailAnswer:
        """Send an operation again that may never have arrived."""
        age = clock.now() - operation.created_at
        if not REPEATED_FROM <= age < REPEATED_UNTIL:
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
        self._client.breaker.open(reason)
        raise RailBlocked(reason) from None

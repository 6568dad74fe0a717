"""Checkouts of payment links: one payer's amount and details, and the attempts to pay it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast
from uuid import UUID

from django.conf import settings
from django.db import transaction as database
from rest_framework.exceptions import ValidationError

from kit.api.request_fingerprints import Fingerprint
from kit.connectors.connectors import NotSupported
from kit.db import clock
from kit.db.prepared_statements import Lookup
from kit.money.money import money
from kit.time.time_ordered_ids import new_id
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from payments.metrics import CHECKOUT_STEPS
from payments.models import Checkout, InvalidState, PaymentLink, Transaction
from payments.models.links import CHECKOUT_LIFETIME
from payments.rails import RailUnavailable
from payments.rails.protocol import HostedPages, ThreeDSecure
from payments.representation.links import CheckoutWithAttempts
from payments.rules.cards import Card
from payments.services.cards import card_payments, hosted_payments
from payments.services.checkouts import checkout_limits
from payments.services.links import link_accounts, link_counts
from payments.services.links.link_uses import Attempt
from payments.services.rails.rail_choices import acquirer_for, configured_acquirer_for
from payments.services.rails.rail_queries import rail_blocks
from payments.services.rails.required_capabilities import has_three_d_secure
from payments.services.transactions import cancellations
from payments.services.transactions.transitions import Cause
from payments.services.transfers import virtual_account_payments
from virtual_accounts.providers import account_provider, require_provider

THREE_D_SECURE = ThreeDSecure(enabled=True, challenge_preference="challenge_preferred")
NO_FINGERPRINT = Fingerprint("")  # an attempt is never a repeated request
NO_CARDS = "The link takes no cards. Nothing was stored."
NO_ACCOUNT = "The link takes no transfers. Nothing was stored."


@dataclass(frozen=True, slots=True)
class Details:
    """What a payer chose and entered at a link. `amount` is the total in minor units."""

    amount: int
    quantity: int
    method: str
    name: str = ""
    email: str = ""
    phone: str = ""
    answers: dict[str, str] = field(default_factory=dict)


def begin(*, link: PaymentLink, details: Details, address: str, network: str, now: datetime) -> Checkout:
    """Create a checkout. It freezes the amount and the details, and holds no use.

    :raises LimitReached: the address has begun too many without paying
    """
    checkout_limits.check_new_checkout(network, now=now)
    checkout = Checkout(
        id=new_id(now),
        link=link,
        amount=details.amount,
        quantity=details.quantity,
        currency=link.currency,
        method=details.method,
        name=details.name or link.customer_name,
        email=details.email or link.customer_email,
        phone=details.phone,
        answers=details.answers,
        address=address,
        network=network,
        created_at=now,
        expires_at=now + CHECKOUT_LIFETIME,
    )
    with database.atomic():
        checkout.save(force_insert=True)
        link_counts.count_started(link.pk, now=now)
    CHECKOUT_STEPS.labels("started").inc()
    return checkout


def find_by_token(token: str) -> Checkout | None:
    """Return the checkout with its link and business, or None. The token may be any text of a request."""
    checkout = _BY_TOKEN.find(token) if TOKEN.match(token) else None
    if checkout is not None:
        checkout.link = _link(checkout.link_id)
    return checkout


def _link(link_id: UUID) -> PaymentLink:
    link = _LINK_BY_ID.find(link_id)
    if link is None:
        raise PaymentLink.DoesNotExist
    return link


TOKEN = re.compile(r"[A-Za-z0-9_-]{32}\Z")
_BY_TOKEN = Lookup(Checkout, "token")
_LINK_BY_ID = Lookup(PaymentLink, "id", joined=("business",))


def attempts_of(checkout: Checkout) -> list[Transaction]:
    """Return the attempts of a checkout, oldest first."""
    return list(
        Transaction.objects.filter(checkout=checkout).select_related("challenge", "session").order_by("pk")
    )


def shown_with_attempts(checkouts: Iterable[Checkout], *, now: datetime) -> list[CheckoutWithAttempts]:
    """Return checkouts with what their attempts say, in one query."""
    made = list(checkouts)
    attempts: dict[UUID, list[Transaction]] = {checkout.pk: [] for checkout in made}
    columns = ("checkout_id", "status", "reference")
    for attempt in Transaction.objects.filter(checkout__in=attempts).order_by("pk").only(*columns):
        if attempt.checkout_id is not None:
            attempts[attempt.checkout_id].append(attempt)
    return [_with_attempts(checkout, attempts[checkout.pk], now=now) for checkout in made]


def _with_attempts(checkout: Checkout, attempts: list[Transaction], *, now: datetime) -> CheckoutWithAttempts:
    paid = [attempt for attempt in attempts if attempt.status == Transaction.Status.SUCCESS]
    last = (paid or attempts)[-1:]
    return CheckoutWithAttempts(
        checkout=checkout,
        state=checkout.state_of([attempt.status for attempt in attempts], now=now),
        attempts=len(attempts),
        payment_reference=last[0].reference if last else "",
        payment_id=last[0].pk if last else None,
    )


def methods_of(link: PaymentLink, amount: int | None) -> list[str]:
    """Return the methods by which a link can be paid at the moment, in the order of its page.

    `amount` is the total in minor units. None: it isn't known yet.
    """
    possible = {
        Transaction.Method.CARD: takes_cards,
        Transaction.Method.VIRTUAL_ACCOUNT: takes_transfers,
    }
    methods = [method for method in link.payment_methods if possible[Transaction.Method(method)](link)]
    return [each for each in methods if amount is None or not why_not(link, each, amount)]


def why_not(link: PaymentLink, method: str, amount: int) -> str:
    """Return why a method never takes an amount of a link, or an empty string."""
    is_card = method == Transaction.Method.CARD
    connector = configured_acquirer_for(link.business) if is_card else account_provider()
    can, payments = connector.capabilities, "Card payments" if is_card else "Bank transfers"
    smallest = can.minimum_amount.get(link.currency, 0)
    if amount < smallest:
        return f"{payments} start at {money(smallest, link.currency)}."
    return f"{payments} of this amount can't be processed." if can.unsupported(link.currency, amount) else ""


def why_no_method(link: PaymentLink, amount: int) -> str:
    """Return why none of a link's methods takes an amount, or an empty string if another amount changes nothing."""
    return " ".join(why_not(link, each, amount) for each in methods_of(link, None))


def takes_cards(link: PaymentLink) -> bool:
    """Return whether a link's payers can pay by card at the moment, on our page or the provider's."""
    if not link.accepts(Transaction.Method.CARD):
        return False
    try:
        acquirer = acquirer_for(link.business)
    except RailUnavailable:
        return False
    can = acquirer.capabilities
    if not can.accepts(link.currency) or rail_blocks.awaits_probe(acquirer, now=clock.now()):
        return False
    is_safe = can.hosted_only or has_three_d_secure(can, link.business)
    return is_safe or settings.CHECKOUT_CARD_WITHOUT_3DS


def card_page_of(link: PaymentLink) -> str:
    """Return whose page a link's payers enter their card on, or an empty string if it is ours."""
    try:
        acquirer = configured_acquirer_for(link.business)
    except RailUnavailable:
        return ""
    return cast("HostedPages", acquirer).page_of if acquirer.capabilities.hosted_only else ""


def takes_transfers(link: PaymentLink) -> bool:
    """Return whether a link's payers can pay by transfer at the moment."""
    if not link.accepts(Transaction.Method.VIRTUAL_ACCOUNT):
        return False
    try:
        require_provider(link.currency)
    except (RailUnavailable, NotSupported):
        return False
    return link_accounts.can_receive(link)


def pay_by_card(*, checkout: Checkout, card: Card, attempt_number: int, now: datetime) -> Transaction:
    """Begin an attempt by card and call the acquirer, with 3-D Secure if it has it.

    :raises LimitReached: the address or the card was declined too often; nothing was stored
    :raises AttemptNotBegun: nothing was stored
    :raises RailUnavailable: the link takes no cards at the moment; nothing was stored
    :raises NoPrice: the business has no price for cards in this currency; nothing was stored
    """
    link, attempt = checkout.link, _attempt(checkout, attempt_number, card=card, now=now)
    if not takes_cards(link):
        raise RailUnavailable(NO_CARDS)
    checkout_limits.check_card(checkout, card, now=now)
    can = acquirer_for(link.business).capabilities
    request = _order(checkout, attempt) | {
        "source": card,
        "capture": True,
        "redirect_url": checkout.url,
        "three_ds": THREE_D_SECURE if has_three_d_secure(can, link.business) else ThreeDSecure(),
    }
    try:
        started = card_payments.start(
            business=link.business, request=request, fingerprint=NO_FINGERPRINT, now=now, attempt=attempt
        )
    except NotSupported as refused:  # its amount
        raise RailUnavailable(NO_CARDS) from refused
    CHECKOUT_STEPS.labels("attempted").inc()
    return started.resource


def pay_on_hosted_page(*, checkout: Checkout, attempt_number: int, now: datetime) -> Transaction:
    """Begin an attempt by card, which the payer enters on the provider's page.

    :raises LimitReached: the address was declined too often; nothing was stored
    :raises AttemptNotBegun: nothing was stored
    :raises RailUnavailable: the link takes no cards at the moment; nothing was stored
    :raises NoPrice: the business has no price for cards in this currency; nothing was stored
    """
    link, attempt = checkout.link, _attempt(checkout, attempt_number, now=now)
    if not takes_cards(link):
        raise RailUnavailable(NO_CARDS)
    checkout_limits.check_address(checkout.network, now=now)
    can = acquirer_for(link.business).capabilities
    request = _order(checkout, attempt) | {
        "redirect_url": checkout.url,
        "three_ds": THREE_D_SECURE if has_three_d_secure(can, link.business) else ThreeDSecure(),
    }
    try:
        started = hosted_payments.start(business=link.business, request=request, now=now, attempt=attempt)
    except NotSupported as refused:  # its amount
        raise RailUnavailable(NO_CARDS) from refused
    CHECKOUT_STEPS.labels("attempted").inc()
    return started


def pay_by_transfer(*, checkout: Checkout, attempt_number: int, now: datetime) -> Transaction:
    """Begin an attempt by transfer: it gets an account number of its own.

    :raises AttemptNotBegun: nothing was stored
    :raises RailUnavailable: no account can receive it; nothing was stored
    :raises NoPrice: the business has no price for transfers in this currency; nothing was stored
    """
    link, attempt = checkout.link, _attempt(checkout, attempt_number, now=now)
    is_accepted = link.accepts(Transaction.Method.VIRTUAL_ACCOUNT)
    try:
        account = link_accounts.account_for(link, now=now) if is_accepted else None
        if account is None:
            raise RailUnavailable(NO_ACCOUNT)
        request = _order(checkout, attempt) | {
            "payment_method_id": str(account.pk),
            "expiry_duration": link.transfer_window,
        }
        started = virtual_account_payments.start(
            business=link.business, request=request, fingerprint=NO_FINGERPRINT, now=now, attempt=attempt
        )
    except ValidationError as refused:  # such as an account that was deactivated after it was looked up
        raise RailUnavailable(NO_ACCOUNT) from refused
    CHECKOUT_STEPS.labels("attempted").inc()
    return started.resource


def end_attempt(payment: Transaction) -> Transaction:
    """End the pending attempt of a payer who wants to pay another way.

    What arrives later in its account is unapplied money.

    :raises InvalidState: it doesn't await its payer
    """
    return cancellations.cancel(transaction_id=payment.pk, cause=Cause.PAYER).resource


def end_transfer_attempt(payment: Transaction, *, actor: Actor, now: datetime) -> Transaction:
    """End a pending transfer attempt for the merchant, so that its use is free again.

    :raises InvalidState: it isn't a transfer that awaits its payer
    """
    if payment.payment_link is None or not payment.is_transfer_payment:
        raise InvalidState("Only a transfer of a payment link that waits for its payer can be ended.")
    with database.atomic():
        ended = cancellations.cancel(transaction_id=payment.pk)
        if not ended.is_replay:
            audit.record(
                action="payment_link.attempt_ended",
                actor=actor,
                business=payment.business,
                target=payment.payment_link.reference,
                after={"payment": payment.reference},
                now=now,
            )
    return ended.resource


def checkout_of(business: Business, payment_reference: str) -> Checkout | None:
    """Return the checkout that a payment of the business came from, or None."""
    return Checkout.objects.filter(attempts__business=business, attempts__reference=payment_reference).first()


def _attempt(checkout: Checkout, number: int, *, now: datetime, card: Card | None = None) -> Attempt:
    return Attempt(id=new_id(now), checkout_id=checkout.pk, number=number, card=card)


def _order(checkout: Checkout, attempt: Attempt) -> dict[str, object]:
    """Return the fields of the payment: terms of the link's and checkout's rows, never of a browser."""
    link = checkout.link
    customer = {"name": checkout.name, "email": checkout.email, "reference": link.customer_reference}
    return {
        "reference": attempt.reference,
        "amount": checkout.amount,
        "currency": checkout.currency,
        "narration": link.title,
        "payment_ip": checkout.address,
        "customer": {name: value for name, value in customer.items() if value},
    }

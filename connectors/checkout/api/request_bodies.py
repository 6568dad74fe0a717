"""The bodies of our requests. What Checkout.com would decide by a default that differs from our promises is always sent."""

import ipaddress
from typing import Any

from connectors.checkout.api.references import reference_of
from kit.text.countries import alpha2
from kit.text.display_names import printable_line
from payments.rails.protocol import CardOrder, OperationOrder
from payments.rules.cards import Card

Document = dict[str, Any]

CHALLENGE_INDICATORS = {
    "no_preference": "no_preference",
    "no_challenge": "no_challenge_requested",
    "challenge_preferred": "challenge_requested",
    "challenge_mandated": "challenge_requested_mandate",
}
# Their longest values. A part of an address that is longer is left out: it would be refused.
ADDRESS = {"address_line1": 200, "address_line2": 200, "city": 50, "state": 2, "zip": 50}
LONGEST_DESCRIPTOR, LONGEST_CITY, LONGEST_NAME = 25, 13, 255


def payment(order: CardOrder, *, card: Card, channel: str, city: str, country: str) -> Document:
    """Return a payment, or a card check if its amount is 0. It holds the card's number and CVV.

    `city` is shown with the descriptor on the cardholder's statement. `country`, that of the business, completes an address.
    """
    body = {
        "source": _source(card, country),
        "amount": order.amount,
        "currency": order.currency,
        "reference": reference_of(order.id),
        "3ds": _three_ds(order),
        "success_url": order.return_url,
        "failure_url": order.return_url,
        "payment_ip": _ipv4(order.payer.ip_address),
        "customer": _customer(order),
        "billing_descriptor": _descriptor(order.descriptor, city),
        "processing_channel_id": channel,
    }
    if order.amount:
        body["capture"] = order.captures_at_once
    return _without_empty(body)


def page(order: CardOrder, *, channel: str, city: str, country: str) -> Document:
    """Return a hosted page for a payment. `country` is that of the business, because the payer's isn't known.

    `allow_payment_methods` isn't sent: the published document can't be followed, because its list may only be one word.
    """
    body = {
        "amount": order.amount,
        "currency": order.currency,
        "reference": reference_of(order.id),
        "capture": order.captures_at_once,
        "3ds": _three_ds(order),
        "success_url": order.return_url,
        "failure_url": order.return_url,
        "cancel_url": order.return_url,
        "payment_ip": _ipv4(order.payer.ip_address),
        "customer": _customer(order),
        "billing": {"address": {"country": country}},
        "billing_descriptor": _descriptor(order.descriptor, city),
        "processing_channel_id": channel,
    }
    return _without_empty(body)


def operation(order: OperationOrder) -> Document:
    """Return a capture, void or refund. A capture releases the rest."""
    body: Document = {"reference": reference_of(order.id)}
    if order.kind == "capture":
        return body | {"amount": order.amount, "capture_type": "Final"}
    return body | {"amount": order.amount} if order.kind == "refund" else body


def _source(card: Card, country: str) -> Document:
    return _without_empty(
        {
            "type": "card",
            "number": card.secret.reveal_number(),
            "expiry_month": int(card.expiry_month),
            "expiry_year": int(card.expiry_year),
            "name": card.name,
            "cvv": card.secret.reveal_cvv(),
            "billing_address": _address(card.billing_address, country),
            "store_for_future_use": False,  # by default, they keep the card
        }
    )


def _three_ds(order: CardOrder) -> Document:
    return {
        "enabled": order.three_ds.enabled,
        "attempt_n3d": False,  # never less protection than requested
        # A payer who can't be redirected doesn't get a challenge that wasn't requested.
        "allow_upgrade": order.three_ds.enabled or order.is_on_our_page,
        "challenge_indicator": CHALLENGE_INDICATORS[order.three_ds.challenge_preference],
    }


def _address(given: dict[str, str], country: str) -> Document:
    """Return a billing address as they take it: the country with two letters, the state as its short code or not at all."""
    renamed = {("zip" if name == "postal_code" else name): value for name, value in given.items()}
    parts = {
        name: value for name, longest in ADDRESS.items() if len(value := renamed.get(name, "")) <= longest
    }
    address = _without_empty({**parts, "country": alpha2(renamed.get("country", ""))})
    return {"country": country, **address} if address else {}


def _customer(order: CardOrder) -> Document:
    """Return the payer. Without an e-mail address they can't record one."""
    payer = order.payer
    return _without_empty({"email": payer.email, "name": payer.name[:LONGEST_NAME]}) if payer.email else {}


def _descriptor(name: str, city: str) -> Document:
    """Return the text on the cardholder's statement, which needs both parts."""
    shown, place = printable_line(name)[:LONGEST_DESCRIPTOR], printable_line(city)[:LONGEST_CITY]
    return {"name": shown, "city": place} if shown and place else {}


def _ipv4(address: str) -> str:
    try:
        return str(ipaddress.IPv4Address(address))
    except ValueError:
        return ""


def _without_empty(body: Document) -> Document:
    return {name: value for name, value in body.items() if value not in ("", {})}

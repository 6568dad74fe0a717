"""Examine the configured Checkout.com account with a call that changes nothing, for `manage.py doctor --connector checkout`."""

from collections.abc import Iterator
from http import HTTPStatus

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from connectors.checkout.cards import CheckoutAcquirer
from kit.connectors.http_client import NoAnswer
from kit.connectors.remarks import Remark

# What an answer to the lookup of an unused reference means, and where it is changed.
REFUSALS: dict[int, tuple[str, str]] = {
    HTTPStatus.UNAUTHORIZED: (
        "Checkout.com refuses CHECKOUT_SECRET_KEY (401).",
        "Copy an active secret key of this account from Developers → Keys. Keys of sandbox and production differ.",
    ),
    HTTPStatus.FORBIDDEN: (
        "CHECKOUT_SECRET_KEY may not read payments (403).",
        "Edit the key under Developers → Keys: it needs the scope gateway for this processing channel.",
    ),
    HTTPStatus.NOT_FOUND: (
        "CHECKOUT_URL isn't the address of an account (404).",
        "Copy the account's own address from Developers → Overview: https://{prefix}.api.checkout.com",
    ),
    HTTPStatus.TOO_MANY_REQUESTS: ("The rate limit is reached (429).", "Try again in a minute."),
}


def examine() -> Iterator[Remark]:
    """Look up a reference that no payment has, and say what is wrong in the words of Checkout.com's dashboard."""
    try:
        acquirer = CheckoutAcquirer()
    except ImproperlyConfigured as problem:
        yield Remark("checkout settings", str(problem), "Set them, and restart.", is_broken=True)
        return
    yield _lookup(acquirer)
    yield _webhooks()
    yield Remark(
        "checkout cards",
        f"Processing channel {settings.CHECKOUT_PROCESSING_CHANNEL}, {' '.join(settings.CHECKOUT_CURRENCIES)}."
        " Only a payment shows whether it takes full card details, these currencies and 3-D Secure.",
    )


def _lookup(acquirer: CheckoutAcquirer) -> Remark:
    name = "checkout payments"
    try:
        status = acquirer.client.status_of_probe()
    except NoAnswer:
        return _unanswered(name, "Checkout.com didn't answer.")
    if status == HTTPStatus.OK:
        return Remark(name, "Payments can be looked up.")
    said, advice = REFUSALS.get(status, ("", ""))
    if not said:
        return _unanswered(name, f"Checkout.com answers {status}.")
    return Remark(name, said, advice, is_broken=status != HTTPStatus.TOO_MANY_REQUESTS)


def _unanswered(name: str, said: str) -> Remark:
    advice = f"Check the network from this server to {settings.CHECKOUT_URL}, and Checkout.com's status page."
    return Remark(name, said, advice, is_broken=True)


def _webhooks() -> Remark:
    name = "checkout webhooks"
    if settings.CHECKOUT_WEBHOOK_KEYS:
        return Remark(name, "CHECKOUT_WEBHOOK_KEYS is set.")
    return Remark(
        name,
        "CHECKOUT_WEBHOOK_KEYS is empty, so that outcomes are known minutes later.",
        f"Create a webhook to {settings.PUBLIC_URL}/connectors/checkout under Developers → Webhooks, and set its signature key.",
    )

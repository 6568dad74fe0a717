"""Signed webhooks of providers, and stand-ins for their connectors."""

import hmac
import json

from connectors.checkout.api.references import reference_of
from connectors.services import event_processing
from payments import rails
from payments.services.rails import requery
from tests.rails import SilentAcquirer, SlowAcquirer, SlowBank

CHECKOUT_KEY, PAYSTACK_KEY = "checkout-webhook-key", "sk_live_of-this-installation"
CHANNEL, INTEGRATION = "pc_w2njpb6jbjjujgcz5dgzxdn5mm", "463433"
CHECKOUT, PAYSTACK = "/connectors/checkout", "/connectors/paystack"


class SlowCheckout(SlowAcquirer):
    """Stands for Checkout.com: the outcome of a payment and of an operation is known once it is queried."""

    name, account = "checkout", f"checkout:{CHANNEL}"


class SilentCheckout(SilentAcquirer, SlowAcquirer):
    """Stands for Checkout.com: every query says that the outcome isn't known."""

    name, account = "checkout", f"checkout:{CHANNEL}"


class SlowPaystack(SlowBank):
    """Stands for Paystack: the outcome of a payout is known once it is queried."""

    name, account = "paystack", f"paystack:{INTEGRATION}"


def configure(settings, monkeypatch):
    settings.CHECKOUT_WEBHOOK_KEYS = [CHECKOUT_KEY]
    settings.CHECKOUT_PROCESSING_CHANNEL = CHANNEL
    settings.PAYSTACK_SECRET_KEY = PAYSTACK_KEY
    settings.PAYSTACK_INTEGRATION = INTEGRATION
    monkeypatch.setitem(rails.ACQUIRERS, "checkout", f"{__name__}.SlowCheckout")
    monkeypatch.setitem(rails.BANKS, "paystack", f"{__name__}.SlowPaystack")
    settings.CARD_ACQUIRER, settings.PAYOUT_BANK = "checkout", "paystack"


def checkout_event(kind="payment_approved", *, event_id="evt_az5sblvku4ge3dwpztvyizgcau", **data):
    return {
        "id": event_id,
        "type": kind,
        "version": "1.0.29",
        "created_on": "2026-11-28T06:00:00Z",
        "data": {"id": "pay_mbabizu24mvu3mela5njyhpit4", **data},
    }


def about(subject, kind="payment_approved", **data):
    """Return an event of Checkout.com about a row of ours."""
    return checkout_event(kind, reference=reference_of(subject.pk), **data)


def paystack_event(kind="transfer.success", **data):
    return {"event": kind, "data": {"domain": "live", "id": 860703114, **data}}


def raw(document):
    return document if isinstance(document, bytes) else json.dumps(document).encode()


def send(client, path, document, *, key=None, **headers):
    """Send an event, signed as the provider signs, and return the answer."""
    body = raw(document)
    name, digest, usual = {
        CHECKOUT: ("Cko-Signature", "sha256", CHECKOUT_KEY),
        PAYSTACK: ("x-paystack-signature", "sha512", PAYSTACK_KEY),
    }[path]
    signature = hmac.digest((key or usual).encode(), body, digest).hex()
    sent = {name: signature} | headers
    return client.post(path, body, content_type="application/json", headers=sent)


def process():
    """Process what is due, and let the rails be queried about it."""
    made = event_processing.process_due()
    list(requery.requery_due())
    return made

"""The providers. To add one, write its package and name it here."""

from rest_framework.exceptions import NotFound

from connectors.checkout.webhooks import CheckoutWebhooks
from connectors.paystack.webhooks import PaystackWebhooks
from connectors.protocol import ProviderWebhooks

WEBHOOKS: dict[str, ProviderWebhooks] = {"checkout": CheckoutWebhooks(), "paystack": PaystackWebhooks()}


def configured_webhooks(provider: str) -> ProviderWebhooks:
    """Return the webhooks of a provider that has a key.

    :raises NotFound: there is no such provider, or it isn't configured
    """
    found = WEBHOOKS.get(provider)
    if found is None or not found.signing_keys():
        raise NotFound
    return found

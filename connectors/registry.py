"""The providers. To add one, write its package and name it here."""

from collections.abc import Callable, Iterator

from rest_framework.exceptions import NotFound

from connectors.checkout import examination as checkout
from connectors.checkout.webhooks import CheckoutWebhooks
from connectors.paystack import examination as paystack
from connectors.paystack.webhooks import PaystackWebhooks
from connectors.protocol import ProviderWebhooks
from kit.connectors.remarks import Remark

WEBHOOKS: dict[str, ProviderWebhooks] = {"checkout": CheckoutWebhooks(), "paystack": PaystackWebhooks()}
# Harmless calls, for `manage.py doctor --connector`.
EXAMINATIONS: dict[str, Callable[[], Iterator[Remark]]] = {
    "checkout": checkout.examine,
    "paystack": paystack.examine,
}


def configured_webhooks(provider: str) -> ProviderWebhooks:
    """Return the webhooks of a provider that has a key.

    :raises NotFound: there is no such provider, or it isn't configured
    """
    found = WEBHOOKS.get(provider)
    if found is None or not found.signing_keys():
        raise NotFound
    return found

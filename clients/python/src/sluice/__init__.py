"""Client for Sluice: signatures of requests, and webhooks.

>>> import sluice
>>> event = sluice.webhooks.parse(body, signature, "whk_…")  # doctest: +SKIP
"""

from sluice import signing, webhooks
from sluice.errors import SluiceError
from sluice.webhooks import InvalidSignature, MalformedEvent

__version__ = "0.1.0"
__all__ = ["InvalidSignature", "MalformedEvent", "SluiceError", "__version__", "signing", "webhooks"]

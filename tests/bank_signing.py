"""Signatures of the hosting bank's notifications, written from docs/bank-transfers.md and not from the
service's code.
"""

import hashlib
import hmac
import time

KEY = "bank-key-of-today-0123456789-0123456789"


def signed_headers(raw, *, key=KEY, timestamp=None):
    """Return the headers of a notification with this body."""
    timestamp = timestamp or str(int(time.time()))
    signature = hmac.new(key.encode(), f"{timestamp}.".encode() + raw, hashlib.sha256).hexdigest()
    return {"X-Bank-Timestamp": timestamp, "X-Bank-Signature": signature}

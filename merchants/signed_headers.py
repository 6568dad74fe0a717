"""The four headers of a signed request, each with its form, in the order they are looked at.

None of the forms admits a comma, so that a repeated header, which the server joins with one, is malformed.
"""

import re

HEADERS = {
    "X-Api-Key": re.compile(r"[A-Za-z0-9_]{1,64}\Z"),
    "X-Timestamp": re.compile(r"[0-9]{1,12}\Z"),
    "X-Nonce": re.compile(r"[A-Za-z0-9_-]{16,128}\Z"),
    "X-Signature": re.compile(r"[0-9A-Fa-f]{64}\Z"),
}

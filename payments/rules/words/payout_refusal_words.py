"""Why a bank refused a payout, in words, by its two-digit code of NIP.

>>> reason_of("07"), reason_of("ZZ")
('Invalid account', '')
"""

_REASONS = {
    "05": "Do not honour",
    "06": "Account is dormant",
    "07": "Invalid account",
    "08": "Name differs at the bank",
    "13": "Invalid amount",
    "16": "Unknown bank",
    "34": "Suspected fraud",
    "51": "Insufficient funds",
    "61": "Limit of the bank exceeded",
    "68": "Answered too late",
    "91": "Bank not available",
}


def reason_of(gateway_code: str) -> str:
    """Return what the code of a refused payout says; empty for codes that banks use differently."""
    return _REASONS.get(gateway_code, "")

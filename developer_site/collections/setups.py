"""Requests that create what the next request of a folder needs, such as an authorised payment before its capture.

They are examples of the document too: a setup names the path and the example.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A request before another one, with what it saves beside what its path always saves."""

    purpose: str
    path: str
    example: str
    saved: Mapping[str, str] = field(default_factory=dict)  # variables, and dotted paths of the response


PAY = Setup(purpose="pay by card", path="/api/payments", example="card_payment")
AUTHORISE = Setup(
    purpose="authorise a card payment", path="/api/payments", example="card_payment_to_capture_later"
)
OPEN_ACCOUNT = Setup(purpose="create an account", path="/api/virtual-accounts", example="dynamic_account")
EXPECT_TRANSFER = Setup(
    purpose="expect a transfer",
    path="/api/payments",
    example="virtual_account_payment",
    saved={"session_account_number": "virtual_account_details.account_number"},
)
TRANSFER = Setup(purpose="simulate the transfer", path="/api/virtual-accounts/simulate", example="transfer")

ANY = ""  # each example of a path, or its request without a body
SETUPS: Mapping[tuple[str, str], tuple[Setup, ...]] = {
    ("/api/payments", "virtual_account_payment"): (OPEN_ACCOUNT,),
    ("/api/payments/{reference}/cancel", ANY): (OPEN_ACCOUNT, EXPECT_TRANSFER),
    ("/api/payments/{reference}/capture", ANY): (AUTHORISE,),
    ("/api/payments/{reference}/void", ANY): (AUTHORISE,),
    ("/api/payments/{reference}/refunds", "everything_left"): (PAY,),
    ("/api/payments/{reference}/refunds", "a_part"): (PAY,),
    ("/api/payments/{reference}/refunds", "to_an_account"): (OPEN_ACCOUNT, EXPECT_TRANSFER, TRANSFER),
    ("/api/virtual-accounts/simulate", ANY): (OPEN_ACCOUNT, EXPECT_TRANSFER),
}


def setups(method: str, path: str, example: str) -> tuple[Setup, ...]:
    """Return what runs before a request, in order. Only a POST needs something that has a certain state."""
    if method != "post":
        return ()
    return SETUPS.get((path, example)) or SETUPS.get((path, ANY), ())

"""Refuse what a business's connector can never do, before anything is stored and whether or not it can be reached."""

from collections.abc import Callable
from typing import Any

from kit.connectors.connectors import RailUnavailable, require_supported
from merchants.models import Business
from payments.rails.protocol import CardAcquirer, CardCapabilities, PayoutBank, ThreeDSecureSupport
from payments.services.rails.rail_choices import configured_acquirer_for, configured_bank_for
from virtual_accounts.providers import account_opener, account_provider

HOSTED_ONLY = "Cards are entered on the provider's own page. Use the hosted checkout: create a payment link, and send the payer there."
NO_CARD_CHECKS = "Cards can't be checked here."
NO_LATER_CAPTURE = "Payments can't be authorised now and captured later here. Leave `capture` out."
NO_VOIDS = "Authorised payments can't be voided here. They end when the authorisation expires."
NO_PARTIAL_REFUNDS = "Payments can only be refunded in full here. Leave `amount` out."
NO_SIMULATION = "Transfers can't be simulated here, because a provider has the account numbers."
WITHOUT_THREE_D_SECURE = {
    ThreeDSecureSupport.NEVER: "3-D Secure isn't available here.",
    ThreeDSecureSupport.PROVIDER_DECIDES: (
        "3-D Secure can't be requested here, because the provider decides when to use it. An owner can accept that in Settings."
    ),
}


def require_card_payment(business: Business, request: dict[str, Any]) -> None:
    """Check that a business's acquirer can take a card payment.

    :raises NotSupported: it never can
    :raises RailUnavailable: none is configured
    """
    can = configured_acquirer_for(business).capabilities
    found = _of_source(can) | can.unsupported(request["currency"], request["amount"])
    if not request["capture"] and not can.captures_later:
        found["capture"] = NO_LATER_CAPTURE
    three_ds = request.get("three_ds")
    if three_ds is not None and three_ds.enabled and not has_three_d_secure(can, business):
        # Without it, the payment would lack the protection that the merchant requested.
        found["3ds.enabled"] = WITHOUT_THREE_D_SECURE[can.three_d_secure]
    require_supported(found)


def has_three_d_secure(can: CardCapabilities, business: Business) -> bool:
    """Return whether a business may ask for 3-D Secure: also where its provider decides, if the business accepts that."""
    if can.three_d_secure is ThreeDSecureSupport.PROVIDER_DECIDES:
        return business.provider_may_decide_three_ds
    return can.three_d_secure is ThreeDSecureSupport.ON_REQUEST


def require_hosted_payment(business: Business, request: dict[str, Any]) -> None:
    """Check that a business's acquirer can take a payment on its own page.

    :raises NotSupported: it never can
    :raises RailUnavailable: none is configured
    """
    can = configured_acquirer_for(business).capabilities
    require_supported(can.unsupported(request["currency"], request["amount"]))


def require_card_check(business: Business, request: dict[str, Any]) -> None:
    """Check that a business's acquirer can check a card.

    :raises NotSupported: it never can
    :raises RailUnavailable: none is configured
    """
    can = configured_acquirer_for(business).capabilities
    found = {} if can.checks_cards else {"request_type": NO_CARD_CHECKS}
    require_supported(found | _of_source(can) | can.unsupported(request["currency"]))


def require_payout(business: Business, request: dict[str, Any]) -> None:
    """Check that a business's bank can make a payout.

    :raises NotSupported: it never can
    :raises RailUnavailable: none is configured
    """
    can = configured_bank_for(business).capabilities
    require_supported(can.unsupported(request["currency"], request["amount"]))


def require_refund(connector: CardAcquirer | PayoutBank, amount: int, currency: str, *, of: int) -> None:
    """Check that the connector of a refund can refund an amount, in minor units, of what was collected.

    :raises NotSupported: it only refunds in full, or no such amounts
    """
    can = connector.capabilities
    if isinstance(can, CardCapabilities) and not can.partial_refunds and amount < of:
        require_supported({"amount": NO_PARTIAL_REFUNDS})
    require_multiple(connector, amount, currency)


def require_multiple(connector: CardAcquirer | PayoutBank, amount: int, currency: str) -> None:
    """Check that a connector can capture or refund an amount, in minor units.

    :raises NotSupported: it takes no such amounts
    """
    why_not = connector.capabilities.why_no_multiple(amount, currency)
    require_supported({"amount": why_not} if why_not else {})


def require_void(acquirer: CardAcquirer) -> None:
    """Check that the acquirer of an authorised payment can void it.

    :raises NotSupported: it can't
    """
    require_supported({} if acquirer.capabilities.voids else {"void": NO_VOIDS})


def require_transfer_payment(request: dict[str, Any], *, is_dynamic: Callable[[], bool]) -> None:
    """Check that the hosting bank can take a payment into a virtual account. `is_dynamic` says of which kind.

    :raises NotSupported: it never can
    :raises RailUnavailable: none is configured
    """
    can = account_provider().capabilities
    found = can.unsupported(request["currency"], request["amount"])
    why_not = can.unsupported_session(request["expiry_duration"])
    require_supported(found | ({"expiry_duration": why_not} if why_not and is_dynamic() else {}))


def require_transfer_window(seconds: int) -> None:
    """Check that payers of a link can have so long for a transfer. Without a hosting bank, none is offered one.

    :raises NotSupported: the hosting bank never accepts a transfer for so long
    """
    try:
        why_not = account_provider().capabilities.unsupported_session(seconds)
    except RailUnavailable:
        return
    require_supported({"transfer_window": why_not} if why_not else {})


def require_simulated_transfers() -> None:
    """Check that the sandbox can simulate a transfer to an account number.

    :raises NotSupported: a provider has the account numbers, and notifies transfers itself
    :raises RailUnavailable: no hosting bank is configured
    """
    if account_opener() is not None:
        require_supported({"account_number": NO_SIMULATION})


def _of_source(can: CardCapabilities) -> dict[str, str]:
    return {"source": HOSTED_ONLY} if can.hosted_only else {}

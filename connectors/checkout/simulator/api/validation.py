"""What Checkout.com refuses before it processes a payment, with its error codes.

Codes that no source lists are guesses: `reference_invalid`, `payment_ip_invalid`, `billing_descriptor_invalid`, `metadata_invalid`,
`address_invalid`.
"""

import ipaddress
from typing import Any

from connectors.checkout.simulator import tables
from connectors.checkout.simulator.control.settings import Identity, Variants
from connectors.checkout.simulator.state import Document

LONGEST = {"reference": 50, "description": 100, "success_url": 1024, "failure_url": 1024, "cancel_url": 255}
AMEX_REFERENCE, DESCRIPTOR_NAME, DESCRIPTOR_CITY = 30, 25, 13
METADATA_VALUES, METADATA_LENGTH = 20, 255
ADDRESS = {"address_line1": 200, "address_line2": 200, "city": 50, "state": 2, "zip": 50}
COUNTRY, AMEX_CVV, CVV, MONTHS, YEAR = 2, 4, 3, 12, 1000


def payment_errors(order: Document, *, identity: Identity, variants: Variants) -> list[str]:
    """Return the error codes of a payment with full card details."""
    source = order.get("source")
    if not isinstance(source, dict) or source.get("type") != "card":
        return ["payment_source_required" if source is None else "payment_method_not_supported"]
    codes = [*_card_errors(source), *_common_errors(order, identity=identity)]
    reference, number = str(order.get("reference") or ""), str(source.get("number") or "")
    if (
        len(reference) > AMEX_REFERENCE
        and number.startswith(("34", "37"))
        and variants.long_amex_reference == "refused"
    ):
        codes.append("reference_invalid")
    if (order.get("3ds") or {}).get("enabled"):
        codes += ["success_url_required"] if not order.get("success_url") else []
        codes += ["3ds_not_configured"] if not identity.has_3ds else []
    return codes


def page_errors(order: Document, *, identity: Identity) -> list[str]:
    """Return the error codes of a hosted page."""
    codes = _common_errors(order, identity=identity)
    codes += [
        f"{name}_required" for name in ("success_url", "cancel_url", "failure_url") if not order.get(name)
    ]
    country = ((order.get("billing") or {}).get("address") or {}).get("country")
    codes += [] if country else ["billing_address_country_required"]
    return codes if order.get("amount") else [*codes, "amount_invalid"]


def passes_luhn(number: str) -> bool:
    """Return whether a card number has a valid check digit.

    >>> passes_luhn("4242424242424242"), passes_luhn("4242424242424241")
    (True, False)
    """
    digits = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(number))]
    return sum(digit - 9 * (digit > 9) for digit in digits) % 10 == 0  # noqa: PLR2004


def _card_errors(source: Document) -> list[str]:
    number, cvv = source.get("number"), source.get("cvv")
    if not number:
        return ["card_number_required"]
    checks = {
        "card_number_invalid": isinstance(number, str) and number.isdecimal() and passes_luhn(number),
        "card_expiry_month_invalid": _is_integer(source.get("expiry_month"), 1, MONTHS),
        "card_expiry_year_invalid": _is_integer(source.get("expiry_year"), YEAR, 10 * YEAR - 1),
        "cvv_invalid": cvv is None or _is_cvv(str(number), cvv),
        "address_invalid": _is_address(source.get("billing_address") or {}),
    }
    return [code for code, is_valid in checks.items() if not is_valid]


def _common_errors(order: Document, *, identity: Identity) -> list[str]:
    channel, currency = order.get("processing_channel_id"), order.get("currency")
    checks = {
        "currency_required": bool(currency),
        "currency_invalid": not currency or currency in identity.currencies,
        "amount_invalid": _is_amount(order.get("amount", 0), str(currency)),
        "processing_channel_id_required": bool(channel) or identity.is_bound,
        "processing_channel_id_invalid": not channel or channel == identity.channel,
        "reference_invalid": all(len(str(order.get(name) or "")) <= most for name, most in LONGEST.items()),
        "billing_descriptor_invalid": _is_descriptor(order.get("billing_descriptor")),
        "metadata_invalid": _is_metadata(order.get("metadata") or {}),
        "payment_ip_invalid": _is_ip_address(order.get("payment_ip")),
    }
    return [code for code, is_valid in checks.items() if not is_valid]


def _is_integer(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_amount(amount: Any, currency: str) -> bool:
    """Return whether an amount is accepted: in currencies of three decimals, the last digit must be 0."""
    if not _is_integer(amount, 0, tables.LARGEST_AMOUNT):
        return False
    return currency not in tables.THREE_DECIMALS or amount % 10 == 0


def _is_cvv(number: str, cvv: Any) -> bool:
    length = AMEX_CVV if number.startswith(("34", "37")) else CVV
    return isinstance(cvv, str) and cvv.isdecimal() and len(cvv) == length


def _is_address(address: Document) -> bool:
    country = address.get("country")
    return all(len(str(address.get(name) or "")) <= most for name, most in ADDRESS.items()) and (
        country is None or (isinstance(country, str) and len(country) == COUNTRY and country.isalpha())
    )


def _is_descriptor(descriptor: Document | None) -> bool:
    if descriptor is None:
        return True
    name, city = str(descriptor.get("name") or ""), str(descriptor.get("city") or "")
    return 0 < len(name) <= DESCRIPTOR_NAME and 0 < len(city) <= DESCRIPTOR_CITY


def _is_metadata(metadata: Document) -> bool:
    return len(metadata) <= METADATA_VALUES and all(
        isinstance(value, (str, int, float, bool)) and len(str(value)) <= METADATA_LENGTH
        for value in metadata.values()
    )


def _is_ip_address(address: Any) -> bool:
    try:
        return address is None or bool(ipaddress.ip_address(address))
    except ValueError:
        return False

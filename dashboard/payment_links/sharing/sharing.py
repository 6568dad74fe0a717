"""Texts to share a payment link with."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from kit.money.money import money
from payments.models import PaymentLink


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """What is copied or printed to share a link."""

    text: str
    whatsapp: str  # address that opens WhatsApp with the text
    host: str  # that payers compare with what their phone shows
    scheme: str  # of the address, with "://"
    address: str  # without its scheme


def sharing_of(link: PaymentLink) -> Sharing:
    text = share_text(link)
    parts = urlsplit(link.url)
    return Sharing(
        text=text,
        whatsapp=f"https://wa.me/?{urlencode({'text': text})}",
        host=parts.netloc,
        scheme=f"{parts.scheme}://",
        address=f"{parts.netloc}{parts.path}",
    )


def share_text(link: PaymentLink) -> str:
    """Return a message to payers: what is paid for, how much, to whom and where."""
    return f"{link.title}: {_amount(link)} to {link.business.name}. Pay here: {link.url}"


def _amount(link: PaymentLink) -> str:
    if link.amount_min is not None and link.amount_max is not None:
        least, most = money(link.amount_min, link.currency), money(link.amount_max, link.currency)
        return f"any amount between {least} and {most}"
    return link.amount_text

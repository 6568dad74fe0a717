"""What payers read when a link can't be paid, and what every page of a link shows of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models.functions import Coalesce
from django.templatetags.static import static
from django.utils.timezone import localtime

from kit.money.money import money, written
from kit.text.phone_numbers import digits_of
from merchants.models import Business
from payments.models import PaymentLink, Transaction
from payments.pages.ending import Ending
from payments.services.checkouts import checkouts

LIMITED = Ending("warning", "Too many payments were begun here", "Wait ten minutes, then try again.")
MOST_READ = 200  # pending payments, of which the first to end is named
LONGEST_PREVIEW = 140  # characters of the text that messengers show of a link
PREVIEW_IMAGE = "img/mark.svg"
BLOCKED = Ending("warning", "This link is not available", "Ask the person who sent it to you.")
OFF = Ending("warning", "This link is not active", "Ask the merchant for a new one.")
EXPIRED = Ending("warning", "This link has expired", "Ask the merchant for a new one.")
PAID = Ending("success", "This has been paid", "There is nothing more to do here.")
TAKEN = Ending("warning", "All places are taken", "Ask the merchant whether there will be more.")
NO_METHOD = Ending("warning", "Payments are not possible at the moment", "Try again in a few minutes.")


@dataclass(frozen=True, slots=True)
class NotPayable:
    """Why a link can't be paid, and the status of that answer."""

    ending: Ending
    status: int = HTTPStatus.GONE
    names_merchant: bool = True

    def context(self, link: PaymentLink) -> dict[str, Any]:
        return shown(link) if self.names_merchant else {}


def not_payable(link: PaymentLink, *, now: datetime) -> NotPayable | None:
    """Return why payers can't begin to pay at a link now, or None. Held uses may become free again."""
    if link.blocked_at is not None:
        return NotPayable(BLOCKED, names_merchant=False)
    status = link.status_at(now)
    if status == PaymentLink.Status.USED_UP:
        return NotPayable(PAID if link.max_uses == 1 else TAKEN)
    if status == PaymentLink.Status.INACTIVE:
        return NotPayable(OFF)
    return NotPayable(EXPIRED) if status == PaymentLink.Status.EXPIRED else None


def no_method(link: PaymentLink, total: int | None) -> dict[str, Any]:
    """Return the notice that a link has no method: not for this total, in minor units, or not at the moment."""
    why = "" if total is None else checkouts.why_no_method(link, total)
    if why:
        ending = Ending("warning", "This amount can't be paid here", why)
        return {"ending": ending, "status": HTTPStatus.CONFLICT}
    return {"ending": NO_METHOD, "status": HTTPStatus.SERVICE_UNAVAILABLE, "retry_after": 300}


def is_all_held(link: PaymentLink) -> bool:
    """Return whether every use that is left is held by a payment that isn't finished."""
    return link.uses_left is not None and link.uses_left <= 0


def all_held(link: PaymentLink, *, now: datetime) -> Ending:
    """Return the notice that others are paying, with the moment at which a use may become free."""
    pending = Transaction.objects.filter(payment_link=link, status=Transaction.Status.PENDING).order_by("-pk")
    deadlines = pending.annotate(end=Coalesce("session__expires_at", "expires_at")).filter(end__gt=now)
    ends = list(deadlines.values_list("end", flat=True)[:MOST_READ])
    again = f"Look again after {clock_time(min(ends), link)}." if ends else "Look again in a few minutes."
    return Ending("plain", "Others are paying at this moment.", again)


def clock_time(moment: datetime, link: PaymentLink) -> str:
    """Return a moment as hours and minutes in the zone of the merchant, which it names."""
    return f"{localtime(moment, link.business.zone):%H:%M} ({link.business.time_zone})"


def shown(link: PaymentLink) -> dict[str, Any]:
    """Return what every page of a link shows: the merchant, its colour and contact, and the host it is on."""
    return {
        "link": link,
        "merchant": link.business.name,
        "accent": link.business.accent_color.removeprefix("#"),
        "logo_id": link.business.logo_id,
        "contacts": list(contacts_of(link)),
        "host": urlsplit(settings.PUBLIC_URL).netloc,
        "is_sandbox": settings.SANDBOX,
        "preview_image": f"{settings.PUBLIC_URL}{static(PREVIEW_IMAGE)}",
        "masked_email": masked_email(link.customer_email),
        "preview_text": preview_text(link),
        "suggested": [written(each, link.currency) for each in link.suggested_amounts],
    }


def contacts_of(link: PaymentLink) -> Iterator[tuple[str, str]]:
    """Yield where payers ask the merchant: addresses with what is shown of them. Those of a link replace the business's."""
    if link.support_contact:
        yield "", link.support_contact
    else:
        yield from contacts_of_business(link.business)


def contacts_of_business(business: Business) -> Iterator[tuple[str, str]]:
    """Yield where payers ask a merchant: addresses with what is shown of them."""
    if business.support_email:
        yield f"mailto:{business.support_email}", business.support_email
    if business.support_phone:
        yield f"tel:{digits_of(business.support_phone)}", business.support_phone
    if business.support_url:
        yield business.support_url, business.support_url.removeprefix("https://").rstrip("/")


def preview_text(link: PaymentLink) -> str:
    """Return what messengers show of a link: its amount and description."""
    amount = link.amount_text or (
        f"{money(link.smallest_entered_amount, link.currency)} to {money(link.amount_max or 0, link.currency)}"
    )
    text = " ".join([f"{amount}.", *link.description.split()])
    return text if len(text) <= LONGEST_PREVIEW else f"{text[: LONGEST_PREVIEW - 1].rstrip()}…"


def masked_email(email: str) -> str:
    """Return an address of which only its owner recognises the rest.

    >>> masked_email("ada@example.com"), masked_email("")
    ('a•••@example.com', '')
    """
    name, _, host = email.partition("@")
    return f"{name[:1]}•••@{host}" if host else ""

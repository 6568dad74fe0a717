"""Where payers of a link go back to: the merchant's page, with what they paid or tried in its query."""

from collections.abc import Collection, Mapping
from urllib.parse import unquote_plus, urlencode

from payments.models import PaymentLink, Transaction

NAMES = ("reference", "id", "status", "payment_link_id", "payment_link_reference")


def return_address(link: PaymentLink, last: Transaction | None) -> str:
    """Return the merchant's page with the last attempt and the link in its query; empty if the link has none.

    It is no proof of payment. Replaces parameters of these names and keeps the others. Before the first attempt, it
    names the link only. A link with one use is an order's own: the merchant finds the order by the link's reference.
    """
    if not link.redirect_url:
        return ""
    ours = {"payment_link_id": str(link.pk)}
    if link.max_uses == 1:
        ours["payment_link_reference"] = link.reference
    if last is not None:
        ours = {"reference": last.reference, "id": str(last.pk), "status": last.status} | ours
    return with_parameters(link.redirect_url, ours, replacing=NAMES)


def with_parameters(address: str, ours: Mapping[str, str], *, replacing: Collection[str]) -> str:
    """Return an address with more parameters in its query. All others and the fragment stay byte for byte."""
    page, mark, fragment = address.partition("#")
    page, _, query = page.partition("?")
    kept = [part for part in query.split("&") if unquote_plus(part.partition("=")[0]) not in replacing]
    return f"{page}?{'&'.join([*(kept if query else []), urlencode(ours)])}{mark}{fragment}"

"""Where payers of a link go back to: the merchant's page, with what they paid or tried in its query."""

from urllib.parse import unquote_plus, urlencode, urlsplit, urlunsplit

from payments.models import PaymentLink, Transaction

NAMES = ("reference", "id", "status", "payment_link_id")


def return_address(link: PaymentLink, last: Transaction | None) -> str:
    """Return the merchant's page with the last attempt and the link in its query; empty if the link has none.

    It is no proof of payment. Replaces parameters of these names and keeps the others. Before the first attempt, it
    names the link only.
    """
    if not link.redirect_url:
        return ""
    parts = urlsplit(link.redirect_url)
    ours = {"payment_link_id": str(link.pk)}
    if last is not None:
        ours = {"reference": last.reference, "id": str(last.pk), "status": last.status} | ours
    kept = [
        part for part in parts.query.split("&") if part and unquote_plus(part.partition("=")[0]) not in NAMES
    ]
    return urlunsplit(parts._replace(query="&".join([*kept, urlencode(ours)])))

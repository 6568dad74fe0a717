"""The QR code of a payment link as a file, and its poster."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.memberships import Membership, members_page
from dashboard.payment_links.lookup import own_link
from dashboard.payment_links.sharing import qr_codes
from dashboard.payment_links.sharing.sharing import sharing_of
from dashboard.payment_links.sharing.shown_links import shown
from kit.db import clock
from payments.models import PaymentLink


@members_page
def qr_svg(_request: HttpRequest, membership: Membership, link_id: UUID) -> HttpResponse:
    link = own_link(membership, link_id)
    return _file(link, qr_codes.svg_file(link.url), content_type="image/svg+xml", ending="svg")


@members_page
def qr_png(_request: HttpRequest, membership: Membership, link_id: UUID) -> HttpResponse:
    link = own_link(membership, link_id)
    return _file(link, qr_codes.png_file(link.url), content_type="image/png", ending="png")


def _file(link: PaymentLink, content: bytes, *, content_type: str, ending: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="payment-link-{link.slug}.{ending}"'}
    return HttpResponse(content, content_type=content_type, headers=headers)


@members_page
def poster_page(request: HttpRequest, membership: Membership, link_id: UUID) -> HttpResponse:
    """Show the poster of a link, for printing on one page of A4."""
    link = own_link(membership, link_id)
    context = {
        "membership": membership,
        "link": link,
        "shown": shown(link, now=clock.now()),
        "sharing": sharing_of(link),
        "qr": qr_codes.inline_svg(link.url),
    }
    return render(request, "dashboard/payment_links/poster.html", context)

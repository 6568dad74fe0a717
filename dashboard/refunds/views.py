"""The page of a refund."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.memberships import Membership, members_page
from dashboard.refunds.detail import detail_of, find


@members_page
def refund_page(request: HttpRequest, membership: Membership, refund_id: UUID) -> HttpResponse:
    """Show a refund.

    :raises Http404: there is none, or it is another business's
    """
    refund = find(membership.business, refund_id)
    if refund is None:
        raise Http404
    context = {
        "membership": membership,
        "detail": detail_of(refund),
        "refund": refund,
        "payment": refund.transaction,
    }
    return render(request, "dashboard/refunds/refund.html", context)

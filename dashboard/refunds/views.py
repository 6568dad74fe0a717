"""The page of a refund."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from dashboard.memberships import Membership, members_page
from dashboard.refunds.detail import detail_of
from payments.models import CardOperation


@members_page
def refund_page(request: HttpRequest, membership: Membership, refund_id: UUID) -> HttpResponse:
    """Show a refund.

    :raises Http404: there is none, or it is another business's
    """
    refunds = CardOperation.objects.filter(business=membership.business, kind=CardOperation.Kind.REFUND)
    payments = ("transaction__business", "transaction__session__account")
    refund = get_object_or_404(refunds.select_related(*payments), pk=refund_id)
    context = {
        "membership": membership,
        "detail": detail_of(refund),
        "refund": refund,
        "payment": refund.transaction,
    }
    return render(request, "dashboard/refunds/refund.html", context)

"""The payer's page of a payment into a virtual account: account, amount and deadline, then the result.

It shows only what the payer already has. Its URL contains 74 random bits and is given to one payer.
"""

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from kit.db import clock
from merchants.people.access import Who, open_to
from payments.models import Transaction
from payments.pages.ending import Ending
from payments.pages.links.link_notices import contacts_of_business
from virtual_accounts.models import Session

OVER = Ending(
    "warning",
    "The time to pay is over",
    "Please do not send money to this account any more. If you already have, it may still be on its way. "
    "This page will show when it arrives.",
)
SENT_BACK = Ending(
    "danger",
    "Another amount arrived",
    "This payment did not go through. Your money is not lost: it is returned to your account.",
)
ENDINGS = {
    Session.Status.SUCCESS: Ending(
        "success", "Payment received", "Your transfer has arrived. There is nothing more to do here."
    ),
    Session.Status.MISMATCH: Ending(
        "danger",
        "Another amount arrived",
        "This payment did not go through. Your money is not lost. Ask the merchant to return it.",
    ),
    Session.Status.EXPIRED: Ending(
        "warning",
        "The time to pay is over",
        "No money arrived in time. Please do not send any to this account now. Start a new payment instead.",
    ),
    Session.Status.FAILED: Ending(
        "danger",
        "This payment was cancelled",
        "Please do not send money to this account. If you already have, ask the merchant about it.",
    ),
}


@open_to(Who.PAYER)
@never_cache
@require_safe
def transfer_page(request: HttpRequest, payment_id: UUID) -> HttpResponse:
    """Show the account to pay into until the deadline, then the result."""
    payment = get_object_or_404(Transaction.objects.select_related("business", "session"), pk=payment_id)
    session = payment.session
    if session is None:
        raise Http404  # not a transfer payment
    seconds_left = _seconds_left(session, now=clock.now())
    return render(
        request,
        "payments/transfer.html",
        {
            "payment": payment,
            "session": session,
            "merchant": payment.business.name,
            "seconds_left": seconds_left,
            "ending": None if seconds_left else _ending(session),
            "contacts": list(contacts_of_business(payment.business)),
            "page": request.path,
            "is_sandbox": settings.SANDBOX,
        },
    )


def _ending(session: Session) -> Ending:
    return SENT_BACK if session.is_sent_back else ENDINGS.get(Session.Status(session.status), OVER)


def _seconds_left(session: Session, *, now: datetime) -> int:
    """Return the seconds left to pay, rounded up, or 0 if it is too late."""
    if session.status != Session.Status.PENDING or session.expires_at <= now:
        return 0
    return int((session.expires_at - now).total_seconds()) + 1

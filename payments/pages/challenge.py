"""The payer's 3-D Secure page, which needs neither JavaScript nor cookies.

The URL is the payer's credential: it contains 192 random bits for one payment. There is no session, so no CSRF
protection is needed.
"""

import math
import re
from datetime import datetime

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt  # noqa: TID251  (no session; the URL's token authenticates)

from kit.db import clock
from kit.text.display_names import pasted
from merchants.people.access import NO_ACCOUNT, Limit, Who, open_to
from payments.models import Challenge, Transaction, Transition
from payments.pages.ending import Ending
from payments.pages.payer_requests import SeeOther, is_browser
from payments.pages.return_addresses import with_parameters
from payments.rails.protocol import ActionKind
from payments.rules import outcomes, sandbox_triggers
from payments.services.cards import challenges

TOKEN = re.compile(r"[A-Za-z0-9_-]{1,43}\Z")
# In the query of this page after a POST: why the form was refused, or that the payer goes on to the merchant.
REFUSED, WRONG_CODE, NOT_CHECKED, ANSWERED = "refused", "wrong-code", "not-checked", "answered"


PAID = Ending("success", "Payment approved", "You have paid. There is nothing more to do here.")
RESERVED = Ending("success", "Payment approved", "The amount is reserved on your card.")
UNDER_WAY = Ending("plain", "Payment in progress", "Your bank is still processing this payment.")
DECLINED = Ending("plain", "Your bank declined this card", "No money has left your card.")
NOT_CONFIRMED = Ending("plain", "This payment was not confirmed", "No money has left your card.")
CANCELLED = Ending("plain", "This payment was cancelled", "No money has left your card.")
EXPIRED = Ending(
    "warning", "This page has expired", "The time to confirm has run out. No money has left your card."
)

ENDINGS = {
    Transaction.Awaiting.RAIL: UNDER_WAY,
    Transaction.Awaiting.REVERSAL: UNDER_WAY,
    Transaction.Awaiting.CAPTURE: RESERVED,
    Transaction.Awaiting.PAYER: EXPIRED,  # overdue, but not expired yet
}


# By response code. All others are declines.
FAILURES = {
    outcomes.AUTHENTICATION_FAILED.code: NOT_CONFIRMED,
    outcomes.VOIDED.code: CANCELLED,
    outcomes.CANCELLED.code: CANCELLED,
}


@open_to(
    Who.PAYER,
    writers=Who.PAYER,
    action="enter the code, or decline",
    never_asks=NO_ACCOUNT,
    limits=(Limit.CHALLENGE,),
)
@method_decorator([csrf_exempt, never_cache], name="dispatch")
class ChallengePage(View):
    """Show the merchant and the amount, accept the payer's code or refusal, and redirect back."""

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        return _page(request, _find(token))

    # Every answer is a redirect, so that a browser keeps no POST in its history.
    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        challenge = _find(token)
        now = clock.now()
        try:
            if request.POST.get("action") == "decline":
                payment = challenges.decline(challenge=challenge, now=now)
            else:
                code = "".join(pasted(request.POST.get("code", "")).split())
                payment = challenges.answer(
                    challenge=challenge, kind=ActionKind.OTP, value={ActionKind.OTP: code}, now=now
                )
        except challenges.WrongInput:
            return SeeOther(f"{request.path}?{REFUSED}={WRONG_CODE}")
        except challenges.NotSent:
            return SeeOther(f"{request.path}?{REFUSED}={NOT_CHECKED}")
        except challenges.ChallengeClosed:
            return SeeOther(request.path)
        if payment.payment_link_id is None and is_browser(request):
            return SeeOther(f"{request.path}?{ANSWERED}")
        return SeeOther(return_address(payment))


def return_address(payment: Transaction) -> str:
    """Return the merchant's redirect_url with reference, id and status in the query. Not a proof of payment.

    Replaces existing parameters with these names and leaves the others unchanged.
    """
    ours = {"reference": payment.reference, "id": str(payment.pk), "status": payment.status}
    return with_parameters(payment.redirect_url, ours, replacing=ours)


def _find(token: str) -> Challenge:
    if not TOKEN.match(token):
        raise Http404
    return get_object_or_404(Challenge.objects.select_related("transaction__business"), token=token)


def _page(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    payment = challenge.transaction
    minutes_left = _minutes_left(payment, now=clock.now())
    refused = request.GET.get(REFUSED)
    return render(
        request,
        "payments/challenge.html",
        {
            "payment": payment,
            "merchant": payment.business.name,
            "return_address": return_address(payment),
            "is_wrong": refused == WRONG_CODE and challenge.wrong_codes > 0,
            "is_silent": refused == NOT_CHECKED,
            "returns": ANSWERED in request.GET,
            "tries_left": challenge.tries_left,
            "minutes_left": minutes_left,
            "ending": None if minutes_left else _ending(payment),
            "sandbox_code": sandbox_triggers.ONE_TIME_CODE if settings.SANDBOX else "",
        },
    )


def _minutes_left(payment: Transaction, *, now: datetime) -> int:
    """Return the minutes left to answer, rounded up, or 0 if it is too late."""
    if payment.awaiting != Transaction.Awaiting.PAYER or payment.expires_at is None:
        return 0
    return max(math.ceil((payment.expires_at - now).total_seconds() / 60), 0)


def _ending(payment: Transaction) -> Ending:
    if payment.is_pending:
        return ENDINGS[Transaction.Awaiting(payment.awaiting)]
    if payment.status == Transaction.Status.SUCCESS:
        return PAID
    ran_out = payment.transitions.filter(attribute="status", cause=Transition.Cause.EXPIRY).exists()
    return EXPIRED if ran_out else FAILURES.get(payment.response_code, DECLINED)

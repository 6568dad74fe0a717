"""The payer's 3-D Secure page, which needs neither JavaScript nor cookies.

The URL is the payer's credential: it contains 192 random bits for one payment. There is no session, so no CSRF
protection is needed.
"""

import math
import re
from datetime import datetime
from urllib.parse import unquote_plus, urlencode, urlsplit, urlunsplit

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt  # noqa: TID251  (no session; the URL's token authenticates)

from kit.db import clock
from payments import outcomes, sandbox_triggers
from payments.models import Challenge, Transaction, Transition
from payments.pages.ending import Ending
from payments.services.cards import challenges

TOKEN = re.compile(r"[A-Za-z0-9_-]{1,43}\Z")


class ReturnToMerchant(HttpResponseRedirect):
    """303 See Other, so that the browser doesn't post the payer's answer to the merchant."""

    status_code = 303


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


@method_decorator([csrf_exempt, never_cache], name="dispatch")
class ChallengePage(View):
    """Show the merchant and the amount, accept the payer's code or refusal, and redirect back."""

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        return _page(request, _find(token))

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        challenge = _find(token)
        now = clock.now()
        try:
            if request.POST.get("action") == "decline":
                payment = challenges.decline(challenge=challenge, now=now)
            else:
                code = "".join(request.POST.get("code", "").split())
                payment = challenges.approve(challenge=challenge, code=code, now=now)
        except challenges.WrongCode:
            return _page(request, challenge, is_wrong=True)
        except challenges.CodeNotChecked:
            return _page(request, challenge, is_silent=True)
        except challenges.ChallengeClosed:
            return _page(request, _find(token))
        return ReturnToMerchant(return_address(payment))


def return_address(payment: Transaction) -> str:
    """Return the merchant's redirect_url with reference, id and status in the query. Not a proof of payment.

    Replaces existing parameters with these names and leaves the others unchanged.
    """
    parts = urlsplit(payment.redirect_url)
    ours = {"reference": payment.reference, "id": payment.pk, "status": payment.status}
    kept = [part for part in parts.query.split("&") if unquote_plus(part.partition("=")[0]) not in ours]
    query = "&".join([*kept, urlencode(ours)]) if parts.query else urlencode(ours)
    return urlunsplit(parts._replace(query=query))


def _find(token: str) -> Challenge:
    if not TOKEN.match(token):
        raise Http404
    return get_object_or_404(Challenge.objects.select_related("transaction__business"), token=token)


def _page(
    request: HttpRequest, challenge: Challenge, *, is_wrong: bool = False, is_silent: bool = False
) -> HttpResponse:
    payment = challenge.transaction
    minutes_left = _minutes_left(payment, now=clock.now())
    response = render(
        request,
        "payments/challenge.html",
        {
            "payment": payment,
            "merchant": payment.business.name,
            "return_address": return_address(payment),
            "is_wrong": is_wrong,
            "is_silent": is_silent,
            "tries_left": challenge.tries_left,
            "minutes_left": minutes_left,
            "ending": None if minutes_left else _ending(payment),
            "sandbox_code": sandbox_triggers.ONE_TIME_CODE if settings.SANDBOX else "",
        },
    )
    # form-action also limits redirects after the form is submitted. Merchants may redirect on to other hosts, so
    # allow the scheme and not only the origin. A payment of a link returns through our own checkout.
    last = payment.redirect_url if payment.payment_link is None else payment.payment_link.redirect_url
    response.headers["X-Form-Action"] = f"{urlsplit(last).scheme}:" if last else ""
    return response


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

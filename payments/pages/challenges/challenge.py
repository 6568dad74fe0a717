"""The payer's page of a payment that waits for 3-D Secure, which needs neither JavaScript nor cookies.

It sends the payer on to the provider's page, or asks for an input. The URL is the payer's credential: it contains 192
secret bits for one payment. There is no session, so no CSRF protection is needed.
"""

import math
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt  # noqa: TID251  (no session; the URL's token authenticates)
from django.views.decorators.debug import sensitive_post_parameters

from kit.db import clock
from kit.text.plurals import counted
from merchants.people.access import NO_ACCOUNT, Limit, Who, open_to
from payments.models import Challenge, Transaction, Transition
from payments.pages.challenges.payer_inputs import FORMS, read_input, shown_fields
from payments.pages.decline_reasons import BY_THE_BANK, IS_GIVEN_BACK
from payments.pages.ending import Ending
from payments.pages.links.return_addresses import with_parameters
from payments.pages.payer_requests import SeeOther, is_browser
from payments.pages.refused_forms import REFUSED, refuse, refused_form
from payments.rails.protocol import ActionKind
from payments.rules import outcomes, sandbox_triggers
from payments.services.cards import challenges
from payments.services.transactions.intents import challenge_ends

TOKEN = re.compile(r"[A-Za-z0-9_-]{1,43}\Z")
# In the query of this page after a POST: why the form was refused, or that the payer goes on, to the merchant or to the
# provider. A page leads there, because browsers hold form-action against every redirect after a form.
RETURN_DECIDES_WITHIN = timedelta(seconds=10)  # the page of a return looks for the outcome so long
WRONG_CODE, NOT_CHECKED, ANSWERED, ONWARD = "wrong-code", "not-checked", "answered", "onward"


PAID = Ending("success", "Payment approved", "You have paid. There is nothing more to do here.")
RESERVED = Ending("success", "Payment approved", "The amount is reserved on your card.")
UNDER_WAY = Ending("plain", "Payment in progress", "Your bank is still processing this payment.")
UNDECIDED = Ending(
    "plain", "Payment in progress", "Your bank has not decided yet. Ask your bank before you pay again."
)
DECLINED = Ending("plain", "Your bank declined this card", "No money has left your card.")
NOT_CONFIRMED = Ending("plain", "This payment was not confirmed", "No money has left your card.")
CANCELLED = Ending("plain", "This payment was cancelled", "No money has left your card.")
EXPIRED = Ending(
    "warning", "This page has expired", "The time to confirm has run out. No money has left your card."
)

NOT_MADE = "This payment was not made"
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
        challenge = find(token)
        is_shown = ONWARD in request.GET or ANSWERED in request.GET
        if challenge.kind == ActionKind.REDIRECT and not is_shown and _may_be_redirected(challenge):
            return SeeOther(challenge.url)
        return _page(request, challenge)

    # Every answer is a redirect, so that a browser keeps no POST in its history.
    @method_decorator(sensitive_post_parameters())
    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        challenge = find(token)
        try:
            if request.POST.get("action") == "decline":
                return answered(request, token, challenges.decline(challenge=challenge, now=clock.now()))
            return _enter(request, challenge)
        except challenges.WrongInput:
            return SeeOther(f"{request.path}?{REFUSED}={WRONG_CODE}")
        except challenges.NotSent:
            return SeeOther(f"{request.path}?{REFUSED}={NOT_CHECKED}")
        except challenges.ChallengeClosed:
            return SeeOther(request.path)


def _enter(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    """Send the payer's input, and lead the payer to what follows.

    :raises ChallengeClosed: the form is of another input than the one that is awaited
    """
    kind = challenge.kind
    if kind not in FORMS or request.POST.get("kind", ActionKind.OTP) != kind:
        raise challenges.ChallengeClosed
    entered = read_input(ActionKind(kind), request.POST)
    if entered.errors:
        return refuse(request.path, entries=entered.entries, errors=entered.errors)
    payment = challenges.answer(
        challenge=challenge, kind=ActionKind(kind), value=entered.value, now=clock.now()
    )
    if payment.awaiting == Transaction.Awaiting.PAYER:  # for another action
        return SeeOther(f"{request.path}?{ONWARD}" if is_browser(request) else request.path)
    return answered(request, challenge.token, payment)


def answered(request: HttpRequest, token: str, payment: Transaction) -> HttpResponse:
    """Lead the payer to the merchant: a browser by a page of ours, the payer of a link back to its checkout."""
    if payment.payment_link_id is None and is_browser(request):
        return SeeOther(f"{reverse('challenge', args=[token])}?{ANSWERED}")
    return SeeOther(return_address(payment))


def return_address(payment: Transaction) -> str:
    """Return the merchant's redirect_url with reference, id and status in the query. Not a proof of payment.

    Replaces existing parameters with these names and leaves the others unchanged.
    """
    ours = {"reference": payment.reference, "id": str(payment.pk), "status": payment.status}
    return with_parameters(payment.redirect_url, ours, replacing=ours)


def find(token: str) -> Challenge:
    if not TOKEN.match(token):
        raise Http404
    return get_object_or_404(Challenge.objects.select_related("transaction__business"), token=token)


def _page(request: HttpRequest, challenge: Challenge) -> HttpResponse:
    payment, minutes_left = challenge.transaction, _minutes_left(challenge)
    context = {
        "payment": payment,
        "merchant": payment.business.name,
        "return_address": return_address(payment),
        "returns": ANSWERED in request.GET,
    }
    if not minutes_left:
        context["ending"] = _ending(challenge)
    elif challenge.kind == ActionKind.REDIRECT:
        context["onward"] = request.path
    else:
        context |= _form(request, challenge, minutes_left)
    return render(request, "payments/challenge.html", context)


def _form(request: HttpRequest, challenge: Challenge, minutes_left: int) -> dict[str, Any]:
    kind, refused = ActionKind(challenge.kind), request.GET.get(REFUSED)
    is_wrong = refused == WRONG_CODE and challenge.wrong_codes > 0
    entries, errors = refused_form(request) or ({}, {})
    form = FORMS[kind]
    if is_wrong:
        left = counted(challenge.tries_left, "attempt")
        errors = {form.fields[0].name: f"{form.wrong} You have {left} left."}
    return {
        "fields": shown_fields(kind, entries=entries, errors=errors, minutes_left=minutes_left),
        "kind": kind,
        "prompt": challenge.prompt,
        "button": form.button,
        "has_errors": bool(errors),
        "is_silent": refused == NOT_CHECKED,
        "sandbox_code": sandbox_triggers.ONE_TIME_CODE if settings.SANDBOX and kind == ActionKind.OTP else "",
    }


def _minutes_left(challenge: Challenge) -> int:
    """Return the minutes left to act, rounded up, or 0 if it is too late."""
    payment = challenge.transaction
    if payment.awaiting != Transaction.Awaiting.PAYER or payment.expires_at is None:
        return 0
    return max(math.ceil((payment.expires_at - clock.now()).total_seconds() / 60), 0)


def _may_be_redirected(challenge: Challenge) -> bool:
    """Return whether the payer may go to the provider's page: also again, if a return there left the outcome open.

    The address of the return may be visited before the payer has been at the provider.
    """
    if _minutes_left(challenge):
        return True
    is_open = challenge.transaction.awaiting == Transaction.Awaiting.RAIL and challenge.closed_at is None
    now, returned_at = clock.now(), challenge.passed_at
    if not is_open or returned_at is None or now >= challenge_ends(challenge.created_at):
        return False
    return now - returned_at >= RETURN_DECIDES_WITHIN


def _ending(challenge: Challenge) -> Ending:
    payment = challenge.transaction
    if payment.awaiting == Transaction.Awaiting.RAIL and challenge.has_made_every_action:
        return UNDECIDED
    if payment.is_pending:
        return ENDINGS[Transaction.Awaiting(payment.awaiting)]
    if payment.status == Transaction.Status.SUCCESS:
        return PAID
    ran_out = payment.transitions.filter(attribute="status", cause=Transition.Cause.EXPIRY).exists()
    failed = EXPIRED if ran_out else FAILURES.get(payment.response_code, DECLINED)
    if not payment.watches.may_be_charged().exists():
        return failed
    # Money may have left all the same, and the refusal may not be the bank's.
    is_by_the_bank = failed is not DECLINED or payment.response_code in BY_THE_BANK
    return replace(failed, heading=failed.heading if is_by_the_bank else NOT_MADE, text=IS_GIVEN_BACK)

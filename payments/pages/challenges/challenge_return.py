"""Where payers come back to from the page of a provider or bank.

What the address says about the outcome counts for nothing: the acquirer is queried. The page looks again every two
seconds, for ten seconds in all. Then the payer goes on to the merchant, with the status `pending` if need be.
"""

from contextlib import suppress

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from kit.db import clock
from payments.models import Challenge, Transaction
from payments.pages.challenges.challenge import RETURN_DECIDES_WITHIN, answered, find
from payments.pages.payer_requests import SeeOther, payer_page, payer_view, unknown_address
from payments.services.cards import challenges
from payments.services.rails import requery
from payments.services.transactions.intents import find as find_transaction

UNANSWERED = {Transaction.Awaiting.RAIL, Transaction.Awaiting.REVERSAL}


@payer_view
@require_GET
@payer_page
def return_page(request: HttpRequest, token: str) -> HttpResponse:
    """Query the outcome, and show it or look again."""
    try:
        challenge = find(token)
    except Http404:
        return unknown_address(request)
    with suppress(challenges.ChallengeClosed):
        challenge.transaction = challenges.come_back(challenge=challenge, now=clock.now())
    payment = challenge.transaction
    if payment.awaiting == Transaction.Awaiting.RAIL and _looks(challenge):
        requery.query_for_payer(payment)
        payment = find_transaction(payment.pk)
    if payment.awaiting == Transaction.Awaiting.PAYER and payment.has_unknown_card:
        return answered(request, token, payment)  # not paid yet: the payer may go back, or pay another way
    if payment.awaiting == Transaction.Awaiting.PAYER:  # another action
        return SeeOther(reverse("challenge", args=[token]))
    if payment.awaiting in UNANSWERED and _looks(challenge):
        return render(
            request, "payments/challenge_return.html", {"payment": payment, "merchant": payment.business.name}
        )
    return answered(request, token, payment)


def _looks(challenge: Challenge) -> bool:
    """Return whether the payer came back just now, so that the page looks for the outcome."""
    return challenge.passed_at is not None and clock.now() - challenge.passed_at < RETURN_DECIDES_WITHIN

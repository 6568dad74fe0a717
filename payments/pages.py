"""The payer's 3-D Secure page. It works without JavaScript and without cookies.

The address itself is the payer's credential: 192 random bits, made for one payment. So there is no session
that another site could abuse, and nothing for a CSRF token to protect.
"""

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from payments.models import Challenge, Transaction
from payments.services import challenges


class ReturnToMerchant(HttpResponseRedirect):
    """See Other, also to a merchant's own scheme and port."""

    status_code = 303


@method_decorator(csrf_exempt, name="dispatch")
class ChallengePage(View):
    """Show who asks for how much; take the payer's code or refusal; send the payer back."""

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        return self._page(request, _find(token))

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        challenge = _find(token)
        now = timezone.now()
        try:
            if request.POST.get("action") == "decline":
                payment = challenges.decline(challenge=challenge, now=now)
            else:
                code = "".join(request.POST.get("code", "").split())
                payment = challenges.approve(challenge=challenge, code=code, now=now)
        except challenges.WrongCode:
            return self._page(request, challenge, status=422)
        except challenges.ChallengeOver:
            return self._page(request, _find(token))
        return ReturnToMerchant(return_address(payment))

    def _page(self, request: HttpRequest, challenge: Challenge, *, status: int = 200) -> HttpResponse:
        payment = challenge.transaction
        expires_at = payment.expires_at
        is_open = payment.awaiting == Transaction.Awaiting.PAYER and expires_at is not None
        is_late = is_open and expires_at is not None and expires_at <= timezone.now()
        response = render(
            request,
            "payments/challenge.html",
            {
                "challenge": challenge,
                "payment": payment,
                "is_open": is_open and not is_late,
                "is_wrong": status != 200,  # noqa: PLR2004
                "return_address": return_address(payment),
            },
            status=status,
        )
        # A form's answer may redirect only to where form-action allows.
        response.headers["X-Form-Action"] = _origin(payment.redirect_url)
        return response


def _find(token: str) -> Challenge:
    return get_object_or_404(Challenge.objects.select_related("transaction__business"), token=token)


def return_address(payment: Transaction) -> str:
    """Return the merchant's redirect_url with reference, id and status added. No proof of payment."""
    parts = urlsplit(payment.redirect_url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    query += [("reference", payment.reference), ("id", str(payment.pk)), ("status", payment.status)]
    return urlunsplit(parts._replace(query=urlencode(query)))


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"

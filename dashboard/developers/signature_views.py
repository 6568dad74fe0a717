"""The signature checker. Pasted requests aren't stored."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters

from dashboard.developers.forms import SignatureForm
from dashboard.developers.signature_checker import Pasted, Report, check, read_headers
from dashboard.memberships import Membership, members_form
from merchants.api.signed_headers import HEADERS
from merchants.models import ApiKey, Business, Nonce
from merchants.people.roles import Permission


@sensitive_post_parameters("secret", "body")
@members_form("check a signature", may=Permission.VIEW, never_asks="it only checks a signature")
def signature_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = SignatureForm(request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {
        "membership": membership,
        "form": form,
        "guide": reverse("guide", args=["signing"]),
    }
    if request.method == "POST" and form.is_valid():
        context["report"] = _report(membership.business, form.cleaned_data)
    return render(request, "dashboard/developers/signature.html", context)


def _report(business: Business, given: dict[str, str]) -> Report:
    now = timezone.now()
    pasted = Pasted(
        method=given["method"],
        target=given["target"],
        body=given["body"].replace("\r\n", "\n"),  # browsers submit line feeds as CR LF
        headers=read_headers(given["headers"]),
    )
    public_id = pasted.header("X-Api-Key")
    key: ApiKey | None = (
        ApiKey.objects.usable(at=now)
        .select_related("business")
        .filter(business=business, public_id=public_id)
        .first()
        if HEADERS["X-Api-Key"].match(public_id)
        else None
    )
    nonce = pasted.header("X-Nonce")
    was_used = (
        key is not None
        and bool(HEADERS["X-Nonce"].match(nonce))
        and Nonce.objects.filter(api_key=key, nonce=nonce).exists()
    )
    return check(
        pasted,
        key=key,
        given_secret=given["secret"],
        nonce_was_used=was_used,
        tolerance=settings.SIGNATURE_TOLERANCE,
        now=now,
    )

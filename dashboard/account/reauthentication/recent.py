"""Recent reauthentication: a session lasts a working day, and screens are left unattended sooner.

Views declare whether they require it, and `config.access_middleware` enforces that: when a page with a form is opened, and
when the form is submitted. A form that was open for longer is refused, and shown again with a button: it is never submitted
without the user pressing that button.
"""

import time
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import get_authentication_records
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers

from dashboard.account.reauthentication.form_summary import summary
from dashboard.account.reauthentication.refused_forms import refused_form
from dashboard.memberships import SAFE_METHODS, find_membership
from merchants.models import User


def is_recent(request: HttpRequest) -> bool:
    """Return whether the user entered a password or second factor in this session recently, sign-in included."""
    records = get_authentication_records(request, request.user)
    moments = [record["at"] for record in records]
    return bool(moments) and time.time() - max(moments) < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT


def require_reauthentication(request: HttpRequest, user: User, *, action: str) -> HttpResponse:
    """Redirect to the confirmation page, or refuse a submitted form and show it again."""
    methods = get_adapter().get_reauthentication_methods(user)
    if not methods:
        messages.warning(request, "Set a password first. You'll need it to confirm your identity.")
        return redirect("account_reset_password")
    confirmation = methods[0]["url"]
    if request.method != "POST":  # no form has another unsafe method
        then = request.get_full_path() if request.method in SAFE_METHODS else reverse("overview")
        return redirect(f"{confirmation}?{urlencode({'next': then})}")
    # The form names the selected business, so that it can't act in another one.
    request.membership = find_membership(request, user)  # type: ignore[attr-defined]
    form = refused_form(request, action=action)
    context = {
        "form": form,
        "summary": summary(request, form),
        "confirmation": f"{confirmation}?{urlencode({'next': reverse('confirmed')})}",
    }
    refusal = render(request, "account/refused_form.html", context)
    add_never_cache_headers(refusal)
    return refusal

"""Require recent reauthentication, in the dashboard and the administration."""

from collections.abc import Callable
from typing import Any

from allauth.core.exceptions import ReauthenticationRequired
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from config.access_rules import Asks, declared
from config.middleware import MACHINES
from dashboard.account.kept_forms import drop_kept_form, is_recent, require_reauthentication
from dashboard.memberships import (
    SAFE_METHODS,
    find_membership,
    is_form_of_another_business,
    refuse_form,
)
from merchants.models import User
from merchants.roles import Permission

SIGNED_IN_PATHS = ("/dashboard/", "/admin/")  # only signed-in users may change anything below these


class RecentReauthentication:
    """Ask for recent reauthentication before the view runs, as `config.access_rules` declares.

    An undeclared address asks for every method except GET, HEAD and OPTIONS. This middleware comes after the CSRF
    protection, so that a form posted by another site is never kept.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view: Any,
        args: Any,
        kwargs: Any,
    ) -> HttpResponse | None:
        if request.path.startswith(MACHINES):
            return None
        address = declared(request)
        asks = address.asks if address else Asks.TO_ACT
        is_act = request.method not in SAFE_METHODS
        if asks == Asks.NEVER or not (is_act or asks == Asks.ALWAYS):
            return None
        if not isinstance(request.user, User):
            is_unknown = address is None and request.path.startswith(SIGNED_IN_PATHS)
            return redirect("sign-in") if is_unknown else None  # the view redirects to sign-in, or is public
        if not is_recent(request):
            if is_act and address and isinstance(address.writers, Permission):
                membership = find_membership(request, request.user)
                if membership and is_form_of_another_business(request, membership):
                    return refuse_form(request, membership)  # don't ask for a password first
            return require_reauthentication(request, action=address.action if address else "")
        if is_act:
            drop_kept_form(request)
        return None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Ask where allauth's own views require it. allauth would repeat the request without confirmation."""
        if not isinstance(exception, ReauthenticationRequired) or not isinstance(request.user, User):
            return None
        address = declared(request)
        return require_reauthentication(request, action=address.action if address else "")

"""The one place that asks for recent reauthentication, in the dashboard and the administration alike."""

from collections.abc import Callable
from typing import Any

from allauth.core.exceptions import ReauthenticationRequired
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from config.addresses import Asks, declared
from config.middleware import MACHINES
from dashboard.reauthentication import SAFE_METHODS, ask, drop_kept_form, is_recent
from merchants.models import User

PEOPLES = ("/dashboard/", "/admin/")  # addresses that only people who are signed in change something at


class RecentReauthentication:
    """Ask before any view runs: an address that `config.addresses` does not declare asks whoever changes something.

    It comes after the protection against forged forms, so that what another site posts is never kept.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self,
        request: HttpRequest,
        view: Any,  # noqa: ARG002
        args: Any,  # noqa: ARG002
        kwargs: Any,  # noqa: ARG002
    ) -> HttpResponse | None:
        if request.path.startswith(MACHINES):
            return None
        address = declared(request)
        asks = address.asks if address else Asks.TO_ACT
        is_act = request.method not in SAFE_METHODS
        if asks == Asks.NEVER or not (is_act or asks == Asks.ALWAYS):
            return None
        if not isinstance(request.user, User):
            is_unknown = address is None and request.path.startswith(PEOPLES)
            return redirect("sign-in") if is_unknown else None  # the view sends them there, or is open
        if not is_recent(request):
            return ask(request, act=address.act if address else "")
        if is_act:
            drop_kept_form(request)
        return None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Ask where allauth's own pages want it. allauth would repeat the request without asking the person."""
        if not isinstance(exception, ReauthenticationRequired) or not isinstance(request.user, User):
            return None
        address = declared(request)
        return ask(request, act=address.act if address else "")

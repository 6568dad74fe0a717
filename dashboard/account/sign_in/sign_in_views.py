"""Sign-in and sign-out pages."""

from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from dashboard.account import audit
from dashboard.account.forms import SignInForm
from dashboard.account.safe_redirect import safe_path
from dashboard.account.sign_in.passwords import SignInRefused, sign_in
from merchants.models import User
from merchants.people.access import ENDS_SESSION, SIGNS_IN, Limit, Who, open_to
from merchants.people.attempt_limits import LimitReached


@open_to(Who.PUBLIC, writers=Who.PUBLIC, action="sign in", never_asks=SIGNS_IN, limits=(Limit.SIGN_IN,))
@method_decorator([sensitive_post_parameters("password"), never_cache], name="dispatch")
class SignInPage(View):
    """Ask for email address and password, then redirect to the requested page."""

    def get(self, request: HttpRequest) -> HttpResponse:
        if isinstance(request.user, User):
            return redirect(safe_path(request.GET.get("next", "")))
        return _sign_in_page(request)

    def post(self, request: HttpRequest) -> HttpResponse:
        form = SignInForm(request.POST)
        form.is_valid()  # malformed input counts as a failed attempt like any other
        now = timezone.now()
        try:
            return sign_in(
                request,
                email=form.cleaned_data.get("email", ""),
                password=form.cleaned_data.get("password", ""),
                next_path=safe_path(request.POST.get("next", "")),
                now=now,
            )
        except SignInRefused:
            return _sign_in_page(request, is_refused=True)
        except LimitReached as limit:
            return _try_later(request, limit, now=now)


def _sign_in_page(
    request: HttpRequest, *, status: HTTPStatus = HTTPStatus.OK, **context: Any
) -> HttpResponse:
    query = request.POST if request.method == "POST" else request.GET
    context |= {
        "email": request.POST.get("email", ""),
        "next": query.get("next", ""),
        "is_sandbox": settings.SANDBOX,
    }
    return render(request, "dashboard/sign_in.html", context, status=status)


def _try_later(request: HttpRequest, limit: LimitReached, *, now: datetime) -> HttpResponse:
    seconds = limit.retry_after_seconds(now)
    page = _sign_in_page(
        request,
        status=HTTPStatus.TOO_MANY_REQUESTS,
        retry_at=limit.retry_at,
        minutes=-(-seconds // 60),
    )
    page.headers["Retry-After"] = str(seconds)
    return page


@open_to(None, writers=Who.PUBLIC, action="sign out", never_asks=ENDS_SESSION)
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    if isinstance(request.user, User):
        audit.record(request, "session.signed_out", user=request.user, now=timezone.now())
    logout(request)
    return redirect("sign-in")

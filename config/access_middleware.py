"""Enforce the access rules of views: no view without one, and recent reauthentication."""

from typing import Any

from allauth.core.exceptions import ReauthenticationRequired
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from config.middleware import MACHINES
from dashboard.account.reauthentication.recent import is_recent, require_reauthentication
from dashboard.memberships import (
    SAFE_METHODS,
    find_membership,
    is_form_of_another_business,
    refuse_form,
)
from merchants.models import User
from merchants.people.access import AccessRule, Asks, rule_of
from merchants.people.roles import Permission


class AccessRules(LoginRequiredMiddleware):
    """Refuse a view without a rule, and ask for recent reauthentication before a view whose rule asks for it.

    A view enforces the rest of its rule. This middleware comes after the CSRF protection, so that a form posted by
    another site is never shown.
    """

    def process_view(
        self, request: HttpRequest, view_func: Any, view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        rule = rule_of(view_func)
        if rule is None:
            return self._refuse(request, view_func, view_args, view_kwargs)
        is_act = request.method not in SAFE_METHODS
        if request.path.startswith(MACHINES) or not (
            rule.asks == Asks.ALWAYS or (is_act and rule.asks == Asks.TO_ACT)
        ):
            return None
        if not isinstance(request.user, User):
            return None  # the view redirects to sign-in, or is public
        return None if is_recent(request) else self._ask(request, request.user, rule, is_act=is_act)

    def _refuse(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponseBase:
        """Redirect to sign-in, as Django does by default, and refuse signed-in users too."""
        asked = (
            None if request.path.startswith(MACHINES) else super().process_view(request, view, args, kwargs)
        )
        if asked is None:
            raise PermissionDenied
        return asked

    def _ask(self, request: HttpRequest, user: User, rule: AccessRule, *, is_act: bool) -> HttpResponse:
        if is_act and isinstance(rule.writers, Permission):
            membership = find_membership(request, user)
            if membership and is_form_of_another_business(request, membership):
                return refuse_form(request, membership)  # don't ask for a password first
        return require_reauthentication(request, user, action=rule.action)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Ask where allauth's own views require it. allauth would repeat the request without confirmation."""
        if not isinstance(exception, ReauthenticationRequired) or not isinstance(request.user, User):
            return None
        match = request.resolver_match
        rule = rule_of(match.func) if match else None
        return require_reauthentication(request, request.user, action=rule.action if rule else "")

"""The administration, behind the same door as the dashboard and the same second factor."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models.base import ModelBase
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from dashboard.own_path import is_own_path
from dashboard.second_factor import must_set_up
from merchants.models import User


class Site(admin.AdminSite):
    """Django's, but for who comes in and how."""

    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:  # noqa: ARG002
        wanted = request.GET.get("next", "")
        there = wanted if is_own_path(wanted) else reverse("admin:index")
        if isinstance(request.user, User):
            # Signed in, and sent here all the same: not one of our staff.
            return redirect(there if self.has_permission(request) else "overview")
        return redirect(f"{reverse('sign-in')}?{urlencode({'next': there})}")

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Leave out allauth's own tables: whoever edits a second factor there opens somebody's account."""
        models = [model_or_iterable] if isinstance(model_or_iterable, ModelBase) else model_or_iterable
        ours = [model for model in models if not model.__module__.startswith("allauth.")]
        super().register(ours, admin_class, **options)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:  # noqa: FBT001, FBT002
        inner = super().admin_view(view, cacheable)

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if isinstance(request.user, User) and must_set_up(request, request.user):
                return redirect("mfa_activate_totp")
            return inner(request, *args, **kwargs)

        return guarded

"""The admin site, with the sign-in and second factor of the dashboard."""

from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from dashboard.account.safe_redirect import is_safe_path
from dashboard.mfa_policy import must_set_up
from merchants.models import User
from merchants.people.access import ENDS_SESSION, AccessRule, Who, attach, only_redirects, rule_of
from operations.administration import admin_search
from operations.administration.admin_summary import figures

FOR_STAFF = AccessRule(readers=Who.STAFF)
SIGN_OUT = AccessRule(writers=Who.STAFF, action="sign out", never_asks=ENDS_SESSION)


class Site(admin.AdminSite):
    """Django's admin site with our own sign-in and only our own pages.

    The pages of installed packages would show second factors and delete rows.
    """

    site_header = site_title = "Sluice administration"
    index_title = "Overview"
    index_template = "admin/summary.html"
    enable_nav_sidebar = False  # lists need the width

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        said = {"figures": list(figures(now=timezone.now()))}
        return super().index(request, said | (extra_context or {}))

    def get_urls(self) -> list[Any]:
        """Return the site's pages, with the access rules of those of Django. Pages of models have their own."""
        urls = [path("search/", self.admin_view(self.search), name="search"), *super().get_urls()]
        for each in urls:
            if isinstance(each, URLPattern) and rule_of(each.callback) is None:
                attach(SIGN_OUT if each.name == "logout" else FOR_STAFF, each.callback)
        return urls

    def search(self, request: HttpRequest) -> HttpResponse:
        """Show the rows of all models that match one term."""
        term = request.GET.get("q", "").strip()[: admin_search.LONGEST]
        groups = list(admin_search.search(request, self, term)) if term else []
        context = self.each_context(request) | {"title": "Search", "term": term, "groups": groups}
        return TemplateResponse(request, "admin/search.html", context)

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Redirect to the dashboard's password form, which is rate-limited and audited."""
        return redirect("account_change_password")

    @only_redirects
    @method_decorator(never_cache)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        wanted = request.GET.get("next", "")
        there = wanted if is_safe_path(wanted) else reverse("admin:index")
        if isinstance(request.user, User):
            # The user is signed in but not staff.
            return redirect(there if self.has_permission(request) else "overview")
        return redirect(f"{reverse('sign-in')}?{urlencode({'next': there})}")

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Register only our own pages. Those of packages could change second factors of users."""
        if getattr(admin_class, "is_ours", False):
            super().register(model_or_iterable, admin_class, **options)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if isinstance(request.user, User) and must_set_up(request, request.user):
                return redirect("mfa_activate_totp")
            return inner(request, *args, **kwargs)

        return guarded

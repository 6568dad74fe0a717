"""The admin site, with the sign-in and second factor of the dashboard."""

from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from connectors.registry import EXAMINATIONS
from dashboard.account.safe_redirect import is_safe_path
from dashboard.mfa_policy import must_set_up
from kit.text.plurals import counted
from merchants import exports
from merchants.models import User
from merchants.people.access import (
    ENDS_SESSION,
    AccessRule,
    Limit,
    Who,
    attach,
    only_redirects,
    right,
    rule_of,
)
from operations import doctor_checks
from operations.administration import (
    admin_search,
    cash_page,
    connector_pages,
    day_panels,
    navigation,
    tax_page,
)
from operations.administration.attention import figures, for_people

INVOICES = "payments.view_feeinvoice"
FOR_STAFF = AccessRule(readers=Who.STAFF)
FOR_CASH = AccessRule(readers=right("cash.view_break"))
FOR_TAXES = AccessRule(readers=right(INVOICES))
TAXES_FILE = AccessRule(readers=right(INVOICES), limits=(Limit.EXPORT,))
MAY_UNBLOCK = "payments.change_railblock"
TEST_CONNECTOR = AccessRule(writers=right(MAY_UNBLOCK), action="test the connection to a provider")
ASK_CONNECTOR = AccessRule(writers=right(MAY_UNBLOCK), action="query a connector about what is open")
SIGN_OUT = AccessRule(writers=Who.STAFF, action="sign out", never_asks=ENDS_SESSION)

NOT_STAFF = "The administration is for staff, and {} isn't staff. To open it, sign out in the account menu and sign in as staff."


class Site(admin.AdminSite):
    """Django's admin site with our own sign-in and only our own pages.

    The pages of installed packages would show second factors and delete rows.
    """

    site_header = site_title = "Sluice administration"
    index_title = "Overview"
    index_template = "admin/summary.html"
    enable_nav_sidebar = False  # Django's needs a script; ours is `navigation`

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context = super().each_context(request)
        if context["has_permission"]:
            context["areas"] = navigation.groups(request, now=timezone.now())
        return context

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        now = timezone.now()
        shown = list(figures(now=now))
        said = {
            "now": now,
            "attention": for_people(shown),
            "quiet": [each for each in shown if not each.needs_attention],
            "totals": cash_page.totals(now=now) if request.user.has_perm("cash.view_break") else [],
            "connectors": list(day_panels.connectors()),
            "today": [*day_panels.today(now=now), day_panels.ledger(shown[0])]
            if request.user.has_perm("payments.view_transaction")
            else [],
        }
        return super().index(request, said | (extra_context or {}))

    def get_urls(self) -> list[Any]:
        """Return the site's pages, with the access rules of those of Django. Pages of models have their own."""
        urls = [*self._own_urls(), *super().get_urls()]
        for each in urls:
            if isinstance(each, URLPattern) and rule_of(each.callback) is None:
                attach(SIGN_OUT if each.name == "logout" else FOR_STAFF, each.callback)
        return urls

    def _own_urls(self) -> list[URLPattern]:
        return [
            path("search/", self.admin_view(self.search), name="search"),
            path("cash/", attach(FOR_CASH, self.admin_view(self.cash)), name="cash"),
            path("taxes/", attach(FOR_TAXES, self.admin_view(self.taxes)), name="taxes"),
            path(
                "taxes/export.csv", attach(TAXES_FILE, self.admin_view(self.taxes_file)), name="taxes-export"
            ),
            path("connector/", self.admin_view(self.connectors), name="connectors"),
            path("connector/<str:name>/", self.admin_view(self.connector), name="connector"),
            path(
                "connector/<str:name>/test/",
                attach(TEST_CONNECTOR, self.admin_view(require_POST(self.connector_test))),
                name="connector-test",
            ),
            path(
                "connector/<str:name>/ask/",
                attach(ASK_CONNECTOR, self.admin_view(require_POST(self.connector_ask))),
                name="connector-ask",
            ),
        ]

    def cash(self, request: HttpRequest) -> HttpResponse:
        """Show what banks say, what the ledger says, and what explains the difference."""
        if not request.user.has_perm("cash.view_break"):
            raise PermissionDenied
        shown = cash_page.shown(now=timezone.now(), code=request.GET.get("currency", ""))
        context = self.each_context(request) | {"title": "Cash", "page": shown, "currency": shown.chosen}
        return TemplateResponse(request, "admin/cash.html", context)

    def taxes(self, request: HttpRequest) -> HttpResponse:
        """Show the taxes on fees of a period: charged, remitted and payable."""
        if not request.user.has_perm(INVOICES):
            raise PermissionDenied
        form = tax_page.form_of(request.GET, now=timezone.now())
        context = self.each_context(request) | {
            "title": "Taxes",
            "form": form,
            "reports": tax_page.shown(form),
        }
        return TemplateResponse(request, "admin/taxes.html", context)

    def taxes_file(self, request: HttpRequest) -> HttpResponseBase:
        """Return the same as CSV."""
        if not request.user.has_perm(INVOICES):
            raise PermissionDenied
        form = tax_page.form_of(request.GET, now=timezone.now())
        if not form.is_valid():
            return redirect(f"{reverse('admin:taxes')}?{request.GET.urlencode()}")
        days = form.cleaned_data
        return exports.export(request, tax_page.table(form), name=f"taxes-{days['first']}-{days['last']}")

    def connectors(self, request: HttpRequest) -> HttpResponse:
        """List the connectors in use."""
        context = self.each_context(request) | {"title": "Connectors", "names": connector_pages.names()}
        return TemplateResponse(request, "admin/connectors.html", context)

    def connector(self, request: HttpRequest, name: str) -> HttpResponse:
        """Show whom a connector is configured for, what it answers, and what is open with it."""
        return self._connector_page(request, name)

    def connector_test(self, request: HttpRequest, name: str) -> HttpResponse:
        """Make the harmless calls of a connector's provider, and show what is wrong."""
        if not request.user.has_perm(MAY_UNBLOCK):
            raise PermissionDenied
        if name not in EXAMINATIONS:
            raise Http404
        return self._connector_page(request, name, findings=doctor_checks.examine_connector(name))

    def connector_ask(self, request: HttpRequest, name: str) -> HttpResponse:
        """Query a connector about everything that is open with it."""
        if not request.user.has_perm(MAY_UNBLOCK):
            raise PermissionDenied
        if name not in connector_pages.known():
            raise Http404
        due = connector_pages.ask_again(name, now=timezone.now())
        messages.success(request, f"{counted(due, 'query is', 'queries are')} due now.")
        return redirect("admin:connector", name)

    def _connector_page(self, request: HttpRequest, name: str, **also: Any) -> HttpResponse:
        if name not in connector_pages.known():
            raise Http404
        shown = connector_pages.page_of(name, now=timezone.now())
        context = self.each_context(request) | {"title": name.capitalize(), "shown": shown} | also
        return TemplateResponse(request, "admin/connector.html", context)

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
            if self.has_permission(request):
                return redirect(there)
            messages.warning(request, NOT_STAFF.format(request.user.email))
            return redirect("overview")
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

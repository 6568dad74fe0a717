"""All URLs. Each `urls.py` has complete paths, so that a path can be found by searching for it.

The order matters in one place: the last pattern of `developer_site.openapi.urls` answers every other path below /api/.
"""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from merchants.people.access import only_redirects

admin.autodiscover()

urlpatterns = [
    # Webhooks of providers. First, because anybody can send forged ones.
    path("", include("connectors.urls")),
    # The API, notifications of the bank, pages for payers
    path("", include("payments.urls")),
    path("", include("payout_batches.urls")),
    path("", include("disputes.urls")),
    path("", include("virtual_accounts.urls")),
    path("", include("ledger.urls")),
    path("", include("merchants.urls")),
    path("", include("developer_site.collections.urls")),
    path("", include("developer_site.reference.urls")),
    path("", include("developer_site.openapi.urls")),
    # The front page and the guides
    path("", include("developer_site.urls")),
    # The dashboard
    path("dashboard", only_redirects(RedirectView.as_view(pattern_name="overview"))),
    path("", include("dashboard.overview.urls")),
    path("", include("dashboard.success_rates.urls")),
    path("", include("dashboard.payments.urls")),
    path("", include("dashboard.payment_links.urls")),
    path("", include("dashboard.refunds.urls")),
    path("", include("dashboard.payouts.urls")),
    path("", include("dashboard.beneficiaries.urls")),
    path("", include("dashboard.payout_batches.urls")),
    path("", include("dashboard.webhooks.urls")),
    path("", include("dashboard.developers.urls")),
    path("", include("dashboard.team.urls")),
    path("", include("dashboard.activity.urls")),
    path("", include("dashboard.saved_views.urls")),
    path("", include("dashboard.virtual_accounts.urls")),
    path("", include("dashboard.settlements.urls")),
    path("", include("dashboard.balance.urls")),
    path("", include("dashboard.statements.urls")),
    path("", include("dashboard.disputes.urls")),
    path("", include("dashboard.sandbox.urls")),
    path("", include("dashboard.search.urls")),
    path("", include("dashboard.settings.urls")),
    path("", include("dashboard.account.urls")),
    # Staff
    path("admin/", admin.site.urls),
    # Load balancers and Prometheus
    path("", include("operations.urls")),
]

handler400 = "developer_site.views.bad_request"
handler403 = "developer_site.views.forbidden"
handler404 = "developer_site.views.not_found"
handler429 = "developer_site.views.too_many_requests"  # django-allauth's
handler500 = "developer_site.views.server_error"

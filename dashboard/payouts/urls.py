"""URLs of payouts."""

from django.urls import path

from dashboard.payouts import approval_page, views
from dashboard.payouts.payout_list import PAYOUTS
from dashboard.transactions.detail.detail_page import detail_page
from dashboard.transactions.lists import export, list_page

urlpatterns = [
    path("dashboard/payouts/", list_page, {"listed": PAYOUTS}, name="dashboard-payouts"),
    path(
        "dashboard/payouts/export.<file_type:file_type>",
        export,
        {"listed": PAYOUTS},
        name="dashboard-payouts-export",
    ),
    path("dashboard/payouts/new/", views.new_payout_page, name="dashboard-new-payout"),
    path("dashboard/payouts/<uuid:transaction_id>/", detail_page, name="dashboard-payout"),
    path(
        "dashboard/payouts/<uuid:transaction_id>/approval/",
        approval_page.approval_page,
        name="dashboard-payout-approval",
    ),
]

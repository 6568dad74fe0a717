"""URLs of payments and payouts."""

from django.urls import path

from dashboard.transactions import action_views, detail_views, list_views, payout_views

urlpatterns = [
    path("dashboard/payments/", list_views.payments_page, name="dashboard-payments"),
    path("dashboard/payments/export.csv", list_views.payments_export, name="dashboard-payments-export"),
    path("dashboard/payments/<uuid:transaction_id>/", detail_views.payment_page, name="dashboard-payment"),
    path(
        "dashboard/payments/<uuid:transaction_id>/capture/",
        action_views.capture_page,
        name="dashboard-capture",
    ),
    path("dashboard/payments/<uuid:transaction_id>/void/", action_views.void_page, name="dashboard-void"),
    path(
        "dashboard/payments/<uuid:transaction_id>/cancel/", action_views.cancel_page, name="dashboard-cancel"
    ),
    path(
        "dashboard/payments/<uuid:transaction_id>/refund/", action_views.refund_page, name="dashboard-refund"
    ),
    path("dashboard/payouts/", list_views.payouts_page, name="dashboard-payouts"),
    path("dashboard/payouts/export.csv", list_views.payouts_export, name="dashboard-payouts-export"),
    path("dashboard/payouts/new/", payout_views.payout_form_page, name="dashboard-new-payout"),
    path("dashboard/payouts/<uuid:transaction_id>/", detail_views.payout_page, name="dashboard-payout"),
]

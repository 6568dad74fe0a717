"""URLs of payments."""

from django.urls import path

from dashboard.payments import action_views, views

urlpatterns = [
    path("dashboard/payments/", views.payments_page, name="dashboard-payments"),
    path("dashboard/payments/export.csv", views.payments_export, name="dashboard-payments-export"),
    path("dashboard/payments/<uuid:transaction_id>/", views.payment_page, name="dashboard-payment"),
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
]

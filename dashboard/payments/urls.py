"""URLs of payments."""

from django.urls import path

from dashboard.payments import customer_views, views
from dashboard.payments.payment_list import PAYMENTS
from dashboard.transactions.detail.detail_page import add_note_page, detail_page
from dashboard.transactions.lists import export, list_page

urlpatterns = [
    path("dashboard/payments/", list_page, {"listed": PAYMENTS}, name="dashboard-payments"),
    path(
        "dashboard/payments/export.<file_type:file_type>",
        export,
        {"listed": PAYMENTS},
        name="dashboard-payments-export",
    ),
    path("dashboard/payments/customer/", customer_views.customer_page, name="dashboard-customer"),
    path("dashboard/payments/<uuid:transaction_id>/", detail_page, name="dashboard-payment"),
    path("dashboard/payments/<uuid:transaction_id>/capture/", views.capture_page, name="dashboard-capture"),
    path("dashboard/payments/<uuid:transaction_id>/void/", views.void_page, name="dashboard-void"),
    path("dashboard/payments/<uuid:transaction_id>/cancel/", views.cancel_page, name="dashboard-cancel"),
    path("dashboard/payments/<uuid:transaction_id>/notes/", add_note_page, name="dashboard-add-note"),
    path("dashboard/payments/<uuid:transaction_id>/refund/", views.refund_page, name="dashboard-new-refund"),
]

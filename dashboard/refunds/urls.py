"""URLs of refunds."""

from django.urls import path

from dashboard.refunds.views import refund_page

urlpatterns = [
    path("dashboard/refunds/<uuid:refund_id>/", refund_page, name="dashboard-refund"),
]

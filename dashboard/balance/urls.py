"""URLs of the balance."""

from django.urls import path

from dashboard.balance import views

urlpatterns = [
    path("dashboard/balance/", views.balance_page, name="dashboard-balance"),
    path(
        "dashboard/balance/export.<file_type:file_type>",
        views.balance_export,
        name="dashboard-balance-export",
    ),
]

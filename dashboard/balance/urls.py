"""URLs of the balance."""

from django.urls import path

from dashboard.balance import views

urlpatterns = [
    path("dashboard/balance/", views.balance_page, name="dashboard-balance"),
    path("dashboard/balance/export.csv", views.balance_export, name="dashboard-balance-export"),
]

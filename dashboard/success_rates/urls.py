"""URLs of success rates."""

from django.urls import path

from dashboard.success_rates import views

urlpatterns = [
    path("dashboard/payments/success-rates/", views.success_rates_page, name="dashboard-success-rates"),
]

"""URLs of payouts."""

from django.urls import path

from dashboard.payouts import views

urlpatterns = [
    path("dashboard/payouts/", views.payouts_page, name="dashboard-payouts"),
    path("dashboard/payouts/export.csv", views.payouts_export, name="dashboard-payouts-export"),
    path("dashboard/payouts/new/", views.new_payout_page, name="dashboard-new-payout"),
    path("dashboard/payouts/<uuid:transaction_id>/", views.payout_page, name="dashboard-payout"),
]

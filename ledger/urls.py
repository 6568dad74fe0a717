"""URLs of the ledger API."""

from django.urls import path

from ledger import views

urlpatterns = [
    path("api/balance", views.BalanceView.as_view(), name="balance"),
]

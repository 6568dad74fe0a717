"""URLs of the virtual account API. Payments into them are in `payments.urls`."""

from django.urls import path

from virtual_accounts import views

urlpatterns = [
    path("api/virtual-accounts", views.VirtualAccountsView.as_view(), name="virtual-accounts"),
    path("api/virtual-accounts/<str:reference>", views.VirtualAccountView.as_view(), name="virtual-account"),
]

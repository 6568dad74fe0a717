"""URLs that providers call."""

from django.urls import path

from connectors.views import ProviderWebhooksView

urlpatterns = [
    path("connectors/<str:provider>", ProviderWebhooksView.as_view(), name="provider-webhooks"),
]

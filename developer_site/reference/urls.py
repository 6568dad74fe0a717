"""URLs of the API reference. They precede those of `developer_site.openapi`, which answers every other path below /api/."""

from django.urls import path

from developer_site.reference.views import ReferenceView

urlpatterns = [
    path("api/docs", ReferenceView.as_view(), name="api-docs"),
    path("api/docs/<path:slug>", ReferenceView.as_view(), name="api-docs-page"),
]

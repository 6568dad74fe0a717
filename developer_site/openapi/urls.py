"""URLs of the API description, and the response for every other path below /api/."""

from django.urls import path, re_path

from developer_site.openapi import views

urlpatterns = [
    path("api/openapi.json", views.OpenAPIView.as_view(), name="openapi"),
    re_path(r"^api/", views.NoSuchEndpoint.as_view()),
]

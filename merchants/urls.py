"""URLs of the request log's API."""

from django.urls import path

from merchants import views

urlpatterns = [
    path("api/requests", views.RequestsView.as_view(), name="requests"),
]

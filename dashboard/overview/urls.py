"""URLs of the overview."""

from django.urls import path

from dashboard.overview import views

urlpatterns = [
    path("dashboard/", views.overview, name="overview"),
    path("dashboard/business/", views.switch_business, name="switch-business"),
]

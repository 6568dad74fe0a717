"""URLs of the settings."""

from django.urls import path

from dashboard.settings import views

urlpatterns = [path("dashboard/settings/", views.settings_page, name="dashboard-settings")]

"""The URL of the search."""

from django.urls import path

from dashboard.search import views

urlpatterns = [path("dashboard/search/", views.search_page, name="dashboard-search")]

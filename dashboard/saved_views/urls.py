"""URLs of saved views."""

from django.urls import path

from dashboard.saved_views import views

urlpatterns = [
    path("dashboard/views/", views.save_view, name="dashboard-save-view"),
    path("dashboard/views/<int:view_id>/", views.view_page, name="dashboard-saved-view"),
]

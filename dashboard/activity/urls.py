"""URLs of the activity pages."""

from django.urls import path

from dashboard.activity import views

urlpatterns = [
    path("dashboard/activity/", views.activity_page, name="dashboard-activity"),
    path(
        "dashboard/activity/export.<file_type:file_type>",
        views.activity_export,
        name="dashboard-activity-export",
    ),
]

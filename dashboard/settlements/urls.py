"""URLs of settlements."""

from django.urls import path

from dashboard.settlements import views

urlpatterns = [
    path("dashboard/settlements/", views.settlements_page, name="dashboard-settlements"),
    path(
        "dashboard/settlements/export.<file_type:file_type>",
        views.settlements_export,
        name="dashboard-settlements-export",
    ),
    path("dashboard/settlements/<uuid:batch_id>/", views.settlement_page, name="dashboard-settlement"),
    path(
        "dashboard/settlements/<uuid:batch_id>/statement.<file_type:file_type>",
        views.settlement_export,
        name="dashboard-settlement-export",
    ),
]

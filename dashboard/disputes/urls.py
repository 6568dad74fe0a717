"""URLs of disputes."""

from django.urls import path

from dashboard.disputes import answer_views, views

urlpatterns = [
    path("dashboard/disputes/", views.disputes_page, name="dashboard-disputes"),
    path(
        "dashboard/disputes/export.<file_type:file_type>",
        views.disputes_export,
        name="dashboard-disputes-export",
    ),
    path("dashboard/disputes/<uuid:dispute_id>/", views.dispute_page, name="dashboard-dispute"),
    path(
        "dashboard/disputes/<uuid:dispute_id>/files/<uuid:evidence_id>/",
        views.file_page,
        name="dashboard-dispute-file",
    ),
    path(
        "dashboard/disputes/<uuid:dispute_id>/submit/",
        answer_views.submit_page,
        name="dashboard-submit-dispute",
    ),
    path(
        "dashboard/disputes/<uuid:dispute_id>/accept/",
        answer_views.accept_page,
        name="dashboard-accept-dispute",
    ),
]

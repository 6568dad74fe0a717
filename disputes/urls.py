"""URLs of the disputes API."""

from django.urls import path

from disputes import views

urlpatterns = [
    path("api/disputes", views.DisputesView.as_view(), name="disputes"),
    path("api/disputes/<uuid:id>", views.DisputeView.as_view(), name="dispute"),
    path("api/disputes/<uuid:id>/evidence", views.DisputeEvidenceView.as_view(), name="dispute-evidence"),
    path(
        "api/disputes/<uuid:id>/evidence/<uuid:item>",
        views.DisputeEvidenceItemView.as_view(),
        name="dispute-evidence-item",
    ),
    path("api/disputes/<uuid:id>/files", views.DisputeFilesView.as_view(), name="dispute-files"),
    path("api/disputes/<uuid:id>/files/<uuid:item>", views.DisputeFileView.as_view(), name="dispute-file"),
    path("api/disputes/<uuid:id>/submit", views.SubmitDisputeView.as_view(), name="submit-dispute"),
    path("api/disputes/<uuid:id>/accept", views.AcceptDisputeView.as_view(), name="accept-dispute"),
]

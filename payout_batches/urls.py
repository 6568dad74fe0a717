"""URLs of the payout batches API."""

from django.urls import path

from payout_batches import views

urlpatterns = [
    path("api/payout-batches", views.PayoutBatchesView.as_view(), name="payout-batches"),
    path("api/payout-batches/<str:reference>", views.PayoutBatchView.as_view(), name="payout-batch"),
    path(
        "api/payout-batches/<str:reference>/payouts",
        views.BatchPayoutsView.as_view(),
        name="payout-batch-payouts",
    ),
    path(
        "api/payout-batches/<str:reference>/approve",
        views.ApproveBatchView.as_view(),
        name="approve-payout-batch",
    ),
    path(
        "api/payout-batches/<str:reference>/cancel",
        views.CancelBatchView.as_view(),
        name="cancel-payout-batch",
    ),
    path(
        "api/payout-batches/<str:reference>/retry", views.RetryBatchView.as_view(), name="retry-payout-batch"
    ),
]

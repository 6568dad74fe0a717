"""URLs of payout batches."""

from django.urls import path

from dashboard.payout_batches import item_views, new_views, views

urlpatterns = [
    path("dashboard/payouts/batches/", views.batches_page, name="dashboard-batches"),
    path("dashboard/payouts/batches/new/", new_views.new_batch_page, name="dashboard-new-batch"),
    path(
        "dashboard/payouts/batches/template.<file_type:file_type>",
        new_views.template_file,
        name="dashboard-batch-template",
    ),
    path("dashboard/payouts/batches/<uuid:batch_id>/", views.batch_page, name="dashboard-batch"),
    path(
        "dashboard/payouts/batches/<uuid:batch_id>/payouts.<file_type:file_type>",
        views.batch_export,
        name="dashboard-batch-export",
    ),
    path("dashboard/payouts/batches/<uuid:batch_id>/approve/", views.approve, name="dashboard-approve-batch"),
    path("dashboard/payouts/batches/<uuid:batch_id>/decide/", views.decide, name="dashboard-decide-batch"),
    path(
        "dashboard/payouts/batches/<uuid:batch_id>/cancel/", views.cancel_page, name="dashboard-cancel-batch"
    ),
    path("dashboard/payouts/batches/<uuid:batch_id>/retry/", views.retry, name="dashboard-retry-batch"),
    path(
        "dashboard/payouts/batches/<uuid:batch_id>/items/<uuid:item_id>/",
        item_views.change_item,
        name="dashboard-batch-item",
    ),
]

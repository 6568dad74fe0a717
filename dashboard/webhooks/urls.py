"""URLs of the webhook pages."""

from django.urls import path

from dashboard.webhooks import exam_views
from dashboard.webhooks.deliveries import delivery_export, delivery_views
from dashboard.webhooks.endpoints import endpoint_views, several_endpoints_views

urlpatterns = [
    path("dashboard/webhooks/", endpoint_views.webhooks_page, name="dashboard-webhooks"),
    path("dashboard/webhooks/health/", endpoint_views.health_page, name="dashboard-webhook-health"),
    path("dashboard/webhooks/rotate/", endpoint_views.rotate_page, name="dashboard-rotate-hash-key"),
    path("dashboard/webhooks/endpoints/", several_endpoints_views.endpoints_page, name="dashboard-endpoints"),
    path(
        "dashboard/webhooks/endpoints/new/",
        several_endpoints_views.new_endpoint_page,
        name="dashboard-new-endpoint",
    ),
    path(
        "dashboard/webhooks/endpoints/<uuid:endpoint_id>/",
        several_endpoints_views.endpoint_page,
        name="dashboard-endpoint",
    ),
    path(
        "dashboard/webhooks/endpoints/<uuid:endpoint_id>/edit/",
        several_endpoints_views.edit_endpoint_page,
        name="dashboard-edit-endpoint",
    ),
    path(
        "dashboard/webhooks/endpoints/<uuid:endpoint_id>/delete/",
        several_endpoints_views.delete_endpoint_page,
        name="dashboard-delete-endpoint",
    ),
    path(
        "dashboard/webhooks/endpoints/<uuid:endpoint_id>/rotate/",
        endpoint_views.rotate_page,
        name="dashboard-rotate-endpoint-key",
    ),
    path("dashboard/webhooks/test/", endpoint_views.send_test_event, name="dashboard-test-event"),
    path("dashboard/webhooks/exam/", exam_views.exam_page, name="dashboard-exam"),
    path("dashboard/webhooks/exam/<uuid:exam_id>/acted/", exam_views.exam_acted, name="dashboard-exam-acted"),
    path("dashboard/webhooks/replay/", delivery_views.replay_range_page, name="dashboard-replay-range"),
    path(
        "dashboard/webhooks/deliveries/resend/",
        delivery_views.replay_selected,
        name="dashboard-replay-selected",
    ),
    path("dashboard/webhooks/deliveries/", delivery_views.deliveries_page, name="dashboard-deliveries"),
    path(
        "dashboard/webhooks/deliveries/export.<file_type:file_type>",
        delivery_export.deliveries_export,
        name="dashboard-deliveries-export",
    ),
    path(
        "dashboard/webhooks/deliveries/<uuid:delivery_id>/",
        delivery_views.delivery_page,
        name="dashboard-delivery",
    ),
    path(
        "dashboard/webhooks/deliveries/<uuid:delivery_id>/replay/",
        delivery_views.replay,
        name="dashboard-replay",
    ),
]

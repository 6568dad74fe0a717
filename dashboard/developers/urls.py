"""URLs of the developer pages."""

from django.urls import path

from dashboard.developers import key_views, request_log_views, signature_views

urlpatterns = [
    path("dashboard/developers/", key_views.keys_page, name="dashboard-developers"),
    path("dashboard/developers/keys/new/", key_views.new_key_page, name="dashboard-new-key"),
    path(
        "dashboard/developers/keys/<int:key_id>/rotate/",
        key_views.rotate_key_page,
        name="dashboard-rotate-key",
    ),
    path(
        "dashboard/developers/keys/<int:key_id>/revoke/",
        key_views.revoke_key_page,
        name="dashboard-revoke-key",
    ),
    path("dashboard/developers/requests/", request_log_views.requests_page, name="dashboard-requests"),
    path(
        "dashboard/developers/requests/<int:call_id>/",
        request_log_views.request_page,
        name="dashboard-request",
    ),
    path("dashboard/developers/signature/", signature_views.signature_page, name="dashboard-signature"),
]

"""URLs of the sandbox page."""

from django.urls import path

from dashboard.sandbox import views

urlpatterns = [
    path("dashboard/sandbox/", views.sandbox_page, name="dashboard-sandbox"),
    path("dashboard/sandbox/expire/<uuid:transaction_id>/", views.expire_now, name="dashboard-expire-now"),
    path("dashboard/sandbox/retry/<uuid:delivery_id>/", views.retry_now, name="dashboard-retry-now"),
    path("dashboard/sandbox/settle/", views.settle_now, name="dashboard-settle-now"),
]

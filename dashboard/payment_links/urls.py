"""URLs of payment links."""

from django.urls import path

from dashboard.payment_links import switch_views, views
from dashboard.payment_links.checkouts import attempt_views, checkout_views
from dashboard.payment_links.detail import detail_views
from dashboard.payment_links.forms import form_views
from dashboard.payment_links.sharing import sharing_views

urlpatterns = [
    path("dashboard/payment-links/", views.links_page, name="dashboard-payment-links"),
    path("dashboard/payment-links/new/", form_views.new_link_page, name="dashboard-new-link"),
    path("dashboard/payment-links/<uuid:link_id>/", detail_views.link_page, name="dashboard-payment-link"),
    path(
        "dashboard/payment-links/<uuid:link_id>/edit/",
        form_views.change_link_page,
        name="dashboard-change-link",
    ),
    path(
        "dashboard/payment-links/<uuid:link_id>/deactivate/",
        switch_views.deactivate_page,
        name="dashboard-deactivate-link",
    ),
    path(
        "dashboard/payment-links/<uuid:link_id>/activate/",
        switch_views.activate_page,
        name="dashboard-activate-link",
    ),
    path("dashboard/payment-links/<uuid:link_id>/qr.svg", sharing_views.qr_svg, name="dashboard-link-qr-svg"),
    path("dashboard/payment-links/<uuid:link_id>/qr.png", sharing_views.qr_png, name="dashboard-link-qr-png"),
    path(
        "dashboard/payment-links/<uuid:link_id>/poster/",
        sharing_views.poster_page,
        name="dashboard-link-poster",
    ),
    path(
        "dashboard/payment-links/<uuid:link_id>/checkouts/",
        checkout_views.checkouts_page,
        name="dashboard-link-checkouts",
    ),
    path(
        "dashboard/payment-links/<uuid:link_id>/checkouts.<file_type:file_type>",
        checkout_views.checkouts_export,
        name="dashboard-link-checkouts-export",
    ),
    path(
        "dashboard/payment-links/<uuid:link_id>/attempts/",
        attempt_views.waiting_page,
        name="dashboard-link-attempts",
    ),
    path(
        "dashboard/payment-links/<uuid:link_id>/attempts/<uuid:payment_id>/end/",
        attempt_views.end_attempt_page,
        name="dashboard-end-attempt",
    ),
]

"""URLs of payment links."""

from django.urls import path

from dashboard.payment_links import detail_views, form_views, switch_views, views

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
]

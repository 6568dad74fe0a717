"""URLs of virtual accounts."""

from django.urls import path

from dashboard.virtual_accounts import exports, unapplied_views, views

urlpatterns = [
    path("dashboard/virtual-accounts/", views.accounts_page, name="dashboard-virtual-accounts"),
    path(
        "dashboard/virtual-accounts/new/",
        views.new_account_page,
        name="dashboard-new-virtual-account",
    ),
    path(
        "dashboard/virtual-accounts/export.<file_type:file_type>",
        exports.accounts_export,
        name="dashboard-virtual-accounts-export",
    ),
    path(
        "dashboard/virtual-accounts/unapplied/export.<file_type:file_type>",
        exports.unapplied_export,
        name="dashboard-unapplied-export",
    ),
    path("dashboard/virtual-accounts/unapplied/", unapplied_views.unapplied_page, name="dashboard-unapplied"),
    path(
        "dashboard/virtual-accounts/unapplied/<uuid:unapplied_id>/",
        unapplied_views.decision_page,
        name="dashboard-unapplied-item",
    ),
    path(
        "dashboard/virtual-accounts/<uuid:account_id>/",
        views.account_page,
        name="dashboard-virtual-account",
    ),
    path(
        "dashboard/virtual-accounts/<uuid:account_id>/deactivate/",
        views.deactivate_page,
        name="dashboard-deactivate-account",
    ),
    path(
        "dashboard/virtual-accounts/<uuid:account_id>/activate/",
        views.activate,
        name="dashboard-activate-account",
    ),
]

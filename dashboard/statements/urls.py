"""URLs of monthly statements."""

from django.urls import path

from dashboard.statements import guest_views, views

urlpatterns = [
    path("dashboard/balance/statements/", views.statement_page, name="dashboard-statements"),
    path("dashboard/balance/statements/<month:month>/", views.statement_page, name="dashboard-statement"),
    path(
        "dashboard/balance/statements/<month:month>/export.<file_type:file_type>",
        views.statement_export,
        name="dashboard-statement-export",
    ),
    path("dashboard/balance/statements/links/", views.guest_links_page, name="dashboard-guest-links"),
    path(
        "dashboard/balance/statements/links/new/", views.new_guest_link_page, name="dashboard-new-guest-link"
    ),
    path(
        "dashboard/balance/statements/links/<uuid:guest_link_id>/revoke/",
        views.revoke_guest_link,
        name="dashboard-revoke-guest-link",
    ),
    path("statement/<str:token>/", guest_views.guest_statement, name="guest-statement"),
    path("statement/<str:token>/<month:month>/", guest_views.guest_statement, name="guest-statement-month"),
    path(
        "statement/<str:token>/<month:month>/export.<file_type:file_type>",
        guest_views.guest_statement_export,
        name="guest-statement-export",
    ),
]

"""URLs of settlements."""

from django.urls import path

from dashboard.settlements import invoice_views, views

urlpatterns = [
    path("dashboard/settlements/", views.settlements_page, name="dashboard-settlements"),
    path(
        "dashboard/settlements/export.<file_type:file_type>",
        views.settlements_export,
        name="dashboard-settlements-export",
    ),
    path("dashboard/settlements/<uuid:batch_id>/", views.settlement_page, name="dashboard-settlement"),
    path(
        "dashboard/settlements/<uuid:batch_id>/statement.<file_type:file_type>",
        views.settlement_export,
        name="dashboard-settlement-export",
    ),
    path("dashboard/settlements/invoices/", invoice_views.invoices_page, name="dashboard-invoices"),
    path(
        "dashboard/settlements/invoices/export.<file_type:file_type>",
        invoice_views.invoices_export,
        name="dashboard-invoices-export",
    ),
    path(
        "dashboard/settlements/invoices/<uuid:invoice_id>/",
        invoice_views.invoice_page,
        name="dashboard-invoice",
    ),
    path(
        "dashboard/settlements/invoices/<uuid:invoice_id>/lines.<file_type:file_type>",
        invoice_views.invoice_export,
        name="dashboard-invoice-export",
    ),
]

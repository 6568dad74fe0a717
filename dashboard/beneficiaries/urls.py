"""URLs of beneficiaries."""

from django.urls import path

from dashboard.beneficiaries import views

urlpatterns = [
    path("dashboard/payouts/beneficiaries/", views.beneficiaries_page, name="dashboard-beneficiaries"),
    path(
        "dashboard/payouts/beneficiaries/new/", views.new_beneficiary_page, name="dashboard-new-beneficiary"
    ),
    path(
        "dashboard/payouts/beneficiaries/<uuid:beneficiary_id>/",
        views.beneficiary_page,
        name="dashboard-beneficiary",
    ),
    path(
        "dashboard/payouts/beneficiaries/<uuid:beneficiary_id>/block/",
        views.block_page,
        name="dashboard-block-beneficiary",
    ),
    path(
        "dashboard/payouts/beneficiaries/<uuid:beneficiary_id>/unblock/",
        views.unblock,
        name="dashboard-unblock-beneficiary",
    ),
    path(
        "dashboard/payouts/beneficiaries/<uuid:beneficiary_id>/delete/",
        views.delete,
        name="dashboard-delete-beneficiary",
    ),
]

"""URLs of the settings."""

from django.urls import path

from dashboard.settings import closing, notification_views, payout_settings, settlement_account, views

urlpatterns = [
    path("dashboard/settings/", views.settings_page, name="dashboard-settings"),
    path("dashboard/settings/close/", closing.close_business_page, name="dashboard-close-business"),
    path("dashboard/settings/payments/", views.payment_settings_page, name="dashboard-payment-settings"),
    path(
        "dashboard/settings/notifications/",
        notification_views.notifications_page,
        name="dashboard-notifications",
    ),
    path(
        "dashboard/settings/payouts/",
        payout_settings.payout_settings_page,
        name="dashboard-payout-settings",
    ),
    path(
        "dashboard/settings/payouts/changes/<uuid:change_id>/",
        payout_settings.decide_payout_settings_page,
        name="dashboard-decide-payout-settings",
    ),
    path(
        "dashboard/settings/settlement-account/",
        settlement_account.settlement_account_page,
        name="dashboard-settlement-account",
    ),
    path(
        "dashboard/settings/settlement-account/changes/<uuid:account_change_id>/",
        settlement_account.decide_settlement_account,
        name="dashboard-decide-settlement-account",
    ),
    path(
        "dashboard/settings/settlement-account/resume/",
        settlement_account.resume_settlement_payouts,
        name="dashboard-resume-settlement-payouts",
    ),
    path(
        "dashboard/settings/settlement-account/pay-out/",
        settlement_account.pay_out_settlement,
        name="dashboard-pay-out-settlement",
    ),
]

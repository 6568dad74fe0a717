"""The whole HTTP surface."""

from django.contrib import admin
from django.urls import path, re_path
from django.views.generic import RedirectView

from config.docs_site import views as docs
from config.openapi import views as api_docs
from config.operations import health
from dashboard import account_pages as account
from dashboard import views as dashboard
from dashboard.activity import pages as activity
from dashboard.balance import pages as balance
from dashboard.developers import keys as developer_keys
from dashboard.developers import requests as developer_requests
from dashboard.developers import signature
from dashboard.sandbox import pages as sandbox
from dashboard.settlements import pages as settlements
from dashboard.team import joining
from dashboard.team import pages as team
from dashboard.transactions import acts, new_payout
from dashboard.transactions import lists as transaction_lists
from dashboard.transactions import pages as transaction_pages
from dashboard.virtual_accounts import pages as virtual_accounts
from dashboard.virtual_accounts import unapplied
from dashboard.webhooks import deliveries
from dashboard.webhooks import settings_page as webhook_settings
from ledger import views as ledger
from payments import (
    bank_notifications,
    event_views,
    sandbox_views,
    settlement_views,
    unapplied_views,
    views,
    wallet_views,
)
from payments.pages import challenge, transfer
from virtual_accounts import views as accounts

urlpatterns = [
    # The API: every call is signed, but for the description and its page.
    path("api/payments", views.PaymentsView.as_view(), name="payments"),
    path("api/payments/<str:reference>", views.PaymentView.as_view(), name="payment"),
    path("api/payments/<str:reference>/capture", views.CaptureView.as_view(), name="capture"),
    path("api/payments/<str:reference>/void", views.VoidView.as_view(), name="void"),
    path("api/payments/<str:reference>/cancel", views.CancelView.as_view(), name="cancel"),
    path("api/payments/<str:reference>/refunds", views.RefundsView.as_view(), name="refunds"),
    path("api/refunds/<str:reference>", views.RefundView.as_view(), name="refund"),
    path("api/virtual-accounts", accounts.VirtualAccountsView.as_view(), name="virtual-accounts"),
    path("api/virtual-accounts/simulate", views.SimulateView.as_view(), name="simulate"),
    path(
        "api/virtual-accounts/<str:reference>/deactivate", views.DeactivateView.as_view(), name="deactivate"
    ),
    path(
        "api/virtual-accounts/<str:reference>", accounts.VirtualAccountView.as_view(), name="virtual-account"
    ),
    path(
        "api/unapplied-transfers",
        unapplied_views.UnappliedTransfersView.as_view(),
        name="unapplied-transfers",
    ),
    path(
        "api/unapplied-transfers/<uuid:id>/credit",
        unapplied_views.CreditUnappliedView.as_view(),
        name="credit-unapplied",
    ),
    path(
        "api/unapplied-transfers/<uuid:id>/return",
        unapplied_views.ReturnUnappliedView.as_view(),
        name="return-unapplied",
    ),
    path("api/settlements", settlement_views.SettlementsView.as_view(), name="settlements"),
    path("api/settlements/<uuid:id>", settlement_views.SettlementView.as_view(), name="settlement"),
    path("api/events", event_views.EventsView.as_view(), name="events"),
    path("api/events/<uuid:event_id>", event_views.EventView.as_view(), name="event"),
    path("api/balance", ledger.BalanceView.as_view(), name="balance"),
    path("api/balance/movements", wallet_views.MovementsView.as_view(), name="movements"),
    path("api/banks/resolve", views.ResolveBeneficiaryView.as_view(), name="resolve-beneficiary"),
    path("api/sandbox/advance", sandbox_views.AdvanceView.as_view(), name="advance"),
    path("api/banks", views.BanksView.as_view(), name="banks"),
    path("api/openapi.json", api_docs.OpenAPIView.as_view(), name="openapi"),
    path("api/docs", api_docs.SwaggerView.as_view(), name="api-docs"),
    re_path(r"^api/collections/", api_docs.NoSuchCollection.as_view()),
    re_path(r"^api/", api_docs.NoSuchEndpoint.as_view()),
    # Notifications of the bank
    path("bank/transfers", bank_notifications.BankTransfersView.as_view(), name="bank-transfers"),
    path("bank/payout-returns", bank_notifications.PayoutReturnsView.as_view(), name="bank-payout-returns"),
    # Pages for payers
    path("3ds/<str:token>", challenge.ChallengePage.as_view(), name="challenge"),
    path("pay/<uuid:payment_id>", transfer.transfer_page, name="pay"),
    # Pages for people
    path("", docs.front_page, name="front"),
    path("docs", RedirectView.as_view(pattern_name="docs")),
    path("docs/", docs.docs_page, name="docs"),
    path("docs/test-data", docs.data_page, name="test-data"),
    path("docs/errors/", docs.errors_page, name="errors"),
    path("docs/errors/<str:code>", docs.error_page, name="error-page"),
    path("docs/samples/<path:name>", docs.sample_file, name="sample"),
    path("docs/<str:slug>", docs.guide_page, name="guide"),
    # The dashboard: what a business's own people see
    path("dashboard", RedirectView.as_view(pattern_name="overview")),
    path("dashboard/", dashboard.overview, name="overview"),
    path("dashboard/payments/", transaction_lists.payments_page, name="dashboard-payments"),
    path(
        "dashboard/payments/export.csv", transaction_lists.payments_export, name="dashboard-payments-export"
    ),
    path(
        "dashboard/payments/<uuid:transaction_id>/", transaction_pages.payment_page, name="dashboard-payment"
    ),
    path("dashboard/payments/<uuid:transaction_id>/capture/", acts.capture_page, name="dashboard-capture"),
    path("dashboard/payments/<uuid:transaction_id>/void/", acts.void_page, name="dashboard-void"),
    path("dashboard/payments/<uuid:transaction_id>/cancel/", acts.cancel_page, name="dashboard-cancel"),
    path("dashboard/payments/<uuid:transaction_id>/refund/", acts.refund_page, name="dashboard-refund"),
    path("dashboard/payouts/", transaction_lists.payouts_page, name="dashboard-payouts"),
    path("dashboard/payouts/export.csv", transaction_lists.payouts_export, name="dashboard-payouts-export"),
    path("dashboard/payouts/new/", new_payout.payout_form_page, name="dashboard-new-payout"),
    path("dashboard/payouts/<uuid:transaction_id>/", transaction_pages.payout_page, name="dashboard-payout"),
    path("dashboard/webhooks/", webhook_settings.webhooks_page, name="dashboard-webhooks"),
    path("dashboard/webhooks/rotate/", webhook_settings.rotate_page, name="dashboard-rotate-hash-key"),
    path("dashboard/webhooks/test/", webhook_settings.send_test_event, name="dashboard-test-event"),
    path("dashboard/webhooks/replay/", deliveries.replay_range_page, name="dashboard-replay-range"),
    path("dashboard/webhooks/deliveries/", deliveries.deliveries_page, name="dashboard-deliveries"),
    path(
        "dashboard/webhooks/deliveries/<uuid:delivery_id>/",
        deliveries.delivery_page,
        name="dashboard-delivery",
    ),
    path(
        "dashboard/webhooks/deliveries/<uuid:delivery_id>/replay/", deliveries.replay, name="dashboard-replay"
    ),
    path("dashboard/developers/", developer_keys.keys_page, name="dashboard-developers"),
    path("dashboard/developers/keys/new/", developer_keys.new_key_page, name="dashboard-new-key"),
    path(
        "dashboard/developers/keys/<int:key_id>/rotate/",
        developer_keys.rotate_key_page,
        name="dashboard-rotate-key",
    ),
    path(
        "dashboard/developers/keys/<int:key_id>/revoke/",
        developer_keys.revoke_key_page,
        name="dashboard-revoke-key",
    ),
    path("dashboard/developers/requests/", developer_requests.requests_page, name="dashboard-requests"),
    path("dashboard/developers/signature/", signature.signature_page, name="dashboard-signature"),
    path("dashboard/team/", team.team_page, name="dashboard-team"),
    path("dashboard/team/invite/", team.invite_page, name="dashboard-invite"),
    path("dashboard/team/<int:member_id>/", team.member_page, name="dashboard-member"),
    path("dashboard/team/<int:member_id>/remove/", team.remove_member, name="dashboard-remove-member"),
    path(
        "dashboard/team/invitations/<uuid:invitation_id>/withdraw/", team.withdraw, name="dashboard-withdraw"
    ),
    path("dashboard/invitation/<str:token>/", joining.JoinPage.as_view(), name="invitation"),
    path("dashboard/activity/", activity.activity_page, name="dashboard-activity"),
    path("dashboard/activity/export.csv", activity.activity_export, name="dashboard-activity-export"),
    path("dashboard/virtual-accounts/", virtual_accounts.accounts_page, name="dashboard-virtual-accounts"),
    path(
        "dashboard/virtual-accounts/new/",
        virtual_accounts.new_account_page,
        name="dashboard-new-virtual-account",
    ),
    path("dashboard/virtual-accounts/unapplied/", unapplied.unapplied_page, name="dashboard-unapplied"),
    path(
        "dashboard/virtual-accounts/unapplied/<uuid:unapplied_id>/",
        unapplied.decision_page,
        name="dashboard-unapplied-item",
    ),
    path(
        "dashboard/virtual-accounts/<uuid:account_id>/",
        virtual_accounts.account_page,
        name="dashboard-virtual-account",
    ),
    path(
        "dashboard/virtual-accounts/<uuid:account_id>/deactivate/",
        virtual_accounts.deactivate_page,
        name="dashboard-deactivate-account",
    ),
    path(
        "dashboard/virtual-accounts/<uuid:account_id>/activate/",
        virtual_accounts.activate,
        name="dashboard-activate-account",
    ),
    path("dashboard/settlements/", settlements.settlements_page, name="dashboard-settlements"),
    path("dashboard/settlements/<uuid:batch_id>/", settlements.settlement_page, name="dashboard-settlement"),
    path(
        "dashboard/settlements/<uuid:batch_id>/statement.csv",
        settlements.settlement_export,
        name="dashboard-settlement-export",
    ),
    path("dashboard/balance/", balance.balance_page, name="dashboard-balance"),
    path("dashboard/balance/export.csv", balance.balance_export, name="dashboard-balance-export"),
    path("dashboard/sandbox/", sandbox.sandbox_page, name="dashboard-sandbox"),
    path("dashboard/sandbox/expire/<uuid:transaction_id>/", sandbox.expire_now, name="dashboard-expire-now"),
    path("dashboard/sandbox/retry/<uuid:delivery_id>/", sandbox.retry_now, name="dashboard-retry-now"),
    path("dashboard/business/", dashboard.switch_business, name="switch-business"),
    # Signing in, and one's own account. Names with account_ and mfa_ are those by which allauth looks for them.
    path("dashboard/login/", dashboard.SignInPage.as_view(), name="account_login"),
    path("dashboard/login/", dashboard.SignInPage.as_view(), name="sign-in"),
    path("dashboard/login/code/", account.second_step, name="mfa_authenticate"),
    path("dashboard/login/passkey/", account.use_passkey, name="mfa_login_webauthn"),
    path("dashboard/login/forgotten/", account.forgotten_password, name="account_reset_password"),
    path(
        "dashboard/login/forgotten/sent/", account.forgotten_password_sent, name="account_reset_password_done"
    ),
    path(
        "dashboard/login/new-password/<str:uidb36>/<str:key>/",
        account.new_password,
        name="account_reset_password_from_key",
    ),
    path(
        "dashboard/login/new-password/set/",
        account.new_password_set,
        name="account_reset_password_from_key_done",
    ),
    path("dashboard/confirm/", account.confirm_by_password, name="account_reauthenticate"),
    path("dashboard/confirm/code/", account.confirm_by_code, name="mfa_reauthenticate"),
    path("dashboard/confirm/passkey/", account.confirm_by_passkey, name="mfa_reauthenticate_webauthn"),
    path("dashboard/confirm/form/", account.kept_form_page, name="kept-form"),
    path("dashboard/account/", account.account_page, name="mfa_index"),
    path("dashboard/account/", account.account_page, name="mfa_list_webauthn"),
    path("dashboard/account/name/", account.change_name, name="name"),
    path("dashboard/account/password/", account.change_password, name="account_change_password"),
    path("dashboard/account/app/", account.set_app_up, name="mfa_activate_totp"),
    path("dashboard/account/app/off/", account.turn_app_off, name="mfa_deactivate_totp"),
    path("dashboard/account/codes/", account.show_codes, name="mfa_view_recovery_codes"),
    path("dashboard/account/codes/new/", account.make_codes, name="mfa_generate_recovery_codes"),
    path("dashboard/account/passkeys/new/", account.add_passkey, name="mfa_add_webauthn"),
    path("dashboard/account/passkeys/<int:pk>/off/", account.remove_passkey, name="mfa_remove_webauthn"),
    path("dashboard/account/sessions/<int:session_id>/end/", account.end_session, name="end-session"),
    path("dashboard/account/sessions/end-others/", account.end_others, name="end-other-sessions"),
    path("dashboard/logout/", dashboard.sign_out, name="sign-out"),
    # Our own people
    path("admin/", admin.site.urls),
    # For load balancers and Prometheus
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics_page, name="metrics"),
]

handler400 = "config.docs_site.views.bad_request"
handler403 = "config.docs_site.views.forbidden"
handler404 = "config.docs_site.views.not_found"
handler429 = "config.docs_site.views.too_many_requests"  # django-allauth's
handler500 = "config.docs_site.views.server_error"

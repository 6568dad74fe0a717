"""URLs of sign-in, reauthentication and the user's own account.

allauth reverses the names that start with `account_` and `mfa_`.
"""

from django.urls import path

from dashboard.account import views
from dashboard.account.sign_in import sign_in_views

urlpatterns = [
    path("dashboard/login/", sign_in_views.SignInPage.as_view(), name="account_login"),
    path("dashboard/login/", sign_in_views.SignInPage.as_view(), name="sign-in"),
    path("dashboard/login/code/", views.second_step, name="mfa_authenticate"),
    path("dashboard/login/passkey/", views.use_passkey, name="mfa_login_webauthn"),
    path("dashboard/login/forgotten/", views.request_password_reset, name="account_reset_password"),
    path("dashboard/login/forgotten/sent/", views.password_reset_sent, name="account_reset_password_done"),
    path(
        "dashboard/login/new-password/<str:uidb36>/<str:key>/",
        views.new_password,
        name="account_reset_password_from_key",
    ),
    path(
        "dashboard/login/new-password/set/",
        views.new_password_set,
        name="account_reset_password_from_key_done",
    ),
    path("dashboard/confirm/", views.confirm_by_password, name="account_reauthenticate"),
    path("dashboard/confirm/code/", views.confirm_by_code, name="mfa_reauthenticate"),
    path("dashboard/confirm/passkey/", views.confirm_by_passkey, name="mfa_reauthenticate_webauthn"),
    path("dashboard/confirm/done/", views.confirmed, name="confirmed"),
    path("dashboard/account/", views.account_page, name="mfa_index"),
    path("dashboard/account/", views.account_page, name="mfa_list_webauthn"),
    path("dashboard/account/name/", views.change_name, name="name"),
    path("dashboard/account/password/", views.change_password, name="account_change_password"),
    path("dashboard/account/app/", views.set_app_up, name="mfa_activate_totp"),
    path("dashboard/account/app/off/", views.turn_app_off, name="mfa_deactivate_totp"),
    path("dashboard/account/codes/", views.show_codes, name="mfa_view_recovery_codes"),
    path("dashboard/account/codes/new/", views.make_codes, name="mfa_generate_recovery_codes"),
    path("dashboard/account/passkeys/new/", views.add_passkey, name="mfa_add_webauthn"),
    path("dashboard/account/passkeys/<int:pk>/off/", views.remove_passkey, name="mfa_remove_webauthn"),
    path("dashboard/account/sessions/<int:session_id>/end/", views.end_session, name="end-session"),
    path("dashboard/account/sessions/end-others/", views.end_others, name="end-other-sessions"),
    path("dashboard/logout/", sign_in_views.sign_out, name="sign-out"),
]

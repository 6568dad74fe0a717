"""Addresses of the payment API, of the bank's notifications and of the payer's pages."""

from django.urls import path

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

urlpatterns = [
    path("api/payments", views.PaymentsView.as_view(), name="payments"),
    path("api/payments/<str:reference>", views.PaymentView.as_view(), name="payment"),
    path("api/payments/<str:reference>/capture", views.CaptureView.as_view(), name="capture"),
    path("api/payments/<str:reference>/void", views.VoidView.as_view(), name="void"),
    path("api/payments/<str:reference>/cancel", views.CancelView.as_view(), name="cancel"),
    path("api/payments/<str:reference>/refunds", views.RefundsView.as_view(), name="refunds"),
    path("api/refunds/<str:reference>", views.RefundView.as_view(), name="refund"),
    path("api/virtual-accounts/simulate", views.SimulateView.as_view(), name="simulate"),
    path(
        "api/virtual-accounts/<str:reference>/deactivate", views.DeactivateView.as_view(), name="deactivate"
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
    path("api/balance/movements", wallet_views.MovementsView.as_view(), name="movements"),
    path("api/banks/resolve", views.ResolveBeneficiaryView.as_view(), name="resolve-beneficiary"),
    path("api/sandbox/advance", sandbox_views.AdvanceView.as_view(), name="advance"),
    path("api/banks", views.BanksView.as_view(), name="banks"),
    path("bank/transfers", bank_notifications.BankTransfersView.as_view(), name="bank-transfers"),
    path("bank/payout-returns", bank_notifications.PayoutReturnsView.as_view(), name="bank-payout-returns"),
    path("3ds/<str:token>", challenge.ChallengePage.as_view(), name="challenge"),
    path("pay/<uuid:payment_id>", transfer.transfer_page, name="pay"),
]

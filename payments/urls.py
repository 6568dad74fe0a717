"""URLs of the payment API, the bank's notifications and the payers' pages."""

from django.urls import path

from payments.bank_notifications import views as bank_notifications
from payments.pages import checkout, transfer
from payments.pages.challenges import challenge, challenge_return
from payments.pages.links.link import link_page
from payments.views import (
    banks,
    beneficiaries,
    capabilities,
    payment_links,
    payments,
    refunds,
    sandbox,
    settlements,
    unapplied_transfers,
    virtual_accounts,
    wallet,
)
from payments.views.webhooks import events, exams, listeners, webhook_endpoints

urlpatterns = [
    path("api/payments", payments.PaymentsView.as_view(), name="payments"),
    path("api/payments/<str:reference>", payments.PaymentView.as_view(), name="payment"),
    path("api/payments/<str:reference>/capture", payments.CaptureView.as_view(), name="capture"),
    path("api/payments/<str:reference>/void", payments.VoidView.as_view(), name="void"),
    path("api/payments/<str:reference>/cancel", payments.CancelView.as_view(), name="cancel"),
    path("api/payments/<str:reference>/refunds", refunds.RefundsView.as_view(), name="refunds"),
    path(
        "api/payments/<str:reference>/checkout",
        payment_links.PaymentCheckoutView.as_view(),
        name="payment-checkout",
    ),
    path("api/payment-links", payment_links.PaymentLinksView.as_view(), name="payment-links"),
    path("api/payment-links/<str:reference>", payment_links.PaymentLinkView.as_view(), name="payment-link"),
    path(
        "api/payment-links/<str:reference>/deactivate",
        payment_links.DeactivateLinkView.as_view(),
        name="deactivate-link",
    ),
    path(
        "api/payment-links/<str:reference>/activate",
        payment_links.ActivateLinkView.as_view(),
        name="activate-link",
    ),
    path(
        "api/payment-links/<str:reference>/checkouts",
        payment_links.LinkCheckoutsView.as_view(),
        name="link-checkouts",
    ),
    path("api/refunds/<str:reference>", refunds.RefundView.as_view(), name="refund"),
    path("api/virtual-accounts/simulate", virtual_accounts.SimulateView.as_view(), name="simulate"),
    path(
        "api/virtual-accounts/<str:reference>/deactivate",
        virtual_accounts.DeactivateView.as_view(),
        name="deactivate",
    ),
    path(
        "api/unapplied-transfers",
        unapplied_transfers.UnappliedTransfersView.as_view(),
        name="unapplied-transfers",
    ),
    path(
        "api/unapplied-transfers/<uuid:id>/credit",
        unapplied_transfers.CreditUnappliedView.as_view(),
        name="credit-unapplied",
    ),
    path(
        "api/unapplied-transfers/<uuid:id>/return",
        unapplied_transfers.ReturnUnappliedView.as_view(),
        name="return-unapplied",
    ),
    path("api/settlements", settlements.SettlementsView.as_view(), name="settlements"),
    path("api/settlements/<uuid:id>", settlements.SettlementView.as_view(), name="settlement"),
    path("api/events", events.EventsView.as_view(), name="events"),
    path("api/events/<uuid:event_id>", events.EventView.as_view(), name="event"),
    path("api/events/<uuid:event_id>/resend", events.ResendView.as_view(), name="resend-event"),
    path("api/webhook-endpoints", webhook_endpoints.WebhookEndpointsView.as_view(), name="webhook-endpoints"),
    path(
        "api/webhook-endpoints/<uuid:id>",
        webhook_endpoints.WebhookEndpointView.as_view(),
        name="webhook-endpoint",
    ),
    path(
        "api/webhook-endpoints/<uuid:id>/rotate",
        webhook_endpoints.RotateKeyView.as_view(),
        name="rotate-webhook-key",
    ),
    path("api/balance/movements", wallet.MovementsView.as_view(), name="movements"),
    path("api/beneficiaries", beneficiaries.BeneficiariesView.as_view(), name="beneficiaries"),
    path("api/beneficiaries/<str:reference>", beneficiaries.BeneficiaryView.as_view(), name="beneficiary"),
    path("api/banks/resolve", banks.ResolveBeneficiaryView.as_view(), name="resolve-beneficiary"),
    path("api/sandbox/scenarios", sandbox.ScenariosView.as_view(), name="scenarios"),
    path("api/sandbox/advance", sandbox.AdvanceView.as_view(), name="advance"),
    path("api/sandbox/listeners", listeners.ListenersView.as_view(), name="listeners"),
    path("api/sandbox/listeners/<str:name>/poll", listeners.PollListenerView.as_view(), name="poll-listener"),
    path("api/sandbox/listeners/<str:name>/end", listeners.EndListenerView.as_view(), name="end-listener"),
    path("api/sandbox/exams", exams.ExamsView.as_view(), name="exams"),
    path("api/sandbox/exams/<uuid:exam_id>", exams.ExamView.as_view(), name="exam"),
    path("api/sandbox/exams/<uuid:exam_id>/answers", exams.ExamAnswersView.as_view(), name="exam-answers"),
    path("api/banks", banks.BanksView.as_view(), name="banks"),
    path("api/capabilities", capabilities.CapabilitiesView.as_view(), name="capabilities"),
    path("bank/transfers", bank_notifications.BankTransfersView.as_view(), name="bank-transfers"),
    path("bank/payout-returns", bank_notifications.PayoutReturnsView.as_view(), name="bank-payout-returns"),
    path("3ds/<str:token>", challenge.ChallengePage.as_view(), name="challenge"),
    path("3ds/<str:token>/return", challenge_return.return_page, name="challenge-return"),
    path("pay/<uuid:payment_id>", transfer.transfer_page, name="pay"),
    path("l/<str:slug>", link_page, name="link"),
    path("checkout/theme/<str:colour>.css", checkout.theme, name="theme"),
    path("checkout/logo/<uuid:logo_id>", checkout.logo, name="logo"),
    path("checkout/<str:token>", checkout.checkout_page, name="checkout"),
    path("checkout/<str:token>/card", checkout.card, name="pay-by-card"),
    path("checkout/<str:token>/transfer", checkout.transfer, name="pay-by-transfer"),
    path("checkout/<str:token>/end", checkout.end, name="end-attempt"),
    path("checkout/<str:token>/state", checkout.state, name="checkout-state"),
    path("checkout/<str:token>/receipt", checkout.receipt, name="receipt"),
    path("checkout/<str:token>/simulate", checkout.simulate, name="simulate-payment"),
]

"""The API of what virtual accounts do with payments: deactivation, and transfers in the sandbox."""

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.fields.answer_fields import TEXT, Answer, Field, always
from kit.api.operations import ok, operation
from kit.db import clock
from merchants.api.api_requests import ObjectKind, business_of, note_object, read_body
from payments.api.serializers import DeactivateSerializer, SimulateSerializer
from payments.sandbox.simulated_transfers import require_sandbox, simulated_notice, simulation_message
from payments.services.rails.required_capabilities import require_simulated_transfers
from payments.services.transfers import account_deactivation, incoming
from virtual_accounts.models import VirtualAccount
from virtual_accounts.representation import VIRTUAL_ACCOUNT
from virtual_accounts.representation import represent as represent_account
from virtual_accounts.services import accounts

SIMULATED = Answer(
    "Simulated",
    "A simulated transfer arrived.",
    Field("success", always(True), "Always `true`.", True, value=lambda _: True),
    Field("message", TEXT, "What happened to the transfer.", "Payment simulated: NGN 500.00 arrived at 1000000014 and completed its payment.", simulation_message),
)  # fmt: skip


class DeactivateView(APIView):
    @operation("deactivateVirtualAccount", ok(VIRTUAL_ACCOUNT, "The account."), DeactivateSerializer)
    def post(self, request: Request, reference: str) -> Response:
        """Deactivate a virtual account.

        The account no longer accepts money; an open payment on it fails. Repeating the call changes nothing.
        """
        read_body(request, DeactivateSerializer)
        account = _find_account(request, reference)
        return Response(represent_account(account_deactivation.deactivate(account.pk, now=clock.now())))


class SimulateView(APIView):
    """Simulate a bank transfer in the sandbox. Errors have `success: false` (`config.errors.problems`)."""

    @operation(
        "simulateTransfer",
        ok(SIMULATED, "The transfer arrived."),
        SimulateSerializer,
        problems="unknown_account sandbox_only not_supported",
    )
    def post(self, request: Request) -> Response:
        """Simulate a bank transfer (sandbox).

        Simulates a bank transfer to one of your account numbers. You receive the outcome by webhook, as for a
        real transfer. Money that matches no payment (the payment has ended, the account is inactive) arrives
        too: `message` says that it was booked as unapplied.
        """
        require_sandbox()
        business = business_of(request)
        wanted = read_body(request, SimulateSerializer)
        require_simulated_transfers()
        transfer = incoming.receive(simulated_notice(wanted), owner=business).resource
        return Response(SIMULATED.represent(transfer))

    @operation("getSimulate", ok(VIRTUAL_ACCOUNT, "The account."), exclude=True)
    def get(self, request: Request) -> Response:
        """Return the account with the reference `simulate`, if any."""
        return Response(represent_account(_find_account(request, "simulate")))


def _find_account(request: Request, reference: str) -> VirtualAccount:
    account = accounts.find_of(business_of(request), reference)
    if account is None:
        raise NotFound
    note_object(request, ObjectKind.VIRTUAL_ACCOUNT, account.pk, account.reference)
    return account

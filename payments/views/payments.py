"""The payment API. Each view parses, calls one service and responds. `request.user` is the business that signed."""

import hashlib
import json
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeVar, cast

from django.conf import settings
from django.db.models import Model, QuerySet
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit import banks
from kit.api.answers import CURRENCY_FIELD, TEXT, Answer, Field, ListOf, constant
from kit.api.conditional_requests import matches
from kit.api.pagination import page_of
from kit.api.replays import created_or_replayed, done_or_replayed
from kit.api.strict_fields import read_request
from kit.db import clock
from merchants.models import Business
from payments import flows
from payments.filters import filtered
from payments.models import CardOperation, Transaction
from payments.representation import represent, represent_refund
from payments.serializers import (
    CancelSerializer,
    CaptureSerializer,
    DeactivateSerializer,
    RefundSerializer,
    ResolveBeneficiarySerializer,
    SimulateSerializer,
    VoidSerializer,
)
from payments.services import cancellations, refunds
from payments.services.cards import captures
from payments.services.intents import find_of
from payments.services.payouts import name_enquiries
from payments.services.transfers import account_deactivation, incoming
from payments.simulated_transfers import SandboxOnly, simulated_notice, simulation_message
from virtual_accounts.models import VirtualAccount
from virtual_accounts.representation import ACCOUNT_NUMBER
from virtual_accounts.representation import represent as represent_account
from virtual_accounts.services import accounts

M = TypeVar("M", bound=Model)

CAPTURE, VOID, REFUND = CaptureSerializer(), VoidSerializer(), RefundSerializer()
CANCEL = CancelSerializer()
DEACTIVATE, SIMULATE = DeactivateSerializer(), SimulateSerializer()
RESOLVE = ResolveBeneficiarySerializer()


# Answers of this module only. The others are declared in `payments.representation`.
SIMULATED = Answer(
    "Simulated",
    "A simulated transfer arrived.",
    Field("success", constant(True), "", True, value=lambda _: True),
    Field(
        "message",
        TEXT,
        "What came of it.",
        "Payment simulated: 50000 NGN arrived at 1000000014 and completed its payment.",
        simulation_message,
    ),
)
BENEFICIARY = Answer(
    "Beneficiary",
    "An account and the name of its holder.",
    Field(
        "account_name", TEXT, "The holder's name, as the bank has it.", "Bisi Ade", itemgetter("account_name")
    ),
    Field("account_number", ACCOUNT_NUMBER, "Its number.", "0123456789", itemgetter("account_number")),
    Field("bank_code", TEXT, "The bank's `code`.", "058", itemgetter("bank_code")),
)
BANK = Answer(
    "Bank",
    "A bank that payouts can reach.",
    Field("code", TEXT, "CBN code, as in responses.", "058"),
    Field("name", TEXT, "Name.", "Guaranty Trust Bank"),
    Field("nip_code", TEXT, "NIP code; requests may use either.", "000013"),
    Field("country", TEXT, "ISO 3166-1 alpha-3.", "NGA"),
    CURRENCY_FIELD,
)
BANKS = Answer("BankList", "Every bank, sorted by name.", Field("data", ListOf(BANK), ""))


class PaymentsView(APIView):
    """Start and list payments, payouts and card checks."""

    def post(self, request: Request) -> Response:
        body = _body(request)
        intent = flows.choose(body).start(body, business=_business(request), now=clock.now())
        transaction = intent.resource
        return created_or_replayed(
            intent,
            represent(transaction),
            location=f"/api/payments/{transaction.reference}",
        )

    def get(self, request: Request) -> Response:
        transactions = Transaction.objects.of(_business(request)).for_representation()
        return _page(self, filtered(transactions, request.query_params), represent)


class PaymentView(APIView):
    """Get a payment, payout or card check."""

    def get(self, request: Request, reference: str) -> Response:
        return Response(represent(_find(request, reference)))


class CaptureView(APIView):
    """Capture an authorised card payment, in whole or in part."""

    def post(self, request: Request, reference: str) -> Response:
        wanted = read_request(CAPTURE, _body(request), currencies=_business(request).currencies)
        result = captures.capture(
            transaction_id=_find(request, reference).pk, amount=wanted.get("amount"), now=clock.now()
        )
        return done_or_replayed(result, represent(result.resource))


class VoidView(APIView):
    """Void an authorised card payment."""

    def post(self, request: Request, reference: str) -> Response:
        read_request(VOID, _body(request), currencies=_business(request).currencies)
        result = captures.void(transaction_id=_find(request, reference).pk, now=clock.now())
        return done_or_replayed(result, represent(result.resource))


class CancelView(APIView):
    """Cancel a payment that awaits its payer."""

    def post(self, request: Request, reference: str) -> Response:
        read_request(CANCEL, _body(request), currencies=_business(request).currencies)
        result = cancellations.cancel(transaction_id=_find(request, reference).pk)
        return done_or_replayed(result, represent(result.resource))


class RefundsView(APIView):
    """Refund a payment and list its refunds."""

    def post(self, request: Request, reference: str) -> Response:
        wanted = read_request(REFUND, _body(request), currencies=_business(request).currencies)
        result = refunds.refund(transaction=_find(request, reference), request=wanted, now=clock.now())
        return created_or_replayed(result, represent_refund(result.resource))

    def get(self, request: Request, reference: str) -> Response:
        made = CardOperation.objects.filter(
            transaction=_find(request, reference), kind=CardOperation.Kind.REFUND
        ).select_related("transaction")
        return _page(self, made, represent_refund)


class RefundView(APIView):
    """Get a refund by its own reference."""

    def get(self, request: Request, reference: str) -> Response:
        found = refunds.find_of(_business(request), reference)
        if found is None:
            raise NotFound
        return Response(represent_refund(found))


class DeactivateView(APIView):
    """Deactivate a virtual account."""

    def post(self, request: Request, reference: str) -> Response:
        read_request(DEACTIVATE, _body(request), currencies=_business(request).currencies)
        account = _find_account(request, reference)
        return Response(represent_account(account_deactivation.deactivate(account.pk, now=clock.now())))


class SimulateView(APIView):
    """Simulate a bank transfer in the sandbox. Errors have `success: false` (`config.problems`)."""

    def post(self, request: Request) -> Response:
        if not settings.SANDBOX:
            raise SandboxOnly
        business = _business(request)
        wanted = read_request(SIMULATE, _body(request), currencies=business.currencies)
        transfer = incoming.receive(simulated_notice(wanted), owner=business).resource
        return Response(SIMULATED.represent(transfer))

    def get(self, request: Request) -> Response:
        """Return the account with the reference `simulate`, if any."""
        return Response(represent_account(_find_account(request, "simulate")))


class BanksView(APIView):
    """List the banks that payouts can reach."""

    def get(self, request: Request) -> Response:
        rows, etag = _bank_list()
        headers = {"ETag": etag, "Cache-Control": "private, max-age=3600"}
        if matches(etag, request.headers.get("If-None-Match", "")):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers=headers)
        return Response({"data": rows}, headers=headers)


class ResolveBeneficiaryView(APIView):
    """Ask a bank for the name of an account's holder."""

    def post(self, request: Request) -> Response:
        wanted = read_request(RESOLVE, _body(request), currencies=_business(request).currencies)
        name = name_enquiries.account_name(business=_business(request), **wanted)
        return Response(BENEFICIARY.represent({"account_name": name, **wanted}))


@lru_cache(maxsize=1)
def _bank_list() -> tuple[list[dict[str, Any]], str]:
    """Return all banks and their ETag."""
    rows = [BANK.represent(bank) for bank in banks.all_banks()]
    return rows, f'"{hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:32]}"'


def _business(request: Request) -> Business:
    return cast("Business", request.user)


def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object of the body, or an empty one. The parser rejects everything else."""
    return cast("dict[str, Any]", request.data or {})


def _find(request: Request, reference: str) -> Transaction:
    """Return the caller's transaction. Returns 404 for transactions of other businesses."""
    transaction = find_of(_business(request), reference)
    if transaction is None:
        raise NotFound
    return transaction


def _find_account(request: Request, reference: str) -> VirtualAccount:
    account = accounts.find_of(_business(request), reference)
    if account is None:
        raise NotFound
    return account


def _page(view: APIView, rows: QuerySet[M], show: Callable[[M], dict[str, Any]]) -> Response:
    """Return the requested page of a list."""
    return Response(page_of(view, rows, show))

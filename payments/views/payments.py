"""The payment API. Each view parses, calls one service and responds. `request.user` is the business that signed."""

import hashlib
from functools import lru_cache
from operator import itemgetter
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit import banks
from kit.api.amount_warnings import with_warnings
from kit.api.conditional_requests import matches
from kit.api.fields.answer_fields import CURRENCY_FIELD, TEXT, Answer, Field, ListOf, always
from kit.api.json_answers import JSONAnswerRenderer
from kit.api.operations import Success, any_of, created, done, ok, operation, page
from kit.api.pagination import page_of
from kit.api.replays import created_or_replayed, done_or_replayed
from kit.db import clock
from merchants.api.api_requests import (
    LookedUp,
    ObjectKind,
    body_of,
    business_of,
    found_for,
    note_object,
    read_body,
)
from merchants.people.access import Limit
from payments import representation as answers
from payments.api import request_types
from payments.api.filters import FilterSerializer, filtered
from payments.api.serializers import (
    CancelSerializer,
    CaptureSerializer,
    DeactivateSerializer,
    RefundSerializer,
    ResolveBeneficiarySerializer,
    SimulateSerializer,
    VoidSerializer,
)
from payments.models import CardOperation, Transaction
from payments.sandbox.simulated_transfers import require_sandbox, simulated_notice, simulation_message
from payments.services import cancellations
from payments.services.cards import captures
from payments.services.intents import BY_REFERENCE, find_of
from payments.services.payouts import name_enquiries
from payments.services.refunds import refunds
from payments.services.transfers import account_deactivation, incoming
from virtual_accounts.models import VirtualAccount
from virtual_accounts.representation import ACCOUNT_NUMBER, VIRTUAL_ACCOUNT
from virtual_accounts.representation import represent as represent_account
from virtual_accounts.services import accounts

CREATE_PAYMENT = any_of(
    "CreatePayment", *(type(each.serializer) for each in request_types.REQUEST_TYPES.values())
)
IF_NONE_MATCH = {"type": "string", "maxLength": 255, "examples": ['"b1946ac92492d234"']}


# Answers of this module only. The others are declared in `payments.representation`.
SIMULATED = Answer(
    "Simulated",
    "A simulated transfer arrived.",
    Field("success", always(True), "Always `true`.", True, value=lambda _: True),
    Field("message", TEXT, "What happened to the transfer.", "Payment simulated: NGN 500.00 arrived at 1000000014 and completed its payment.", simulation_message),
)  # fmt: skip
BENEFICIARY = Answer(
    "Beneficiary",
    "An account and the name of its holder.",
    Field("account_name", TEXT, "The holder's name in the bank's records.", "Bisi Ade", itemgetter("account_name")),
    Field("account_number", ACCOUNT_NUMBER, "The account number.", "0123456789", itemgetter("account_number")),
    Field("bank_code", TEXT, "The bank's `code`.", "058", itemgetter("bank_code")),
)  # fmt: skip
BANK = Answer(
    "Bank",
    "A bank that payouts can reach.",
    Field("code", TEXT, "CBN code, as in responses.", "058"),
    Field("name", TEXT, "Name.", "Guaranty Trust Bank"),
    Field("nip_code", TEXT, "NIP code; requests may use either.", "000013"),
    Field("country", TEXT, "ISO 3166-1 alpha-3.", "NGA"),
    CURRENCY_FIELD,
)  # fmt: skip
BANKS = Answer("BankList", "Every bank, sorted by name.", Field("data", ListOf(BANK), "The banks."))


class PaymentsView(APIView):
    limits = (Limit.CARD_NUMBER,)

    @operation(
        "createPayment",
        created(answers.PAYMENT, "Created. A declined payment is created too: see `status`.", "Location"),
        CREATE_PAYMENT,
        problems=(
            "not_allowed_here reserved_reference card_number_misplaced unsupported_currency "
            "amount_too_small no_price not_supported invalid_payment_method "
            "duplicate_reference invalid_state rail_unavailable"
        ),
    )
    def post(self, request: Request) -> Response:
        """Create a payment, a payout or a card check.

        `request_type` (and, for payments, `payment_method`) determines which fields the request has.

        A card payment that needs 3-D Secure is `pending` with a `redirect_link`: redirect the payer to it.
        The payer returns to your `redirect_url` with `reference`, `id` and `status` in the query. The query
        is no proof of payment, so look up the payment. A payment to a virtual account is `pending`, with the
        account number for the payer's transfer in `virtual_account_details`. With `capture: false`, the
        amount is only authorised, and the payment stays `pending` until you capture or void it, or 7 days
        have passed.
        """
        body = body_of(request)
        intent = request_types.choose(body).start(body, business=business_of(request), now=clock.now())
        transaction = intent.resource
        _note(request, transaction)
        return created_or_replayed(
            intent,
            with_warnings(answers.represent(transaction), body),
            location=f"/api/payments/{transaction.reference}",
        )

    @operation("listPayments", ok(answers.PAYMENTS_PAGE, "A page."), filters=FilterSerializer)
    def get(self, request: Request) -> Response:
        """List payments, payouts and card checks.

        Newest first, in pages that stay stable while transactions arrive.
        """
        transactions = Transaction.objects.of(business_of(request)).for_representation()
        return Response(page_of(self, filtered(transactions, request.query_params), answers.represent))


class PaymentView(APIView):
    looked_up = LookedUp(BY_REFERENCE, part="reference")

    @operation("getPayment", ok(answers.PAYMENT, "The transaction's current state."))
    def get(self, request: Request, reference: str) -> Response:
        """Look up a payment, a payout or a card check.

        By your reference, in its current state: the way to learn an outcome that you are not sure of.
        """
        return Response(answers.represent(_find(request, reference)))


class CaptureView(APIView):
    @operation(
        "capturePayment",
        done(answers.PAYMENT, "The payment."),
        CaptureSerializer,
        problems="amount_too_large invalid_state rail_unavailable",
    )
    def post(self, request: Request, reference: str) -> Response:
        """Capture an authorised card payment.

        In whole or in part; the rest is released. A payment is captured once: repeating the same capture
        returns 200 and the payment's current state, a capture of a different amount 409.
        """
        wanted = read_body(request, CaptureSerializer)
        result = captures.capture(
            transaction_id=_find(request, reference).pk, amount=wanted.get("amount"), now=clock.now()
        )
        return done_or_replayed(result, answers.represent(result.resource))


class VoidView(APIView):
    @operation(
        "voidPayment",
        done(answers.PAYMENT, "The payment."),
        VoidSerializer,
        problems="not_supported invalid_state rail_unavailable",
    )
    def post(self, request: Request, reference: str) -> Response:
        """Release an authorised card payment.

        The payment fails with 20090. Repeating the void returns 200 and the payment's current state.
        """
        read_body(request, VoidSerializer)
        result = captures.void(transaction_id=_find(request, reference).pk, now=clock.now())
        return done_or_replayed(result, answers.represent(result.resource))


class CancelView(APIView):
    @operation(
        "cancelPayment", done(answers.PAYMENT, "The payment."), CancelSerializer, problems="invalid_state"
    )
    def post(self, request: Request, reference: str) -> Response:
        """Cancel a payment that is waiting for its payer.

        A payment with an open 3-D Secure page or transfer session fails with 20091. Repeating the
        cancellation returns 200 and the payment's current state.
        """
        read_body(request, CancelSerializer)
        result = cancellations.cancel(transaction_id=_find(request, reference).pk)
        return done_or_replayed(result, answers.represent(result.resource))


class RefundsView(APIView):
    @operation(
        "createRefund",
        created(answers.REFUND, "Created. A refused refund is created too: see `status`."),
        RefundSerializer,
        problems=(
            "not_allowed_here destination_required not_supported amount_too_large "
            "duplicate_reference invalid_state not_refundable insufficient_funds "
            "rail_unavailable"
        ),
        tags=["Refunds"],
    )
    def post(self, request: Request, reference: str) -> Response:
        """Refund a payment.

        Refund a payment in whole or in parts, until nothing is left. A card payment is refunded to its card,
        a transfer payment to its sender's account. If the bank didn't name that account, `destination` is
        required; if it did, `destination` isn't allowed. The amount of a pending refund counts as refunded; a
        failed refund releases it.

        Refunds of card payments follow the first table, those of transfer payments the second.
        """
        body = body_of(request)
        wanted = read_body(request, RefundSerializer)
        result = refunds.refund(transaction=_find(request, reference), request=wanted, now=clock.now())
        _note_refund(request, result.resource)
        return created_or_replayed(result, with_warnings(answers.represent_refund(result.resource), body))

    @operation("listRefunds", page(answers.REFUNDS_PAGE), tags=["Refunds"])
    def get(self, request: Request, reference: str) -> Response:
        """List a payment's refunds.

        Newest first, failed ones included.
        """
        made = CardOperation.objects.filter(
            transaction=_find(request, reference), kind=CardOperation.Kind.REFUND
        ).select_related("transaction")
        return Response(page_of(self, made, answers.represent_refund))


class RefundView(APIView):
    @operation("getRefund", ok(answers.REFUND, "The refund's current state."))
    def get(self, request: Request, reference: str) -> Response:
        """Look up a refund.

        By the refund's own reference, in its current state.
        """
        found = refunds.find_of(business_of(request), reference)
        if found is None:
            raise NotFound
        _note_refund(request, found)
        return Response(answers.represent_refund(found))


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
        problems="unknown_account sandbox_only",
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
        transfer = incoming.receive(simulated_notice(wanted), owner=business).resource
        return Response(SIMULATED.represent(transfer))

    @operation("getSimulate", ok(VIRTUAL_ACCOUNT, "The account."), exclude=True)
    def get(self, request: Request) -> Response:
        """Return the account with the reference `simulate`, if any."""
        return Response(represent_account(_find_account(request, "simulate")))


class BanksView(APIView):
    @operation(
        "listBanks",
        ok(BANKS, "Every bank.", "ETag") | {304: Success(None, "Your list is up to date.", "ETag")},
        parameters=[
            OpenApiParameter(
                "If-None-Match", IF_NONE_MATCH, "header", description="The `ETag` of the list that you have."
            )
        ],
    )
    def get(self, request: Request) -> Response:
        """List the banks that payouts can reach.

        Changes rarely: cache it, and send its `ETag` in `If-None-Match`.
        """
        rows, etag = _bank_list()
        headers = {"ETag": etag, "Cache-Control": "private, max-age=3600"}
        if matches(etag, request.headers.get("If-None-Match", "")):
            return Response(status=status.HTTP_304_NOT_MODIFIED, headers=headers)
        return Response({"data": rows}, headers=headers)


class ResolveBeneficiaryView(APIView):
    @operation(
        "resolveBeneficiary",
        ok(BENEFICIARY, "The account."),
        ResolveBeneficiarySerializer,
        problems="unknown_beneficiary rail_unavailable",
    )
    def post(self, request: Request) -> Response:
        """Look up the name of an account.

        Queries the bank for the name of the account's holder. Nothing is stored. In the sandbox account
        `0000000000` is unknown.
        """
        wanted = read_body(request, ResolveBeneficiarySerializer)
        name = name_enquiries.account_name(business=business_of(request), **wanted)
        return Response(BENEFICIARY.represent({"account_name": name, **wanted}))


@lru_cache(maxsize=1)
def _bank_list() -> tuple[list[dict[str, Any]], str]:
    """Return all banks and the ETag of the answer."""
    rows = [BANK.represent(bank) for bank in banks.all_banks()]
    return rows, f'"{hashlib.sha256(JSONAnswerRenderer().render({"data": rows})).hexdigest()[:32]}"'


def _find(request: Request, reference: str) -> Transaction:
    """Return the caller's transaction. Returns 404 for transactions of other businesses."""
    business = business_of(request)
    transaction = found_for(request, lambda: find_of(business, reference))
    if transaction is None:
        raise NotFound
    transaction.business = business
    _note(request, transaction)
    return transaction


def _note(request: Request, transaction: Transaction) -> None:
    note_object(request, transaction.request_type, transaction.pk, transaction.reference)


def _note_refund(request: Request, refund: CardOperation) -> None:
    note_object(request, ObjectKind.REFUND, refund.pk, refund.reference or "")


def _find_account(request: Request, reference: str) -> VirtualAccount:
    account = accounts.find_of(business_of(request), reference)
    if account is None:
        raise NotFound
    note_object(request, ObjectKind.VIRTUAL_ACCOUNT, account.pk, account.reference)
    return account

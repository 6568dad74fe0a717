"""The wallet statement API. `request.user` is the business that signed the request."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.fields.answer_fields import (
    BALANCE,
    CURRENCY,
    EMPTY,
    MOMENT,
    NONE,
    TEXT,
    Answer,
    Field,
    one_of,
    page_of,
    text,
)
from kit.api.filters import read_query
from kit.api.operations import operation, page
from kit.api.pagination import NewestFirst
from kit.time.timestamps import until_inclusive, whole_millisecond
from ledger.statements import MergedPostings, wallet_statements
from merchants.api.api_requests import business_of
from payments.api.filters import MovementFilterSerializer
from payments.services.reporting.wallet_statement import MOVEMENT_KINDS, movements

MOVEMENT = Answer(
    "Movement",
    "A movement of your balance.",
    Field("id", text("^[A-Z]{3}-[1-9][0-9]*$"), "Currency and position in the statement.", "NGN-42"),
    Field("kind", one_of(MOVEMENT_KINDS), "What caused the movement.", value="posting.entry.kind"),
    Field("amount", BALANCE, "Minor units: above zero into the balance, below zero out of it.", -151_000, "posting.amount"),
    Field("balance_after", BALANCE, "The balance afterwards.", 249_000, "posting.balance_after"),
    Field("currency", CURRENCY, "ISO 4217.", "NGN", "posting.account.currency"),
    Field(
        "reference",
        TEXT,
        "Your reference of the payout, also of its tax; else the id of the settlement, unapplied transfer, top-up or journal.",
        "salary-2026-01",
        "cause.reference",
    ),
    Field("reason", TEXT, "Why staff booked a `journal`, in plain words.", "Correction: Fee charged twice", omit=EMPTY),
    Field("created_at", MOMENT, "When it was booked.", "2026-01-31T08:00:00.000Z", "posting.entry.at"),
)  # fmt: skip
MOVEMENTS_PAGE = page_of(
    MOVEMENT,
    "A page of movements, newest first.",
    Field("opening_balance", BALANCE, "Before the filtered period, with `currency` only.", 400_000, omit=NONE),
    Field("closing_balance", BALANCE, "At the end of the filtered period, with `currency` only.", 249_000, omit=NONE),
)  # fmt: skip


class MovementsView(APIView):
    @operation(
        "listMovements",
        page(MOVEMENTS_PAGE),
        problems="unsupported_currency",
        filters=MovementFilterSerializer,
    )
    def get(self, request: Request) -> Response:
        """List the movements of your balance.

        The statement of your balance: each credit and debit, with the balance after it. With `currency`, the
        response also has the `opening_balance` and `closing_balance` of the period from `created_from` to
        `created_to`, on every page: `opening_balance` plus all amounts of the period is `closing_balance`,
        and `opening_balance` equals the `closing_balance` of the previous period.
        """
        wanted = read_query(request.query_params, MovementFilterSerializer)
        since, until = wanted.get("created_from"), wanted.get("created_to")
        statements = wallet_statements(
            business_of(request),
            currency=wanted.get("currency"),
            since=whole_millisecond(since) if since else None,
            before=until_inclusive(until) if until else None,
        )
        pages = NewestFirst()
        rows = pages.paginate_queryset(MergedPostings(statements=tuple(statements)), request, self)
        shown = pages.get_paginated_response(
            [MOVEMENT.represent(each) for each in movements(rows or [])]
        ).data
        if "currency" in wanted:
            shown["opening_balance"] = statements[0].opening_balance if statements else 0
            shown["closing_balance"] = statements[0].closing_balance if statements else 0
        return Response(shown)

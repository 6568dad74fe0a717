"""The settlements API. `request.user` is the business that signed the request."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.fields.strict_fields import RequestSerializer
from kit.api.filters import narrowed
from kit.api.operations import ok, operation, page
from kit.api.pagination import OldestFirst, page_of
from merchants.api.api_requests import ObjectKind, business_of, note_object
from payments.api.filters import SettlementFilterSerializer
from payments.models import SettlementBatch, SettlementBatchQuerySet
from payments.models.settlement.batches import SHOWN_WITH
from payments.representation import payments as answers
from payments.services.settlement.batches.batch_statements import NumberedLine, StatementLines


class SettlementsView(APIView):
    @operation(
        "listSettlements",
        page(answers.SETTLEMENTS_PAGE),
        problems="unsupported_currency",
        filters=SettlementFilterSerializer,
    )
    def get(self, request: Request) -> Response:
        """List settlement batches.

        Newest first: one for each currency and business day with payments.
        """
        batches = narrowed(_settlements(request), request.query_params, SettlementFilterSerializer)
        return Response(page_of(self, batches, answers.represent_settlement))


class SettlementView(APIView):
    @operation("getSettlement", ok(answers.SETTLEMENT_WITH_ITEMS, "The batch and a page of its items."))
    def get(self, request: Request, id: UUID) -> Response:
        """Get a settlement batch with its items.

        `limit` and `cursor` apply to `items`. The `net` of all items is the `net` of the batch.
        """
        batches = narrowed(_settlements(request), request.query_params, RequestSerializer)
        batch = get_object_or_404(batches, pk=id)
        note_object(request, ObjectKind.SETTLEMENT, batch.pk)
        items = page_of(self, StatementLines(batch=batch), _represent_item, paginator=OldestFirst())
        return Response(answers.represent_settlement(batch) | {"items": items})


def _settlements(request: Request) -> SettlementBatchQuerySet:
    batches = SettlementBatch.objects.of(business_of(request))
    return batches.prefetch_related(*SHOWN_WITH)


def _represent_item(numbered: NumberedLine) -> dict[str, Any]:
    return answers.SETTLEMENT_ITEM.represent(numbered.line)

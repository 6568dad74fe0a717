"""The payout batches API. `request.user` is the business that signed the request."""

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.filters import narrowed
from kit.api.operations import created, done, ok, operation, page
from kit.api.pagination import NewestFirst, page_of
from kit.api.replays import created_or_replayed, done_or_replayed
from kit.db import clock
from merchants.api.api_requests import business_of, key_of, read_body
from merchants.people.request_actors import key_acting
from payments.api.serializers import VoidSerializer
from payments.services.payouts.controls.makers import Maker
from payout_batches import representation as answers
from payout_batches import summaries
from payout_batches.models import PayoutBatch
from payout_batches.serializers import ApproveSerializer, PayoutBatchFilterSerializer, PayoutBatchSerializer
from payout_batches.services import batches


class InOrderOfTheFile(NewestFirst):
    """Keyset pagination by the position, which is unique within a batch."""

    ordering = "position"


class PayoutBatchesView(APIView):
    @operation(
        "createPayoutBatch",
        created(answers.PAYOUT_BATCH, "Created.", "Location"),
        PayoutBatchSerializer,
        problems=(
            "not_allowed_here reserved_reference unsupported_currency no_price not_supported duplicate_reference "
            "rail_unavailable"
        ),
        tags=["Payout batches"],
    )
    def post(self, request: Request) -> Response:
        """Create a payout batch.

        Nothing is sent yet: the banks are asked for the holders' names, then `status` is `ready` or `needs_correction`.
        All errors of all payouts are reported at once, such as `payouts.3.amount`, and a batch with errors stores nothing.
        The body may have up to 1 MiB.
        """
        result = batches.create(
            business=business_of(request),
            request=read_body(request, PayoutBatchSerializer),
            maker=Maker.of_key(key_of(request)),
            actor=key_acting(request),
            now=clock.now(),
        )
        shown = answers.represent_batch(summaries.shown(result.resource))
        return created_or_replayed(result, shown, location=f"/api/payout-batches/{shown['reference']}")

    @operation(
        "listPayoutBatches",
        page(answers.PAYOUT_BATCHES_PAGE),
        filters=PayoutBatchFilterSerializer,
        tags=["Payout batches"],
    )
    def get(self, request: Request) -> Response:
        """List payout batches.

        Newest first, with the numbers and sums of their payouts in each state.
        """
        business = business_of(request)
        own = PayoutBatch.objects.of(business).select_related("business", "retry_of")
        rows = page_of(
            self, narrowed(own, request.query_params, PayoutBatchFilterSerializer), lambda each: each
        )
        shown = summaries.shown_all(rows["data"], business)
        return Response(rows | {"data": [answers.represent_batch(each) for each in shown]})


class PayoutBatchView(APIView):
    @operation(
        "getPayoutBatch", ok(answers.PAYOUT_BATCH, "The batch's current state."), tags=["Payout batches"]
    )
    def get(self, request: Request, reference: str) -> Response:
        """Look up a payout batch.

        With the numbers and sums of its payouts in each state.
        """
        return Response(answers.represent_batch(summaries.shown(_find(request, reference))))


class BatchPayoutsView(APIView):
    @operation("listBatchPayouts", page(answers.PAYOUT_BATCH_ITEMS_PAGE), tags=["Payout batches"])
    def get(self, request: Request, reference: str) -> Response:
        """List the payouts of a batch.

        In the order of the file, with what the checks found, and the payout once it is sent.
        """
        items = batches.items_of(_find(request, reference))
        return Response(page_of(self, items, answers.represent_item, paginator=InOrderOfTheFile()))


class ApproveBatchView(APIView):
    @operation(
        "approvePayoutBatch",
        done(answers.PAYOUT_BATCH, "The batch."),
        ApproveSerializer,
        problems="invalid_state insufficient_funds",
        tags=["Payout batches"],
    )
    def post(self, request: Request, reference: str) -> Response:
        """Approve a payout batch.

        Releases a `ready` batch, or asks other members for approval where your business wants that. Every payout whose
        status is not `ok` needs a reason in `accept`. Repeating the call changes nothing.
        """
        wanted = read_body(request, ApproveSerializer)
        result = batches.approve(
            _find(request, reference).pk,
            accept=wanted.get("accept"),
            as_far_as_balance=wanted.get("as_far_as_balance", False),
            actor=key_acting(request),
            now=clock.now(),
        )
        return done_or_replayed(result, answers.represent_batch(summaries.shown(result.resource)))


class CancelBatchView(APIView):
    @operation(
        "cancelPayoutBatch",
        done(answers.PAYOUT_BATCH, "The batch."),
        VoidSerializer,
        problems="invalid_state",
        tags=["Payout batches"],
    )
    def post(self, request: Request, reference: str) -> Response:
        """Cancel a payout batch.

        Payouts that are not sent yet become `cancelled`. Those that were sent go on, and the batch ends `cancelled` once
        they are final. Repeating the call changes nothing.
        """
        read_body(request, VoidSerializer)
        result = batches.cancel(_find(request, reference).pk, actor=key_acting(request), now=clock.now())
        return done_or_replayed(result, answers.represent_batch(summaries.shown(result.resource)))


class RetryBatchView(APIView):
    @operation(
        "retryPayoutBatch",
        created(answers.PAYOUT_BATCH, "The new batch.", "Location"),
        VoidSerializer,
        problems="invalid_state",
        tags=["Payout batches"],
    )
    def post(self, request: Request, reference: str) -> Response:
        """Retry the failed payouts of a batch.

        Makes a new batch of them, with `-r1` after its reference and theirs. Unknown, pending and returned payouts are
        never in it. The same retry again returns the batch that it made.
        """
        read_body(request, VoidSerializer)
        result = batches.retry(
            _find(request, reference).pk,
            maker=Maker.of_key(key_of(request)),
            actor=key_acting(request),
            now=clock.now(),
        )
        shown = answers.represent_batch(summaries.shown(result.resource))
        return created_or_replayed(result, shown, location=f"/api/payout-batches/{shown['reference']}")


def _find(request: Request, reference: str) -> PayoutBatch:
    """Return the caller's batch. Returns 404 for batches of other businesses."""
    found = batches.find_of(business_of(request), reference)
    if found is None:
        raise NotFound
    return found

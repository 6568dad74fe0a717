"""The disputes API. `request.user` is the business that signed the request."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.http import parse_header_parameters
from drf_spectacular.types import OpenApiTypes
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from disputes.downloads import attachment
from disputes.models import Dispute, DisputeEvidence, DisputeQuerySet
from disputes.serializers import (
    AcceptSerializer,
    DisputeFilterSerializer,
    EvidenceSerializer,
    FileKindSerializer,
    SubmitSerializer,
)
from disputes.services.answers import answers, evidence
from kit.api.errors import Problem
from kit.api.fields.field_errors import InvalidFields, unknown_fields
from kit.api.fields.strict_fields import RequestSerializer
from kit.api.filters import narrowed, read_query
from kit.api.operations import Responses, Success, done, ok, operation, page
from kit.api.pagination import page_of
from kit.api.replays import IdempotentResult, done_or_replayed
from kit.db import clock
from kit.time.timestamps import until_inclusive
from merchants.api.api_requests import ObjectKind, business_of, note_object, read_body
from merchants.people.request_actors import key_acting
from payments.representation.disputes import (
    DISPUTE,
    DISPUTES_PAGE,
    EVIDENCE,
    represent_dispute,
    represent_evidence,
)
from payments.rules.words.dispute_words import OPEN

ADDED: Responses = {status.HTTP_201_CREATED: Success(EVIDENCE, "The item.")}


class WrongFile(Problem):
    """The content of an uploaded file isn't what a dispute takes."""

    status_code = status.HTTP_415_UNSUPPORTED_MEDIA_TYPE
    default_code = "unsupported_media_type"
    default_detail = (
        "The file is neither a PDF, a PNG nor a JPEG. Its content decides, not its name or Content-Type."
    )


class DisputesView(APIView):
    @operation("listDisputes", page(DISPUTES_PAGE), filters=DisputeFilterSerializer)
    def get(self, request: Request) -> Response:
        """List disputes.

        Every stage of a case is a dispute of its own.
        """
        wanted = read_query(request.query_params, DisputeFilterSerializer)
        disputes = _disputes(request)
        if "due_before" in wanted:
            until = until_inclusive(wanted.pop("due_before"))
            disputes = disputes.filter(status__in=OPEN, respond_by__lt=until)
        if "payment" in wanted:
            disputes = disputes.filter(
                transaction__business=business_of(request), transaction__reference=wanted.pop("payment")
            )
        return Response(page_of(self, disputes.filter(**wanted), represent_dispute))


class DisputeView(APIView):
    @operation("getDispute", ok(DISPUTE, "The dispute as it is now."))
    def get(self, request: Request, id: UUID) -> Response:
        """Get a dispute."""
        return Response(represent_dispute(_find(request, id)))


class DisputeEvidenceView(APIView):
    @operation("addDisputeEvidence", ADDED, EvidenceSerializer, problems="not_found invalid_state")
    def post(self, request: Request, id: UUID) -> Response:
        """Add a text to your answer.

        As long as the dispute awaits an answer. Nothing is sent until you submit it. Send several texts of a kind if you like.
        """
        dispute = _find(request, id)
        entered = read_body(request, EvidenceSerializer)
        item = evidence.add_text(dispute.pk, **entered, actor=key_acting(request), now=clock.now())
        return Response(represent_evidence(item), status=status.HTTP_201_CREATED)


class DisputeEvidenceItemView(APIView):
    @operation(
        "removeDisputeEvidence",
        {status.HTTP_204_NO_CONTENT: Success(None, "It was removed.")},
        problems="not_found invalid_state",
    )
    def delete(self, request: Request, id: UUID, item: UUID) -> Response:
        """Remove a text or a file from your answer, before you submit it."""
        if not evidence.remove(_find(request, id).pk, item):
            raise NotFound
        return Response(status=status.HTTP_204_NO_CONTENT)


class DisputeFilesView(APIView):
    @operation(
        "addDisputeFile",
        ADDED,
        dict.fromkeys(evidence.MEDIA_TYPES, OpenApiTypes.BINARY),
        problems="not_found invalid_state",
        filters=FileKindSerializer,
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Add a file to your answer.

        The body is the file itself: a PDF, a PNG or a JPEG of up to 4 MiB, at most ten for a dispute. `kind` stands in the
        query, the name may stand in `Content-Disposition: attachment; filename="…"`. The signature covers the body as ever.
        """
        if wrong := unknown_fields(request.query_params, known=frozenset(FileKindSerializer().fields)):
            raise InvalidFields(wrong)
        dispute = _find(request, id)
        kind = read_query(request.query_params, FileKindSerializer)["kind"]
        try:
            item = evidence.add_file(
                dispute.pk,
                kind=kind,
                name=_file_name(request),
                content=request.body,
                actor=key_acting(request),
                now=clock.now(),
            )
        except evidence.WrongFileType:
            raise WrongFile from None
        return Response(represent_evidence(item), status=status.HTTP_201_CREATED)


class DisputeFileView(APIView):
    @operation(
        "getDisputeFile",
        {
            (status.HTTP_200_OK, kind): Success(OpenApiTypes.BINARY, "The file.")
            for kind in evidence.MEDIA_TYPES
        },
        problems="not_found",
    )
    def get(self, request: Request, id: UUID, item: UUID) -> HttpResponse:
        """Get a file of your answer."""
        found = DisputeEvidence.objects.filter(pk=item, dispute=_find(request, id)).exclude(name="")
        file = found.select_related("file").first()
        if file is None:
            raise NotFound
        return attachment(file)


class SubmitDisputeView(APIView):
    @operation(
        "submitDispute", done(DISPUTE, "The dispute."), SubmitSerializer, problems="not_found invalid_state"
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Submit your answer.

        Once, before `respond_by`. Your evidence is sent with a packet of what we know about the payment, less the parts in
        `leave_out`. Repeating the call with the same content returns 200 and the dispute's current state.
        """
        wanted = read_body(request, SubmitSerializer)
        return _answered(answers.submit, request, id, leave_out=wanted.get("leave_out", []))


class AcceptDisputeView(APIView):
    @operation(
        "acceptDispute",
        done(DISPUTE, "The dispute."),
        AcceptSerializer,
        problems="not_found not_supported invalid_state amount_too_large",
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Accept a dispute.

        You concede all of it, or `amount`. That is final. An inquiry can't be accepted: refund the payment instead. Repeating
        the call with the same amount returns 200 and the dispute's current state.
        """
        wanted = read_body(request, AcceptSerializer)
        return _answered(answers.accept, request, id, amount=wanted.get("amount"))


def _disputes(request: Request) -> DisputeQuerySet:
    return Dispute.objects.of(business_of(request)).for_representation()


def _find(request: Request, dispute_id: UUID) -> Dispute:
    query = request.query_params if request.method == "GET" else None
    found = _disputes(request).filter(pk=dispute_id)
    dispute: Dispute | None = (found if query is None else narrowed(found, query, RequestSerializer)).first()
    if dispute is None:
        raise NotFound
    note_object(request, ObjectKind.DISPUTE, dispute.pk, dispute.case_number)
    return dispute


def _answered(
    act: Callable[..., IdempotentResult[Dispute]], request: Request, dispute_id: UUID, **answer: Any
) -> Response:
    result = act(_find(request, dispute_id).pk, actor=key_acting(request), **answer)
    return done_or_replayed(result, represent_dispute(_find(request, dispute_id)))


def _file_name(request: Request) -> str:
    """Return the name in Content-Disposition, as browsers and curl write it, or "" without one."""
    _, parameters = parse_header_parameters(request.META.get("HTTP_CONTENT_DISPOSITION", ""))
    return parameters.get("filename", "")

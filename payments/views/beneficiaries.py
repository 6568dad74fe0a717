"""The beneficiaries API. `request.user` is the business that signed the request."""

from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.filters import narrowed
from kit.api.operations import Success, created, ok, operation, page
from kit.api.pagination import page_of
from kit.api.replays import created_or_replayed
from kit.db import clock
from merchants.api.api_requests import business_of, read_body
from merchants.people.request_actors import key_acting
from payments.api.beneficiary_serializers import (
    BeneficiaryChangeSerializer,
    BeneficiaryFilterSerializer,
    SavedBeneficiarySerializer,
)
from payments.models import Beneficiary
from payments.representation import beneficiaries as answers
from payments.services.payouts import beneficiaries


class BeneficiariesView(APIView):
    @operation(
        "createBeneficiary",
        created(answers.SAVED_BENEFICIARY, "Saved.", "Location"),
        SavedBeneficiarySerializer,
        problems="unsupported_currency unknown_beneficiary duplicate_reference",
    )
    def post(self, request: Request) -> Response:
        """Save a beneficiary.

        Its bank is asked for the holder's name. If that is another one, `status` is `name_differs`; if the bank doesn't
        answer, `unverified`. Payouts name the beneficiary in `customer.beneficiary` instead of its account.
        """
        result = beneficiaries.create(
            business=business_of(request),
            request=read_body(request, SavedBeneficiarySerializer),
            actor=key_acting(request),
            now=clock.now(),
        )
        shown = answers.represent_beneficiary(result.resource)
        return created_or_replayed(result, shown, location=f"/api/beneficiaries/{shown['reference']}")

    @operation(
        "listBeneficiaries", page(answers.SAVED_BENEFICIARIES_PAGE), filters=BeneficiaryFilterSerializer
    )
    def get(self, request: Request) -> Response:
        """List beneficiaries.

        Newest first, without deleted ones.
        """
        own = Beneficiary.objects.of(business_of(request)).with_last_payment()
        rows = narrowed(own, request.query_params, BeneficiaryFilterSerializer)
        return Response(page_of(self, rows, answers.represent_beneficiary))


class BeneficiaryView(APIView):
    @operation("getBeneficiary", ok(answers.SAVED_BENEFICIARY, "The beneficiary."))
    def get(self, request: Request, reference: str) -> Response:
        """Look up a beneficiary.

        With what its bank said last, and when it was paid last.
        """
        return Response(answers.represent_beneficiary(_find(request, reference)))

    @operation(
        "updateBeneficiary",
        ok(answers.SAVED_BENEFICIARY, "The beneficiary."),
        BeneficiaryChangeSerializer,
        problems="not_allowed_here unknown_beneficiary",
    )
    def patch(self, request: Request, reference: str) -> Response:
        """Change a beneficiary.

        Its name, e-mail address or note. Another name is compared with the bank's again. The account never changes:
        save a new beneficiary instead.
        """
        beneficiaries.change(
            _find(request, reference),
            read_body(request, BeneficiaryChangeSerializer),
            actor=key_acting(request),
            now=clock.now(),
        )
        return Response(answers.represent_beneficiary(_find(request, reference)))

    @operation(
        "deleteBeneficiary", {204: Success(None, "Deleted.")}, problems="beneficiary_blocked invalid_state"
    )
    def delete(self, request: Request, reference: str) -> Response:
        """Delete a beneficiary.

        It is hidden. Its payouts stay as they are, and its reference stays taken. One that is blocked can't be deleted.
        """
        found = _find(request, reference)
        beneficiaries.delete(found.pk, actor=key_acting(request), now=clock.now())
        return Response(status=status.HTTP_204_NO_CONTENT)


def _find(request: Request, reference: str) -> Beneficiary:
    """Return the caller's beneficiary. Returns 404 for beneficiaries of other businesses and deleted ones."""
    found = beneficiaries.find_of(business_of(request), reference)
    if found is None:
        raise NotFound
    return found

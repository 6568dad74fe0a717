"""API of virtual accounts. `request.user` is the business that signed the request."""

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.filters import narrowed
from kit.api.operations import any_of, created, ok, operation, page
from kit.api.pagination import page_of
from kit.api.replays import created_or_replayed
from kit.db import clock
from merchants.api.api_requests import ObjectKind, body_of, business_of, note_object
from virtual_accounts.filters import AccountFilterSerializer
from virtual_accounts.models import VirtualAccount
from virtual_accounts.representation import VIRTUAL_ACCOUNT, VIRTUAL_ACCOUNTS_PAGE, represent
from virtual_accounts.serializers import (
    BusinessAccountSerializer,
    DynamicAccountSerializer,
    StaticAccountSerializer,
    read_account,
)
from virtual_accounts.services import accounts

CREATE_ACCOUNT = any_of(
    "CreateVirtualAccount", StaticAccountSerializer, BusinessAccountSerializer, DynamicAccountSerializer
)


class VirtualAccountsView(APIView):
    @operation(
        "createVirtualAccount",
        created(VIRTUAL_ACCOUNT, "Created.", "Location"),
        CREATE_ACCOUNT,
        problems=("not_allowed_here unsupported_currency not_supported duplicate_reference rail_unavailable"),
    )
    def post(self, request: Request) -> Response:
        """Create a virtual account.

        `type` and `account_type` determine which fields the request has.

        A `static` account belongs to one customer and has a permanent number. A `dynamic` account has no
        permanent number: each payment to it (`payment_method: virtual_account`) gets a new one. A business's
        account is always static.
        """
        business = business_of(request)
        wanted = read_account(body_of(request), business=business)
        result = accounts.create(business=business, request=wanted, now=clock.now())
        account = result.resource
        _note(request, account)
        return created_or_replayed(
            result, represent(account), location=f"/api/virtual-accounts/{account.reference}"
        )

    @operation("listVirtualAccounts", page(VIRTUAL_ACCOUNTS_PAGE), filters=AccountFilterSerializer)
    def get(self, request: Request) -> Response:
        """List virtual accounts.

        Newest first, active and inactive ones.
        """
        own = VirtualAccount.objects.of(business_of(request)).with_current_number()
        return Response(
            page_of(self, narrowed(own, request.query_params, AccountFilterSerializer), represent)
        )


class VirtualAccountView(APIView):
    @operation("getVirtualAccount", ok(VIRTUAL_ACCOUNT, "The account's current state."))
    def get(self, request: Request, reference: str) -> Response:
        """Look up a virtual account.

        By your reference, with the number that it has at this moment.
        """
        account = accounts.find_of(business_of(request), reference)
        if account is None:
            raise NotFound
        _note(request, account)
        return Response(represent(account))


def _note(request: Request, account: VirtualAccount) -> None:
    note_object(request, ObjectKind.VIRTUAL_ACCOUNT, account.pk, account.reference)

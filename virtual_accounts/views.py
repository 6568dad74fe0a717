"""API of virtual accounts. `request.user` is the business that signed the request."""

from typing import Any, cast

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.pagination import page_of
from kit.api.replays import created_or_replayed
from kit.db import clock
from merchants.api.api_requests import ObjectKind, note_object
from merchants.models import Business
from virtual_accounts.filters import filtered
from virtual_accounts.models import VirtualAccount
from virtual_accounts.representation import represent
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts


class VirtualAccountsView(APIView):
    def post(self, request: Request) -> Response:
        """Create a virtual account.

        `type` and `account_type` determine which fields the request has.

        A `static` account belongs to one customer and has a permanent number. A `dynamic` account has no
        permanent number: each payment to it (`payment_method: virtual_account`) gets a new one. A business's
        account is always static.
        """
        business = _business(request)
        wanted = read_account(cast("dict[str, Any]", request.data or {}), business=business)
        result = accounts.create(business=business, request=wanted, now=clock.now())
        account = result.resource
        _note(request, account)
        return created_or_replayed(
            result, represent(account), location=f"/api/virtual-accounts/{account.reference}"
        )

    def get(self, request: Request) -> Response:
        """List virtual accounts.

        Newest first, active and inactive ones.
        """
        own = VirtualAccount.objects.of(_business(request)).with_current_number()
        return Response(page_of(self, filtered(own, request.query_params), represent))


class VirtualAccountView(APIView):
    def get(self, request: Request, reference: str) -> Response:
        """Look up a virtual account.

        By your reference, with the number that it has at this moment.
        """
        account = accounts.find_of(_business(request), reference)
        if account is None:
            raise NotFound
        _note(request, account)
        return Response(represent(account))


def _note(request: Request, account: VirtualAccount) -> None:
    note_object(request, ObjectKind.VIRTUAL_ACCOUNT, account.pk, account.reference)


def _business(request: Request) -> Business:
    return cast("Business", request.user)

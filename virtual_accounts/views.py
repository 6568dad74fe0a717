"""API of virtual accounts. `request.user` is the business that signed the request."""

from typing import Any, cast

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.pagination import page_of
from kit.api.replays import created_or_replayed
from kit.db import clock
from merchants.models import Business
from virtual_accounts.filters import filtered
from virtual_accounts.models import VirtualAccount
from virtual_accounts.representation import represent
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts


class VirtualAccountsView(APIView):
    """Create and list virtual accounts."""

    def post(self, request: Request) -> Response:
        business = _business(request)
        wanted = read_account(cast("dict[str, Any]", request.data or {}), business=business)
        result = accounts.create(business=business, request=wanted, now=clock.now())
        account = result.resource
        return created_or_replayed(
            result, represent(account), location=f"/api/virtual-accounts/{account.reference}"
        )

    def get(self, request: Request) -> Response:
        own = VirtualAccount.objects.of(_business(request)).with_current_number()
        return Response(page_of(self, filtered(own, request.query_params), represent))


class VirtualAccountView(APIView):
    """Show a virtual account."""

    def get(self, request: Request, reference: str) -> Response:
        account = accounts.find_of(_business(request), reference)
        if account is None:
            raise NotFound
        return Response(represent(account))


def _business(request: Request) -> Business:
    return cast("Business", request.user)

"""The API of virtual accounts: parse, one call, answer. `request.user` is the business that signed."""

from typing import Any, cast

from django.utils import timezone
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from merchants.models import Business
from merchants.pagination import NewestFirst
from virtual_accounts.filters import filtered
from virtual_accounts.models import VirtualAccount
from virtual_accounts.representation import represent
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts


class VirtualAccountsView(APIView):
    """Create a virtual account; list them."""

    def post(self, request: Request) -> Response:
        business = _business(request)
        wanted = read_account(cast("dict[str, Any]", request.data or {}), business=business)
        opened = accounts.create(business=business, request=wanted, now=timezone.now())
        shown = represent(opened.account)
        if not opened.is_new:
            return Response(shown, headers={"Idempotent-Replayed": "true"})
        headers = {"Location": f"/api/virtual-accounts/{opened.account.reference}"}
        return Response(shown, status=status.HTTP_201_CREATED, headers=headers)

    def get(self, request: Request) -> Response:
        rows = filtered(VirtualAccount.objects.of(_business(request)), request.query_params)
        paginator = NewestFirst()
        page = paginator.paginate_queryset(rows, request, self)
        return paginator.get_paginated_response([represent(account) for account in page or []])


class VirtualAccountView(APIView):
    """A virtual account as it is now."""

    def get(self, request: Request, reference: str) -> Response:
        account = accounts.find_of(_business(request), reference)
        if account is None:
            raise NotFound
        return Response(represent(account))


def _business(request: Request) -> Business:
    return cast("Business", request.user)

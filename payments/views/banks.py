"""The API of banks: where payouts can go, and the names of their accounts."""

import hashlib
from functools import lru_cache
from operator import itemgetter
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit import banks
from kit.api.conditional_requests import matches
from kit.api.fields.answer_fields import CURRENCY_FIELD, TEXT, Answer, Field, ListOf
from kit.api.json.json_answers import JSONAnswerRenderer
from kit.api.operations import Success, ok, operation
from merchants.api.api_requests import business_of, read_body
from payments.api.serializers import ResolveBeneficiarySerializer
from payments.services.payouts import name_enquiries
from virtual_accounts.representation import ACCOUNT_NUMBER

IF_NONE_MATCH = {"type": "string", "maxLength": 255, "examples": ['"b1946ac92492d234"']}

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

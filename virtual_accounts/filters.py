"""Filters of the list of virtual accounts."""

from django.db.models import QuerySet
from django.http import QueryDict

from kit.api.fields.strict_fields import UUID, Choice, RequestSerializer
from kit.api.filters import CREATED, CreatedFrom, CreatedTo, narrowed
from virtual_accounts.models import VirtualAccount

LOOKUPS = {
    "status": "status",
    "type": "type",
    **CREATED,
    "id": "id",
}


class AccountFilterSerializer(RequestSerializer):
    status = Choice(VirtualAccount.Status.values, required=False, help_text="Only accounts in this status.")
    type = Choice(VirtualAccount.Type.values, required=False, help_text="Only accounts of this type.")
    created_from = CreatedFrom(required=False)
    created_to = CreatedTo(required=False)
    id = UUID(
        required=False, help_text="The account with this id.", example="01980a5e-7b00-7c00-8000-000000000003"
    )


_SERIALIZER = AccountFilterSerializer()


def filtered(accounts: QuerySet[VirtualAccount], query: QueryDict) -> QuerySet[VirtualAccount]:
    """Filter a list by the query parameters.

    :raises ValidationError: an unknown parameter, one given twice, or a value that is none
    """
    return narrowed(accounts, query, serializer=_SERIALIZER, lookups=LOOKUPS)

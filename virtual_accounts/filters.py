"""Filters of the list of virtual accounts."""

from kit.api.fields.strict_fields import UUID, Choice, RequestSerializer
from kit.api.filters import CreatedFrom, CreatedTo
from virtual_accounts.models import VirtualAccount


class AccountFilterSerializer(RequestSerializer):
    status = Choice(VirtualAccount.Status.values, required=False, help_text="Only accounts in this status.")
    type = Choice(VirtualAccount.Type.values, required=False, help_text="Only accounts of this type.")
    created_from = CreatedFrom()
    created_to = CreatedTo()
    id = UUID(
        required=False, help_text="The account with this id.", example="01980a5e-7b00-7c00-8000-000000000003"
    )

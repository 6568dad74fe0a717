"""Admin pages of beneficiaries. Staff block the accounts that a business must not pay."""

from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.http import HttpRequest, HttpResponse

from merchants.admin import by_business_name, by_id, exactly, in_each_business
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import list_address, status_label
from payments.admin.decisions.blocking import BlockableAdmin, BlockForm, UnblockForm
from payments.models import Beneficiary
from payments.services.payouts import beneficiaries

MAY_BLOCK = "payments.change_beneficiary"


@admin.register(Beneficiary)
class BeneficiaryAdmin(BlockableAdmin):
    groups: ClassVar = {
        "Account": (
            "name", "account_number", "bank_name", "bank_code", "currency", "account_name", "verification", "verified_at",
        ),
        "State": ("state", "blocked_at", "block_reason", "is_blocked_by_staff", "created_at", "deleted_at"),
        "Business": ("business", "reference", "email", "note"),
    }  # fmt: skip
    may_block = MAY_BLOCK
    change_form_template = "admin/payments/beneficiary.html"
    list_display = ("reference", "name", "account_number", "bank_name", "state", "business", "created_at")
    list_select_related = ("business",)
    searches = (
        by_id(),
        in_each_business("reference"),
        exactly("account_number", shape="[0-9]{10}"),
        by_business_name(),
    )
    search_help_text = "Full reference, account number, ID, or name of the business."
    exclude = ("fingerprint",)
    readonly_fields = ("state", "bank_name")

    @admin.display(description="status")
    def state(self, beneficiary: Beneficiary) -> str:
        return status_label(beneficiary.status, beneficiary.status_name)

    def title_of(self, row: Beneficiary) -> str:
        return f"Beneficiary “{row.name}”, {row.reference}"

    def related(self, row: Beneficiary) -> Iterator[Link]:
        yield Link("Audit trail", list_address("merchants_auditentry", row.reference))

    def can_block(self, row: Any) -> bool:
        return not row.is_blocked_by_staff

    @staff_action("block a beneficiary", may=MAY_BLOCK, needs_second_person=False)
    def block(self, request: HttpRequest, blocked_id: UUID) -> HttpResponse:
        return self.decide(request, blocked_id, BlockForm(request.POST), beneficiaries.block_by_staff)

    @staff_action("lift the block of a beneficiary", may=MAY_BLOCK, needs_second_person=False)
    def unblock(self, request: HttpRequest, blocked_id: UUID) -> HttpResponse:
        return self.decide(request, blocked_id, UnblockForm(request.POST), beneficiaries.unblock_by_staff)

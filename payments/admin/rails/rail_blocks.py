"""Admin pages of accounts at banks that refuse orders for a fault of ours. Staff end a block after repairing it."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern

from kit.db import clock
from kit.money.money import money
from merchants.admin import ReadOnlyAdmin, exactly
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import list_address
from merchants.people.request_actors import person_acting
from payments.models import RailBlock
from payments.services.rails.rail_queries import rail_blocks
from payments.services.rails.rail_queries.query_leases import ACQUIRER

MAY_UNBLOCK = "payments.change_railblock"


class UnblockForm(forms.Form):
    """What was repaired."""

    reason = forms.CharField(max_length=255, help_text="What you repaired. Recorded in the audit trail.")


@admin.register(RailBlock)
class RailBlockAdmin(ReadOnlyAdmin):
    change_form_template = "admin/payments/railblock.html"
    list_display = ("account", "held", "reason", "since", "probed_at")
    searches = (exactly("account"),)
    search_help_text = "Full account, as the page of a transaction shows it."
    amounts = ("amount",)

    @admin.display(description="blocked")
    def held(self, block: RailBlock) -> str:
        if block.amount is None:
            return "All card payments" if block.rail == ACQUIRER else "All payouts"
        return f"Payouts of {money(block.amount, block.currency)} or more"

    def title_of(self, row: RailBlock) -> str:
        return f"Block of {row.account}"

    def related(self, row: RailBlock) -> Iterator[Link]:
        if row.order_id is not None:
            yield Link("Refused order", list_address("payments_transaction", row.order_id))
        yield Link("Audit trail", list_address("merchants_auditentry", row.account))

    def get_urls(self) -> list[URLPattern]:
        return [*self.action_urls("block_id", {"unblock": self.unblock}), *super().get_urls()]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if not isinstance(row, RailBlock) or not request.user.has_perm(MAY_UNBLOCK):
            return {}
        return {"unblock_form": UnblockForm()}

    @staff_action("end the block of an account at a bank", may=MAY_UNBLOCK, needs_second_person=False)
    def unblock(self, request: HttpRequest, block_id: UUID) -> HttpResponse:
        get_object_or_404(RailBlock, pk=block_id)
        form = UnblockForm(request.POST)
        if not form.is_valid():
            messages.error(request, "Nothing was changed. Enter a reason.")
            return self.page_again(request, block_id, unblock_form=form)
        reason = form.cleaned_data["reason"]
        rail_blocks.lift(block_id, reason=reason, actor=person_acting(request), now=clock.now())
        messages.success(request, "The account is unblocked. What waits for it is queried now.")
        return redirect("admin:payments_railblock_changelist")

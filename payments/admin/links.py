"""Read-only admin pages of payment links and checkouts. Staff block links that must not be paid."""

from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse

from kit.db import clock
from kit.money.money import money
from kit.text.folding import beginning
from kit.text.masking import mask_card_numbers
from merchants.admin import ReadOnlyAdmin, by_business_name, by_id, exactly, in_each_business
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import list_address, sentence, status_label
from payments.admin.decisions.blocking import BlockableAdmin, BlockForm, UnblockForm
from payments.links.link_addresses import slug_in
from payments.models import Checkout, PaymentLink
from payments.rules.words.status_names import LINK_NAMES
from payments.services.checkouts import checkouts
from payments.services.links import links

MAY_BLOCK = "payments.change_paymentlink"
NEWEST = 20_000  # links whose titles are compared, because titles have no index


def by_title(model: type[Model], term: str) -> Iterator[QuerySet[Any]]:
    """Yield those of the newest links whose title begins with the term."""
    newest = PaymentLink.objects.order_by("-pk").values("pk")[:NEWEST]
    yield model._default_manager.filter(pk__in=newest, title__regex=beginning(mask_card_numbers(term)))


@admin.register(PaymentLink)
class PaymentLinkAdmin(BlockableAdmin):
    """The address of a link is shown only if the merchant chose it. Others are known to those they were sent to."""

    groups: ClassVar = {
        "Money": (
            "currency", "amount", "amount_min", "amount_max", "suggested_amounts", "quantity_max", "amount_paid", "uses_paid",
            "uses_held", "max_uses",
        ),
        "State": ("status", "is_switched_off", "blocked_at", "block_reason", "expires_at", "created_at", "updated_at"),
        "Page": (
            "business", "reference", "title", "description", "payment_methods", "account", "transfer_window", "redirect_url",
            "chosen_address", "success_message", "support_contact",
        ),
        "Customer": ("customer_reference", "customer_name", "customer_email", "collect", "custom_fields"),
    }  # fmt: skip
    may_block = MAY_BLOCK
    change_form_template = "admin/payments/paymentlink.html"
    list_display = ("reference", "title", "status", "price", "uses", "amount_paid", "business", "created_at")
    amounts = ("amount", "amount_min", "amount_max", "amount_paid")
    list_select_related = ("business",)
    searches = (
        by_id(),
        in_each_business("reference"),
        exactly("slug", read=slug_in),
        by_title,
        by_business_name(),
    )
    search_help_text = "Full reference, beginning of the title, address as it was sent to payers, ID, or name of the business."
    exclude = ("fingerprint", "slug", "has_chosen_slug")
    readonly_fields = ("status", "chosen_address")

    @admin.display(description="status")
    def status(self, link: PaymentLink) -> str:
        code = link.status_at(clock.now())
        return status_label(code, LINK_NAMES[code])

    @admin.display(description="amount")
    def price(self, link: PaymentLink) -> str:
        if link.amount is not None:
            return money(link.amount, link.currency)
        return f"{money(link.amount_min or 0, link.currency)} to {money(link.amount_max or 0, link.currency)}"

    @admin.display(description="uses")
    def uses(self, link: PaymentLink) -> str:
        paid = f"{link.uses_paid:,}" if link.max_uses is None else f"{link.uses_paid:,} of {link.max_uses:,}"
        return f"{paid}, {link.uses_held:,} held" if link.uses_held else paid

    @admin.display(description="address")
    def chosen_address(self, link: PaymentLink) -> str:
        return link.url if link.has_chosen_slug else "Hidden. Search for an address to find its link."

    def title_of(self, row: PaymentLink) -> str:
        return f"Payment link “{row.title}”, {row.reference}"

    def related(self, row: PaymentLink) -> Iterator[Link]:
        yield Link("Payments", list_address("payments_transaction", row.pk))
        yield Link("Checkouts", list_address("payments_checkout", row.pk))
        yield Link("Audit trail", list_address("merchants_auditentry", row.reference))

    @staff_action("block a payment link", may=MAY_BLOCK, needs_second_person=False)
    def block(self, request: HttpRequest, blocked_id: UUID) -> HttpResponse:
        return self.decide(request, blocked_id, BlockForm(request.POST), links.block)

    @staff_action("lift the block of a payment link", may=MAY_BLOCK, needs_second_person=False)
    def unblock(self, request: HttpRequest, blocked_id: UUID) -> HttpResponse:
        return self.decide(request, blocked_id, UnblockForm(request.POST), links.unblock)


@admin.register(Checkout)
class CheckoutAdmin(ReadOnlyAdmin):
    """What payers entered. The token is a payer's credential and never shown."""

    groups: ClassVar = {
        "Checkout": ("link", "state", "amount", "quantity", "currency", "method", "created_at", "expires_at"),
        "Customer": ("name", "email", "phone", "address", "answers", "is_erased"),
    }
    list_display = ("payer", "amount", "link", "method", "created_at")
    amounts = ("amount",)
    list_select_related = ("link",)
    searches = (by_id(), by_id("link"))
    search_help_text = "ID of the checkout, or ID of its payment link."
    exclude = ("token", "network")
    readonly_fields: ClassVar = ("state",)

    @admin.display(description="payer")
    def payer(self, checkout: Checkout) -> str:
        return checkout.name or checkout.email or str(checkout.pk)

    @admin.display(description="status")
    def state(self, checkout: Checkout) -> str:
        [shown] = checkouts.shown_with_attempts([checkout], now=clock.now())
        return sentence(shown.state)

    def title_of(self, row: Checkout) -> str:
        return f"{money(row.amount, row.currency)}, checkout of {row.link.reference}"

    def related(self, row: Checkout) -> Iterator[Link]:
        yield Link("Payments", list_address("payments_transaction", row.pk))

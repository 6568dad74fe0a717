"""The admin page of a business: members and keys, with its fees and its connectors."""

from typing import ClassVar

from django.contrib import admin

from merchants import admin as merchants
from merchants.admin import ReadOnlyInline
from merchants.models import Business
from payments.models import RailChoice, Tariff


class TariffInline(ReadOnlyInline):
    """The fees agreed with a business. The latest row of a flow and currency applies."""

    model = Tariff
    fields = (
        "flow", "currency", "is_offered", "is_withdrawn", "basis_points", "fixed", "fixed_waived_below", "cap", "steps",
        "valid_from", "agreed_by",
    )  # fmt: skip
    ordering = ("-id",)


class RailChoiceInline(ReadOnlyInline):
    """Connectors of a business that override those in the settings."""

    model = RailChoice
    fields = ("card_acquirer", "payout_bank")


@admin.register(Business)
class BusinessAdmin(merchants.BusinessAdmin):
    change_form_template = "admin/payments/business.html"
    inlines: ClassVar = (*merchants.BusinessAdmin.inlines, TariffInline, RailChoiceInline)

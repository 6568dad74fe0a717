"""The admin page of a business: members and keys, with its fees and its connectors."""

from collections.abc import Iterator
from typing import ClassVar

from django.contrib import admin

from merchants import admin as merchants
from merchants.admin import ReadOnlyInline
from merchants.admin.base import Link
from merchants.admin.columns import list_address
from merchants.models import Business
from payments.admin.businesses.business_state import BusinessStateActions
from payments.admin.businesses.fees import TariffColumns
from payments.admin.payouts.payout_controls import PayoutControlsActions
from payments.models import RailChoice, Tariff


class TariffInline(TariffColumns, ReadOnlyInline):
    """The fees agreed with a business. The latest row of a flow and currency applies."""

    model = Tariff
    fields = ("flow", "currency", "fee", "is_offered", "is_withdrawn", "valid_from", "agreed_by")
    readonly_fields = ("fee",)
    ordering = ("-id",)


class RailChoiceInline(ReadOnlyInline):
    """Connectors of a business that override those in the settings."""

    model = RailChoice
    fields = ("card_acquirer", "payout_bank")


@admin.register(Business)
class BusinessAdmin(BusinessStateActions, PayoutControlsActions, merchants.BusinessAdmin):
    change_form_template = "admin/payments/business.html"
    lists: ClassVar = {
        "Transactions": "payments_transaction",
        "Payment links": "payments_paymentlink",
        "Settlement batches": "payments_settlementbatch",
        "Risk terms": "payments_riskterms",
        "Reserve": "payments_reservehold",
        "Debts": "payments_debt",
        "Ledger accounts": "ledger_account",
        "Virtual accounts": "virtual_accounts_virtualaccount",
        "Unapplied money": "virtual_accounts_unappliedmoney",
        "Endpoints": "webhooks_endpoint",
        "Deliveries": "webhooks_delivery",
        "Proposals": "payments_proposal",
        "Audit trail": "merchants_auditentry",
    }
    inlines: ClassVar = (*merchants.BusinessAdmin.inlines, TariffInline, RailChoiceInline)

    def related(self, row: Business) -> Iterator[Link]:
        for name, model in self.lists.items():
            yield Link(name, list_address(model, row.pk))

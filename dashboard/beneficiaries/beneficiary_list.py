"""The list of beneficiaries, with its filter."""

from __future__ import annotations

from django.db.models import Q

from dashboard.ui.components.chips import DAYS
from dashboard.ui.lists.list_filters import PeriodFilter
from dashboard.ui.lists.list_rows import ListRows
from dashboard.ui.lists.lists import ListSpec
from kit.money.form_fields import PastedField
from kit.text.folding import in_any_order
from payments.models import Beneficiary, BeneficiaryQuerySet


class BeneficiaryFilter(ListRows, PeriodFilter):
    """Search and days of creation."""

    q = PastedField(required=False, max_length=200, label="Search")

    def sources(self, **instead: str) -> list[BeneficiaryQuerySet]:
        text = self.cleaned_data["q"]
        found = self.newest().with_last_payment()
        if not text:
            return [found]
        named = Q(name__regex=in_any_order(text)) | Q(account_name__regex=in_any_order(text))
        return [found.filter(named | Q(account_number=text) | Q(reference=text))]

    def is_scan(self, **instead: str) -> bool:
        return bool(self.cleaned_data["q"])

    def newest(self) -> BeneficiaryQuerySet:
        return self.in_period(Beneficiary.objects.of(self.business))  # type: ignore[return-value]


BENEFICIARIES = ListSpec(name="beneficiaries", names=("beneficiary", "beneficiaries"), chips=(DAYS,))

"""Admin page of the holidays of banks, on which no settlement is paid out."""

from django.contrib import admin

from merchants.admin import ReasonedAdmin, exactly
from merchants.admin.filters import CurrencyFilter
from merchants.people.access import Who
from payments.models import Holiday


@admin.register(Holiday)
class HolidayAdmin(ReasonedAdmin):
    """Days on which banks are closed, by currency."""

    adders = changers = Who.STAFF
    audited_as = "holiday.changed"
    list_display = ("name", "currency", "day", "is_observed")
    list_filter = (CurrencyFilter, "is_observed")
    ordering = ("-day", "currency")
    searches = (exactly("name"),)
    search_help_text = "Name of the holiday."
    fields = ("currency", "day", "name", "is_observed")

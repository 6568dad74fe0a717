"""Base classes of the admin, and the admin pages of merchants. Secrets are never shown."""

from merchants.admin import people
from merchants.admin.base import ReadOnlyAdmin, ReadOnlyInline, StaffAdmin
from merchants.admin.businesses import BusinessAdmin
from merchants.admin.reasons import ReasonedAdmin, ReasonForm
from merchants.admin.search import by_business_name, by_id, exactly, in_each_business

__all__ = [
    "BusinessAdmin",
    "ReadOnlyAdmin",
    "ReadOnlyInline",
    "ReasonForm",
    "ReasonedAdmin",
    "StaffAdmin",
    "by_business_name",
    "by_id",
    "exactly",
    "in_each_business",
    "people",
]

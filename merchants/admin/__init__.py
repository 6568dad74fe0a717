"""The administration: how its pages behave, and merchants as our own staff see them. Secrets are never shown."""

from merchants.admin import people
from merchants.admin.base import HouseAdmin, ReadOnlyAdmin, ReadOnlyInline
from merchants.admin.businesses import BusinessAdmin
from merchants.admin.reasons import ReasonedAdmin, ReasonForm
from merchants.admin.search import by_business_name, by_id, exactly, in_each_business

__all__ = [
    "BusinessAdmin",
    "HouseAdmin",
    "ReadOnlyAdmin",
    "ReadOnlyInline",
    "ReasonForm",
    "ReasonedAdmin",
    "by_business_name",
    "by_id",
    "exactly",
    "in_each_business",
    "people",
]

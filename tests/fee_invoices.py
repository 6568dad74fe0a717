"""Invoices of the fees of this month, as if it were over."""

from datetime import date, datetime, timedelta
from typing import Any

from kit.time.time_ordered_ids import new_id
from merchants.models import Business
from payments.models import FeeInvoice
from payments.rules.settlement import business_days
from payments.services.reporting import fee_invoices
from tests.settling import today


def this_month() -> date:
    return today().replace(day=1)


def issued_at(month: date) -> datetime:
    """Return when the invoices of a month are issued."""
    return business_days.begins_at(fee_invoices.month_after(month)) + timedelta(hours=1)


def issue() -> list[FeeInvoice]:
    return fee_invoices.issue(this_month(), now=issued_at(this_month()))


def invoice_of(business: Business) -> FeeInvoice:
    """Issue the invoices of this month, and return the one of a business with fees in one currency."""
    return next(each for each in issue() if each.business_id == business.pk)


def empty_invoice(business: Business, **changes: Any) -> FeeInvoice:
    """Return an invoice of this month with amounts of 0, not stored."""
    now = issued_at(this_month())
    begins_at, ends_at = business_days.begins_at(this_month()), now - timedelta(hours=1)
    values = {
        "number": 1,
        "month": this_month(),
        "begins_at": begins_at,
        "ends_at": ends_at,
        "created_at": now,
    }
    amounts = {"net": 0, "tax": 0, "stamp_duty": 0}
    return FeeInvoice(id=new_id(now), business=business, currency="NGN", **values | amounts | changes)

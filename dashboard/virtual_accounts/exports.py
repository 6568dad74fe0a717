"""Exports of virtual accounts and unapplied transfers."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

from dashboard.memberships import Membership, members_export
from dashboard.ui.lists import exports
from dashboard.virtual_accounts.account_list import AccountFilter
from dashboard.virtual_accounts.unapplied_list import UnappliedFilter
from kit.files.tables import Column, Table, amounts, attributes
from merchants.exports import FileType
from virtual_accounts.models import UnappliedMoney, VirtualAccount

# The BVN, the date of birth and the address stay out of files.
ACCOUNT_COLUMNS: list[Column[VirtualAccount]] = [
    *attributes("id", "reference", "type", "account_type", "status", "currency"),
    Column("account_number", lambda account: account.current_number),
    *attributes("bank_code", "bank_name"),
    Column("name", lambda account: account.holder_name),
    *attributes("email", "phone_number", "created_at", "deactivated_at"),
]
UNUSED = ("bvn", "bvn_hash", "fingerprint", "address", "metadata")

UNAPPLIED_COLUMNS: list[Column[UnappliedMoney]] = [
    *attributes("id"),
    *amounts("amount"),
    *attributes("currency", "state"),
    Column("reason", lambda money: money.transfer.reason),
    Column("payment_reference", lambda money: money.payment_reference),
    Column("account_reference", lambda money: money.transfer.account.reference),
    Column("account_number", lambda money: money.transfer.number_id),
    Column("sender_name", lambda money: money.transfer.sender_name),
    Column("sender_account_number", lambda money: money.transfer.sender_account_number),
    Column("sender_bank_code", lambda money: money.transfer.sender_bank_code),
    Column("bank_reference", lambda money: money.transfer.bank_reference),
    Column("narration", lambda money: money.transfer.narration),
    Column("received_at", lambda money: money.transfer.received_at),
    *attributes("decided_at"),
    Column("decision_reason", lambda money: money.reason),
    Column("payout_reference", lambda money: money.reference),
]


@members_export
def accounts_export(request: HttpRequest, membership: Membership, file_type: FileType) -> HttpResponseBase:
    form, page = (
        AccountFilter(request.GET, business=membership.business),
        reverse("dashboard-virtual-accounts"),
    )
    if not form.is_valid():
        return exports.back_to_list(request, page)
    found = [each.defer(*UNUSED) for each in form.sources()]
    table = Table(columns=ACCOUNT_COLUMNS, rows=exports.rows_of(found))
    return exports.export(request, table, name="virtual-accounts", file_type=file_type, page=page)


@members_export
def unapplied_export(request: HttpRequest, membership: Membership, file_type: FileType) -> HttpResponseBase:
    form, page = UnappliedFilter(request.GET, business=membership.business), reverse("dashboard-unapplied")
    if not form.is_valid():
        return exports.back_to_list(request, page)
    found = [each.select_related("transfer__account") for each in form.sources()]
    table = Table(columns=UNAPPLIED_COLUMNS, rows=exports.rows_of(found))
    return exports.export(request, table, name="unapplied-transfers", file_type=file_type, page=page)

"""Pay many: read rows from a spreadsheet, correct them at their cells, and store them as a batch."""

from __future__ import annotations

import io
import secrets
from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from rest_framework.exceptions import ValidationError

from dashboard.memberships import Membership, members_form, members_page
from dashboard.payout_batches.forms import NewBatchForm
from dashboard.payout_batches.further_errors import further_errors
from dashboard.payout_batches.review import STEPS
from dashboard.payout_batches.sheets import (
    COLUMNS,
    MOST_COLUMNS,
    MOST_ROWS,
    OTHER,
    CellError,
    Sheet,
    UnreadableSheet,
    amounts_of,
    read_cells,
    read_text,
    sheet_of,
)
from kit import banks
from kit.api.errors import Problem
from kit.api.fields.strict_fields import instance_of, read_request
from kit.db import clock
from kit.files import tables, xlsx_files, xlsx_reading
from kit.files.tables import Column, Table
from kit.text.ids import read_id
from ledger.services import balances
from merchants.exports import FileType
from merchants.models import Business, User
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.services.fee_rules import NoPrice
from payments.services.payouts import beneficiaries
from payments.services.payouts.controls.makers import Maker
from payout_batches import summaries
from payout_batches.models import PayoutBatch
from payout_batches.serializers import PayoutBatchSerializer
from payout_batches.services import batches, corrections

SHOWN_ERRORS = 100
EARLIER = 2  # batches beside the rows
# A browser gives a page no file that it didn't choose, not even the one that it has just sent.
CHOOSE_AGAIN = "Then choose the file again. The rest of what you entered is kept."
EXAMPLE = ("Kano Dye Works", "Access Bank", "0690213447", "1,500.00", "Indigo, week 48", "", "Supplier")


@members_form("make a payout batch", may=Permission.PAY_OUT)
def new_batch_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Read the rows of a spreadsheet, and store them as a batch once no cell is wrong. Nothing entered is lost."""
    form = NewBatchForm(
        request.POST or None,
        request.FILES or None,
        currencies=[each for each in membership.business.currencies if each in banks.currencies()],
        initial={"reference": f"batch-{secrets.token_hex(6)}"} | _edited(request, membership),
    )
    context: dict[str, Any] = {"membership": membership, "form": form, "other": OTHER}
    if request.method == "POST" and (form.is_valid() or _is_readable(form)):
        sheet = _read(request, membership, form)
        if sheet is not None:
            errors = sheet.errors
            context |= {"sheet": sheet, **_wrong(errors)}
            if form.is_valid() and not errors:
                made = _store(request, membership, form, sheet, context)
                if made is not None:
                    return redirect("dashboard-batch", made.pk)
            context |= _read_so_far(membership.business, sheet, form.cleaned_data["currency"])
    return render(request, "dashboard/payout_batches/new.html", context | _beside(membership))


def _wrong(errors: Sequence[CellError]) -> dict[str, Any]:
    """Return the wrong cells: the first with an input for each, and the others with their rows."""
    return {
        "errors": errors[:SHOWN_ERRORS],
        "wrong": len(errors),
        "further": further_errors(errors[SHOWN_ERRORS:]),
    }


def _is_readable(form: NewBatchForm) -> bool:
    """Return whether the rows can be shown although the form has an error: a browser doesn't keep a chosen file."""
    given = form.cleaned_data
    return bool("currency" in given and (given.get("file") or given.get("rows")))


def _edited(request: HttpRequest, membership: Membership) -> dict[str, Any]:
    """Return the title and the rows of the batch that is edited, if the address names one."""
    key = read_id(request.GET.get("batch", ""))
    batch = PayoutBatch.objects.of(membership.business).filter(pk=key).first() if key else None
    if batch is None or not corrections.may_replace(batch, cast("User", request.user)):
        return {}
    items = batch.items.kept().select_related("beneficiary").order_by("position")
    return {
        "title": batch.title,
        "currency": batch.currency,
        "rows": sheet_of(items).text(),
        "replaces": batch.pk,
    }


def _read_so_far(business: Business, sheet: Sheet, currency: str) -> dict[str, Any]:
    """Return what the page shows of rows that aren't stored yet."""
    return {
        "text": sheet.text(),
        "columns": sheet.columns,
        "fields": [*COLUMNS.items(), ("", "Ignore")],
        "cost": _cost(business, sheet, currency),
        "currency": currency,
    }


def _cost(business: Business, sheet: Sheet, currency: str) -> dict[str, int] | None:
    """Return what the rows whose amounts can be read cost, and what is left then; None without such a row or a price."""
    amounts = [] if sheet.problem else amounts_of(sheet.rows)
    if not amounts:
        return None
    try:
        charge = summaries.charge_of(business, currency, amounts)
    except NoPrice:
        return None
    total = sum(amount for amount, _ in amounts)
    left = summaries.available_of(business, currency) - total - charge.total
    return {
        "number": len(amounts),
        "total": total,
        "fee": charge.fee,
        "taxes": charge.taxes,
        "left": max(left, 0),
        "missing": max(-left, 0),
    }


def _beside(membership: Membership) -> dict[str, Any]:
    """Return what the page shows beside the rows."""
    newest = PayoutBatch.objects.of(membership.business).order_by("-id")[:EARLIER]
    held = balances(membership.business)
    return {
        "steps": STEPS,
        "available": [each for each in held if each.currency in banks.currencies()],
        "earlier": summaries.sizes(newest),
    }


def _read(request: HttpRequest, membership: Membership, form: NewBatchForm) -> Sheet | None:
    """Return the rows with their corrections. None: they can't be read at all."""
    given = form.cleaned_data
    try:
        if given.get("file"):
            sheet = _read_file(given["file"], currency=given["currency"])
        else:
            read = read_text(given.get("rows", ""), currency=given["currency"], chosen=_chosen(request))
            sheet = read.corrected(request.POST.dict())
    except UnreadableSheet as refusal:
        if given.get("file"):
            form.add_error("file", f"{given['file'].name}: {refusal} {CHOOSE_AGAIN}")
        else:
            form.add_error("rows", str(refusal))
        return None
    if sheet.problem:
        form.add_error("rows", sheet.problem)
        return sheet
    business = membership.business
    sheet.find_saved(partial(beneficiaries.references_by_name, business))
    return sheet.mark_saved(partial(beneficiaries.saved_accounts, business))


def _chosen(request: HttpRequest) -> dict[tuple[int, str], str]:
    """Return the fields that were chosen for the columns, with the headings that the page showed."""
    return {
        (place, request.POST.get(f"heading-{place}", "")): name
        for place in range(MOST_COLUMNS)
        if (name := request.POST.get(f"column-{place}")) is not None and name in {"", *COLUMNS}
    }


def _read_file(file: Any, *, currency: str) -> Sheet:
    data: bytes = file.read()
    if data.startswith(b"PK"):
        try:
            rows = xlsx_reading.read_rows(
                io.BytesIO(data), most_rows=MOST_ROWS + 1, most_columns=MOST_COLUMNS
            )
        except xlsx_reading.NotASpreadsheet:
            raise UnreadableSheet(
                "This Excel file can't be read. Open it in your spreadsheet program and save it as XLSX or CSV."
            ) from None
        return read_cells(rows, currency=currency)
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return read_text(data.decode(encoding), currency=currency)
        except UnicodeDecodeError:
            continue
    raise UnreadableSheet("This file can't be read. Save the sheet as CSV in UTF-8.")


def _store(
    request: HttpRequest, membership: Membership, form: NewBatchForm, sheet: Sheet, context: dict[str, Any]
) -> PayoutBatch | None:
    reference = form.cleaned_data["reference"]
    body = {
        "reference": reference,
        "title": form.cleaned_data["title"],
        "payouts": [row.payout(f"{reference}-{row.number:04}") for row in sheet.rows],
    }
    business = membership.business
    try:
        wanted = read_request(instance_of(PayoutBatchSerializer), body, currencies=business.currencies)
        user = cast("User", request.user)
        acting: dict[str, Any] = {"request": wanted, "actor": person_acting(request), "now": clock.now()}
        edited = PayoutBatch.objects.of(business).filter(pk=form.cleaned_data["replaces"]).first()
        if edited is None:
            made = batches.create(business=business, maker=Maker.of_member(user), **acting).resource
        else:
            made = corrections.replace(edited.pk, user=user, **acting).resource
    except NoPrice as refusal:
        form.add_error(None, refusal.message)
        return None
    except ValidationError as refusal:
        found = _cell_errors(refusal.detail, sheet)
        context |= _wrong(found)
        if not found:
            form.add_error(None, "These rows can't be paid. Check the title and the currency.")
        return None
    except Problem as refusal:
        form.add_error(None, str(refusal.detail))
        return None
    messages.success(request, f"{made.item_count} payouts stored. Nothing is sent yet.")
    return made


_OF_FIELDS = {
    "amount": "amount",
    "reference": "reference",
    "narration": "narration",
    "purpose": "purpose",
    "currency": "bank",
}
_OF_CUSTOMER = {"beneficiary": "name", "name": "name", "account_number": "account", "bank_code": "bank"}


def _cell_errors(detail: Any, sheet: Sheet) -> list[CellError]:
    """Return the API's errors of payouts as errors of cells."""
    found = []
    of_payouts = detail.get("payouts", {}) if isinstance(detail, dict) else {}
    for place, fields in of_payouts.items() if isinstance(of_payouts, dict) else ():
        row = sheet.rows[int(place)]
        customer = fields.get("customer", {})
        named = {_OF_FIELDS[name]: text for name, text in fields.items() if name in _OF_FIELDS}
        named |= {_OF_CUSTOMER[name]: text for name, text in customer.items() if name in _OF_CUSTOMER}
        for column, text in named.items():
            message = str(text[0] if isinstance(text, list) else text)
            found.append(row.error(column, message))
    return found


@members_page
def template_file(_request: HttpRequest, _membership: Membership, file_type: FileType) -> HttpResponse:
    """Return an example with the headings that are found, as a CSV or Excel file."""
    columns = [Column(title, itemgetter(place)) for place, title in enumerate(COLUMNS.values())]
    table: Table[Any] = Table(columns=columns, rows=[EXAMPLE])
    if file_type == FileType.CSV:
        body, kind = "".join(tables.csv_lines(table)).encode("utf-8-sig"), "text/csv; charset=utf-8"
    else:
        file = io.BytesIO()
        xlsx_files.write(table, file)
        body, kind = file.getvalue(), "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    headers = {"Content-Disposition": f'attachment; filename="pay-many.{file_type}"'}
    return HttpResponse(body, content_type=kind, headers=headers)

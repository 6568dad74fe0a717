"""Pay many in the dashboard: rows from a spreadsheet, corrected at their cells, reviewed and approved."""

import csv
import io
import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from xlsxwriter import Workbook

from dashboard.payout_batches import progress
from kit.banks import grouped
from kit.money.money import money
from kit.time.timestamps import timestamp
from ledger.invariants import check
from merchants.models import AuditEntry
from payments.invariants.registry import INVARIANTS
from payments.models import PayoutControls, Tariff, Transaction
from payments.rules.fees import Flow
from payments.rules.sandbox_triggers import (
    LOST_ANSWER_ACCOUNT,
    OTHER_NAME_ACCOUNT,
    SILENT_ACCOUNT,
    UNKNOWN_ACCOUNT,
)
from payments.services import fee_rules
from payout_batches import summaries
from payout_batches.models import PayoutBatch, PayoutBatchItem
from payout_batches.services import batches, checks, sandbox, sending
from tests import orders
from tests.batches import ACTOR, checked_batch, completed_batch, waiting_batch
from tests.beneficiaries import beneficiary_of, blocked_beneficiary
from tests.dashboard.people import signed_in
from tests.factories import BusinessFactory, MemberFactory
from tests.payout_controls import waiting_payout
from tests.query_counts import at_most
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db

NEW = "/dashboard/payouts/batches/new/"
HEAD = "Supplier\tBank\tAccount No\tAmount (NGN)\tNarration\n"
ROWS = (
    HEAD
    + "Kano Dye Works\tAccess Bank\t0690213447\t1,500.00\tIndigo\nBisi Alabi\tGTBank\t0124559810\t₦1500\t\n"
)


def post(browser, rows="", **changes):
    form = {"reference": "wk48", "title": "Suppliers", "currency": "NGN", "rows": rows} | changes
    return browser.post(NEW, form, follow=True)


def upload(browser, name, data):
    return post(browser, file=SimpleUploadedFile(name, data))


def stored():
    return list(
        PayoutBatchItem.objects.order_by("position").values_list(
            "name", "bank_code", "account_number", "amount"
        )
    )


def page_of(batch):
    return f"/dashboard/payouts/batches/{batch.pk}/"


TWO = [("Kano Dye Works", "044", "0690213447", 150_000), ("Bisi Alabi", "058", "0124559810", 150_000)]


def test_pasted_rows_are_checked_approved_and_sent(browser, ada):
    page = post(browser, ROWS)
    assert "2 payouts stored. Nothing is sent yet." in page.content.decode()
    assert stored() == TWO
    batch = PayoutBatch.objects.get()
    assert (batch.reference, batch.maker.email) == ("wk48", batch.created_by)

    checks.check_due()
    assert "Approve NGN 3,000.00" in browser.get(page_of(batch)).content.decode()
    browser.post(f"{page_of(batch)}approve/")
    sending.send_due()

    shown = browser.get(page_of(batch)).content.decode()
    assert "Completed" in shown
    assert shown.count("Succeeded") >= 2
    assert Transaction.objects.filter(status="success").count() == 2
    assert "Suppliers" in browser.get("/dashboard/payouts/batches/").content.decode()


def test_csv_with_semicolons_bom_and_quotes(browser, ada):
    lines = [
        "Beneficiary;Bank;Account number;Amount;Extra",
        '"Kano; Dye ""Works""";044;0690213447;1,500.00;x',
    ]
    upload(browser, "rows.csv", "\ufeff".encode() + "\r\n".join(lines).encode())

    assert stored() == [('Kano; Dye "Works"', "044", "0690213447", 150_000)]


def test_quotation_mark_that_is_not_closed_hides_no_rows(browser, ada):
    rows = f'{HEAD}Kano Dye Works\t044\t0690213447\t1500\t"Indigo\nBisi Alabi\t058\t0124559810\t1500\t'

    page = post(browser, rows).content.decode()

    assert "These rows can&#x27;t be read: a quotation mark isn&#x27;t closed." in page
    assert not PayoutBatch.objects.exists()


def test_csv_with_30_columns_takes_formulas_as_text(browser, ada):
    head = [
        "Supplier",
        "Bank",
        "Account No",
        "Amount (NGN)",
        "Narration",
        *[f"More {each}" for each in range(25)],
    ]
    row = ["=HYPERLINK()", "GTBank", "0124559810", "₦1,500.00", "=1+1", *["x"] * 25]
    upload(browser, "rows.csv", "\n".join(";".join(cells) for cells in (head, row)).encode())

    assert stored() == [("=HYPERLINK()", "058", "0124559810", 150_000)]
    batch = PayoutBatch.objects.get()
    assert batch.items.get().narration == "=1+1"
    exported = b"".join(browser.get(f"{page_of(batch)}payouts.csv").streaming_content).decode()
    assert ",'=HYPERLINK()," in exported  # and a spreadsheet doesn't take it as a formula either
    assert ",'=1+1," in exported


def test_excel_file_with_many_columns_and_a_formula(browser, ada):
    file = io.BytesIO()
    with Workbook(file) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["Name", "Bank", "Account", "Amount", *[f"More {each}" for each in range(26)]])
        sheet.write_row(1, 0, ["Kano Dye Works", "044", "0690213447"])
        sheet.write_number(1, 3, 1500)
        sheet.write_string(1, 8, "=1+1")
        sheet.write_row(2, 0, ["=HYPERLINK()", "058", "0124559810", "1500"], None)
    upload(browser, "rows.xlsx", file.getvalue())
    assert stored()[0] == TWO[0]

    assert "can&#x27;t be read" in upload(browser, "rows.xlsx", b"PK nonsense").content.decode()


def test_blank_rows_of_an_excel_file_hide_no_rows(browser, ada):
    file = io.BytesIO()
    with Workbook(file) as book:
        sheet, shaded = book.add_worksheet(), book.add_format({"bg_color": "yellow"})
        sheet.write_row(0, 0, ["Name", "Bank", "Account", "Amount"])
        for place in range(500):
            sheet.write_row(3 * place + 1, 0, [f"Kano {place}", "044", "0690213447", 1500 + place])
            sheet.write_blank(3 * place + 2, 0, None, shaded)
            sheet.write_blank(3 * place + 3, 0, None, shaded)

    upload(browser, "rows.xlsx", file.getvalue())

    assert len(stored()) == 500


def test_wrong_cells_are_asked_about_and_corrected_in_place(browser, ada):
    rows = HEAD + "Kano Dye Works\t44\t690213447\t1.500,00\t\nBisi Alabi\tGTBank\t0124559810\t1500\t\n"
    page = post(browser, rows).content.decode()

    assert "enter 044 for Access Bank" in page
    assert "enter 0690213447." in page
    assert "a comma separates thousands" in page
    assert "Bisi Alabi" in page
    assert not PayoutBatch.objects.exists()

    fixes = {"fix-1-bank": "044", "fix-1-account": "0690213447", "fix-1-amount": "1,500.00"}
    post(browser, rows, **fixes)
    assert stored() == TWO


def test_banks_are_found_by_the_names_that_people_write(browser, ada):
    written = {"Kuda": "50211", "OPay": "999992", "Moniepoint MFB": "50515", "Stanbic": "221", "GTB": "058"}
    written |= {"First Bank": "011", "UBA Plc": "033", "zenith": "057", "Palm Pay": "999991", "FCMB": "214"}
    rows = [f"Ada\t{name}\t01245598{place:02}\t1500\t" for place, name in enumerate(written)]
    post(browser, HEAD + "\n".join(rows))

    assert [bank for _, bank, _, _ in stored()] == list(written.values())


def test_bank_whose_name_is_ambiguous_is_asked_about(browser, ada):
    rows = HEAD + "Ada\tTrust Bank\t0124559810\t1500\t\nBisi\tAccess MFB\t0124559811\t1500\t\n"
    page = post(browser, rows + "Obi\tHeritage\t0124559812\t1500\t\n").content.decode()

    assert "Which bank is Trust Bank? Enter the code if you mean Guaranty Trust Bank (058) or Titan" in page
    assert "Which bank is Access MFB?" in page
    assert "Row 2, <bdi>Bisi</bdi>: Bank “Access MFB”</legend>" in page
    assert "No bank is called Heritage." in page
    assert not PayoutBatch.objects.exists()


def test_row_may_name_a_saved_beneficiary_by_its_name_or_reference(browser, ada):
    saved = beneficiary_of(ada.business, reference="kano-1")
    rows = f"Beneficiary\tAmount\n{saved.name.upper()}\t1,500.00\nkano-1\t20\n"
    post(browser, rows)

    assert stored() == [TWO[0], ("Kano Dye Works", "044", "0690213447", 2_000)]
    assert set(PayoutBatchItem.objects.values_list("beneficiary", flat=True)) == {saved.pk}


def test_reference_that_is_another_beneficiary_s_name_is_asked_about(browser, ada):
    beneficiary_of(ada.business, reference="Lekki Power", account_number="0690213441")
    beneficiary_of(ada.business, reference="lekki-1", name="Lekki Power", account_number="0690213442")
    page = post(browser, "Beneficiary\tAmount\nLekki Power\t1,500.00\n").content.decode()

    assert "This is the reference of one beneficiary and the name of another" in page
    assert not PayoutBatch.objects.exists()


def test_saved_beneficiary_is_named_in_another_case_with_accents(browser, ada):
    saved = beneficiary_of(ada.business, reference="kano-1", name="Şadé Ọ̀ṣun Foods")
    post(browser, f"Beneficiary\tAmount\n{saved.name.upper()}\t1,500.00\n")

    assert list(PayoutBatchItem.objects.values_list("beneficiary", flat=True)) == [saved.pk]


def test_saved_beneficiary_is_asked_about_never_guessed(browser, ada):
    for number, reference in enumerate(("kano-1", "kano-2")):
        beneficiary_of(ada.business, reference=reference, account_number=f"069021344{number}")
    beneficiary_of(BusinessFactory(), reference="of-another", name="Lekki Power")
    rows = HEAD + "kano dye works\t\t\t1,500.00\t\nLekki Power\t\t\t20\t\nof-another\t\t\t20\t\n"
    page = post(browser, rows).content.decode()

    assert "Enter the reference: kano-1 or kano-2." in page
    assert page.count("No saved beneficiary has this name or reference.") == 2
    assert not PayoutBatch.objects.exists()

    fixes = {
        "fix-1-name": "kano-2",
        "fix-2-bank": "044",
        "fix-2-account": "0690213447",
        "fix-3-name": "kano-1",
    }
    post(browser, rows, **fixes)
    assert [account for _, _, account, _ in stored()] == ["0690213441", "0690213447", "0690213440"]


def test_blocked_account_is_an_error_of_its_cell(browser, ada):
    blocked_beneficiary(ada.business, account_number="0690213447", bank_code="044")

    page = post(browser, ROWS)

    (wrong,) = page.context["errors"]
    assert (wrong.row, wrong.column) == (1, "account")
    assert wrong.message.startswith("This beneficiary is blocked.")
    assert not PayoutBatch.objects.exists()


@pytest.mark.parametrize("number", ["00124559810", "No 0124559810", "01245598100"])
def test_row_is_not_corrected_to_a_number_that_only_ends_with_one(browser, ada, number):
    batch = checked_batch(ada.business)
    item = batch.items.first()

    page = browser.post(
        f"{page_of(batch)}items/{item.pk}/",
        {"decision": "correct", "account_number": number},
        follow=True,
    )

    assert "Enter exactly 10 digits." in page.content.decode()
    assert batch.items.first().account_number == item.account_number


def test_decision_that_another_member_has_just_taken_is_refused(browser, ada):
    batch = checked_batch(ada.business)
    item = batch.items.get(position=0)  # nothing is wrong with it any more

    page = browser.post(
        f"{page_of(batch)}items/{item.pk}/", {"decision": "accept", "reason": "Known"}, follow=True
    )

    assert "Row 1 needs no decision any more." in page.content.decode()


def test_row_is_not_corrected_to_a_blocked_account(browser, ada):
    blocked_beneficiary(ada.business, account_number="0690213447", bank_code="058")
    batch = checked_batch(ada.business)
    item = batch.items.get(position=0)
    form = {"decision": "correct", "account_number": "0690213447"}

    page = browser.post(f"{page_of(batch)}items/{item.pk}/", form, follow=True)

    assert "This beneficiary is blocked." in page.content.decode()
    assert PayoutBatchItem.objects.get(pk=item.pk).account_number == item.account_number


def test_purposes_are_read_by_their_names_and_shown(browser, ada):
    head = "Name\tBank\tAccount\tAmount\tPurpose\n"
    salary, none = "Ada\t044\t0690213447\t1500\tSalary\n", "Bisi\t058\t0124559810\t1500\t\n"
    refused = post(browser, head + salary + none.replace("\t\n", "\tRent\n")).content.decode()
    assert "Free text belongs in Narration" in refused
    assert not PayoutBatch.objects.exists()

    page = post(browser, head + salary + none).content.decode()

    assert list(PayoutBatchItem.objects.order_by("position").values_list("purpose", flat=True)) == [
        "salary",
        "",
    ]
    assert "0690 213 447</span> · Salary" in page
    checks.check_due()
    browser.post(f"{page_of(PayoutBatch.objects.get())}approve/")
    sending.send_due()
    (export,) = export_of(browser)
    assert export.splitlines()[0].endswith(",purpose")
    assert sorted(line.rsplit(",", 1)[1] for line in export.splitlines()[1:]) == ["", "salary"]


def export_of(browser):
    answer = browser.get("/dashboard/payouts/export.csv")
    yield b"".join(answer.streaming_content if answer.streaming else [answer.content]).decode("utf-8-sig")


def test_page_that_polls_is_loaded_again_when_the_checks_have_ended(browser, ada):
    post(browser, ROWS)
    batch = PayoutBatch.objects.get()
    polled = {"HX-Request": "true"}
    assert "HX-Refresh" not in browser.get(page_of(batch), headers=polled).headers

    checks.check_due()

    assert browser.get(page_of(batch), headers=polled).headers["HX-Refresh"] == "true"


def test_what_waits_for_approval_is_on_the_overview(browser, ada):
    PayoutControls.objects.create(business=ada.business, approval="always")
    MemberFactory(business=ada.business, role="finance")
    post(browser, ROWS)
    checks.check_due()
    batch = PayoutBatch.objects.get()
    browser.post(f"{page_of(batch)}approve/")

    shown = browser.get("/dashboard/").content.decode()

    assert "Suppliers waits for approval" in shown
    assert page_of(batch) in shown
    payout = waiting_payout(ada.business)
    shown = browser.get("/dashboard/").content.decode()
    assert "waits for approval, and 1 other does" in shown
    assert f"/dashboard/payouts/{payout.pk}/approval/" in shown


def test_too_many_rows_and_missing_columns_are_refused(browser, ada):
    row = "Kano\t044\t0690213447\t1\t\n"
    assert "at most 1,000 payouts" in post(browser, HEAD + row * 10_000).content.decode()
    assert (
        "No column is headed Account number"
        in post(browser, "Name\tBank\tAmount\nA\t044\t1").content.decode()
    )
    assert "Paste rows, or choose a file." in post(browser).content.decode()
    assert not PayoutBatch.objects.exists()


def test_columns_with_other_headings_are_chosen_once_and_kept(browser, ada):
    rows = "Whom\tBank\tAccount\tAmount\tBranch\nKano Dye Works\t44\t0690213447\t1,500.00\tYaba\n"

    page = post(browser, rows)

    shown = page.content.decode()
    assert "No column is headed Beneficiary. Choose its field below" in shown
    assert [(each.label, each.sample, each.name) for each in page.context["columns"]] == [
        ("Whom", "Kano Dye Works", ""),
        ("Bank", "44", "bank"),
        ("Account", "0690213447", "account"),
        ("Amount", "1,500.00", "amount"),
        ("Branch", "Yaba", ""),
    ]
    chosen = {"heading-0": "Whom", "column-0": "name", "heading-4": "Branch", "column-4": "narration"}
    page = post(browser, rows, **chosen)
    assert [each.read for each in page.context["columns"]] == [
        "0 saved, 1 new",
        "0 banks, 1 question to answer",
        "10 digits in every row",
        "NGN 1,500.00 in total",
        "Printed on bank statements",
    ]
    post(browser, page.context["text"], **chosen, **{"fix-1-bank": "044"})
    assert stored() == [TWO[0]]
    assert PayoutBatchItem.objects.get().narration == "Yaba"


def test_chosen_columns_dont_hold_for_another_sheet(browser, ada):
    chosen = {"heading-0": "Whom", "column-0": "amount"}

    post(browser, ROWS, **chosen)

    assert stored() == TWO


def test_two_columns_for_one_field_are_asked_about(browser, ada):
    chosen = {"heading-0": "Name", "column-0": "amount", "heading-3": "Net", "column-3": "amount"}
    page = post(browser, "Name\tBank\tAccount\tNet\nKano\t044\t0690213447\t1\n", **chosen)

    assert "Two columns are read as Amount." in page.content.decode()
    assert not PayoutBatch.objects.exists()


def test_lost_zeros_are_answered_by_a_click_or_with_another_value(browser, ada):
    rows = HEAD + "Kano Dye Works\t44\t690213447\t1500\t\n"
    page = post(browser, rows).content.decode()
    assert 'name="fix-1-bank" value="044" required><span>044, Access Bank' in page
    assert 'name="fix-1-account" value="0690213447" required><span>0690 213 447' in page
    assert "checked><span>044" not in page  # asked about, never guessed

    post(
        browser, rows, **{"fix-1-bank": "044", "fix-1-account": "other", "fix-1-account-other": "6902134470"}
    )

    assert stored() == [("Kano Dye Works", "044", "6902134470", 150_000)]


def test_rows_of_a_file_are_kept_if_the_title_is_missing(browser, ada):
    page = post(browser, title="", file=SimpleUploadedFile("rows.csv", ROWS.encode()))

    assert "Kano Dye Works" in page.context["text"]
    assert not PayoutBatch.objects.exists()


def test_every_wrong_cell_is_named_with_its_row(browser, ada):
    wrong = "".join(f"Ada\t44\t{1000000000 + number}\t1\t\n" for number in range(103))
    page = post(browser, HEAD + wrong + "Bisi\tGTBank\t12\t1\t\n" + "Obi\tGTBank\t0124559810\tmany\t\n")

    assert page.context["wrong"] == 105
    assert len(page.context["errors"]) == 100
    shown = page.content.decode()
    assert "105 cells to correct" in shown
    assert "5 more</h3>" in shown
    assert "<b>Rows 101\N{EN DASH}103</b>: Bank “44”. 44 is no bank" in shown
    assert "<b>Row 104</b>: Account number “12”." in shown
    assert "<b>Row 105</b>: Amount “many”." in shown


def test_file_that_cant_be_read_is_named_and_the_rest_is_kept(browser, ada):
    page = upload(browser, "october.xlsx", b"PK nonsense").content.decode()

    assert "october.xlsx: This Excel file can&#x27;t be read." in page
    assert "Then choose the file again. The rest of what you entered is kept." in page
    assert 'value="Suppliers"' in page
    assert 'id="from-file" value="file" checked' in page


def test_page_says_who_is_saved_and_what_is_left_after_fees(browser, ada):
    beneficiary_of(ada.business, account_number="0690213447", bank_code="044")
    fill_wallet(ada.business, 1_000_000)
    rows = HEAD + "Kano Dye Works\tAccess Bank\t0690213447\t1,500.00\t\nBisi\t44\t0124559810\t1500\t\n"

    page = post(browser, rows)

    assert page.context["columns"][0].read == "1 saved, 1 new"
    assert page.context["cost"]["total"] == 300_000
    assert page.context["cost"]["fee"] > 0
    left = 1_000_000 - 300_000 - page.context["cost"]["fee"] - page.context["cost"]["taxes"]
    assert f"<dt>Left after</dt><dd>{money(left, 'NGN')}</dd>" in page.content.decode()


def test_the_chosen_tab_decides_between_rows_and_file(browser, ada):
    assert "Choose a CSV or XLSX file." in post(browser, ROWS, source="file").content.decode()

    post(browser, ROWS, source="paste", file=SimpleUploadedFile("other.csv", b"not,used\n"))

    assert stored() == TWO


def test_checker_reads_what_the_bank_says_of_every_row(browser, ada):
    checker = MemberFactory(business=ada.business, role="finance")
    made = waiting_batch(ada.business)

    shown = signed_in(checker.user, client=Client()).get(page_of(made)).content.decode()

    assert shown.count("Bank says <bdi>") == made.item_count
    assert "Your decision" in shown


def test_maker_is_not_asked_for_a_decision(browser, ada):
    PayoutControls.objects.create(business=ada.business, approval="always")
    MemberFactory(business=ada.business, role="finance")
    post(browser, ROWS)
    checks.check_due()
    made = PayoutBatch.objects.get()
    browser.post(f"{page_of(made)}approve/")

    shown = browser.get(page_of(made)).content.decode()

    assert "Your decision" not in shown
    assert "Reject instead" not in shown
    assert "Cancel batch" in shown


def test_findings_are_decided_under_their_rows(browser, ada):
    rows = (
        HEAD
        + "A\t044\t0000000095\t10\t\nB\t044\t0000000000\t10\t\nC\t044\t0690213447\t10\t\nD\t044\t0000000094\t10\t\n"
    )
    post(browser, rows)
    checks.check_due()
    batch = PayoutBatch.objects.get()
    first, second, _, last = batch.items.order_by("position")
    assert "3 rows need a decision" in browser.get(page_of(batch)).content.decode()

    browser.post(f"{page_of(batch)}items/{first.pk}/", {"decision": "accept", "reason": "Trading name"})
    browser.post(f"{page_of(batch)}items/{second.pk}/", {"decision": "correct", "account_number": "12"})
    browser.post(
        f"{page_of(batch)}items/{second.pk}/", {"decision": "correct", "account_number": "1012884306"}
    )
    browser.post(f"{page_of(batch)}items/{last.pk}/", {"decision": "remove"})
    checks.check_due()

    batch.refresh_from_db()
    assert batch.status == "ready"
    assert [each.state for each in batch.items.order_by("position")] == [
        "name_differs",
        "ok",
        "ok",
        "cancelled",
    ]
    browser.post(f"{page_of(batch)}approve/")
    sending.send_due()
    assert Transaction.objects.count() == 3
    browser.post(f"{page_of(batch)}items/{first.pk}/", {"decision": "remove"})
    assert PayoutBatchItem.objects.get(pk=first.pk).state == "sent"


@pytest.mark.parametrize("is_needed", [False, True])
def test_says_what_is_missing_only_where_payouts_need_a_balance(browser, ada, settings, is_needed):
    settings.PAYOUT_REQUIRES_BALANCE = is_needed
    PayoutControls.objects.create(business=ada.business, approval="always")
    checker = signed_in(MemberFactory(business=ada.business, role="finance").user)
    post(browser, ROWS)
    checks.check_due()
    batch = PayoutBatch.objects.get()
    ready = browser.get(page_of(batch)).content.decode()
    form = {"as_far_as_balance": "on"} if is_needed else {}
    browser.post(f"{page_of(batch)}approve/", form)
    asked = checker.get(page_of(batch)).content.decode()

    for page in (ready, asked):
        assert ("missing" in page.lower()) is is_needed


@pytest.mark.parametrize("approval", ["never", "always"])
def test_removed_rows_are_not_counted(browser, ada, approval):
    PayoutControls.objects.create(business=ada.business, approval=approval)
    checker = signed_in(MemberFactory(business=ada.business, role="finance").user)
    post(browser, ROWS.replace("₦1500", "1600") + "C\t044\t0000000000\t260.00\t\n")
    checks.check_due()
    batch = PayoutBatch.objects.get()
    item = batch.items.get(state="unknown_account")
    before = batch.fees
    browser.post(f"{page_of(batch)}items/{item.pk}/", {"decision": "remove"})

    ready = browser.get(page_of(batch)).content.decode()
    answer = browser.post(f"{page_of(batch)}approve/", follow=True).content.decode()
    if approval == "always":
        assert "Approve and send NGN 3,100.00" in checker.get(page_of(batch)).content.decode()
        checker.post(f"{page_of(batch)}decide/", {"decision": "approve"})
    else:
        assert "NGN 3,100.00 is being sent" in answer
    sending.send_due()

    batch.refresh_from_db()
    assert batch.status == "completed"
    assert batch.fees == sum(each.fee for each in Transaction.objects.all()) < before
    approved = AuditEntry.objects.get(action="payout_batch.approved")
    assert approved.after == {"items": 2, "amount": 310_000, "currency": "NGN"}
    button = "Request approval of" if approval == "always" else "Approve"
    assert f"{button} NGN 3,100.00" in ready
    total = money(310_000 + batch.fees + batch.taxes, "NGN")
    listed = browser.get("/dashboard/payouts/batches/").content.decode()
    for page in (ready, browser.get(page_of(batch)).content.decode(), listed):
        assert "2 payouts" in page
        assert "3 payouts" not in page
        assert "3,360" not in page
        assert page is listed or total in page.replace("<small>NGN</small>", "NGN")
    assert all(one.holds for one in check(INVARIANTS))


def test_rows_say_what_the_bank_says_and_what_to_do(browser, ada):
    accounts = {OTHER_NAME_ACCOUNT: "A", SILENT_ACCOUNT: "B", UNKNOWN_ACCOUNT: "C"}
    post(browser, HEAD + "".join(f"{name}\t044\t{number}\t100\t\n" for number, name in accounts.items()))
    checks.check_due()
    batch = PayoutBatch.objects.get()

    shown = browser.get(page_of(batch)).content.decode()

    assert "<dt>Access Bank says</dt><dd><bdi>Sandbox Account 0095</bdi></dd>" in shown
    assert "Pay it only if you know whose account it is." in shown
    assert "Check again in a few minutes, or pay without its answer." in shown
    assert "Correct it, or ask <bdi>C</bdi>." in shown
    assert f'<span class="number">{grouped(UNKNOWN_ACCOUNT)}</span>' in shown
    assert re.search('aria-current="step"><span[^>]*>2</span>Review', shown)


def test_bank_that_did_not_answer_is_asked_again(browser, ada):
    post(browser, HEAD + f"Ada\t044\t{SILENT_ACCOUNT}\t100\t\n")
    checks.check_due()
    batch = PayoutBatch.objects.get()
    item = batch.items.get()

    form = {"decision": "correct", "account_number": SILENT_ACCOUNT}
    browser.post(f"{page_of(batch)}items/{item.pk}/", form)

    item.refresh_from_db()
    assert item.state == "checking"


def test_edited_rows_replace_a_batch(browser, ada):
    post(browser, ROWS)
    checks.check_due()
    old = PayoutBatch.objects.get()
    assert f"{NEW}?batch={old.pk}" in browser.get(page_of(old)).content.decode()
    form = browser.get(f"{NEW}?batch={old.pk}").context["form"]
    rows, edit = form["rows"].value(), {"replaces": str(form["replaces"].value()), "reference": "edited"}
    assert form["title"].value() == "Suppliers"

    for _ in range(2):  # sent twice, it is stored once
        post(browser, rows.replace("1,500.00", "2,000.00", 1), **edit)

    old.refresh_from_db()
    new = PayoutBatch.objects.exclude(pk=old.pk).get()
    assert (old.status, new.reference, new.amount) == ("cancelled", "edited", 350_000)
    assert list(new.items.order_by("position").values_list("name", "narration")) == [
        ("Kano Dye Works", "Indigo"),
        ("Bisi Alabi", ""),
    ]


def test_only_who_wrote_all_rows_edits_them(browser, ada):
    """Otherwise one member could approve rows that they wrote, in a batch that names another maker."""
    post(browser, ROWS)
    checks.check_due()
    batch = PayoutBatch.objects.get()
    other = signed_in(MemberFactory(business=ada.business, role="finance").user)
    rows, edit = ROWS.replace("1,500.00", "2,000.00"), {"replaces": str(batch.pk), "reference": "edited"}
    assert "Edit rows" not in other.get(page_of(batch)).content.decode()
    assert "wrote all rows" in post(other, rows, **edit).content.decode()

    form = {"decision": "correct", "account_number": "0690213455"}
    other.post(f"{page_of(batch)}items/{batch.items.first().pk}/", form)

    assert "Edit rows" not in browser.get(page_of(batch)).content.decode()
    assert "wrote all rows" in post(browser, rows, **edit).content.decode()
    assert PayoutBatch.objects.get() == batch


def test_edited_rows_keep_quotation_marks(browser, ada):
    post(browser, ROWS)
    checks.check_due()
    old = PayoutBatch.objects.get()
    old.items.filter(position=0).update(narration='"Indigo", 12" wide')
    old.items.filter(position=1).update(narration='"Madder')
    form = browser.get(f"{NEW}?batch={old.pk}").context["form"]

    post(browser, form["rows"].value(), replaces=str(old.pk), reference="edited")

    new = PayoutBatch.objects.get(reference="edited")
    assert list(new.items.order_by("position").values_list("name", "narration")) == [
        ("Kano Dye Works", '"Indigo", 12" wide'),
        ("Bisi Alabi", '"Madder'),
    ]


def test_rows_of_a_released_batch_are_not_edited(browser, ada):
    batch = completed_batch(ada.business)

    page = post(browser, ROWS, replaces=str(batch.pk))

    assert "The rows can&#x27;t be edited any more. The batch is completed." in page.content.decode()
    assert PayoutBatch.objects.get() == batch


def test_cancelling_asks_first_what_is_then_not_sent(browser, ada):
    batch = checked_batch(ada.business)
    (button,) = re.findall(r'href="([^"]+/cancel/)"', browser.get(page_of(batch)).content.decode())

    asked = browser.get(button).content.decode()

    amount = money(sum(item.amount for item in batch.items.all()), "NGN")
    assert "Cancel this batch?" in asked
    assert f"{batch.item_count} payouts of {amount} will not be sent." in asked
    batch.refresh_from_db()
    assert batch.cancelled_at is None
    browser.post(button)
    batch.refresh_from_db()
    assert batch.status == "cancelled"
    assert browser.get(button).status_code == 302


def test_cancelled_batch_shows_what_it_was(browser, ada):
    post(browser, ROWS.replace("₦1500", "1600") + "C\t044\t0000000000\t260.00\t\n")
    checks.check_due()
    batch = PayoutBatch.objects.get()
    fees, item = batch.fees, batch.items.get(state="unknown_account")
    browser.post(f"{page_of(batch)}items/{item.pk}/", {"decision": "remove"})
    browser.post(f"{page_of(batch)}cancel/")

    batch.refresh_from_db()
    assert (batch.status, batch.fees) == ("cancelled", fees)
    assert "3 payouts" in browser.get(page_of(batch)).content.decode()
    assert "3 payouts" in browser.get("/dashboard/payouts/batches/").content.decode()


def test_another_member_approves_or_rejects(browser, ada):
    PayoutControls.objects.create(business=ada.business, approval="always")
    checker = signed_in(MemberFactory(business=ada.business, role="finance").user)
    for reference, decision in (("one", "approve"), ("two", "reject")):
        post(
            browser,
            ROWS.replace("1,500.00", "17.00").replace("₦1500", (reference == "one" and "18") or "19"),
            reference=reference,
        )
        checks.check_due()
        batch = PayoutBatch.objects.get(reference=reference)
        reasons = {
            each.pk: browser.post(
                f"{page_of(batch)}items/{each.pk}/", {"decision": "accept", "reason": "Yes"}
            )
            for each in batch.items.undecided()
        }
        assert all(each.status_code == 302 for each in reasons.values())
        browser.post(f"{page_of(batch)}approve/")
        browser.post(f"{page_of(batch)}decide/", {"decision": "approve"})
        batch.refresh_from_db()
        assert batch.status == "awaiting_approval"
        checker.post(f"{page_of(batch)}decide/", {"decision": decision, "reason": "Wrong week"})
        sending.send_due()
        batch.refresh_from_db()
        assert batch.status == ("completed" if decision == "approve" else "cancelled")
    assert Transaction.objects.count() == 2


def test_shows_who_is_new_and_what_changed_since_last_time(browser, ada):
    completed_batch(
        ada.business,
        *[orders.batch_item(place, amount=150_000) for place in (0, 1, 2)],
        title="Suppliers",
    )
    again = checked_batch(
        ada.business,
        orders.batch_item(0, amount=160_000),
        orders.batch_item(1, amount=130_000),
        orders.batch_item(7, amount=100_000),
        title="Suppliers",
    )

    page = " ".join(browser.get(page_of(again)).content.decode().split())

    assert "3 payouts, paid in this order</td>" in page
    of_new = flat(browser.get(f"{page_of(again)}?state=new").content.decode())
    assert (
        '1 payout</td><td class="figure at-amount"><span class="money"><span class="money__code">NGN</span> 1,000.00'
        in of_new
    )
    assert "1 account you haven" in page
    assert page.count("· New<") == 1
    assert "Now NGN 600.00 less · 1 account added · 1 left out · 2 with another amount" in page


def test_pages_open_although_payouts_have_no_price(browser, ada):
    waits = checked_batch(ada.business)
    failed = checked_batch(ada.business)
    failed.items.update(state="failed", problem="The bank is not listed any more.")
    withdrawn = Tariff(business=ada.business, flow=Flow.PAYOUT, currency="NGN", is_offered=False)
    fee_rules.agree(withdrawn, actor=ACTOR, now=timezone.now())

    assert "This isn&#x27;t offered in NGN." in post(browser, ROWS).content.decode()
    assert browser.get(page_of(waits)).status_code == 200
    retried = browser.post(f"{page_of(failed)}retry/", follow=True).content.decode()
    assert "This isn&#x27;t offered in NGN." in retried
    assert PayoutBatch.objects.count() == 2


def test_failed_ones_are_retried_from_the_page(browser, ada):
    post(browser, HEAD + "A\t044\t0690213447\t200.51\t\n")
    checks.check_due()
    batch = PayoutBatch.objects.get()
    browser.post(f"{page_of(batch)}approve/")
    sending.send_due()
    assert "Retry 1 failed" in browser.get(page_of(batch)).content.decode()

    page = browser.post(f"{page_of(batch)}retry/", follow=True).content.decode()

    assert "wk48-r1" in page or PayoutBatch.objects.filter(reference="wk48-r1").exists()
    made = PayoutBatch.objects.get(reference="wk48-r1")
    browser.post(f"{page_of(made)}cancel/")
    assert PayoutBatch.objects.get(pk=made.pk).status == "cancelled"


def flat(text):
    return " ".join(text.split())


def shown_text(browser, batch):
    return flat(browser.get(page_of(batch)).content.decode())


@pytest.mark.parametrize("most_segments", [100, 1])
def test_shows_how_far_it_is_sent(browser, ada, monkeypatch, most_segments):
    monkeypatch.setattr(progress, "MOST_SEGMENTS", most_segments)
    failing = orders.batch_item(2, amount=250_051)
    batch = completed_batch(ada.business, orders.batch_item(0), failing, orders.batch_item(3))

    shown = shown_text(browser, batch)

    assert "2 of 3 sent</span>" in shown
    assert (
        '<li class="is-good">2 sent, NGN 400.00</li><li class="is-bad">1 failed, NGN 2,500.51</li>' in shown
    )
    assert re.findall('rect class="is-(\\w+)"', shown) == (
        ["good", "bad", "good"] if most_segments == 100 else ["good", "bad"]
    )


def test_what_was_checked_and_not_sent_yet_is_not_called_ok(browser, ada):
    batch = checked_batch(ada.business, orders.batch_item(0))
    assert ">OK</span>" in shown_text(browser, batch)

    browser.post(f"{page_of(batch)}approve/")

    shown = shown_text(browser, batch)
    assert '<span class="status status--pending">To be sent</span>' in shown
    assert "OK" not in shown.partition("<main")[2].partition("</table>")[0]


def test_says_what_needs_attention_and_what_to_do(browser, ada):
    lost = {"name": "B", "account_number": LOST_ANSWER_ACCOUNT, "bank_code": "058"}
    failing = orders.batch_item(2, amount=250_051)
    batch = completed_batch(ada.business, failing, orders.batch_item(3, customer=lost))
    assert batch.status == "processing"
    assert (
        "confirmed" not in shown_text(browser, batch).partition("Needs attention")[2].partition("<table")[0]
    )
    Transaction.objects.update(created_at=timezone.now() - timedelta(minutes=2))

    shown = shown_text(browser, batch)

    assert "Guaranty Trust Bank refused NGN 2,500.51 to <bdi>Supplier 2</bdi>" in shown
    assert "The money and its fee are back in your balance." in shown
    assert "confirmed NGN 200.00 to <bdi>B</bdi>" in shown
    assert "1 not confirmed, NGN 200.00" in shown


def test_shows_what_a_batch_took_and_what_happened(browser, ada):
    failing = orders.batch_item(2, amount=250_051)
    batch = completed_batch(ada.business, orders.batch_item(0), failing, orders.batch_item(3))
    sent = batch.items.filter(payout__status="success")
    fees = summaries.charge_of_sent(sent).fee

    shown = shown_text(browser, batch)

    money_of = shown.partition(">Money</h2>")[2].partition("</dl>")[0]
    minus = "\N{MINUS SIGN}"
    assert f"<dt>2 sent</dt><dd>{minus}NGN 400.00</dd>" in money_of
    assert f"<dt>Fees, 2 payouts</dt><dd>{minus}{money(fees, 'NGN')}</dd>" in money_of
    assert f"<dt>Taken from your balance</dt><dd>{minus}{money(40_000 + fees, 'NGN')}</dd>" in money_of
    assert (
        f"<dt>Available for payouts</dt><dd>{money(summaries.available_of(ada.business, 'NGN'), 'NGN')}"
        in money_of
    )
    titles = re.findall('timeline__name">([^<]*)<', shown)
    assert titles == [
        "Completed",
        "Sending started",
        "Approved by test",
        "Accounts looked up",
        "Created by test",
    ]
    for item in sent:
        at = timezone.localtime(item.payout.created_at, ada.business.zone)
        assert f">{item.reference}</bdi>" in shown
        assert f">{at:%H:%M:%S}</time></td></tr>" in shown
    assert ">3 payouts</td><td" in shown
    assert ">2,900.51</td>" in shown


def test_payouts_of_a_batch_are_exported(browser, ada):
    batch = completed_batch(ada.business, orders.batch_item(0), orders.batch_item(2, amount=250_051))

    answer = browser.get(f"{page_of(batch)}payouts.csv")

    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["row"], row["amount"], row["status"]) for row in rows] == [
        ("1", "200.00", "success"),
        ("2", "2500.51", "failed"),
    ]
    assert (rows[0]["problem"], rows[1]["problem"] != "", rows[0]["sent_at"] != "") == ("", True, True)


def test_says_until_when_rows_are_held(browser, ada, settings):
    settings.PAYOUT_REQUIRES_BALANCE = True
    batch = checked_batch(ada.business)
    batches.approve(batch.pk, as_far_as_balance=True, actor=ACTOR, now=timezone.now())
    sending.send_due()

    shown = shown_text(browser, batch)

    assert "0 of 3 sent</span>" in shown
    assert "3 held, NGN 600.00" in shown
    assert "The balance is too low." in shown
    assert "It is sent as soon as there is money; what is still held at" in shown


def test_says_of_what_failed_for_lack_of_money_that_no_bank_refused_it(browser, ada, settings):
    settings.PAYOUT_REQUIRES_BALANCE = True
    batch = checked_batch(ada.business, orders.batch_item(0))
    batches.approve(batch.pk, as_far_as_balance=True, actor=ACTOR, now=timezone.now())
    sending.send_due()
    batch.refresh_from_db()
    sandbox.advance(batch, actor=ACTOR)

    shown = shown_text(browser, batch)

    assert "NGN 200.00 to <bdi>Supplier 0</bdi> failed</a>" in shown
    assert "Your balance didn&#x27;t cover the payout and its fee. Nothing was taken." in shown
    assert "refused" not in shown
    assert "back in your balance" not in shown


def test_shows_what_is_used_of_the_limits(browser, ada):
    limits = {"per_payout": {"NGN": 40_000}, "per_day": {"NGN": 500_000}, "number_per_day": 10}
    caps = {"per_day": {"NGN": 200_000}}
    PayoutControls.objects.create(
        business=ada.business, new_beneficiaries={"NGN": 100_000}, caps=caps, **limits
    )
    completed_batch(ada.business, orders.batch_item(0, amount=30_000))

    shown = shown_text(browser, checked_batch(ada.business, orders.batch_item(1), orders.batch_item(2)))

    for name, use in [
        ("Per day", "NGN 700.00 of NGN 2,000.00"),
        ("Number per day", "3 of 10"),
        ("Largest payout", "NGN 200.00 of NGN 400.00"),
        ("New beneficiary, first 24 hours", "NGN 200.00 of NGN 1,000.00"),
    ]:
        assert f"<span>{name}</span><span>{use}</span>" in shown
    assert 'rect width="35%"' in shown


def test_shows_who_made_it_and_who_may_approve(browser, ada):
    PayoutControls.objects.create(
        business=ada.business, approval="always", two_approvals_above={"NGN": 100_000}
    )
    checkers = [MemberFactory(business=ada.business, role=role).user for role in ("finance", "owner")]
    MemberFactory(business=ada.business, role="viewer")
    post(browser, ROWS)
    checks.check_due()
    batch = PayoutBatch.objects.get()
    shown = shown_text(browser, batch)

    second = shown[shown.index("Second person") : shown.index("When to send")]
    assert f"<dt>Made by</dt><dd><bdi>{batch.created_by}</bdi>" in second
    assert "0 of 2<small>Every payout needs approval</small>" in second
    names = re.findall("<bdi>(.*?)</bdi>", second.partition("May approve")[2])
    assert names == [user.email for user in checkers]
    browser.post(f"{page_of(batch)}approve/")
    signed_in(checkers[0]).post(f"{page_of(batch)}decide/", {"decision": "approve"})
    shown = shown_text(browser, batch)
    assert "1 of 2<small>" in shown
    assert f"<dt>Approved by</dt><dd><bdi>{checkers[0].email}</bdi>" in shown
    assert "At once, in this order" in shown


def test_checker_sees_findings_flags_and_changes(browser, ada):
    completed_batch(
        ada.business, *[orders.batch_item(place, amount=150_000) for place in (0, 1, 2, 3)], title="Suppliers"
    )
    Transaction.objects.update(created_at=timezone.now() - timedelta(days=7))
    PayoutControls.objects.create(business=ada.business, approval="always")
    checker = MemberFactory(business=ada.business, role="finance").user
    other_name = {"name": "Bisi Alabi", "account_number": OTHER_NAME_ACCOUNT, "bank_code": "058"}
    batch = checked_batch(
        ada.business,
        orders.batch_item(0, amount=160_000),
        orders.batch_item(1, amount=130_000),
        orders.batch_item(2, amount=150_000),
        orders.batch_item(4, amount=40_000, customer=other_name),
        title="Suppliers",
    )
    for item in batch.items.undecided():
        browser.post(f"{page_of(batch)}items/{item.pk}/", {"decision": "accept", "reason": "Trading name"})
    browser.post(f"{page_of(batch)}approve/")

    shown = shown_text(signed_in(checker), batch)

    assert 'href="#row-4">1 new beneficiary, NGN 400.00</a>' in shown
    assert 'href="#row-4">1 name differs, NGN 400.00</a>' in shown
    assert (
        "Bisi Alabi: Guaranty Trust Bank says Sandbox Account 0095. ada@example.com: “Trading name”." in shown
    )
    assert ">NGN 1,200.00 less than last time</a>" in shown
    assert "4 payouts instead of 4. 1 added, 1 left out, 2 with another amount." in shown
    changes = re.findall(
        'at-none">(?:<span class="muted">)?([^<]+)(?:</span>)?</td> <td class="fit figure at-amount"', shown
    )
    assert changes == ["+100.00", "\N{MINUS SIGN}200.00", "same", "\N{EN DASH}"]
    assert "Approve and send NGN 4,800.00" in shown
    assert "You made" not in shown


def test_checker_sees_duplicates_of_what_was_paid_since_the_checks(browser, ada):
    first, second = (waiting_batch(ada.business, orders.batch_item(0)) for _ in range(2))
    other = MemberFactory(business=ada.business, role="finance")
    batches.approve_as_member(first.pk, user=other.user, actor=ACTOR, now=timezone.now())
    sending.send_due()

    page = signed_in(other.user, client=Client()).get(page_of(second)).content.decode()

    assert "1 possible duplicate" in page
    assert f"{first.items.get().reference} has the same account and amount." in page
    assert second.items.get().state == "ok"


def test_checker_sees_the_former_number_of_a_corrected_account(browser, ada):
    PayoutControls.objects.create(business=ada.business, approval="always")
    checker = MemberFactory(business=ada.business, role="finance").user
    batch = checked_batch(ada.business)
    item = batch.items.get(position=0)
    for number in ("0129998887", "0129998895"):
        browser.post(f"{page_of(batch)}items/{item.pk}/", {"decision": "correct", "account_number": number})
        checks.check_due()
    browser.post(f"{page_of(batch)}approve/")

    shown = shown_text(signed_in(checker), batch)

    was, now = grouped(item.account_number), grouped("0129998895")
    assert (
        f"Supplier 0: {was} before, {now} is {batch.items.get(position=0).account_name} at Guaranty Trust Bank."
        in shown
    )


@pytest.mark.parametrize("role", ["finance", "viewer"])
def test_waiting_batch_after_another_is_read_with_few_queries(browser, ada, role):
    completed_batch(ada.business)
    reader = signed_in(MemberFactory(business=ada.business, role=role).user)
    batch = waiting_batch(ada.business, *[orders.batch_item(place, amount=30_000) for place in range(3)])

    with at_most(12):
        shown = shown_text(reader, batch)

    assert ("Only owners and finance may approve payouts." in shown) == (role == "viewer")
    assert "Compared with" in shown


def test_is_sent_on_the_day_that_was_chosen(browser, ada):
    batch = checked_batch(ada.business)
    on = timezone.now().astimezone(ada.business.zone).replace(second=0, microsecond=0) + timedelta(days=2)
    chosen = {"when": "later", "run_at": f"{on:%Y-%m-%dT%H:%M}"}
    for wrong in ("", f"{on + timedelta(days=40):%Y-%m-%dT%H:%M}", "soon"):
        refused = browser.post(f"{page_of(batch)}approve/", chosen | {"run_at": wrong}, follow=True)
        assert "Choose a day and time within the next 30 days." in refused.content.decode()

    answer = browser.post(f"{page_of(batch)}approve/", chosen, follow=True).content.decode()

    batch.refresh_from_db()
    assert (batch.status, batch.run_at) == ("scheduled", on)
    assert "NGN 600.00 will be sent." in answer
    assert AuditEntry.objects.filter(action="payout_batch.scheduled").count() == 1
    sending.send_due()
    assert not Transaction.objects.exists()


def test_is_sent_at_once_although_another_time_was_set(browser, ada):
    batch = checked_batch(ada.business, run_at=timestamp(timezone.now() + timedelta(days=2)))

    browser.post(f"{page_of(batch)}approve/", {"when": "now", "run_at": "2099-01-01T10:00"})

    batch.refresh_from_db()
    assert (batch.status, batch.run_at) == ("processing", None)


def test_templates_are_read_again(browser, ada):
    for file_type in ("csv", "xlsx"):
        data = browser.get(f"/dashboard/payouts/batches/template.{file_type}").content
        upload(browser, f"rows.{file_type}", data)
    assert stored()[0] == TWO[0]

"""The administration's page Cash."""

from datetime import timedelta

import pytest

from cash.models import StatementLine
from kit.db import clock
from merchants.models import AuditEntry
from payments.admin.reconciliation.breaks import BreakForm
from payments.services.reconciliation import breaks
from payments.services.transfers.incoming import Notice, receive_notification
from tests import orders
from tests.bank_statements import bank_account, csv_statement, import_statement
from tests.dashboard.people import signed_in
from tests.factories import BusinessFactory, UserFactory
from tests.reserves import agree, released
from tests.settling import today
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db

PAGE = "/admin/cash/"


@pytest.fixture
def staff():
    return signed_in(UserFactory(is_staff=True, is_superuser=True))


def test_breaks_explain_the_difference(staff, tmp_path):
    bank_account()
    day = today()
    import_statement(
        tmp_path, csv_statement((day - timedelta(days=5), 4_805, "SULEIMAN"), (day, -5, "CHARGES"))
    )

    shown = staff.get(PAGE).content.decode()

    for text in (
        "GTBank 0118550902",
        "1,048.00",
        "1,000.00",
        "+NGN 48.00",
        "SULEIMAN",
        "Explained, nothing left over",
    ):
        assert text in shown


def test_reserves_of_all_businesses_are_added(staff):
    bank_account()
    for business in (BusinessFactory(), BusinessFactory()):
        agree(business, reserve_basis_points=1_000, reserve_days=30)
        released(business, amount=100_000)

    shown = staff.get(PAGE).content.decode()

    assert "Reserves" in shown
    assert "197.00" in shown


@pytest.mark.parametrize(("ties", "shown"), [({"pays_out": ["sandbox"]}, "no statement"), ({}, "equal")])
def test_account_whose_bank_nobody_asked_is_not_equal(staff, ties, shown):
    bank_account(**ties)

    assert f"1 account, {shown}" in staff.get(PAGE).content.decode()
    assert f">{shown.capitalize()}</span>" in staff.get("/admin/").content.decode()


def test_break_has_an_owner_and_notes(staff, tmp_path):
    account = bank_account()
    import_statement(tmp_path, csv_statement((today(), 4_800, "SULEIMAN")))
    row, owner = account.breaks.get(), UserFactory(is_staff=True)
    form = {"owner": owner.pk, "notes": "Asked the bank", "reason": "Mine"}

    staff.post(f"/admin/cash/break/{row.pk}/change/", form)

    assert owner.email in staff.get(PAGE).content.decode()
    row.refresh_from_db()
    assert row.notes == "Asked the bank"


def test_break_that_ends_while_its_notes_are_saved_stays_ended(staff, tmp_path, monkeypatch):
    """A statement is imported after the row was read."""
    account = bank_account()
    import_statement(tmp_path, csv_statement((today(), 4_800, "SULEIMAN")))
    row, ended_at, clean = account.breaks.get(), clock.now(), BreakForm.clean

    def end_first(form):
        account.breaks.update(ended_at=ended_at, ended_by="a later line")
        return clean(form)

    monkeypatch.setattr(BreakForm, "clean", end_first)
    staff.post(f"/admin/cash/break/{row.pk}/change/", {"notes": "Asked the bank", "reason": "Mine"})

    row.refresh_from_db()
    assert (row.notes, row.ended_at, row.ended_by) == ("Asked the bank", ended_at, "a later line")


def test_page_of_a_break_says_what_is_on_its_line(staff, tmp_path):
    account = bank_account()
    import_statement(tmp_path, csv_statement((today(), 4_800, "NIP1", "FROM A. SULEIMAN")))
    row = account.breaks.get()

    shown = staff.get(f"/admin/cash/break/{row.pk}/change/").content.decode()

    assert f"{today():%-d %b %Y}, FROM A. SULEIMAN" in shown
    assert f"/admin/cash/statementline/{row.line_id}/change/" in shown


def test_page_of_a_missing_item_leads_to_its_entries(staff, api, ada):
    fill_wallet(ada.business, 100_000)
    account = bank_account(pays_out=["sandbox"])
    payout = api.post("/api/payments", orders.payout(amount=50_000)).json()
    breaks.update(account, now=clock.now() + timedelta(days=9))

    shown = staff.get(f"/admin/cash/break/{account.breaks.get().pk}/change/").content.decode()

    assert f"/admin/ledger/entry/?q={payout['id']}" in shown


def test_lines_of_a_statement_say_how_they_are_explained(staff, tmp_path):
    account = bank_account(receives=["hosting_bank"])
    notice = {"account_number": "0000000000", "amount": 70_000, "currency": "NGN", "sender_name": "Ada"}
    receive_notification(Notice(bank_reference="NIP-1", **notice))
    import_statement(tmp_path, csv_statement((today(), 70_000, "NIP-1"), (today(), 5, "INTEREST")))
    matched, unknown = StatementLine.objects.order_by("number")

    shown = staff.get(f"/admin/cash/statementline/?q={matched.statement_id}").content.decode()

    assert "the bank&#x27;s reference" in shown
    assert "Unknown at the bank" in shown
    page = staff.get(f"/admin/cash/statementline/{matched.pk}/change/").content.decode()
    assert f"/admin/cash/match/{matched.matched.match_id}/change/" in page
    page = staff.get(f"/admin/cash/statementline/{unknown.pk}/change/").content.decode()
    assert f"/admin/cash/break/{account.breaks.get().pk}/change/" in page


def test_owner_of_a_break_is_staff(staff, tmp_path):
    row = broken(tmp_path)
    form = {"owner": UserFactory().pk, "notes": "", "reason": "Mine"}

    shown = staff.post(f"/admin/cash/break/{row.pk}/change/", form).content.decode()

    row.refresh_from_db()
    assert "Select a valid choice" in shown
    assert row.owner is None


def test_owner_who_left_stays_until_another_is_chosen(staff, tmp_path):
    row, owner = broken(tmp_path), UserFactory(is_staff=True, is_active=False)
    type(row).objects.update(owner=owner)
    form = {"owner": owner.pk, "notes": "Asked the bank", "reason": "News"}

    staff.post(f"/admin/cash/break/{row.pk}/change/", form)

    row.refresh_from_db()
    assert (row.owner, row.notes) == (owner, "Asked the bank")


def test_without_accounts_leads_to_the_first(staff):
    assert "Add a bank account" in staff.get(PAGE).content.decode()


def test_needs_the_right(db):
    other = signed_in(UserFactory(is_staff=True))

    assert other.get(PAGE).status_code == 403


def test_is_as_many_queries_for_many_breaks(staff, tmp_path, django_assert_max_num_queries):
    bank_account()
    lines = [(today(), number, f"X{number}") for number in range(1, 60)]
    import_statement(tmp_path, csv_statement(*lines))

    with django_assert_max_num_queries(25):
        shown = staff.get(PAGE).content.decode()

    assert "20 of 59 breaks" in shown
    assert "Unknown at the bank: 59 breaks" in shown
    assert "It is on a statement, and nothing in the ledger explains it." in shown


def test_has_a_tab_for_each_currency(staff):
    bank_account()
    bank_account(name="citi", number="0000000001", currency="USD")

    assert "Bank, NGN" in staff.get(PAGE).content.decode()
    shown = staff.get(f"{PAGE}?currency=USD").content.decode()

    assert "Bank, USD" in shown
    assert "Bank, NGN" not in shown
    assert 'href="?currency=NGN"' in shown


class TestAssign:
    def test_makes_the_user_the_owner_and_is_audited(self, staff, tmp_path):
        row = broken(tmp_path)

        shown = staff.post(f"/admin/cash/break/{row.pk}/assign/", follow=True).content.decode()

        row.refresh_from_db()
        assert "is assigned to you" in shown
        assert row.owner.email in shown
        assert AuditEntry.objects.get(action="break.changed").after == {"owner": row.owner.email}

    def test_leaves_a_break_to_its_owner(self, staff, tmp_path):
        row, owner = broken(tmp_path), UserFactory(is_staff=True)
        type(row).objects.update(owner=owner)

        shown = staff.post(f"/admin/cash/break/{row.pk}/assign/", follow=True).content.decode()

        row.refresh_from_db()
        assert "has an owner already" in shown
        assert row.owner == owner

    def test_needs_the_right_to_change_breaks(self, tmp_path):
        row = broken(tmp_path)
        other = signed_in(UserFactory(is_staff=True))

        assert other.post(f"/admin/cash/break/{row.pk}/assign/").status_code == 403


def broken(tmp_path):
    account = bank_account()
    import_statement(tmp_path, csv_statement((today(), 4_800, "SULEIMAN")))
    return account.breaks.get()

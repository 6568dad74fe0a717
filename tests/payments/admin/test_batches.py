"""Admin pages of settlement batches."""

from datetime import date

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.utils import timezone

from kit.time.time_ordered_ids import new_id
from merchants.models import AuditEntry
from payments.models import SettlementBatch
from tests import orders
from tests.dashboard.people import signed_in
from tests.factories import UserFactory
from tests.settling import decide, settle

pytestmark = pytest.mark.django_db


def browser_of(person):
    browser = Client()
    signed_in(person, client=browser)
    return browser


@pytest.fixture
def staff():
    return browser_of(UserFactory(email="staff@example.com", is_staff=True, is_superuser=True))


@pytest.fixture
def view_only():
    person = UserFactory(is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename="view_settlementbatch"))
    return browser_of(person)


@pytest.fixture
def batch(api):
    api.post("/api/payments", orders.card_payment(reference="order-1", amount=50_000))
    (made,) = settle()
    return made


def page(batch, end="change/"):
    return f"/admin/payments/settlementbatch/{batch.pk}/{end}"


def decide_on(page_of, browser, decision, reason="The bank says so."):
    return browser.post(page(page_of, "decide/"), {"decision": decision, "reason": reason}, follow=True)


class TestBatchPage:
    @pytest.mark.parametrize(
        ("made", "offered"),
        [
            ((), ["Approve", "Reject"]),
            (("approve",), ["Release"]),
            (("approve", "release"), []),
            (("reject",), []),
        ],
    )
    def test_shows_the_allowed_decisions(self, staff, batch, made, offered):
        decide(batch, *made)

        shown = staff.get(page(batch)).content.decode()

        assert [one for one in ("Approve", "Release", "Reject") if f">{one}</button>" in shown] == offered

    def test_approves_and_releases(self, staff, batch, api):
        approved = decide_on(batch, staff, "approved")
        decide_on(batch, staff, "released")

        assert "The batch is approved." in approved.content.decode()
        assert api.get("/api/payments/order-1").json()["settle_status"] == "released"
        entries = AuditEntry.objects.filter(action__startswith="settlement_batch").order_by("id")
        assert [(one.action, one.actor, one.address) for one in entries] == [
            ("settlement_batch.approved", "staff@example.com", "127.0.0.1"),
            ("settlement_batch.released", "staff@example.com", "127.0.0.1"),
        ]

    def test_rejects_with_a_reason(self, staff, batch):
        decide_on(batch, staff, "rejected", "The acquirer's file is short.")

        batch.refresh_from_db()
        assert (batch.state, batch.reason) == ("rejected", "The acquirer's file is short.")

    def test_rejects_an_invalid_decision(self, subtests, staff, batch):
        for decision, reason, says in [
            ("rejected", "", "Nothing was decided"),
            ("rejected", " ", "Nothing was decided"),
            ("rejected", "x" * 256, "Nothing was decided"),
            ("rejected", "a\0b", "Nothing was decided"),
            ("released", "Why not?", "A batch that is pending cannot become released."),
            ("approved", "", "Nothing was decided"),
            ("pending", "", "Nothing was decided"),
            ("", "", "Nothing was decided"),
        ]:
            with subtests.test(decision=decision, reason=reason):
                answer = decide_on(batch, staff, decision, reason)

                assert says in answer.content.decode()
                batch.refresh_from_db()
                assert batch.state == "pending"

    def test_is_read_only_without_the_permission(self, view_only, batch):
        assert ">Approve</button>" not in view_only.get(page(batch)).content.decode()
        assert decide_on(batch, view_only, "approved").status_code == 403
        assert SettlementBatch.objects.get().state == "pending"

    def test_is_forbidden_for_other_users(self, batch):
        stranger = browser_of(UserFactory(is_staff=True))

        assert stranger.get(page(batch)).status_code == 403
        assert stranger.get(page(batch, "statement.csv")).status_code == 403
        assert Client().get(page(batch, "statement.csv")).status_code == 302

    def test_decides_by_post_only(self, staff, batch):
        assert staff.get(page(batch, "decide/")).status_code == 405

    def test_downloads_the_statement(self, staff, batch):
        answer = staff.get(page(batch, "statement.csv"))

        assert answer["Content-Disposition"] == f'attachment; filename="settlement-NGN-{batch.day}-1.csv"'
        assert b"order-1" in b"".join(answer.streaming_content)

    @pytest.mark.parametrize("model", ["settlementbatch", "settlementitem"])
    def test_lists_batches_and_items(self, staff, batch, model):
        assert staff.get(f"/admin/payments/{model}/?q=order").status_code == 200
        assert staff.get(f"/admin/payments/{model}/").status_code == 200


class TestList:
    @pytest.fixture
    def batches(self, batch):
        """Three batches, created in another order than that of their days."""
        rows = [batch]
        for number, day in enumerate((date(2026, 10, 2), date(2025, 12, 31)), start=2):
            rows.append(SettlementBatch.objects.get(pk=batch.pk))
            rows[-1].pk, rows[-1].day, rows[-1].number = new_id(timezone.now()), day, number
            rows[-1].save(force_insert=True)
        SettlementBatch.objects.filter(pk=batch.pk).update(day=date(2026, 9, 30))
        return rows

    def days(self, browser, query=""):
        listed = browser.get(f"/admin/payments/settlementbatch/{query}").context["cl"]
        return [f"{row.day:%Y-%m-%d}" for row in listed.result_list]

    def test_is_sorted_by_day(self, staff, batches):
        assert self.days(staff) == ["2026-10-02", "2026-09-30", "2025-12-31"]
        assert self.days(staff, "?o=1") == ["2025-12-31", "2026-09-30", "2026-10-02"]
        assert self.days(staff, "?o=-1") == ["2026-10-02", "2026-09-30", "2025-12-31"]

    def test_sorts_by_no_other_column(self, staff, batches):
        assert self.days(staff, "?o=2") == self.days(staff)

    @pytest.mark.parametrize(
        ("query", "days", "offered"),
        [
            ("", 3, ["2026", "2025"]),
            (
                "?day__year=2026",
                2,
                ["2026", *["Oct", "Sep", "Aug", "Jul", "Jun", "May", "Apr", "Mar", "Feb", "Jan"]],
            ),
            ("?day__year=2026&day__month=10", 1, ["2026", "Oct", "2", "1"]),
            ("?day__year=2026&day__month=10&day__day=2", 1, ["2026", "Oct", "2"]),
            ("?day__year=2025", 1, ["2025", "Dec"]),
            ("?day__year=2030", 0, ["2030"]),
        ],
    )
    def test_is_narrowed_to_years_months_and_days(self, staff, batches, query, days, offered):
        listed = staff.get(f"/admin/payments/settlementbatch/{query}")

        assert len(listed.context["cl"].result_list) == days
        assert [link.label for link in listed.context["cl"].day_links()] == offered

    @pytest.mark.parametrize("year", ["9999", "0", "x", "-1", "99999999999999999999"])
    def test_ignores_years_that_no_date_has(self, staff, batches, year):
        answer = staff.get(f"/admin/payments/settlementbatch/?day__year={year}")

        assert (answer.status_code, answer.headers["Location"]) == (
            302,
            "/admin/payments/settlementbatch/?e=1",
        )

    def test_shows_dates_and_amounts_for_people(self, staff, batches):
        shown = staff.get("/admin/payments/settlementbatch/").content.decode()

        assert "2 Oct 2026" in shown
        assert f"NGN {batches[0].net / 100:,.2f}" in shown

    def test_names_states_as_the_pages_do(self, staff, batch):
        shown = staff.get("/admin/payments/settlementbatch/").context["cl"]

        assert [choice["display"] for choice in shown.filter_specs[0].choices(shown)] == [
            "All", "Being created", "Open", "Rejected", "Approved", "Released",
        ]  # fmt: skip

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="reads PostgreSQL's plan")
    @pytest.mark.parametrize(
        ("rows", "index"),
        [
            (SettlementBatch.objects.order_by("-day", "-pk"), "batches_by_day"),
            (
                SettlementBatch.objects.filter(state="pending").order_by("-day", "-pk"),
                "batches_by_state_and_day",
            ),
        ],
    )
    def test_reads_an_index(self, batch, rows, index):
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")

        assert index in rows[:50].explain()


class TestRecordPage:
    def test_shows_what_is_wrong_at_the_field(self, staff, batch):
        answer = staff.post(page(batch, "decide/"), {"decision": "rejected", "reason": "x" * 256})

        shown = {form["decision"].value(): form for form in answer.context["decisions"]}
        assert shown["rejected"].errors["reason"] == [
            "Ensure this value has at most 255 characters (it has 256)."
        ]
        assert shown["rejected"]["reason"].value() == "x" * 256
        assert not shown["approved"].is_bound

    def test_links_to_what_belongs_to_the_batch(self, staff, batch):
        answer = staff.get(page(batch))

        for link in answer.context["related"]:
            assert staff.get(link.address).status_code == 200, link
        (items,) = [link for link in answer.context["related"] if link.name.startswith("Payments")]
        assert "order-1" in staff.get(items.address).content.decode()

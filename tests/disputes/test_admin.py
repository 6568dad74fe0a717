"""Staff read acquirers' files, settle what matched no payment by two people, and see whose answer is due."""

import html
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from disputes.models import Dispute, DisputeReport
from ledger.invariants import check
from ledger.models import Account
from merchants.models import AuditEntry
from operations.administration.attention import figures
from payments.invariants.registry import INVARIANTS
from payments.models import Proposal
from payments.rules.words.dispute_words import Stage, Status
from tests.dashboard.people import signed_in
from tests.disputed import AMOUNT, disputed, file_of, payment_of, row, take
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

LIST = "/admin/disputes/disputereport/"
UPLOAD = f"{LIST}upload/"
UNKNOWN_RRN = "999999999999"


@pytest.fixture(autouse=True)
def _two_people(settings):
    settings.FOUR_EYES = True


@pytest.fixture
def unmatched(payment):
    return take(payment, rrn=UNKNOWN_RRN)


@pytest.fixture
def contradicted(payment):
    """A dispute that was lost here, and won at the acquirer. Its money is in suspense."""
    disputed(payment)
    take(payment, status=Status.LOST)
    return take(payment, status=Status.WON)


def page(report, what="change"):
    return f"{LIST}{report.pk}/{what}/"


def propose(client, report, name, **form):
    seen = client.get(page(report)).context["seen"]
    given = {"reason": "The acquirer wrote so", "seen": seen} | form
    return client.post(page(report, name), given, follow=True).content.decode()


def confirm(client):
    address = reverse("admin:payments_proposal_confirm", args=[Proposal.objects.get(state="open").pk])
    return client.post(address, follow=True).content.decode()


def decide(people, report, name, **form):
    shown = propose(people[0], report, name, **form)
    assert "awaits another person" in shown, shown
    assert "confirmed and performed" in confirm(people[1])
    report.refresh_from_db()


def balance(kind, business=None):
    return Account.objects.filter(kind=kind, business=business).values_list("balance", flat=True).first() or 0


def broken():
    return [one.invariant.name for one in check(INVARIANTS) if not one.holds]


class TestAssignment:
    def test_opens_the_dispute_of_the_chosen_payment(self, people, unmatched, payment):
        decide(people, unmatched, "assign", payment=payment.pk)

        dispute = Dispute.objects.get()
        assert (dispute.transaction_id, dispute.amount, dispute.status) == (
            payment.pk,
            AMOUNT,
            "needs_response",
        )
        assert (unmatched.dispute, unmatched.is_open) == (dispute, False)
        assert balance("disputes_held", payment.business) == AMOUNT
        assert AuditEntry.objects.get(action="dispute_report.assigned").after["payment"] == payment.reference
        assert broken() == []

    def test_is_never_done_by_one_person(self, people, unmatched, payment):
        propose(people[0], unmatched, "assign", payment=payment.pk)
        assert "Another person must confirm" in confirm(people[0])

        unmatched.refresh_from_db()
        assert unmatched.is_open
        assert not Dispute.objects.exists()

    def test_refuses_a_payment_that_it_cannot_be(self, people, unmatched, payment, api, subtests):
        smaller = payment_of(api, amount=AMOUNT - 1)
        for wrong, refusal in (
            (unmatched.pk, "No payment has this ID"),
            (smaller.pk, "More is disputed than was captured"),
            ("nonsense", "Nothing was decided"),
        ):
            with subtests.test(refusal):
                assert refusal in propose(people[0], unmatched, "assign", payment=wrong)
        assert not Proposal.objects.exists()

    def test_refuses_another_payment_of_a_known_case(self, people, unmatched, payment, api):
        other = payment_of(api)
        propose(people[0], unmatched, "assign", payment=payment.pk)
        disputed(other, case_number=unmatched.case_number, stage=Stage.PRE_ARBITRATION)

        assert "belongs to another payment" in confirm(people[1])
        assert Dispute.objects.get().transaction == other

    def test_is_refused_if_the_payment_was_refunded_meanwhile(self, people, unmatched, payment, api):
        propose(people[0], unmatched, "assign", payment=payment.pk)
        api.post(f"/api/payments/{payment.reference}/refunds", {"reference": "r", "amount": 100})

        assert "payment refunded was NGN 0.00, and is NGN 1.00 now" in confirm(people[1])
        assert not Dispute.objects.exists()

    def test_becomes_a_contradiction_if_the_case_has_expired_meanwhile(self, people, payment):
        report = take(payment, rrn=UNKNOWN_RRN, status=Status.WON)
        disputed(payment)
        take(payment, status=Status.EXPIRED)

        decide(people, report, "assign", payment=payment.pk)

        assert (report.why, report.is_open, report.amount_in_suspense) == ("contradiction", True, AMOUNT)
        assert report.dispute == Dispute.objects.get()
        assert AuditEntry.objects.get(action="dispute_report.assigned").before["why"] == "no_payment"
        assert balance("suspense") == AMOUNT
        decide(people, report, "credit")
        assert Dispute.objects.get().outcome_amount == AMOUNT
        assert broken() == []

    def test_is_refused_if_the_case_has_another_amount(self, people, payment):
        report = take(payment, rrn=UNKNOWN_RRN, amount=AMOUNT - 1)
        disputed(payment)
        propose(people[0], report, "assign", payment=payment.pk)

        assert "The case is about NGN 500.00." in confirm(people[1])

    def test_makes_reading_the_file_again_change_nothing(self, people, unmatched, payment):
        decide(people, unmatched, "assign", payment=payment.pk)

        take(payment, rrn=UNKNOWN_RRN, respond_by=datetime.fromisoformat(unmatched.told["respond_by"]))

        assert DisputeReport.objects.count() == Dispute.objects.count() == 1


class TestContradiction:
    def test_is_credited_to_the_business(self, people, contradicted, payment):
        assert balance("suspense") == AMOUNT
        before = balance("pending_settlement", payment.business)

        decide(people, contradicted, "credit")

        assert balance("suspense") == 0
        assert balance("pending_settlement", payment.business) == before + AMOUNT
        dispute = Dispute.objects.get()
        assert (dispute.status, dispute.outcome_amount) == ("lost", AMOUNT)
        assert broken() == []

    def test_is_credited_in_parts(self, people, payment):
        disputed(payment)
        take(payment, status=Status.LOST)
        parts = [take(payment, status=Status.WON, outcome_amount=amount) for amount in (20_000, AMOUNT)]
        assert [part.amount_in_suspense for part in parts] == [20_000, 30_000]

        for part in parts:
            decide(people, part, "credit")

        assert Dispute.objects.get().outcome_amount == AMOUNT
        assert broken() == []

    def test_is_dismissed(self, people, contradicted, payment):
        before = balance("pending_settlement", payment.business)

        decide(people, contradicted, "dismiss")

        assert balance("suspense") == 0
        assert balance("pending_settlement", payment.business) == before
        assert broken() == []

    def test_cannot_be_assigned(self, people, contradicted, payment):
        shown = people[0].get(page(contradicted)).content.decode()
        assert "Assign to a payment" not in shown

        assert "can&#x27;t be assigned" in propose(people[0], contradicted, "assign", payment=payment.pk)


class TestDismissal:
    def test_of_an_unreadable_row_books_nothing(self, people, payment, tmp_path):
        upload(people[0], file_of(tmp_path, row(payment, amount="ten")))
        report = DisputeReport.objects.get()

        decide(people, report, "dismiss")

        assert not report.is_open
        assert report.case_number == ""
        assert broken() == []

    def test_needs_a_reason_and_the_permission(self, people, unmatched):
        assert "Nothing was decided" in propose(people[0], unmatched, "dismiss", reason=" ")
        reader = UserFactory(is_staff=True)
        reader.user_permissions.set(Permission.objects.filter(codename="view_disputereport"))
        assert signed_in(reader).post(page(unmatched, "dismiss"), {"reason": "x"}).status_code == 403

    def test_of_a_settled_report_is_refused(self, people, unmatched):
        decide(people, unmatched, "dismiss")

        shown = people[0].post(page(unmatched, "dismiss"), {"reason": "x"}, follow=True).content.decode()

        assert "already settled" in shown


def send(client, file, **form):
    content = file if isinstance(file, bytes) else file.read_bytes()
    return client.post(UPLOAD, {"account": "sandbox", "file": SimpleUploadedFile("told.csv", content)} | form)


def upload(client, file):
    """Preview a file, and read it."""
    digest = send(client, file).context["digest"]
    return send(client, file, previewed=digest).content.decode()


class TestUpload:
    def test_is_previewed_and_read(self, people, payment, tmp_path):
        file = file_of(tmp_path, row(payment), row(payment, case_number="CB-2", rrn=UNKNOWN_RRN), "a,b")

        preview = send(people[0], file)
        assert "1 with a payment, 2 unmatched" in preview.content.decode()
        assert "No payment of this account has this number." in preview.content.decode()
        assert not DisputeReport.objects.exists()
        assert not Dispute.objects.exists()

        for _ in range(2):  # the second time changes nothing
            shown = upload(people[0], file)
            assert "1 with a payment, 2 unmatched" in shown
        assert Dispute.objects.get().transaction == payment
        listed = people[0].get(LIST).content.decode()
        assert "CB-2" in listed
        assert "CB-1" not in listed
        assert "CB-1" in people[0].get(LIST, {"state": "all"}).content.decode()

    def test_reads_only_the_previewed_file(self, people, payment, tmp_path):
        digest = send(people[0], file_of(tmp_path, row(payment))).context["digest"]

        shown = send(people[0], file_of(tmp_path, row(payment, amount=1)), previewed=digest)

        assert "was previewed" in shown.content.decode()
        assert not DisputeReport.objects.exists()

    @pytest.mark.parametrize(
        "content",
        [b"", b"\x00\xff", b"a,b\n1,2", b'"open', b"x" * 900_001],
        ids=["0", "bin", "head", "csv", "big"],
    )
    def test_refuses_a_file_that_cannot_be_read(self, people, content):
        answer = send(people[0], content)

        assert answer.status_code == 200
        assert answer.context["form"].errors["file"]
        assert not DisputeReport.objects.exists()

    @pytest.mark.parametrize(
        "cells",
        [
            {"respond_by": "0001-01-01T00:00:00+14:00"},
            {"respond_by": "9999-12-31T23:59:59-14:00"},
            {"reason": "\0", "case_number": "CB\0"},
        ],
        ids=["before all times", "after all times", "NUL"],
    )
    def test_lists_a_hostile_row_as_unreadable(self, people, payment, tmp_path, cells):
        shown = upload(people[0], file_of(tmp_path, row(payment, **cells)))

        report = DisputeReport.objects.get()
        assert report.why == "unreadable"
        assert "\0" not in "".join(report.told["cells"])
        assert "0 with a payment, 1 unmatched" in shown

    def test_refuses_more_rows_than_a_page_can_take(self, people, payment, tmp_path):
        file = file_of(tmp_path, *[row(payment, case_number=f"CB-{number}") for number in range(1_001)])

        assert "at most 900 KB and 1,000 rows" in send(people[0], file).content.decode()

    def test_needs_the_permission(self, payment, tmp_path):
        client = signed_in(UserFactory(is_staff=True))

        assert client.get(UPLOAD).status_code == 403
        assert send(client, file_of(tmp_path, row(payment))).status_code == 403


class TestDeadlines:
    def test_are_listed_in_their_order_with_the_time_left(self, people, api):
        now = timezone.now()
        for case, hours in (("CB-late", 50), ("CB-soon", 5), ("CB-none", None)):
            respond_by = now + timedelta(hours=hours, minutes=30) if hours else None
            disputed(payment_of(api), case_number=case, respond_by=respond_by)

        shown = people[0].get("/admin/disputes/dispute/", {"waits": "business"}).content.decode()

        assert shown.index("CB-soon") < shown.index("CB-late") < shown.index("CB-none")
        assert "5 hours 29 minutes left" in shown

    def test_stand_beside_the_network_s(self, people, payment):
        due_at = timezone.now() + timedelta(days=3)
        disputed(payment, respond_by=due_at - timedelta(days=1), network_due_at=due_at)

        shown = people[0].get("/admin/disputes/dispute/").content.decode()

        assert (
            f"1 day 23 hours left; the network's {date_format(timezone.localtime(due_at), 'DATETIME_FORMAT')}"
            in html.unescape(shown)
        )

    def test_are_figures_of_the_summary(self, payment, unmatched):
        disputed(payment, respond_by=timezone.now() + timedelta(hours=3))

        shown = {figure.label: figure.value for figure in figures(now=timezone.now())}

        assert shown["Unmatched disputes to decide about"] == "1"
        assert shown["Disputes to answer within 24 hours"] == "1"
        assert shown["Answers to disputes to write for the acquirer"] == "0"

    def test_name_who_has_to_act(self, people, payment, api):
        dispute = disputed(payment)
        api.post(f"/api/disputes/{dispute.pk}/submit", {})

        shown = people[0].get("/admin/disputes/dispute/", {"waits": "us"}).content.decode()
        assert dispute.case_number in shown
        assert (
            "Us, to send the answer"
            in people[0].get(f"/admin/disputes/dispute/{dispute.pk}/change/").content.decode()
        )
        assert dispute.case_number not in (
            people[0].get("/admin/disputes/dispute/", {"waits": "business"}).content.decode()
        )

"""`manage.py read_disputes` takes the files of acquirers."""

import json
from datetime import UTC, date, datetime

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from disputes.models import Dispute, DisputeReport
from payments.models import Transaction
from payments.rules.settlement.business_days import business_day
from tests.disputed import AMOUNT, file_of, payment_of, row

pytestmark = pytest.mark.django_db


def read(file, capsys, *options):
    call_command("read_disputes", "--file", str(file), "--json", *options)
    return json.loads(capsys.readouterr().out)


def test_matches_every_row_or_keeps_it(api, tmp_path, capsys):
    payment = payment_of(api)
    file = file_of(
        tmp_path,
        row(payment, reason="4853"),
        row(payment),  # the same case again, with another reason
        row(payment, case_number="CB-2", rrn="999999999999"),
        row(payment, case_number="CB-3", amount="ten"),
        "one,cell",
    )
    assert read(file, capsys, "--dry-run")["matched"] == 2
    assert not DisputeReport.objects.exists()

    for _ in range(2):  # the second time changes nothing
        document = read(file, capsys)
        assert (document["rows"], document["matched"], document["unmatched"]) == (5, 2, 3)
        assert document["why"] == {"no_payment": 1, "unreadable": 2}

    dispute = Dispute.objects.get()
    assert (dispute.amount, dispute.reason, dispute.network_reason) == (AMOUNT, "general", "4853")
    assert DisputeReport.objects.count() == 5


LIKE_A_CARD, MASKED = "6332127066811234566", "633212*********4566"
RRN_LIKE_A_CARD = "633212706681"


class TestNumberLikeThatOfACard:
    """An acquirer's reference may look like one. Only masked ones are stored, so a row is matched while it is read."""

    @pytest.fixture
    def payment(self, api):
        return payment_of(api)

    @pytest.fixture
    def file(self, payment, tmp_path):
        return file_of(tmp_path, row(payment, rrn="", acquirer_reference=LIKE_A_CARD))

    def test_as_the_acquirer_s_reference_is_matched(self, payment, file, capsys):
        Transaction.objects.filter(pk=payment.pk).update(acquirer_transaction_id=LIKE_A_CARD)

        assert read(file, capsys)["matched"] == 1

        assert DisputeReport.objects.get().told["acquirer_reference"] == MASKED

    def test_is_matched_when_the_file_is_read_again(self, payment, file, capsys):
        assert read(file, capsys)["why"] == {"no_payment": 1}
        Transaction.objects.filter(pk=payment.pk).update(acquirer_transaction_id=LIKE_A_CARD)

        for _ in range(2):  # the second time changes nothing
            assert read(file, capsys)["matched"] == 1

        report = DisputeReport.objects.get()
        assert (report.dispute, report.is_open) == (payment.disputes.get(), False)

    def test_as_rrn_is_matched_when_the_file_is_read_again(self, payment, tmp_path, capsys):
        file = file_of(tmp_path, row(payment, rrn=RRN_LIKE_A_CARD))
        assert read(file, capsys)["why"] == {"no_payment": 1}
        Transaction.objects.filter(pk=payment.pk).update(
            retrieval_reference_number=RRN_LIKE_A_CARD, system_trace_audit_number=RRN_LIKE_A_CARD[-6:]
        )

        assert read(file, capsys)["matched"] == 1

    def test_in_the_reason_is_masked(self, payment, tmp_path, capsys):
        file = file_of(tmp_path, row(payment, reason=f"Card {LIKE_A_CARD} unknown"))

        assert read(file, capsys)["matched"] == 1

        assert payment.disputes.get().network_reason == f"Card {MASKED} unknown"
        assert DisputeReport.objects.get().told["network_reason"] == f"Card {MASKED} unknown"

    def test_as_case_number_is_refused(self, payment, tmp_path, capsys):
        file = file_of(tmp_path, row(payment, case_number=LIKE_A_CARD))

        assert read(file, capsys)["why"] == {"unreadable": 1}

        report = DisputeReport.objects.get()
        assert "no card number" in report.detail
        assert LIKE_A_CARD not in json.dumps(report.told)


def test_takes_deadline_and_day_from_their_columns(api, tmp_path, capsys):
    payment, other = payment_of(api), payment_of(api)
    file = file_of(
        tmp_path,
        row(payment, respond_by="2099-02-12T09:00:00+01:00", day="2026-02-05"),
        row(other, case_number="CB-2", respond_by=""),
    )

    assert read(file, capsys, "--account", "sandbox")["matched"] == 2

    dispute = payment.disputes.get()
    assert dispute.respond_by == datetime(2099, 2, 12, 8, tzinfo=UTC)
    assert business_day(dispute.opened_at) == date(2026, 2, 5)
    assert other.disputes.get().respond_by is None


def test_refuses_an_account_that_sends_no_files(api, tmp_path):
    file = file_of(tmp_path, row(payment_of(api)))
    with pytest.raises(CommandError, match="sends files") as refused:
        call_command("read_disputes", "--file", str(file), "--account", "checkout")
    assert refused.value.returncode == 2


def test_refuses_a_wrong_file_whole(api, tmp_path, subtests):
    wrong = tmp_path / "wrong.csv"
    for content in (b"", b"case_number,stage\n1,2\n", b"\xff\xfe\x00", b'"unclosed'):
        with subtests.test(content):
            wrong.write_bytes(content)
            with pytest.raises(CommandError) as refused:
                call_command("read_disputes", "--file", str(wrong))
            assert refused.value.returncode == 2
    with pytest.raises(CommandError) as refused:
        call_command("read_disputes", "--file", str(tmp_path / "missing.csv"))
    assert refused.value.returncode == 2
    assert not DisputeReport.objects.exists()

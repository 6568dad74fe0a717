"""`manage.py read_disputes` takes the files of acquirers."""

import json
from datetime import UTC, date, datetime

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from disputes.models import Dispute, DisputeReport
from payments.rules.business_days import business_day
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

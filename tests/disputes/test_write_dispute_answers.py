"""`manage.py write_dispute_answers` writes each answer to files once."""

import csv
import json
from zipfile import ZipFile

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from disputes.models import AnswerBatch
from disputes.services.answers import answer_files
from payments.rails.sandbox import SandboxAcquirer
from tests.disputed import AMOUNT, declare_moved, disputed, payment_of
from tests.uploads import PNG

pytestmark = pytest.mark.django_db


def write(folder, capsys, *options):
    call_command("write_dispute_answers", "--output", str(folder), "--json", *options)
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def answered(api):
    """A dispute with evidence that was submitted, one that was accepted in part, and one that waits."""
    submitted, accepted, _ = disputes = [disputed(payment_of(api)) for _ in range(3)]
    of = f"/api/disputes/{submitted.pk}"
    api.post(f"{of}/evidence", {"kind": "delivery", "text": "Handed over."})
    api.send("POST", f"{of}/files?kind=receipt", PNG, content_type="image/png")
    assert api.post(f"{of}/submit", {"leave_out": ["refunds"]}).status_code == 200
    assert api.post(f"/api/disputes/{accepted.pk}/accept", {"amount": 20_000}).status_code == 200
    return disputes


def test_writes_each_answer_once(answered, tmp_path, capsys):
    submitted, accepted, _ = answered
    folder = tmp_path / "new" / "answers"

    written = write(folder, capsys)

    assert written["answers"] == 2
    rows = list(csv.DictReader((folder / "answers.csv").open()))
    told = [(row["case_number"], row["answer"], row["amount"], row["evidence"]) for row in rows]
    assert told == [
        (submitted.case_number, "submit", "0", str(submitted.pk)),
        (accepted.case_number, "accept", "20000", ""),
    ]
    with ZipFile(folder / "evidence.zip") as archive:
        contents = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    packet = json.loads(contents.pop("payment.json"))
    assert contents == {"01-delivery.txt": b"Handed over.", "02-receipt.png": PNG}
    assert packet["payment"]["amount"] == AMOUNT
    assert "4084084084084081" not in json.dumps(packet)

    assert packet["receipt"]["amount"] == "NGN 500.00"
    assert not {"refunds", "webhooks", "other_payments"} & set(packet)

    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert write(tmp_path / "second", capsys)["batch"] is None
    assert not list((tmp_path / "second").iterdir())

    again = write(tmp_path / "again", capsys, "--again", str(written["batch"]))
    assert again["batch"] == written["batch"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == first


def test_refuses_what_it_cannot_write(answered, tmp_path, capsys, subtests):
    file = tmp_path / "file"
    file.touch()
    for options in (
        ["--output", str(file)],
        ["--output", str(tmp_path), "--again", "417"],
        ["--output", str(tmp_path), "--account", "checkout"],
    ):
        with subtests.test(options), pytest.raises(CommandError) as refused:
            call_command("write_dispute_answers", *options)
        assert refused.value.returncode == 2
    (tmp_path / "answers.csv").mkdir()
    with pytest.raises(CommandError, match="--again") as refused:
        call_command("write_dispute_answers", "--output", str(tmp_path))
    assert refused.value.returncode == 2


def test_writes_answers_from_before_the_account_moved(answered, capsys, monkeypatch, tmp_path):
    declare_moved(answered[0].transaction)
    monkeypatch.setattr(SandboxAcquirer, "account", "moved")

    assert write(tmp_path, capsys)["answers"] == 2


@pytest.mark.usefixtures("answered")
def test_interrupted_run_says_how_to_write_its_answers(tmp_path, capsys, monkeypatch):
    """They are in its batch, so that the next run has none that are new."""

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(answer_files, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            call_command("write_dispute_answers", "--output", str(tmp_path))

    batch = AnswerBatch.objects.get()
    assert f"--again {batch.pk}" in capsys.readouterr().err
    assert write(tmp_path, capsys, "--again", str(batch.pk))["answers"] == 2

"""Files in the shapes that banks publish: structured and enveloped MT940, and CAMT.053 of two editions."""

import io
from datetime import date
from pathlib import Path
from uuid import UUID

import pytest

from cash import statement_files
from cash.models import BankAccount

SAMPLES = Path(__file__).parent / "samples"
DAYS = date(2026, 1, 5), date(2026, 1, 6)


def read(name, number="0118550902"):
    account = BankAccount(name="gtbank", number=number, currency="NGN")
    with (SAMPLES / name).open("rb") as file:
        kind = statement_files.guess_format(file)
        (statement,) = statement_files.read(file, account, kind=kind, opening=None, closing=None)
    assert statement.opening + sum(line.amount for line in statement.lines) == statement.closing
    return statement


def test_structured_texts_of_mt940():
    statement = read("structured.sta")

    assert [(line.booked_on, line.amount) for line in statement.lines] == [
        (DAYS[0], 250_000),
        (DAYS[1], -75_050),
    ]
    assert statement.lines[1].order == UUID("0197f3a0-b1c2-d3e4-f5a6-b7c8d9e0f102")
    assert statement.lines[0].reference == "B6A05SDOA00001"
    assert "ADA BOOKS LTD" in f"{statement.lines[0].counterparty}{statement.lines[0].text}"


def test_mt940_in_its_envelope():
    statement = read("with_envelope.sta")

    assert [line.amount for line in statement.lines] == [150, -20_000]
    assert statement.lines[0].reference == "8412"
    assert "Shop takings" in statement.lines[0].text


def test_batch_of_camt053_is_one_line():
    statement = read("batch.camt.053.001.02.xml")

    assert [(line.amount, line.reference) for line in statement.lines] == [
        (70_000, "2026010500001"),
        (-5_025, "2026010500002"),
    ]
    assert "First" in statement.lines[0].text
    assert "STAMP DUTY" in statement.lines[1].text


@pytest.mark.parametrize("number", ["GB29NWBK60161331926819"])
def test_newer_camt053_leaves_pending_entries_out(number):
    statement = read("pending.camt.053.001.08.xml", number)

    assert [(line.booked_on, line.amount, line.reference) for line in statement.lines] == [
        (DAYS[0], 50_000, "NIP260105")
    ]
    assert (statement.opening, statement.lines[0].counterparty) == (-2_000, "Bisi Ade")


def read_all(name):
    account = BankAccount(name="gtbank", number="0118550902", currency="NGN")
    with (SAMPLES / name).open("rb") as file:
        kind = statement_files.guess_format(file)
        statements = statement_files.read(file, account, kind=kind, opening=None, closing=None)
    for statement in statements:
        assert statement.opening + sum(line.amount for line in statement.lines) == statement.closing
    return statements


class TestSeveralStatementsOfMt940:
    """Of three messages, two are pages of one statement. The account is overdrawn. `RC` takes a credit back, `RD` a debit."""

    def test_pages_are_joined_and_reversals_have_their_sign(self):
        first, second = read_all("several.sta")

        assert (first.opening, first.closing, second.opening, second.closing) == (
            -50_000,
            -62_000,
            -62_000,
            50_000,
        )
        assert [line.amount for line in first.lines] == [30_000, -12_000, -30_000]
        assert [line.amount for line in second.lines] == [12_000, 100_000]
        assert (first.last_day, second.last_day) == DAYS

    def test_texts_with_slashes_have_our_reference(self):
        line = read_all("several.sta")[0].lines[1]

        assert (line.order, line.reference) == (UUID("0197f3a0-b1c2-d3e4-f5a6-b7c8d9e0f102"), "GT0502")
        assert "REMI/USTD//Payout" in line.text

    def test_subfields_tell_name_and_account_apart(self):
        (line, _) = read_all("several.sta")[1].lines

        assert line.counterparty == "BISIADE"
        for text in ("Payout came back, account closed", "of 5 January", "0123456789", "STORNO"):
            assert text in line.text

    def test_byte_order_mark_hides_no_statement(self):
        content = b"\xef\xbb\xbf" + (SAMPLES / "several.sta").read_bytes()
        account = BankAccount(name="gtbank", number="0118550902", currency="NGN")

        found = statement_files.read(io.BytesIO(content), account, kind="mt940", opening=None, closing=None)

        assert [statement.opening for statement in found] == [-50_000, -62_000]

    def test_our_reference_at_the_end_of_a_long_text(self):
        filler = "\n".join("x" * 65 for _ in range(12))
        content = (SAMPLES / "with_envelope.sta").read_text()
        content = content.replace(
            ":86:ACCOUNT MAINTENANCE", f":86:{filler}\n0197f3a0b1c2d3e4f5a6b7c8d9e0f102"
        )
        account = BankAccount(name="gtbank", number="0118550902", currency="NGN")

        (statement,) = statement_files.read(
            io.BytesIO(content.encode()), account, kind="mt940", opening=None, closing=None
        )

        assert statement.lines[1].order == UUID("0197f3a0-b1c2-d3e4-f5a6-b7c8d9e0f102")


class TestReversalsOfCamt053:
    def test_batch_of_payouts_is_one_line_and_a_return_another(self):
        first, _ = read_all("reversals.camt.053.001.04.xml")

        assert [(line.amount, line.reference) for line in first.lines] == [
            (-6_050, "SALARIES"),
            (2_000, "S-3-BACK"),
            (-700, ""),
        ]
        assert (first.first_day, first.last_day) == (DAYS[0], DAYS[0])

    def test_balances_say_which_way_a_reversal_goes(self):
        """By ISO 20022, a reversal is what its indicator says. Some banks mark the entry that they took back instead."""
        _, second = read_all("reversals.camt.053.001.04.xml")

        assert [line.amount for line in second.lines] == [-10_000]
        assert second.closing == -4_750

"""Statements of real banks' shapes, imported with the command."""

from datetime import date
from uuid import UUID

import pytest
from django.core.management.base import CommandError

from cash.models import Statement, StatementLine
from cash.services import imports
from ledger.models import Account
from payments.services.reconciliation import report
from tests.bank_statements import (
    bank_account,
    camt_entry,
    camt_statement,
    csv_statement,
    import_statement,
    mt940_statement,
)

pytestmark = pytest.mark.django_db

OURS = UUID("0197f3a0-b1c2-d3e4-f5a6-b7c8d9e0f102")
LARGEST = 10**16


@pytest.fixture
def gtbank():
    return bank_account()


def lines():
    return list(StatementLine.objects.order_by("number").values_list("booked_on", "amount", "reference"))


class TestCsv:
    def test_signed_amounts_with_a_balance(self, gtbank, tmp_path):
        content = csv_statement(
            ("2026-01-05", 50_000, "GTB1"), ("2026-01-06", -20_050, "GTB2", f"PAYOUT {OURS.hex}")
        )

        document = import_statement(tmp_path, content)

        assert lines() == [(date(2026, 1, 5), 50_000, "GTB1"), (date(2026, 1, 6), -20_050, "GTB2")]
        assert StatementLine.objects.get(number=2).order == OURS
        (found,) = document["statements"]
        assert (found["opening"], found["closing"], found["is_new"]) == (100_000, 129_950, True)

    def test_debit_and_credit_columns_newest_first(self, tmp_path):
        bank_account(
            csv_mapping={
                "date": "Trans Date",
                "date_format": "%d/%m/%Y",
                "debit": "Debit",
                "credit": "Credit",
                "balance": "Balance",
                "text": "Remarks",
            }
        )
        content = (
            "GUARANTY TRUST BANK\n\nTrans Date;Remarks;Debit;Credit;Balance\n"
            '06/01/2026;POS;;"1,500.00";"2,300.00"\n05/01/2026;Charge;200.00;;800.00\n'
        )

        import_statement(tmp_path, content)

        assert [(day, amount) for day, amount, _ in lines()] == [
            (date(2026, 1, 5), -20_000), (date(2026, 1, 6), 150_000),
        ]  # fmt: skip
        assert Statement.objects.get().opening == 100_000

    def test_sign_column_and_decimal_comma_with_given_balances(self, tmp_path):
        mapping = {
            "date": "Tag",
            "date_format": "%d.%m.%y",
            "amount": "Betrag",
            "sign": "S/H",
            "debit_sign": "S",
            "decimal": ",",
        }
        bank_account(csv_mapping=mapping)
        content = "Tag\tBetrag\tS/H\n05.01.26\t1.234,50\tH\n05.01.26\t34,50\tS\n"

        import_statement(tmp_path, content, "--opening", "0", "--closing", "1200.00")

        assert [amount for _, amount, _ in lines()] == [123_450, -3_450]

    def test_largest_amounts(self, gtbank, tmp_path):
        content = (
            f"Date,Amount,Balance,Reference,Narration\n2026-01-05,{LARGEST // 100}.00,{LARGEST // 100}.00,,\n"
        )

        import_statement(tmp_path, content)

        assert Statement.objects.get().closing == LARGEST

    @pytest.mark.parametrize(
        ("row", "why"),
        [
            ("05.01.2026,1.00,1001.00,,", "line 2: '05.01.2026' is not a day"),
            ("2026-01-05,1.005,1001.00,,", "line 2: NGN has 2 decimals"),
            ("2026-01-05,one,1001.00,,", "line 2: 'one' is not an amount"),
            ('2026-01-05,"1.500,00",1001.50,,', "line 2: '1.500,00' is not an amount"),
            ('2026-01-05,"1,50",1001.50,,', "line 2: '1,50' is not an amount"),
            ('2026-01-05,"1,,500.00",2500.00,,', "line 2: '1,,500.00' is not an amount"),
            ("2026-01-05,1.00", "line 2: it has too few cells"),
            ('2026-01-05,1.00,1001.00,,"FIP\n2026-01-06,2.00,1003.00,,', "line 2: this is not CSV"),
            ("2026-01-05,92233720368547758.08,92233720368547758.08,,", "line 2: the amount is too large"),
            ("2026-01-05,1.00,1001.00,GTB\0,", "line 2: it has a NUL character"),
            ("0001-01-05,1.00,1001.00,,", "it begins before 1990"),
            ("9999-12-31,1.00,1001.00,,", "it ends in the future, on 31 Dec 9999"),
        ],
    )
    def test_invalid_line_refuses_the_file(self, gtbank, tmp_path, row, why):
        content = f"Date,Amount,Balance,Reference,Narration\n{row}\n"

        with pytest.raises(CommandError, match=why) as refused:
            import_statement(tmp_path, content)

        assert refused.value.returncode == 2
        assert not Statement.objects.exists()

    @pytest.mark.parametrize(
        ("heading", "why"),
        [
            ("x" * 140_000, "No heading names the columns"),
            ('Date,Amount,Balance,Narration,"Reference', "line 1: a quote in the heading isn't closed"),
            (f'Date,Amount,Balance,Narration,"Reference{"x" * 140_000}', "No heading names the columns"),
        ],
        ids=["long cell", "open quote", "long cell with an open quote"],
    )
    def test_hostile_heading(self, gtbank, tmp_path, heading, why):
        with pytest.raises(CommandError, match=why):
            import_statement(tmp_path, f"{heading}\n2026-01-05,1.00,1001.00,,\n")

    def test_balance_that_skips_is_named(self, gtbank, tmp_path):
        content = (
            "Date,Amount,Balance,Reference,Narration\n2026-01-05,1.00,1001.00,,\n2026-01-06,1.00,1002.00,,\n"
            "2026-01-07,1.00,1004.00,,\n"
        )

        with pytest.raises(CommandError, match="line 4: the balance is not"):
            import_statement(tmp_path, content)

    def test_account_without_mapping(self, tmp_path):
        bank_account(csv_mapping={})

        with pytest.raises(CommandError, match="has no CSV mapping"):
            import_statement(tmp_path, csv_statement(("2026-01-05", 1)))


class TestMt940:
    def test_lines_with_texts_and_our_reference(self, gtbank, tmp_path):
        content = mt940_statement(
            ":61:2601050105C500,00NTRFNONREF//GTB1",
            ":86:TRANSFER FROM ADA",
            ":61:2601060106D200,50NTRFNONREF//GTB2",
            f":86:NIP PAYOUT TO BISI AKINOLA AT WEMA BANK REFERENCE {OURS.hex[:15]}\n{OURS.hex[15:]}",
            closing="C260131NGN1299,50",
        )

        import_statement(tmp_path, content, name="january.sta")

        assert lines() == [(date(2026, 1, 5), 50_000, "GTB1"), (date(2026, 1, 6), -20_050, "GTB2")]
        assert StatementLine.objects.get(number=2).order == OURS

    def test_pages_are_one_statement(self, gtbank, tmp_path):
        first = mt940_statement(":61:2601050105C1,00NTRFNONREF", closing="C260105NGN1001,00").replace(
            ":62F:", ":62M:"
        )
        second = mt940_statement(
            ":61:2601060106C1,00NTRFNONREF", opening="C260105NGN1001,00", closing="C260106NGN1002,00"
        ).replace(":60F:", ":60M:")

        import_statement(tmp_path, first + second)

        statement = Statement.objects.get()
        assert (statement.lines_count, statement.opening, statement.closing) == (2, 100_000, 100_200)

    def test_nonsense(self, gtbank, tmp_path):
        with pytest.raises(CommandError, match="was not imported"):
            import_statement(tmp_path, ":20:X\n:25:Y\nnonsense\n", "--format", "mt940")

    def test_file_without_a_statement_is_refused(self, gtbank, tmp_path):
        with pytest.raises(CommandError, match="no line begins with :20:") as refused:
            import_statement(tmp_path, csv_statement(("2026-01-05", 100)), "--format", "mt940")

        assert refused.value.returncode == 2


class TestCamt053:
    def test_booked_entries(self, gtbank, tmp_path):
        pending = camt_entry("9.00").replace("<Sts>BOOK</Sts>", "<Sts><Cd>PDNG</Cd></Sts>")
        content = camt_statement(
            camt_entry("500.00", reference="GTB1"),
            pending,
            camt_entry("200.50", "DBIT", day="2026-01-06", reference="GTB2", text=f"/REF/{OURS}"),
            closing="1299.50",
        )

        import_statement(tmp_path, content, name="january.xml")

        assert lines() == [(date(2026, 1, 5), 50_000, "GTB1"), (date(2026, 1, 6), -20_050, "GTB2")]
        assert StatementLine.objects.get(number=2).order == OURS

    def test_largest_amount(self, gtbank, tmp_path):
        content = camt_statement(camt_entry(f"{LARGEST // 100}.00"), closing=f"{LARGEST // 100 + 1000}.00")

        import_statement(tmp_path, content)

        assert lines()[0][1] == LARGEST

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            (
                camt_statement(camt_entry("1.00", currency="USD"), closing="1001.00"),
                "its currency is USD, not NGN",
            ),
            (camt_statement(camt_entry("one"), closing="1001.00"), "entry 1: its amount is not a number"),
            (camt_statement(camt_entry("NaN"), closing="1001.00"), "entry 1"),
            (camt_statement(camt_entry("1E+999999"), closing="1001.00"), "entry 1: the amount has too many"),
            (
                camt_statement(camt_entry(f"1.{'0' * 70}1"), closing="1001.00"),
                "entry 1: the amount has too many",
            ),
            (camt_statement().replace("'1.0'", "'1.0' encoding='nonsense'"), "not XML that can be read"),
            (camt_statement().replace("'1.0'", "'1.0' encoding='gbk'"), "not XML that can be read"),
            (camt_statement(camt_entry("1.00", day="5 Jan"), closing="1001.00"), "entry 1: its day"),
            (camt_statement(account="9999999999"), "it is of account 9999999999"),
            (camt_statement(closing="1001.00"), "but the closing balance is NGN 1,001.00"),
            ("<Document><", "not XML that can be read"),
            ("<Document/>", "no statement"),
            ('<!DOCTYPE a [<!ENTITY b "c">]><Document>&b;</Document>', "not XML that can be read"),
        ],
    )
    def test_refused_as_a_whole(self, gtbank, tmp_path, content, why):
        with pytest.raises(CommandError, match=why) as refused:
            import_statement(tmp_path, content)

        assert refused.value.returncode == 2
        assert not Statement.objects.exists()


class TestSequence:
    def january(self, folder, *options):
        return import_statement(folder, csv_statement(("2026-01-05", 5_000), ("2026-01-30", 5_000)), *options)

    def test_the_same_statement_in_another_format_is_the_same(self, gtbank, tmp_path):
        self.january(tmp_path)
        again = camt_statement(
            camt_entry("50.00"), camt_entry("50.00", day="2026-01-30"), closing="1100.00", last="2026-01-30"
        )

        document = import_statement(tmp_path, again)

        assert [each["is_new"] for each in document["statements"]] == [False]
        assert (Statement.objects.count(), StatementLine.objects.count()) == (1, 2)

    def test_identical_lines_without_reference_are_kept(self, gtbank, tmp_path):
        import_statement(tmp_path, csv_statement(("2026-01-05", 5_000), ("2026-01-05", 5_000)))

        assert StatementLine.objects.count() == 2

    def test_gap_is_refused_and_taken_when_asked_for(self, gtbank, tmp_path):
        self.january(tmp_path)
        march = csv_statement(("2026-03-05", 100), opening="1200.00")

        with pytest.raises(CommandError, match="A statement is missing in between"):
            import_statement(tmp_path, march)
        document = import_statement(tmp_path, march, "--after-gap")

        assert [each["follows_gap"] for each in document["statements"]] == [True]

    def test_filled_gap(self, gtbank, tmp_path):
        self.january(tmp_path)
        import_statement(tmp_path, csv_statement(("2026-03-05", 100), opening="1200.00"), "--after-gap")

        document = import_statement(tmp_path, csv_statement(("2026-02-05", 10_000), opening="1100.00"))

        assert [each["follows_gap"] for each in document["statements"]] == [False]

    def test_overlap_is_refused(self, gtbank, tmp_path):
        self.january(tmp_path)

        with pytest.raises(CommandError, match="overlaps with the statement of 5 Jan 2026 to 30 Jan 2026"):
            import_statement(tmp_path, csv_statement(("2026-01-20", 100), opening="1050.00"), "--after-gap")

    def test_day_may_have_several_statements(self, gtbank, tmp_path):
        self.january(tmp_path)
        for opening, amount in (("1100.00", 10_000), ("1200.00", -5_000), ("1150.00", 7_000)):
            import_statement(tmp_path, csv_statement(("2026-02-05", amount), opening=opening))

        assert [each.closing for each in Statement.objects.order_by("pk")][1:] == [120_000, 115_000, 122_000]
        with pytest.raises(CommandError, match="overlaps with the statement of 5 Feb 2026"):
            import_statement(tmp_path, csv_statement(("2026-02-05", 900), opening="1200.00"))

    def test_gap_before_several_statements_of_a_day_is_filled(self, gtbank, tmp_path):
        self.january(tmp_path)
        for opening, amount, options in (("1200.00", 100, ["--after-gap"]), ("1201.00", 100, [])):
            import_statement(tmp_path, csv_statement(("2026-03-05", amount), opening=opening), *options)

        filling = csv_statement(("2026-02-05", 7_500), ("2026-03-05", 2_500), opening="1100.00")
        document = import_statement(tmp_path, filling)

        assert [each["follows_gap"] for each in document["statements"]] == [False]
        assert imports.gaps(gtbank) == []
        assert imports.last_statement(gtbank).closing == 120_200
        day_after = date(2026, 3, 6)
        assert gtbank.closing_before(day_after) == 120_200
        assert report.of_period(gtbank, day_after, day_after).opening == 120_200

    def test_dry_run_stores_nothing(self, gtbank, tmp_path):
        document = self.january(tmp_path, "--dry-run")

        assert document["statements"][0]["is_new"]
        assert not Statement.objects.exists()

    def test_unknown_account_names_the_known_ones(self, gtbank, tmp_path):
        with pytest.raises(CommandError, match="Known: gtbank"):
            import_statement(tmp_path, "", account="wema")

    def test_opening_balance_is_booked_once(self, gtbank, tmp_path):
        self.january(tmp_path)
        import_statement(tmp_path, csv_statement(("2026-02-05", 100), opening="1100.00"))

        house = Account.objects.filter(business=None, currency="NGN")
        assert house.get(kind="bank", name="gtbank").balance == -100_000
        assert house.get(kind="bank_clearing").balance == 100_000

"""Bank accounts of ours, and files of their statements."""

import io
import json
from contextlib import suppress
from datetime import date
from uuid import uuid4

from django.core.management import call_command
from django.utils import timezone

from cash.models import BankAccount

MAPPING = {
    "date": "Date",
    "amount": "Amount",
    "balance": "Balance",
    "reference": "Reference",
    "text": "Narration",
}


def bank_account(**changes):
    values = {
        "name": "gtbank",
        "bank": "GTBank",
        "number": "0118550902",
        "currency": "NGN",
        "csv_mapping": MAPPING,
    }
    return BankAccount.objects.create(id=uuid4(), created_at=timezone.now(), **values | changes)


def csv_statement(*lines, opening="1000.00"):
    """Return a file of lines (day, amount in minor units, reference, text), with balances after an opening balance."""
    balance, rows = round(float(opening) * 100), ["Date,Amount,Balance,Reference,Narration"]
    for day, amount, *texts in lines:
        balance += amount
        reference, text = [*texts, "", ""][:2]
        shown = day.isoformat() if isinstance(day, date) else day
        rows.append(f"{shown},{amount / 100:.2f},{balance / 100:.2f},{reference},{text}")
    return "\n".join(rows) + "\n"


def mt940_statement(*lines, opening="C260101NGN1000,00", closing="C260131NGN1000,00", account="0118550902"):
    body = "\n".join(lines)
    return f":20:STATEMENT\n:25:{account}\n:28C:1/1\n:60F:{opening}\n{body}\n:62F:{closing}\n-\n".replace(
        "\n\n", "\n"
    )


def camt_statement(
    *entries, opening="1000.00", closing="1000.00", account="0118550902", last="2026-01-31", currency="NGN"
):
    def balance(code, amount, day):
        return (
            f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy='{currency}'>{amount}</Amt>"
            f"<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>"
        )

    return (
        "<?xml version='1.0'?><Document xmlns='urn:iso:std:iso:20022:tech:xsd:camt.053.001.02'><BkToCstmrStmt><Stmt>"
        f"<Acct><Id><Othr><Id>{account}</Id></Othr></Id><Ccy>{currency}</Ccy></Acct>"
        f"{balance('OPBD', opening, '2026-01-01')}{balance('CLBD', closing, last)}{''.join(entries)}"
        "</Stmt></BkToCstmrStmt></Document>"
    )


def camt_entry(amount, direction="CRDT", *, day="2026-01-05", reference="", text="", currency="NGN"):
    return (
        f"<Ntry><Amt Ccy='{currency}'>{amount}</Amt><CdtDbtInd>{direction}</CdtDbtInd><Sts>BOOK</Sts>"
        f"<BookgDt><Dt>{day}</Dt></BookgDt><AcctSvcrRef>{reference}</AcctSvcrRef>"
        f"<NtryDtls><TxDtls><RmtInf><Ustrd>{text}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"
    )


def import_statement(folder, content, *options, account="gtbank", name="statement.csv"):
    """Import a file with the command, and return its document."""
    file = folder / name
    file.write_text(content)
    out = io.StringIO()
    with suppress(SystemExit):
        call_command(
            "import_statement", "--account", account, "--file", str(file), "--json", *options, stdout=out
        )
    return json.loads(out.getvalue())

r"""Rows of payouts as people paste or upload them: columns by their headings, amounts in major units.

>>> sheet = read_text("Supplier;Bank;Account No;Amount (NGN)\n\"Kano; Dye\";044;0690213447;1,500.00\n", currency="NGN")
>>> sheet.rows[0].values
{'name': 'Kano; Dye', 'bank': '044', 'account': '0690213447', 'amount': '1,500.00'}
>>> sheet.rows[0].payout()["amount"], sheet.errors
(150000, [])
>>> [each.message for each in read_text("Name\tBank\tAccount\tAmount\nAda\t44\t690213447\t1.500,00", currency="NGN").errors]
["44 is no bank's code. If the spreadsheet dropped a zero, enter 044 for Access Bank.", 'This number has 9 digits instead of 10. If the spreadsheet dropped a zero, enter 0690213447.', 'Enter an amount such as 2500.00. Here a comma separates thousands, and a point decimals.']
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dashboard.payout_batches.bank_names import find_bank, similar_banks
from kit import banks
from kit.api.fields.strict_fields import CURRENCIES
from kit.files import csv_reading
from kit.money.amount_input import SYMBOLS, InvalidAmount, minor_units
from kit.money.money import figures, money
from kit.text.display_names import has_control_character, pasted
from kit.text.folding import fold
from kit.text.plurals import counted
from payments.models import Transaction
from payout_batches.models import PayoutBatchItem

MOST_ROWS, MOST_COLUMNS = 1_000, 100
LONGEST = 255  # characters of a name or narration
MOST_REFERENCES = 5  # that an error names
MOST_UNUSED = 12  # columns without a use that a page shows
OTHER = "other"  # instead of a suggestion: what was entered beside it
SHORT_ACCOUNTS = range(7, 10)  # digits of an account number whose zeros a spreadsheet may have dropped
COLUMNS = {
    "name": "Beneficiary",
    "bank": "Bank",
    "account": "Account number",
    "amount": "Amount",
    "narration": "Narration",
    "reference": "Reference",
    "purpose": "Purpose",
}
NEEDED = ("name", "bank", "account", "amount")
OF_ACCOUNT = ("bank", "account")  # not needed where a saved beneficiary is named
# Headings, folded and without what is in brackets.
HEADINGS = {
    "name": (
        "name",
        "beneficiary",
        "beneficiary name",
        "supplier",
        "account name",
        "payee",
        "recipient",
        "employee",
    ),
    "bank": ("bank", "bank code", "bank name", "nip code", "sort code"),
    "account": ("account", "account no", "account number", "acct no", "acct number", "nuban", "account nr"),
    "amount": ("amount", "sum", "value", "amount ngn", "net pay", "salary"),
    "narration": ("narration", "description", "note", "remark", "memo", "details"),
    "reference": ("reference", "ref", "payout reference", "id"),
    "purpose": ("purpose", "payment purpose", "purpose of payment"),
}
# By their names and codes, folded.
PURPOSES = {fold(text): each.value for each in Transaction.Purpose for text in (each.value, each.label)}
# In the heading of an amount: it isn't in major units.
MINOR_UNITS = re.compile(r"\b(kobo|cents?|pence|pesewas?|minor)\b", re.IGNORECASE)
REFERENCE = re.compile(r"(?!\.\.?$)(?!va_|chk_|pl_|return_|settlement_)[A-Za-z0-9._:-]{1,90}")


# What people chose for columns by their place and heading, instead of what the heading says. Empty: no use.
Chosen = Mapping[tuple[int, str], str]
NOTHING_CHOSEN: Chosen = {}


Account = tuple[str, str]  # its bank and number


class UnreadableSheet(ValueError):
    """The rows can't be read at all. The message is for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadColumn:
    """A column of the sheet, with its first value, our column that it is read as (empty: not used), and what was read."""

    place: int
    heading: str
    sample: str
    name: str
    read: str

    @property
    def label(self) -> str:
        return self.heading or f"Column {self.place + 1}"


@dataclass(frozen=True, slots=True)
class CellError:
    """What is wrong with a cell of the row of a beneficiary. Rows count from 1, without the headings."""

    row: int
    column: str
    value: str
    message: str
    beneficiary: str = ""

    @property
    def name(self) -> str:
        """Return whose row it is, unless the cell says so itself."""
        return "" if self.column == "name" else self.beneficiary

    @property
    def label(self) -> str:
        return COLUMNS[self.column]

    @property
    def input_name(self) -> str:
        return f"fix-{self.row}-{self.column}"

    @property
    def suggestions(self) -> list[tuple[str, str]]:
        """Return what the cell may mean, with names for people."""
        if self.column == "bank":
            padded = [bank for bank in _padded_banks(self.value) if bank is not None]
            return [(bank.code, f"{bank.code}, {bank.name}") for bank in padded or similar_banks(self.value)]
        if self.column == "account" and _is_short(self.value):
            return [(self.value.zfill(10), banks.grouped(self.value.zfill(10)))]
        return []


@dataclass(slots=True)
class Row:
    """A row of the sheet, by our columns. Without bank and account number it names a saved beneficiary."""

    number: int
    values: dict[str, str]
    currency: str
    saved: Sequence[str] = ()  # references of the beneficiaries that its name may mean
    is_saved: bool = False  # whether its account is a saved beneficiary's; set by `Sheet.mark_saved`
    cells: Sequence[str] = ()  # as they came, with those of columns that we have no use for

    @property
    def names_saved(self) -> bool:
        return bool(self.values.get("name")) and not any(self.values.get(name) for name in OF_ACCOUNT)

    @property
    def account(self) -> Account | None:
        """Return the account that the row names; None if it is a saved beneficiary's, or its bank isn't known."""
        bank = None if self.names_saved else find_bank(self.values.get("bank", ""))
        return None if bank is None else (bank.code, self.values.get("account", ""))

    def errors(self) -> list[CellError]:
        found = {}
        if self.names_saved and len(self.saved) != 1:
            found["name"] = self._wrong_saved()
        for name in COLUMNS:
            if self.names_saved and name in {"name", *OF_ACCOUNT}:
                continue
            message = _CHECKS[name](self.values.get(name, ""), self.currency)
            if message:
                found[name] = message
        return [self.error(name, text) for name, text in found.items()]

    def error(self, column: str, message: str) -> CellError:
        """Return an error of a cell."""
        return CellError(
            self.number, column, self.values.get(column, ""), message, self.values.get("name", "")
        )

    def payout(self, reference: str = "") -> dict[str, Any]:
        """Return the row as a payout of a batch. It must have no errors."""
        payout = {
            "reference": self.values.get("reference") or reference,
            "amount": minor_units(self.values["amount"], self.currency),
            "currency": self.currency,
            "customer": self._customer(),
        }
        narration, purpose = self.values.get("narration"), self.values.get("purpose")
        payout |= {"narration": narration} if narration else {}
        return payout | ({"purpose": PURPOSES[fold(purpose)]} if purpose else {})

    def _customer(self) -> dict[str, str]:
        if self.names_saved:
            return {"beneficiary": self.saved[0]}
        bank = find_bank(self.values["bank"])
        return {
            "name": self.values["name"],
            "account_number": self.values["account"],
            "bank_code": bank.code if bank else "",
        }

    def _wrong_saved(self) -> str:
        if self.values["name"] in self.saved:
            return "This is the reference of one beneficiary and the name of another. Enter bank and account number below."
        if self.saved:
            references = " or ".join(self.saved[:MOST_REFERENCES])
            return f"You have saved {len(self.saved)} beneficiaries with this name. Enter the reference: {references}."
        return "No saved beneficiary has this name or reference. Correct it, or enter bank and account number below."


@dataclass(slots=True)
class Sheet:
    """The rows that were read, with the errors of their cells. `places`: of our columns among the headings."""

    rows: list[Row]
    headings: Sequence[str]
    places: Mapping[str, int]
    problem: str = ""  # with the columns: the rows can't be read until other ones are chosen

    @property
    def errors(self) -> list[CellError]:
        return [] if self.problem else [error for row in self.rows for error in row.errors()]

    @property
    def columns(self) -> list[ReadColumn]:
        """Return the columns that are used, and some that aren't, in their order."""
        names = {place: name for name, place in self.places.items()}
        unused = [place for place in range(len(self.headings)) if place not in names]
        return [
            self._column(place, names.get(place, "")) for place in sorted([*names, *unused[:MOST_UNUSED]])
        ]

    def _column(self, place: int, name: str) -> ReadColumn:
        cells = [row.cells[place] for row in self.rows if place < len(row.cells) and row.cells[place]]
        read = _SUMMARIES[name](self.rows) if name in _SUMMARIES and not self.problem else ""
        return ReadColumn(
            place=place,
            heading=self.headings[place],
            sample=cells[0] if cells else "",
            name=name,
            read=read if name else "Not used",
        )

    def corrected(self, corrections: Mapping[str, str]) -> Sheet:
        """Return the sheet with corrected cells, by the names of their inputs."""
        for row in self.rows:
            for column in COLUMNS:
                name = f"fix-{row.number}-{column}"
                given = corrections.get(name)
                if given == OTHER:
                    given = corrections.get(f"{name}-other")
                if given is not None:
                    row.values[column] = _clean(given)
        return self

    def find_saved(self, find: Callable[[Collection[str]], Mapping[str, Sequence[str]]]) -> Sheet:
        """Return the sheet with the saved beneficiaries that its rows name. `find`: their references, by name."""
        rows = [row for row in self.rows if row.names_saved]
        found = find({row.values["name"] for row in rows}) if rows else {}
        for row in rows:
            row.saved = found.get(row.values["name"], ())
        return self

    def mark_saved(self, find: Callable[[Collection[str]], Collection[Account]]) -> Sheet:
        """Return the sheet, knowing which rows pay saved beneficiaries. `find`: the saved accounts with these numbers."""
        saved = find({row.account[1] for row in self.rows if row.account is not None})
        for row in self.rows:
            row.is_saved = len(row.saved) == 1 if row.names_saved else row.account in saved
        return self

    def text(self) -> str:
        """Return the sheet as rows separated by tabs, which `read_text` reads again. Values with quotation marks are quoted.

        What was corrected in a column that the sheet lacks is in a new one.
        """
        text = io.StringIO()
        lines = csv.writer(text, delimiter="\t", lineterminator="\n")
        filled = {name for row in self.rows for name, value in row.values.items() if value}
        further = [name for name in COLUMNS if name in filled and name not in self.places]
        lines.writerow([*self.headings, *(COLUMNS[name] for name in further)])
        lines.writerows(
            [*self._cells(row), *(row.values.get(name, "") for name in further)] for row in self.rows
        )
        return text.getvalue().rstrip("\n")

    def _cells(self, row: Row) -> list[str]:
        cells = [*row.cells, *[""] * len(self.headings)][: len(self.headings)]
        for name, place in self.places.items():
            cells[place] = row.values.get(name, "")
        return cells


def sheet_of(items: Iterable[PayoutBatchItem]) -> Sheet:
    """Return items as rows. They get new references, because the old ones stay taken."""
    rows = [_row_of(number, item) for number, item in enumerate(items, start=1)]
    return Sheet(rows, [*COLUMNS.values()], {name: place for place, name in enumerate(COLUMNS)})


def _row_of(number: int, item: PayoutBatchItem) -> Row:
    paid = {"name": item.name, "bank": item.bank_code, "account": item.account_number}
    values = {
        **({"name": item.beneficiary.reference} if item.beneficiary else paid),
        "amount": figures(item.amount, item.currency),
        "narration": item.narration,
        "purpose": item.get_purpose_display(),
    }
    return Row(number, values, item.currency)


def read_text(text: str, *, currency: str, chosen: Chosen = NOTHING_CHOSEN) -> Sheet:
    """Read pasted rows, or the text of a CSV file: separated by tabs, semicolons or commas.

    :raises UnreadableSheet: there are too many rows, or none
    """
    text = text.removeprefix("\ufeff").strip("\r\n")
    first = text.split("\n", 1)[0]
    separator = max("\t;,", key=first.count)
    if text.count("\n") > 20 * MOST_ROWS:
        raise UnreadableSheet(TOO_MANY)
    try:
        cells = [row for _, row in csv_reading.rows(io.StringIO(text, newline=""), separator=separator)]
    except csv.Error as error:
        raise UnreadableSheet(f"These rows can't be read: {error}.") from None
    return read_cells(cells, currency=currency, chosen=chosen)


TOO_MANY = f"A batch has at most {MOST_ROWS:,} payouts. Split the sheet into several batches."


def read_cells(cells: Sequence[Sequence[str]], *, currency: str, chosen: Chosen = NOTHING_CHOSEN) -> Sheet:
    """Read the cells of a sheet whose first row has the headings. Columns are found by these, unless one was chosen.

    :raises UnreadableSheet: there are too many rows, or none
    """
    filled = [
        [_clean(cell) for cell in row[:MOST_COLUMNS]] for row in cells if any(cell.strip() for cell in row)
    ]
    if len(filled) <= 1:
        raise UnreadableSheet("Paste or upload rows with a first row of headings.")
    if len(filled) - 1 > MOST_ROWS:
        raise UnreadableSheet(TOO_MANY)
    headings, *lines = filled
    places, problem = _places(headings, chosen, currency)
    rows = [
        Row(
            number,
            {name: line[place] for name, place in places.items() if place < len(line)},
            currency,
            cells=line,
        )
        for number, line in enumerate(lines, start=1)
    ]
    return Sheet(rows, headings, places, problem or _missing(places))


def _places(headings: Sequence[str], chosen: Chosen, currency: str) -> tuple[dict[str, int], str]:
    """Return the places of our columns, and what is wrong with the chosen ones.

    What was chosen for a column counts while its heading is the same. Of the others, the first heading that names one
    of ours counts.
    """
    places: dict[str, int] = {}
    problem = ""
    open_places = []
    for place, heading in enumerate(headings):
        name = chosen.get((place, heading))
        if name is None:
            open_places.append(place)
        elif name in places:
            problem = f"Two columns are read as {COLUMNS[name]}. Choose another field for one of them."
        elif name:
            places[name] = place
    for place in open_places:
        for name in _named_by(headings[place]):
            if name != "amount" or not _is_in_another_unit(headings[place], currency):
                places.setdefault(name, place)
    return places, problem


def _is_in_another_unit(heading: str, currency: str) -> bool:
    """Return whether a heading says that its amounts are minor units, or of another currency.

    Codes that are words, such as ALL, count in capitals or alone in their brackets.

    >>> [_is_in_another_unit(f"Amount {each}", "NGN") for each in ("(NGN)", "(usd)", "($)", "(kobo)", "(all in)")]
    [False, True, True, True, False]
    """
    alone = [each.strip().upper() for each in re.findall(r"\((.*?)\)", heading)]
    alone += re.sub(r"\(.*?\)", " ", heading).upper().split()
    named = {*CURRENCIES.intersection(alone + re.findall(r"\b[A-Z]{3}\b", heading))}
    named |= {currency_of for sign, currency_of in SYMBOLS.items() if sign in heading}
    return bool(named - {currency} or MINOR_UNITS.search(heading))


def _named_by(heading: str) -> list[str]:
    words = " ".join(re.findall(r"\w+", re.sub(r"\(.*?\)", " ", fold(heading))))
    return [name for name, known in HEADINGS.items() if words in known]


def _missing(places: Mapping[str, int]) -> str:
    needed = NEEDED if any(name in places for name in OF_ACCOUNT) else ("name", "amount")
    missing = [COLUMNS[name] for name in needed if name not in places]
    if not missing:
        return ""
    return f"No column is headed {', '.join(missing)}. Choose its field below, or rename a heading."


def _banks_read(rows: Sequence[Row]) -> str:
    found = [find_bank(row.values.get("bank", "")) for row in rows if not row.names_saved]
    known = counted(len({bank.code for bank in found if bank is not None}), "bank")
    asked = counted(found.count(None), "question")
    return f"{known}, {asked} to answer" if None in found else known


def _accounts_read(rows: Sequence[Row]) -> str:
    given = [row.values.get("account", "") for row in rows if not row.names_saved]
    wrong = sum(banks.ACCOUNT_NUMBER.fullmatch(value) is None for value in given)
    return f"{wrong} to correct" if wrong else "10 digits in every row"


def _amounts_read(rows: Sequence[Row]) -> str:
    amounts = amounts_of(rows)
    wrong = len(rows) - len(amounts)
    text = f"{money(sum(amount for amount, _ in amounts), rows[0].currency)} in total"
    return f"{text}, {wrong} to correct" if wrong else text


def amounts_of(rows: Sequence[Row]) -> list[tuple[int, str]]:
    """Return the amounts that can be read, in minor units, each with the purpose of its payout."""
    found = []
    for row in rows:
        with suppress(InvalidAmount):
            amount = minor_units(row.values.get("amount", ""), row.currency)
            found.append((amount, PURPOSES.get(fold(row.values.get("purpose", "")), "")))
    return found


def _names_read(rows: Sequence[Row]) -> str:
    """Say how many payees are saved beneficiaries. A payee is an account, or as long as that isn't known a name."""
    payees = {
        row.saved[0] if len(row.saved) == 1 else row.account or row.values.get("name", ""): row
        for row in rows
    }
    saved = sum(row.is_saved for row in payees.values())
    return f"{saved} saved, {len(payees) - saved} new"


_SUMMARIES: dict[str, Callable[[Sequence[Row]], str]] = {
    "name": _names_read,
    "bank": _banks_read,
    "account": _accounts_read,
    "amount": _amounts_read,
    "narration": lambda _: "Printed on bank statements",
    "reference": lambda _: "Of each payout",
    "purpose": lambda _: "Of each payout",
}


def _clean(cell: str) -> str:
    """Return a cell as text on one line. A formula is only text."""
    return " ".join(pasted(cell).split())


def _wrong_name(value: str, _currency: str) -> str:
    if not value:
        return "Enter the beneficiary's name."
    if len(value) > LONGEST or has_control_character(value):
        return "Enter a name of at most 255 characters."
    return ""


def _wrong_bank(value: str, _currency: str) -> str:
    if not value:
        return "Enter the bank's name or code."
    if find_bank(value) is not None:
        return ""
    for bank in _padded_banks(value):
        if bank is not None:
            return f"{value} is no bank's code. If the spreadsheet dropped a zero, enter {bank.code} for {bank.name}."
    similar = " or ".join(f"{bank.name} ({bank.code})" for bank in similar_banks(value))
    if similar:
        return f"Which bank is {value}? Enter the code if you mean {similar}."
    return f"No bank is called {value}. Check the spelling, or enter the bank's code."


def _padded_banks(value: str) -> list[banks.Bank | None]:
    """Return the banks whose codes a number may be without its first zeros."""
    is_number = value.isascii() and value.isdigit()
    return [banks.find(value.zfill(length)) for length in (3, 6)] if is_number else []


def _is_short(value: str) -> bool:
    """Return whether a value may be an account number without its first zeros."""
    return value.isascii() and value.isdigit() and len(value) in SHORT_ACCOUNTS


def _wrong_account(value: str, _currency: str) -> str:
    if banks.ACCOUNT_NUMBER.fullmatch(value):
        return ""
    if _is_short(value):
        padded = value.zfill(10)
        return f"This number has {len(value)} digits instead of 10. If the spreadsheet dropped a zero, enter {padded}."
    return "Enter an account number of exactly 10 digits."


def _wrong_amount(value: str, currency: str) -> str:
    try:
        minor_units(value, currency)
    except InvalidAmount as refusal:
        if "," in value and "." in value:
            return f"{refusal} Here a comma separates thousands, and a point decimals."
        return str(refusal)
    return ""


def _wrong_narration(value: str, _currency: str) -> str:
    return "Enter at most 255 characters." if len(value) > LONGEST else ""


def _wrong_purpose(value: str, _currency: str) -> str:
    if not value or fold(value) in PURPOSES:
        return ""
    return f"Use {', '.join(Transaction.Purpose.labels)}, or leave it empty. Free text belongs in Narration."


def _wrong_reference(value: str, _currency: str) -> str:
    if not value or REFERENCE.fullmatch(value):
        return ""
    return "Use 1 to 90 letters, digits, and . _ : - or leave it empty."


_CHECKS = {
    "name": _wrong_name,
    "bank": _wrong_bank,
    "account": _wrong_account,
    "amount": _wrong_amount,
    "narration": _wrong_narration,
    "reference": _wrong_reference,
    "purpose": _wrong_purpose,
}

"""December of Ada Books: 400 payments and 150 payouts, reconciled by two people on pages alone, to the last kobo.

The operator has three bank accounts and an account at an acquirer. GTBank receives what the acquirer pays, Wema Bank hosts
the virtual accounts, and Providus Bank sends the payouts. Each Monday, Kemi uploads last week's statements, looks at the page
Cash, and proposes what explains each break. Ibrahim confirms it. Then they release the settlement batches whose money is there.

1 December     Ada tops up her wallet. Kemi moves money from GTBank to Providus.
9 December     Providus loses a payout for a week.
10 December    Providus pays another one twice, and takes it back on the 15th.
14 December    A stranger's transfer arrives for a number that no account has. It was meant for Ada.
16 December    The acquirer raises its fee from 1 to 1.25 %, and Ada's fee follows.
17 December    The acquirer pays too little, and the rest on the 23rd.
22 December    Wema books a transfer in two lines.
25 December    Banks are closed: what Ada paid and received on Christmas Eve is booked on the 28th.
31 December    Providus charges for the month.

Cards are refunded, transfers are paid back, and payouts are returned in between. MONTH_PAYMENTS=2000 tells it with more.
"""

import io
import json
import os
import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from freezegun import freeze_time

from payments.tasks import match_statements
from tests import orders
from tests.bank_signing import KEY, signed_headers
from tests.bank_statements import MAPPING, camt_entry, camt_statement, csv_statement, mt940_statement
from tests.factories import UserFactory
from tests.staff_pages import Person

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.timeout(3_000)]

PAYMENTS, PAYOUTS = int(os.environ.get("MONTH_PAYMENTS", "400")), 150
FIRST, LAST = date(2026, 12, 1), date(2026, 12, 31)
CLOSED = {date(2026, 12, 25), date(2027, 1, 1)}  # Christmas, New Year
DAY = timedelta(days=1)
SHORT = 485_000  # what the acquirer forgets on 17 December
UPLOAD, CASH = "/admin/cash/statement/upload/", "/admin/cash/"
GTBANK, WEMA, PROVIDUS, ACQUIRER = (
    "GTBank 0118550902",
    "Wema Bank 8200114063",
    "Providus Bank 5400118207",
    "Sandbox ACQ1",
)


def december(day):
    return date(2026, 12, day)


def is_open(day):
    return day.weekday() < 5 and day not in CLOSED


def next_open(day):
    day += DAY
    while not is_open(day):
        day += DAY
    return day


def spread(total, parts):
    """Return how many of a total are on each of some days."""
    each, more = divmod(total, parts)
    return [each + (number < more) for number in range(parts)]


def kinds(breaks):
    """Return only the kinds of breaks, by account."""
    return {account: [kind for kind, _ in found] for account, found in breaks.items()}


def major(amount):
    return f"{amount / 100:,.2f}"


@dataclass
class Bank:
    """What a bank books, and its statements in its own format."""

    name: str  # of our account
    number: str
    opening: int
    lines: list[tuple[date, int, str, str]] = field(default_factory=list)

    def book(self, day, amount, reference, text=""):
        self.lines.append((day, amount, reference, text))

    def closing(self, last):
        return self.opening + sum(amount for day, amount, *_ in self.lines if day <= last)

    def statement(self, first, last):
        lines = sorted(line for line in self.lines if first <= line[0] <= last)
        return getattr(self, f"_of_{self.name}")(lines, self.closing(first - DAY), self.closing(last), last)

    def _of_gtbank(self, lines, opening, closing, last):
        return csv_statement(*lines, opening=f"{opening / 100:.2f}")

    def _of_wema(self, lines, opening, closing, last):
        entries = [
            camt_entry(f"{abs(amount) / 100:.2f}", "CRDT" if amount > 0 else "DBIT", day=day, reference=reference, text=text)
            for day, amount, reference, text in lines
        ]  # fmt: skip
        balances = {"opening": f"{opening / 100:.2f}", "closing": f"{closing / 100:.2f}"}
        return camt_statement(*entries, **balances, account=self.number, last=last)

    def _of_providus(self, lines, opening, closing, last):
        def balance(day, amount):
            return f"C{day:%y%m%d}NGN{amount / 100:.2f}".replace(".", ",")

        told = []
        for day, amount, reference, text in lines:
            side = "C" if amount > 0 else "D"
            told.append(
                f":61:{day:%y%m%d%m%d}{side}{abs(amount) / 100:.2f}NTRFNONREF//{reference}".replace(".", ",")
            )
            told.append(f":86:{text}")
        period = {"opening": balance(last, opening), "closing": balance(last, closing)}
        return mt940_statement(*told, **period, account=self.number)


@dataclass
class Acquirer:
    """Takes card payments, lists those of each business day in a file, and pays their sum to GTBank on the next one."""

    bank: Bank
    waiting: list[tuple[date, str, int]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    fees: int = 0

    def fee(self, day, amount):
        return max(amount, 0) * (100 if day < december(16) else 125) // 10_000

    def settle(self, today):
        """Pay what was taken since the business day before, in the morning of this one."""
        rows = [
            (day, order, amount, self.fee(day, amount)) for day, order, amount in self.waiting if day < today
        ]
        self.waiting = [each for each in self.waiting if each[0] >= today]
        if not rows:
            return
        named = max(day for day, *_ in rows).isoformat()
        told = [f"{day},{order},{amount / 100:.2f},{fee / 100:.2f}" for day, order, amount, fee in rows]
        self.files.append("\n".join(["Date,Order,Amount,Fee", *told]) + "\n")
        self.fees += sum(fee for *_, fee in rows)
        short = SHORT if named == "2026-12-17" else 0
        self.bank.book(today, sum(amount - fee for *_, amount, fee in rows) - short, named, "SETTLEMENT")


class Ada:
    """The merchant, her customers, and the bank that notifies us of transfers."""

    def __init__(self, api, client, banks, acquirer):
        self._api, self._client = api, client
        self._wema, self._providus, self._acquirer = banks[WEMA], banks[PROVIDUS], acquirer
        account = self._ask("/api/virtual-accounts", orders.static_account())
        self.number = account["customer"]["account_number"]
        self._cards, self._transfers = [], []

    def _ask(self, path, body):
        answer = self._api.post(path, body)
        assert answer.status_code in {200, 201}, answer.content
        return answer.json()

    def sells(self, day, number):
        amount = 150_000 + 1_000 * (number * 37 % 900)
        if number % 6 == 5:
            reference = f"NIP{number}"
            assert (
                self.notify("transfers", reference, amount, account_number=self.number)["applied"]
                == "new_payment"
            )
            if (
                day == december(22)
                and amount > 500_000
                and not any(each[3] == "PART 2" for each in self._wema.lines)
            ):
                self._wema.book(day, 200_000, reference, "PART 1")
                self._wema.book(day, amount - 200_000, "", "PART 2")
            else:
                self._wema.book(day, amount, reference, "TRANSFER")
            self._transfers.append(amount)
            return
        paid = self._ask("/api/payments", orders.card_payment(amount=amount))
        assert paid["status"] == "success"
        self._acquirer.waiting.append((day, paid["id"].replace("-", ""), amount))
        self._cards.append(paid["reference"])

    def refunds_a_card(self, day):
        wanted = {"reference": orders.new_reference("rf"), "amount": 40_000}
        refund = self._ask(f"/api/payments/{self._cards[-7]}/refunds", wanted)
        assert refund["status"] == "success"
        self._acquirer.waiting.append((day, refund["id"].replace("-", ""), -40_000))

    def pays_a_transfer_back(self, day):
        paid = self._api.get("/api/payments?status=success&payment_method=virtual_account")
        payment = paid.json()["data"][0]
        refund = self._ask(
            f"/api/payments/{payment['reference']}/refunds",
            {"reference": orders.new_reference("rf"), "amount": 30_000},
        )
        assert refund["status"] == "success"
        self._book_sent(day, refund, 30_000, "REFUND")

    def pays_out(self, day, number):
        amount = 1_000_000 + 10_000 * number
        payout = self._ask("/api/payments", orders.payout(amount=amount))
        assert payout["status"] == "success"
        order = payout["id"].replace("-", "")
        if day == december(9) and not any(each[3].startswith("LATE") for each in self._providus.lines):
            self._providus.book(december(17), -amount, f"PVB{order[-8:]}", f"LATE NIP {order}")
            return
        self._book_sent(day, payout, amount, "NIP")
        if day == december(10) and not any(each[3].startswith("REVERSED") for each in self._providus.lines):
            self._book_sent(day, payout, amount, "NIP")
            self._providus.book(december(15), amount, "PVBR1", "REVERSED: PAID TWICE")
        if number % 30 == 29:
            returned = self.notify(
                "payout-returns", f"RET{number}", amount, payout_reference=order, reason="Closed"
            )
            assert returned["applied"] == "reversed"
            self._providus.book(next_open(day), amount, f"RET{number}", "RETURNED")

    def _book_sent(self, day, sent, amount, text):
        """Providus books what is sent on the next day on which it is open."""
        order = sent["id"].replace("-", "")
        self._providus.book(next_open(day), -amount, f"PVB{order[-8:]}", f"{text} {order}")

    def notify(self, what, reference, amount, **more):
        account = {"sender_account_number": "0123456789", "sender_bank_code": "058"}
        sender = {"sender_name": "Bisi Ojo", **account} if what == "transfers" else {}
        raw = json.dumps(
            {"bank_reference": reference, "amount": amount, "currency": "NGN"} | sender | more
        ).encode()
        headers = signed_headers(raw, key=KEY)
        answer = self._client.generic(
            "POST", f"/bank/{what}", raw, content_type="application/json", headers=headers
        )
        assert answer.status_code == 200, answer.content
        return answer.json()

    def pending(self):
        found = self._api.get("/api/balance").json()["data"]
        return next(each["pending"] for each in found if each["currency"] == "NGN")


class Office:
    """Kemi and Ibrahim, who only use pages."""

    def __init__(self):
        self.kemi, self.ibrahim = (
            Person(UserFactory(email=f"{name}@sluice.example", is_staff=True, is_superuser=True))
            for name in ("kemi", "ibrahim")
        )

    def sign_in(self):
        self.kemi.sign_in()
        self.ibrahim.sign_in()

    def confirm_all(self):
        while found := re.findall(
            r"/admin/payments/proposal/[0-9a-f-]{36}/change/", self.ibrahim.open("/admin/payments/proposal/")
        ):
            for address in dict.fromkeys(found):
                assert "confirmed and performed" in self.ibrahim.press("Confirm proposal", address)

    def together(self, button, address, **filled_in):
        """Kemi proposes on a page, and Ibrahim confirms."""
        shown = self.kemi.press(button, address, **filled_in)
        assert "awaits another person" in shown, shown
        self.confirm_all()

    def upload(self, account, content):
        choices = re.findall(r'<option value="([0-9a-f-]{36})"[^>]*>([^<]+)</option>', self.kemi.open(UPLOAD))
        chosen = {"account": {name: key for key, name in choices}[account]}
        preview = self.kemi.press("Preview", UPLOAD, **chosen, file=_file(content))
        assert "Nothing was stored" in preview, preview
        shown = self.kemi.press_on(preview, "Import statement", UPLOAD, **chosen)
        assert "Imported. " in shown, shown

    def cash(self):
        """Return what the page Cash says of each account, and its breaks: kind, difference and ID, by account."""
        page, balances, breaks = self.kemi.open(CASH), {}, {}
        assert "Not explained" not in page
        for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL):
            first, *cells = [
                [line.strip() for line in re.split(r"<[^>]+>", each) if line.strip()]
                for each in re.findall(r"<t[dh].*?>(.*?)</t[dh]>", row, re.DOTALL)
            ]
            if "bankaccount" in row:
                balances[first[0]], breaks[first[0]] = tuple(each[0] for each in cells), []
            elif found := re.search(r"/admin/cash/break/([0-9]+)/change/", row):
                kind, *_, amount = cells
                breaks[first[1]].append((kind[0], amount[0], int(found[1])))
        return balances, {account: found for account, found in breaks.items() if found}

    def house(self):
        """Return what the page Cash says of the other accounts of the house."""
        table = self.kemi.open(CASH).partition("Owed to us, and unowned")[2]
        return dict(re.findall(r'<th scope="row"[^>]*>([^<]+)</th><td class="figure">([^<]+)</td>', table))

    def match(self, *ids, reason):
        breaks = "/admin/cash/break/"
        form = self.kemi.press("Match breaks", breaks, _selected_action=[str(each) for each in ids])
        assert "awaits another person" in self.kemi.press_on(
            form, "Save", "/admin/cash/match/add/", reason=reason
        )
        self.confirm_all()

    def release_what_is_funded(self):
        for state, button in (("pending", "Approve"), ("approved", "Release")):
            page = self.kemi.open(f"/admin/payments/settlementbatch/?state={state}")
            for address in dict.fromkeys(
                re.findall(r"/admin/payments/settlementbatch/[0-9a-f-]{36}/change/", page)
            ):
                shown = self.kemi.open(address)
                if f">{button}</button>" in shown:
                    assert "awaits another person" in self.kemi.press_on(
                        shown, button, address, reason="On the statement"
                    )
            self.confirm_all()


def analyze():
    """Do what autovacuum does between days. It doesn't see rows of a test's transaction, and plans for empty tables are slow."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


def _file(content):
    return SimpleUploadedFile("statement.txt", content.encode())


@dataclass
class Month:
    """The month as it goes by."""

    moment: object
    office: Office
    ada: Ada
    banks: dict[str, Bank]
    acquirer: Acquirer
    uploaded_to: date = FIRST - DAY
    files_uploaded: int = 0

    def morning(self, day):
        """Banks and the acquirer book what they owe, and the schedule settles and matches."""
        self.moment.move_to(datetime.combine(day, time(7), tzinfo=UTC))
        if day.weekday() == 0:
            analyze()
        if is_open(day):
            self.acquirer.settle(day)
        call_command("settle", "--json", stdout=io.StringIO())
        match_statements()

    def trades(self, day, sales, payouts):
        for number in sales:
            self.moment.tick(timedelta(seconds=90))
            self.ada.sells(day, number)
        for number in payouts:
            self.moment.tick(timedelta(seconds=90))
            self.ada.pays_out(day, number)
        if is_open(day) and day.day % 3 == 0:
            self.ada.refunds_a_card(day)
        if is_open(day) and day.day % 7 == 4:
            self.ada.pays_a_transfer_back(day)

    def upload_to(self, last):
        """Upload all statements up to a day, and return what the page Cash shows as breaks: kind and difference."""
        self.office.sign_in()
        for content in self.acquirer.files[self.files_uploaded :]:
            self.office.upload(ACQUIRER, content)
        self.files_uploaded = len(self.acquirer.files)
        for account, bank in self.banks.items():
            self.office.upload(account, bank.statement(self.uploaded_to + DAY, last))
        self.uploaded_to = last
        return self.breaks()

    def breaks(self):
        _, breaks = self.office.cash()
        return {
            account: sorted((kind, amount) for kind, amount, _ in found) for account, found in breaks.items()
        }

    def ids(self, account):
        return [each for *_, each in self.office.cash()[1][account]]


UNKNOWN, MISSING, DIFFERS = "Unknown at the bank", "Missing at the bank", "Amount differs"


@pytest.fixture
def moment():
    with freeze_time(datetime.combine(FIRST, time(6), tzinfo=UTC)) as frozen:
        yield frozen


@pytest.fixture
def month(moment, api, client, settings):
    settings.FOUR_EYES = settings.RELEASE_REQUIRES_FUNDS = settings.PAYOUT_REQUIRES_BALANCE = True
    settings.BANK_NOTIFICATION_KEYS = [KEY]
    banks = {
        GTBANK: Bank("gtbank", "0118550902", 5_000_000_000),
        WEMA: Bank("wema", "8200114063", 100_000_000),
        PROVIDUS: Bank("providus", "5400118207", 500_000_000),
    }
    acquirer, office = Acquirer(banks[GTBANK]), Office()
    open_accounts(office)
    return Month(moment, office, Ada(api, client, banks, acquirer), banks, acquirer)


def open_accounts(office):
    """Add the accounts of ours in the administration."""
    at_acquirer = {"date": "Date", "amount": "Amount", "reference": "Order", "fee": "Fee", "settled": "sum"}
    for name, bank, number, ties in (
        ("gtbank", "GTBank", "0118550902", {"receives": ["sandbox"], "csv_mapping": json.dumps(MAPPING)}),
        ("wema", "Wema Bank", "8200114063", {"receives": ["hosting_bank"]}),
        ("providus", "Providus Bank", "5400118207", {"pays_out": ["sandbox"]}),
        (
            "acquirer", "Sandbox", "ACQ1",
            {"kind": "acquirer", "connector_account": "sandbox", "receives": ["sandbox"],
             "csv_mapping": json.dumps(at_acquirer)},
        ),
    ):  # fmt: skip
        form = {
            "name": name,
            "kind": "bank",
            "bank": bank,
            "number": number,
            "currency": "NGN",
            "reason": "Opened",
        }
        office.together("Save", "/admin/cash/bankaccount/add/", **form | ties)


def test_december_reconciles_to_the_last_kobo(month, ada):
    money_in_the_banks(month, ada.business)
    days = [FIRST + DAY * number for number in range(31)]
    working = [day for day in days if is_open(day)]
    sales = iter(range(PAYMENTS))
    payouts = iter(range(PAYOUTS))
    payouts_on = dict(zip(working, spread(PAYOUTS, len(working)), strict=True))

    for day, sales_today in zip(days, spread(PAYMENTS, len(days)), strict=True):
        month.morning(day)
        if day in EVENTS:
            EVENTS[day](month, ada.business)
        month.trades(day, islice(sales, sales_today), islice(payouts, payouts_on.get(day, 0)))
    for day in (date(2027, 1, 1) + DAY * number for number in range(5)):
        month.morning(day)
    close_the_month(month)

    balances, breaks = month.office.cash()
    assert breaks == {}
    for account, bank in month.banks.items():
        says = major(bank.closing(date(2027, 1, 4)))
        assert balances[account] == (says, says, "NGN 0.00"), account
    assert balances[ACQUIRER] == ("0.00", "0.00", "NGN 0.00")
    house = month.office.house()
    assert house["Costs:provider"] == major(month.acquirer.fees)
    assert house["Costs:transfer"] == "12,500.00"
    assert house["Suspense"] == "0.00"
    assert "No breaks are open" in month.office.kemi.open("/admin/cash/break/")
    assert month.ada.pending() == 0  # every batch is released
    assert list(sales) == list(payouts) == []
    call_command("check_ledger")
    call_command("reconcile", "--from", "2026-12-01", "--to", "2027-01-04")


def money_in_the_banks(month, business):
    """Ada's float arrives at GTBank, and a part of it goes to Providus. What happens later in the month is known here, too."""
    office, gtbank, providus = month.office, month.banks[GTBANK], month.banks[PROVIDUS]
    page = office.kemi.open("/admin/ledger/entry/add/")
    received_by = re.search(r'<option value="([^"]+)">[^<]*0118550902', page)[1]
    office.together(
        "Save", "/admin/ledger/entry/add/", business=str(business.pk), currency="NGN", amount="50000000.00",
        bank_account=received_by, note="Ada's float",
    )  # fmt: skip
    gtbank.book(december(1), 5_000_000_000, "GTB1", "ADA BOOKS FLOAT")
    gtbank.book(december(2), -3_000_000_000, "GTB2", "TO PROVIDUS")
    providus.book(december(2), 3_000_000_000, "PVB2", "FROM GTBANK")
    gtbank.book(december(23), SHORT, "GTB3", "REST OF 17 DEC")
    providus.book(december(31), -1_250_000, "PVB3", "CHARGES DECEMBER")


def first_monday(month, _business):
    """Money that went from one bank of ours to the other is on both statements. One journal explains both lines."""
    office = month.office
    assert month.upload_to(december(6)) == {
        GTBANK: [(UNKNOWN, "\u2212NGN 30,000,000.00")],
        PROVIDUS: [(UNKNOWN, "+NGN 30,000,000.00")],
    }
    (found,) = month.ids(GTBANK)
    office.together(
        "Save", f"/admin/payments/journal/add/?break={found}", code="correction", text="To pay out from",
        account_2="bank:providus", debit_2="30000000.00",
    )  # fmt: skip
    match_statements()
    assert month.breaks() == {}
    office.release_what_is_funded()


def second_monday(month, _business):
    """A payout is missing at Providus, and another one is there twice. Kemi takes the breaks, and asks the bank."""
    office = month.office
    breaks = month.upload_to(december(13))
    assert kinds(breaks) == {PROVIDUS: [MISSING, UNKNOWN]}
    for each in month.ids(PROVIDUS):
        address = f"/admin/cash/break/{each}/change/"
        office.kemi.press(
            "Save", address, owner=str(office.kemi.user.pk), notes="Asked Providus", reason="Mine"
        )
    assert office.kemi.open(CASH).count("kemi@sluice.example") >= 2
    office.release_what_is_funded()


def third_monday(month, _business):
    """The lost payout came, and what was paid twice came back. The acquirer paid too little. The stranger's money is Ada's."""
    office = month.office
    breaks = month.upload_to(december(20))
    assert kinds(breaks) == {
        GTBANK: [DIFFERS], PROVIDUS: [UNKNOWN, UNKNOWN],
    }  # fmt: skip
    assert breaks[GTBANK] == [(DIFFERS, "\u2212NGN 4,850.00")]
    office.match(*month.ids(PROVIDUS), reason="Paid twice, and taken back")
    page = office.kemi.open("/admin/virtual_accounts/unclaimedtransfer/")
    address = re.search(r"/admin/virtual_accounts/unclaimedtransfer/[0-9a-f-]{36}/change/", page)[0]
    office.together(
        "Assign to an account", address, account_number=month.ada.number, reason="Ada knows the payer"
    )
    office.release_what_is_funded()


def fourth_monday(month, _business):
    """The rest came from the acquirer, and Wema split a transfer. Nothing is missing since Christmas Eve."""
    office = month.office
    breaks = month.upload_to(december(27))
    assert kinds(breaks) == {
        GTBANK: [DIFFERS, UNKNOWN], WEMA: [DIFFERS, UNKNOWN],
    }  # fmt: skip
    assert breaks[GTBANK] == [(DIFFERS, "\u2212NGN 4,850.00"), (UNKNOWN, "+NGN 4,850.00")]
    office.match(*month.ids(GTBANK), reason="The rest of 17 December")
    office.match(*month.ids(WEMA), reason="Split by the bank")
    office.release_what_is_funded()


def close_the_month(month):
    """What Providus charged is a cost."""
    office = month.office
    assert month.upload_to(date(2027, 1, 4)) == {PROVIDUS: [(UNKNOWN, "\u2212NGN 12,500.00")]}
    (found,) = month.ids(PROVIDUS)
    office.together(
        "Save", f"/admin/payments/journal/add/?break={found}", code="cost", text="Charges of December",
        account_2="costs:transfer", debit_2="12500.00",
    )  # fmt: skip
    office.release_what_is_funded()


def stranger_pays(month, _business):
    told = month.ada.notify("transfers", "NIPX", 4_800_000, account_number="0123456789")
    assert told["applied"] == "unclaimed"
    month.banks[WEMA].book(december(14), 4_800_000, "NIPX", "A. SULEIMAN")


def fees_rise(month, business):
    """The acquirer's fee is higher from today on. Ada's becomes 1.8 %."""
    month.office.sign_in()
    terms = {"flow": "card", "currency": "NGN", "is_offered": "on", "basis_points": "180", "fixed": "0"}
    month.office.together(
        "Save", "/admin/payments/tariff/add/", business=str(business.pk), reason="The acquirer's fee",
        fixed_waived_below="0", **terms,
    )  # fmt: skip


def second_monday_and_the_stranger(month, business):
    second_monday(month, business)
    stranger_pays(month, business)


EVENTS = {
    december(7): first_monday,
    december(14): second_monday_and_the_stranger,
    december(16): fees_rise,
    december(21): third_monday,
    december(28): fourth_monday,
}

"""The simulator's books: what was charged, refunded, disputed and kept as fees, what was paid out, and the reports about it.

Amounts of entries are minor units; fees, payouts and what is reported are decimals in major units, as at Checkout.com.
"""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from typing import Any

from connectors.checkout.simulator import tables
from connectors.checkout.simulator.api.documents import summary
from connectors.checkout.simulator.state import (
    Account,
    Action,
    Dispute,
    Document,
    Payment,
    timestamp,
    without_empty,
)

PLACES = Decimal("0.00000001")  # amounts have up to 8 decimals
SIGNS = {"Capture": 1, "Void": 0, "Refund": -1, "Chargeback": -1, "Chargeback Reversal": 1}
PAGE = 100
_DAY = timedelta(days=1)


@dataclass(slots=True)
class Entry:
    """A financial action."""

    payment: Payment
    action: str  # act_…
    kind: str
    code: str
    reference: str
    amount: Decimal  # signed, major units
    fees: tuple[tuple[str, str, Decimal], ...]  # type, detail, amount in major units
    at: datetime
    number: int
    payout: str = ""

    @property
    def day(self) -> date:
        """Return the day in UTC."""
        return self.at.astimezone(UTC).date()

    @property
    def net(self) -> Decimal:
        return self.amount - sum((fee for _, _, fee in self.fees), Decimal())


@dataclass(frozen=True, slots=True)
class Payout:
    """A settlement: the money of one currency and day, paid to the merchant's bank."""

    id: str
    day: date  # whose actions it pays
    currency: str
    amount: Decimal
    created_on: datetime


@dataclass(frozen=True, slots=True)
class Report:
    id: str
    file: str
    type: str
    filename: str
    tags: tuple[str, ...]
    start: datetime
    end: datetime
    created_on: datetime
    content: str


class Books:
    """Entries, payouts and reports."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self.entries: list[Entry] = []
        self.payouts: list[Payout] = []
        self.reports: dict[str, Report] = {}

    def book(self, payment: Payment, action: Action) -> None:
        """Book a decided action. Only approvals and the issuer's declines cost something, a guess."""
        is_free = not action.approved and (action.type in SIGNS or action.code in tables.WITHOUT_ISSUER)
        self._enter(payment, action, action.type, action.amount if action.approved else 0, is_free=is_free)

    def book_dispute(self, payment: Payment, dispute: Dispute, *, is_reversal: bool = False) -> None:
        """Deduct a dispute's amount and fee, or give the amount back."""
        at, reference = self._account.clock.now(), payment.reference
        action = Action(dispute.action, "Chargeback", dispute.amount, reference, at, code=tables.APPROVED)
        self._enter(payment, action, "Chargeback Reversal" if is_reversal else "Chargeback", dispute.amount)

    def _enter(
        self, payment: Payment, action: Action, kind: str, amount: int, *, is_free: bool = False
    ) -> None:
        major = Decimal(SIGNS.get(kind, 0) * amount).scaleb(-tables.decimals(payment.currency))
        fees = tuple(
            (name, detail, (Decimal(fixed) + abs(major) * Decimal(rate)).quantize(PLACES))
            for name, detail, fixed, rate in ([] if is_free else tables.FEES.get(kind, ()))
        )
        at = action.processed_on or self._account.clock.now()
        number = self._account.next_number()
        self.entries.append(
            Entry(payment, action.id, kind, action.code, action.reference, major, fees, at, number)
        )

    def settle(self, *, until: date | None = None) -> list[Payout]:
        """Pay out every day that is over, once per currency. What isn't positive is carried over, a guess."""
        end = until or self._account.clock.now().astimezone(UTC).date()
        open_days = {
            (one.day, one.payment.currency) for one in self.entries if not one.payout and one.day < end
        }
        made = [self._pay_out(day, currency) for day, currency in sorted(open_days)]
        return [payout for payout in made if payout]

    def _pay_out(self, day: date, currency: str) -> Payout | None:
        paid = [
            one
            for one in self.entries
            if not one.payout and one.payment.currency == currency and one.day <= day
        ]
        # What is smaller than a minor unit isn't paid. No source says what becomes of it.
        smallest = Decimal(1).scaleb(-tables.decimals(currency))
        amount = sum((one.net for one in paid), Decimal()).quantize(smallest, ROUND_DOWN)
        if amount <= 0:
            return None
        number = f"{self._account.next_number():012}"
        payout = Payout(number, day, currency, amount, datetime.combine(day + _DAY, datetime.min.time(), UTC))
        for entry in paid:
            entry.payout = payout.id
        self.payouts.append(payout)
        rows = [row for entry in paid for row in self._action_rows(entry)]
        name = f"financial-actions_{self._account.identity.entity}_{day + _DAY:%Y%m%d}_{number}_1.csv"
        self._report("FinancialActionsByPayoutId", name, payout, rows)
        name = f"payouts_{self._account.identity.entity}_{day:%Y%m%d}_{day + _DAY:%Y%m%d}_{number}.csv"
        self._report("Payouts", name, payout, [self._payout_row(payout, paid)])
        return payout

    def _report(self, kind: str, filename: str, payout: Payout, rows: list[Document]) -> None:
        start = datetime.combine(payout.day, datetime.min.time(), UTC)
        report = Report(
            self._account.new_id("rpt"),
            self._account.new_id("file"),
            kind,
            filename,
            (f"payout_id:{payout.id}",),
            start,
            start + _DAY,
            payout.created_on,
            _csv(rows),
        )
        self.reports[report.id] = report

    def _action_rows(self, entry: Entry) -> Iterator[Document]:
        """Yield the report's rows of an action, one per part, with the members of a financial action as columns."""
        action = action_document(self._account, entry)
        for part in action.pop("breakdown", []):
            row = action | {"fee_detail": ""} | part
            yield {"Payout ID": entry.payout} | {_column(name): value for name, value in row.items()}

    def _payout_row(self, payout: Payout, entries: list[Entry]) -> Document:
        identity = self._account.identity

        def total(*kinds: str) -> str:
            return f"{sum((one.amount for one in entries if one.kind in kinds), Decimal()):f}"

        def fees(word: str) -> str:
            found = (fee for one in entries for name, _, fee in one.fees if word in name)
            return f"{-sum(found, Decimal()):f}"

        return {
            "Client Entity ID": identity.entity,
            "Client Entity Name": "Simulated merchant",
            "Currency Account ID": identity.currency_account,
            "Currency Account Name": payout.currency,
            "Holding Currency": payout.currency,
            "Payout ID": payout.id,
            "Payout Date": payout.created_on.strftime("%Y-%m-%dT%H:%M:%S.000"),
            "Reporting Start Date": f"{payout.day}T00:00:00.000",
            "Reporting End Date": f"{payout.day + _DAY}T00:00:00.000",
            "Payout Amount": f"{payout.amount:f}",
            "Merchant Payout Fees": "0",
            "Payments": total("Capture"),
            "Refunds": total("Refund"),
            "Chargebacks": total("Chargeback", "Chargeback Reversal"),
            "Pay To Cards": "0",
            "Card Payment Interchange Fees": fees("Interchange"),
            "Card Payment Scheme Fees": fees("Scheme"),
            "Card Payment Gateway Fees": fees("Gateway"),
            "Chargeback Fees": fees("Chargeback"),
        }

    def balances(self) -> dict[str, Document]:
        """Return what was charged, refunded, disputed, kept and paid out, by currency, in major units."""
        found: dict[str, Document] = {}
        for entry in self.entries:
            line = found.setdefault(
                entry.payment.currency, {"gross": Decimal(), "fees": Decimal(), "paid_out": Decimal()}
            )
            line["gross"] += entry.amount
            line["fees"] += sum((fee for _, _, fee in entry.fees), Decimal())
        for payout in self.payouts:
            found[payout.currency]["paid_out"] += payout.amount
        return found


def _parts(entry: Entry) -> Iterator[tuple[str, str, Decimal]]:
    """Yield the parts of an action: its amount, then its fees as negative amounts."""
    if SIGNS.get(entry.kind):
        yield entry.kind, "", entry.amount
    for name, detail, fee in entry.fees:
        yield name, detail, -fee


def _column(member: str) -> str:
    """Return the column of a member.

    >>> _column("currency_account_id"), _column("fx_rate_applied")
    ('Currency Account ID', 'FX Rate Applied')
    """
    return " ".join({"id": "ID", "fx": "FX"}.get(word, word.capitalize()) for word in member.split("_"))


def _csv(rows: list[Document]) -> str:
    written = io.StringIO()
    writer = csv.DictWriter(written, rows[0], lineterminator="\r\n") if rows else None
    if writer:
        writer.writeheader()
        writer.writerows(rows)
    return written.getvalue()


def action_document(account: Account, entry: Entry) -> Document:
    """Return an entry as Checkout.com's financial actions show it."""
    payment, identity = entry.payment, account.identity
    return without_empty(
        {
            "payment_id": payment.id,
            "action_id": entry.action,
            "action_type": entry.kind,
            "entity_id": identity.entity,
            "currency_account_id": identity.currency_account,
            "payment_method": payment.card.scheme.upper(),
            "processing_channel_id": identity.channel,
            "reference": entry.reference,
            "response_code": entry.code,
            "response_description": summary(entry.code),
            "region": "Domestic",
            "card_type": "Credit",
            "card_category": "Consumer",
            "issuer_country": "NG",
            "acquirer_reference_number": f"{entry.number:023}",
            "processed_on": timestamp(entry.at),
            "requested_on": timestamp(entry.at),
            "breakdown": [_breakdown(payment.currency, *part) for part in _parts(entry)],
        }
    )


def _breakdown(currency: str, name: str, detail: str, amount: Decimal) -> Document:
    return without_empty({"breakdown_type": name, "fee_detail": detail}) | {
        "fx_rate_applied": 1,
        "holding_currency": currency,
        "holding_currency_amount": _number(amount),
        "processing_currency": currency,
        "processing_currency_amount": _number(amount),
    }


def _number(amount: Decimal) -> Any:
    """Return an amount as a JSON number. At most 15 digits are significant, which a float keeps."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def report_document(account: Account, report: Report) -> Document:
    file_link = account.link("reports", report.id, "files", report.file)
    return {
        "id": report.id,
        "created_on": timestamp(report.created_on),
        "last_modified_on": timestamp(report.created_on),
        "type": report.type,
        "description": report.type,
        "account": {"client_id": account.identity.client, "entity_id": account.identity.entity},
        "tags": list(report.tags),
        "from": timestamp(report.start),
        "to": timestamp(report.end),
        "files": [
            {"id": report.file, "filename": report.filename, "format": "CSV", "_links": {"self": file_link}}
        ],
        "_links": {"self": account.link("reports", report.id)},
    }

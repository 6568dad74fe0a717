"""The panels "Connectors" and "Today" on the administration's first page. Their cost is bounded on any day."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst

from kit.money.money import money
from kit.money.shares import per_mille
from kit.text.plurals import counted
from kit.time.time_ordered_ids import earliest_id
from operations.administration import connector_pages
from operations.administration.attention import Figure
from payments.models import RailBlock, RailSilence, Transaction
from payments.rules.settlement.business_days import begins_at, business_day
from payments.services.reporting.daily_totals import VOLUME

COUNTED = 50_000  # transactions of today. Beyond that there are no sums: adding them takes too long
RequestType, Status = Transaction.RequestType, Transaction.Status


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a panel: a name, what is known of it, and the status if it has one."""

    name: str
    said: str
    address: str
    icon: str
    status: str = ""
    style: str = ""  # of the status


def today(*, now: datetime) -> Iterator[Line]:
    """Yield the payments and payouts of the business day."""
    rows = Transaction.objects.filter(pk__gte=earliest_id(begins_at(business_day(now))))
    is_too_long = rows.order_by()[: COUNTED + 1].count() > COUNTED
    groups = [] if is_too_long else list(_groups(rows))
    for kind, name, icon in (
        (RequestType.PAYMENT, "payment", "credit-card"),
        (RequestType.PAYOUT, "payout", "paper-airplane"),
    ):
        address = f"{reverse('admin:payments_transaction_changelist')}?request_type__exact={kind}"
        if is_too_long:
            yield Line(
                f"{name.capitalize()}s", f"More than {COUNTED:,} transactions since midnight", address, icon
            )
            continue
        mine = [group for group in groups if group.request_type == kind]
        yield Line(counted(sum(each.count for each in mine), name), _said(mine), address, icon)


@dataclass(frozen=True, slots=True)
class _Group:
    request_type: str
    status: str
    currency: str
    count: int
    volume: int


def _groups(rows: QuerySet[Transaction]) -> Iterator[_Group]:
    names = ("request_type", "status", "currency")
    for row in rows.order_by(*names).values(*names).annotate(count=Count("pk"), volume=VOLUME):
        yield _Group(**row)


def _said(groups: list[_Group]) -> str:
    """Return the sums and the share of what succeeded, and what is pending."""
    by_status: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for each in groups:
        by_status[each.status] += each.count
        if each.status == Status.SUCCESS:
            sums[each.currency] += each.volume
    said = [money(volume, code) for code, volume in sums.items()]
    finished = by_status[Status.SUCCESS] + by_status[Status.FAILED]
    if finished:
        said.append(f"{per_mille(by_status[Status.SUCCESS], finished) / 10:.1f}% succeeded")
    if pending := by_status[Status.PENDING]:
        said.append(f"{pending:,} pending")
    return ", ".join(said) or "None since midnight"


def ledger(figure: Figure) -> Line:
    """Return the line of the ledger, from the figure of the summary."""
    status, style = ("Off", "failed") if figure.needs_attention else ("Clean", "success")
    return Line(figure.label, capfirst(figure.value), figure.address, "book-open", status, style)


def connectors() -> Iterator[Line]:
    """Yield the connectors in use with their state, as their pages have it."""
    blocks = list(RailBlock.objects.order_by("since"))
    silences = {each.lane.rpartition(":")[2]: each.since for each in RailSilence.objects.order_by("-since")}
    unanswered = Transaction.objects.unanswered().order_by("connector").values_list("connector")
    open_ones = dict(unanswered.annotate(Count("pk")))
    for name in connector_pages.names():
        block = next((each for each in blocks if each.connector == name), None)
        silent_since = silences.get(name)
        if block:
            said, status, style = f"Since {_moment(block.since)}: {block.reason}", "Blocked", "failed"
        elif silent_since:
            said, status, style = f"No response since {_moment(silent_since)}", "Not responding", "failed"
        else:
            said, status, style = "", "Working", "success"
        unknown = open_ones.get(name, 0)
        said = said or (counted(unknown, "open unknown") if unknown else "No open unknowns")
        address = reverse("admin:connector", args=[name])
        yield Line(name.capitalize(), said, address, "server-stack", status, style)


def _moment(at: datetime) -> str:
    return f"{timezone.localtime(at):%-d %b, %H:%M %Z}"

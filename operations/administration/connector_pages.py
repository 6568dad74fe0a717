"""What the administration shows of a connector: whom it is configured for, what it answers, and what is open with it.

Showing it calls no provider. Testing the connection does, like `manage.py doctor --connector`.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from django.conf import settings
from django.db import transaction as database
from django.db.models import F, Q, QuerySet
from django.urls import reverse

from connectors.models import ProviderEvent
from connectors.registry import EXAMINATIONS, WEBHOOKS
from dashboard.webhooks.endpoints.endpoint_health import HourChart, first_hour, hour_of, times_by_hour
from kit.connectors.capabilities import Capabilities
from kit.connectors.token_bucket import calls_in_last_minute
from kit.text.plurals import counted
from payments import rails
from payments.models import CardOperation, RailBlock, RailChoice, RailSilence, Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import CardAcquirer, CardCapabilities, PayoutBank
from payments.services.rails.rail_queries import rail_outages
from virtual_accounts.models import ProviderMessage
from virtual_accounts.providers import PROVIDERS, account_opener

NEWEST_LOOKED_AT = 500  # rows of all connectors, among which the last answers are found
LAST_ANSWERS, OPEN_UNKNOWNS = 10, 20
EVENTS_MEASURED = 200
EVENTS_DRAWN = 1_000
LAGGING = timedelta(seconds=10)
P95 = 0.95
RETURNS = "_returns"  # after the name of a provider that sends transfers back itself

Unanswered = Transaction | CardOperation


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    value: str
    needs_attention: bool = False
    address: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A transaction or operation, and what is known of it."""

    name: str
    address: str
    said: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ConnectorPage:
    name: str
    facts: list[Fact]
    blocks: list[RailBlock]
    unknowns: list[Row]
    unknown_count: int
    answers: list[Row]
    can_examine: bool
    lags: HourChart | None  # in seconds; None without webhooks


def names() -> list[str]:
    """Return the connectors that the settings or a rail choice name, or that have anything open."""
    chosen = RailChoice.objects.values_list("card_acquirer", "payout_bank")
    used = {settings.CARD_ACQUIRER, settings.PAYOUT_BANK, settings.ACCOUNT_PROVIDER}
    used |= {name for pair in chosen for name in pair}
    used |= set(RailBlock.objects.values_list("connector", flat=True))
    used |= set(Transaction.objects.unanswered().values_list("connector", flat=True).distinct())
    return sorted({name.removesuffix(RETURNS) for name in used} & known())


def known() -> set[str]:
    return {*rails.ACQUIRERS, *rails.BANKS, *PROVIDERS}


def page_of(name: str, *, now: datetime) -> ConnectorPage:
    blocks = list(RailBlock.objects.filter(connector=name).order_by("since"))
    transactions, operations = _unanswered_transactions(name), _unanswered_operations(name)
    count = transactions.count() + operations.count()
    unknown: list[Unanswered] = [
        *transactions.order_by("created_at")[:OPEN_UNKNOWNS],
        *operations.order_by("created_at")[:OPEN_UNKNOWNS],
    ]
    oldest = sorted(unknown, key=lambda row: row.created_at)
    facts = [
        *_configuration(name),
        *_accounts(name),
        *_traffic(name, now=now),
        *_open(count, oldest, now=now),
    ]
    return ConnectorPage(
        name=name,
        facts=facts,
        blocks=blocks,
        unknowns=[_row(row, said=_asked(row), at=row.created_at) for row in oldest[:OPEN_UNKNOWNS]],
        unknown_count=count,
        answers=_last_answers(name),
        can_examine=name in EXAMINATIONS,
        lags=_lags_by_hour(name, now=now) if name in WEBHOOKS else None,
    )


@database.atomic
def ask_again(name: str, *, now: datetime) -> int:
    """Make the queries about what is open with a connector due, and return their number."""
    found = (_unanswered_transactions(name), _unanswered_operations(name))
    return sum(rail_outages.bring_forward(rows, now=now) for rows in found)


def _configuration(name: str) -> Iterator[Fact]:
    for rail, default, column, made in (
        ("Cards", settings.CARD_ACQUIRER, "card_acquirer", rails.configured_acquirer),
        ("Payouts", settings.PAYOUT_BANK, "payout_bank", rails.configured_bank),
    ):
        if name not in (rails.ACQUIRERS if column == "card_acquirer" else rails.BANKS):
            continue
        choices = RailChoice.objects.exclude(**{column: ""})
        yield Fact(
            f"{rail} for", _for_whom(name, default, choices, column), address=_list("payments_railchoice")
        )
        try:
            connector: CardAcquirer | PayoutBank = made(name)
        except RailUnavailable as problem:
            yield Fact(
                f"{rail} account", f"Not configured: {problem.detail}", needs_attention=name == default
            )
            continue
        yield Fact(f"{rail} account", connector.account)
        is_up = connector.is_available()
        yield Fact(f"{rail} now", "takes requests" if is_up else "takes no requests", not is_up)
        yield Fact(f"{rail} can", ", ".join(_abilities(connector.capabilities)))


def _accounts(name: str) -> Iterator[Fact]:
    """Describe a provider that opens virtual accounts."""
    if name != settings.ACCOUNT_PROVIDER:
        return
    try:
        opener = account_opener()
    except RailUnavailable as problem:
        yield Fact("Virtual accounts", f"Not configured: {problem.detail}", needs_attention=True)
        return
    if opener is None:
        return  # its numbers come from our pool
    is_up = opener.is_available()
    yield Fact("Virtual accounts", opener.account)
    yield Fact("Virtual accounts now", "takes requests" if is_up else "takes no requests", not is_up)
    messages = ProviderMessage.objects.unanswered().filter(
        provider_account=opener.account, attempts_made__gt=0
    )
    if failed := messages.count():
        address = reverse("admin:virtual_accounts_providermessage_changelist")
        yield Fact("Virtual accounts unanswered", f"{failed:,}", needs_attention=True, address=address)


def _for_whom(name: str, default: str, choices: QuerySet[RailChoice], column: str) -> str:
    others = choices.exclude(**{column: name}).count()
    if name == default:
        return "all businesses" + (f" but {others}" if others else "")
    return counted(choices.filter(**{column: name}).count(), "business", "businesses")


def _abilities(can: Capabilities) -> Iterator[str]:
    yield " ".join(sorted(can.currencies)) if can.currencies else "every currency"
    if isinstance(can, CardCapabilities):
        yield f"3-D Secure {can.three_d_secure.replace('_', ' ')}"
        if can.hosted_only:
            yield "hosted page only"
        for is_able, words in (
            (can.captures_later, "later captures"),
            (can.voids, "voids"),
            (can.partial_refunds, "partial refunds"),
            (can.checks_cards, "card checks"),
        ):
            yield words if is_able else f"no {words}"


def _traffic(name: str, *, now: datetime) -> Iterator[Fact]:
    silent = RailSilence.objects.filter(lane__endswith=f":{name}").order_by("since").first()
    if silent is not None:
        yield Fact("Doesn't answer since", f"{silent.since:%-d %b %H:%M} UTC", needs_attention=True)
    if name not in WEBHOOKS:
        return
    calls = calls_in_last_minute(name)
    yield Fact("Calls in the last minute", "counted with Redis only" if calls is None else f"{calls:,}")
    lags = _webhook_lags(name)
    events = f"{reverse('admin:connectors_providerevent_changelist')}?provider={name}"
    if lags:
        p95 = lags[ceil(len(lags) * P95) - 1]
        said = f"p95 {p95.total_seconds():.1f} s from the event to its query, of the newest {len(lags)}"
        yield Fact("Webhook lag", said, p95 > LAGGING, events)
    newest = ProviderEvent.objects.filter(provider=name).order_by("-pk").first()
    received = f"{newest.received_at:%-d %b %H:%M:%S} UTC" if newest else "none"
    yield Fact("Last webhook", received, address=events)
    waiting = ProviderEvent.objects.filter(provider=name, next_attempt_at__lte=now - LAGGING).count()
    if waiting:
        yield Fact("Webhooks not processed", f"{waiting:,}", needs_attention=True, address=events)


def _webhook_lags(name: str) -> list[timedelta]:
    """Return how long the newest events waited until the provider was queried, shortest first."""
    newest = ProviderEvent.objects.filter(provider=name).order_by("-pk")[:EVENTS_MEASURED]
    waited = newest.values_list(F("asked_at") - F("received_at"), flat=True)
    return sorted(max(each, timedelta(0)) for each in waited if each is not None)


def _lags_by_hour(name: str, *, now: datetime) -> HourChart | None:
    """Return the lags of the newest events of the last 24 hours, or None without any."""
    begin, times = first_hour(now), defaultdict[int, list[float]](list)
    newest = ProviderEvent.objects.filter(provider=name).order_by("-pk")[:EVENTS_DRAWN]
    for received_at, asked_at in newest.values_list("received_at", "asked_at"):
        if asked_at is not None and received_at >= begin:
            lag = max(asked_at - received_at, timedelta(0))
            times[hour_of(received_at, begin)].append(lag.total_seconds())
    return times_by_hour(begin, times) if times else None


def _open(count: int, oldest: list[Unanswered], *, now: datetime) -> Iterator[Fact]:
    said = f"{count:,}"
    if oldest:
        minutes = int((now - oldest[0].created_at).total_seconds() // 60)
        said += f", the oldest for {counted(minutes, 'minute', 'minutes')}"
    yield Fact("Open unknowns", said)


def _unanswered_transactions(name: str) -> QuerySet[Transaction]:
    return Transaction.objects.unanswered().filter(connector__in=_lanes(name))


def _lanes(name: str) -> list[str]:
    """Return the names under which orders are stored: that of the connector, and that by which it sends transfers back."""
    return [name, f"{name}{RETURNS}"]


def _unanswered_operations(name: str) -> QuerySet[CardOperation]:
    open_ones = CardOperation.objects.unanswered().select_related("transaction")
    of_connector = Q(connector__in=_lanes(name)) | Q(connector="", transaction__connector=name)
    return open_ones.filter(of_connector, next_query_at__isnull=False)


def _last_answers(name: str) -> list[Row]:
    """Return the newest outcomes that the connector told. Those of operations are on the pages of their transactions."""
    newest = Transaction.objects.order_by("-pk")[:NEWEST_LOOKED_AT].values("pk")
    told = Transaction.objects.filter(pk__in=newest, connector=name).exclude(response_code="10001")
    return [
        _row(
            row,
            said=" ".join(filter(None, (row.response_summary, row.full_gateway_code))),
            at=row.finished_at,
        )
        for row in told.order_by("-pk")[:LAST_ANSWERS]
        if row.finished_at is not None
    ]


def _row(row: Unanswered, *, said: str, at: datetime) -> Row:
    is_operation = isinstance(row, CardOperation)
    model = "cardoperation" if is_operation else "transaction"
    name = f"{row.kind} of {row.transaction.reference}" if isinstance(row, CardOperation) else row.reference
    return Row(name, reverse(f"admin:payments_{model}_change", args=[row.pk]), said, at)


def _asked(row: Unanswered) -> str:
    when = f", again at {row.next_query_at:%H:%M:%S} UTC" if row.next_query_at else ""
    return f"queried {counted(row.queries_made, 'time', 'times')}{when}"


def _list(model: str) -> str:
    return reverse(f"admin:{model}_changelist")

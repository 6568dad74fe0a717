"""Checks of an installation with advice on how to fix problems. `manage.py doctor` shows the findings.

Checks don't raise: if something can't be checked, that is a finding too.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.db import DatabaseError, connection
from django.db.models import Min
from django.utils import timezone
from redis import Redis
from redis.connection import parse_url
from redis.exceptions import RedisError

from config.database.migration_state import unapplied_migrations
from config.models import LATE_AFTER, last_beat
from config.version import VERSION
from connectors.registry import EXAMINATIONS
from dashboard.search import indexer
from kit.connectors.remarks import Remark
from kit.db import postgresql, triggered_checks, triggers
from kit.db.encrypted_field import UnreadableSecret
from kit.money.money import money
from kit.text.plurals import counted
from kit.time.durations import in_words
from operations import key_rotation
from operations.commit_waits import longest_commit_wait
from operations.metrics import drift
from payments.models import CardOperation, RailBlock, Transaction
from payments.services.rails import declared_accounts as accounts
from payments.services.rails.rail_queries.query_leases import ACQUIRER
from payments.services.replays import idempotency
from virtual_accounts.models import ProviderMessage
from webhooks.endpoints import ip_address_rules
from webhooks.models import Delivery


class Severity(IntEnum):
    """How bad a finding is; the worst of all is the command's exit code."""

    FINE = 0
    WARNING = 1  # works, but needs attention
    BROKEN = 2  # something that merchants rely on doesn't work


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check, with advice if it is not fine."""

    check: str
    severity: Severity
    said: str
    advice: str = ""

    def document(self) -> dict[str, Any]:
        return asdict(self) | {"severity": self.severity.name.lower()}


OLDEST_POSTGRESQL = 150_000  # as PostgreSQL numbers its versions
CLOCK_WARNING, CLOCK_BROKEN = timedelta(seconds=2), timedelta(seconds=60)
DUE_WARNING, DUE_BROKEN = timedelta(minutes=1), timedelta(minutes=10)
PENDING_WARNING = timedelta(hours=1)
SEARCH_WARNING = timedelta(minutes=1)
OVERDUE_WARNING = timedelta(minutes=1)
COMMIT_WAIT_BROKEN = timedelta(seconds=5)
FREE_WARNING, FREE_BROKEN = 0.10, 0.02  # of a disk
SECRETS_TRIED = 1000  # of each column, newest and oldest
BROKER_TIMEOUT = 1.0  # seconds


def examine(*, now: datetime) -> list[Finding]:
    """Run all checks. If the database is unavailable, checks that need it are skipped."""
    findings = [
        Finding("version", Severity.FINE, f"Sluice {VERSION}."),
        *_settings(),
        *_webhook_networks(),
        *_disk(),
    ]
    database = list(_database())
    findings += database
    if any(finding.severity == Severity.BROKEN for finding in database):
        return findings + list(_broker())
    for check in _NEED_THE_DATABASE:
        findings += _carefully(check, now)
    return findings + list(_broker())


def examine_connector(name: str) -> list[Finding]:
    """Make the harmless calls of a connector's provider."""
    return [
        Finding(remark.check, _severity(remark), remark.said, remark.advice)
        for remark in EXAMINATIONS[name]()
    ]


def _severity(remark: Remark) -> Severity:
    if remark.is_broken:
        return Severity.BROKEN
    return Severity.WARNING if remark.advice else Severity.FINE


def worst(findings: list[Finding]) -> Severity:
    return max((finding.severity for finding in findings), default=Severity.FINE)


def _carefully(check: Callable[[datetime], Iterator[Finding]], now: datetime) -> list[Finding]:
    name = check.__name__.removeprefix("_").replace("_", " ")
    try:
        return list(check(now))
    except DatabaseError as error:
        # The error message may quote a row, so it is omitted.
        return [
            Finding(
                name,
                Severity.BROKEN,
                f"The check failed in the database ({type(error).__name__}).",
                "Run manage.py migrate, and see the database's log.",
            )
        ]


def _settings() -> Iterator[Finding]:
    found = checks.run_checks(include_deployment_checks=not settings.SANDBOX)
    messages = [message for message in found if not message.is_silenced()]
    for message in messages:
        severity = Severity.BROKEN if message.level >= checks.ERROR else Severity.WARNING
        yield Finding(
            "settings", severity, f"{message.id}: {message.msg}", message.hint or "See .env.example."
        )
    if not messages:
        yield Finding("settings", Severity.FINE, f"ENVIRONMENT is {settings.ENVIRONMENT}; no problems found.")


def _webhook_networks() -> Iterator[Finding]:
    """Warn about a sandbox on the internet that may send webhooks into its own network."""
    host = urlsplit(settings.PUBLIC_URL).hostname or ""
    reachable = [
        each for each in settings.WEBHOOK_ALLOW_CIDRS if not ip_address_rules.is_public_network(each)
    ]
    if settings.SANDBOX and reachable and is_public(host):
        yield Finding(
            "webhook networks",
            Severity.WARNING,
            f"PUBLIC_URL is public, and webhooks may be sent to private networks: {', '.join(reachable)}.",
            "Set WEBHOOK_ALLOW_CIDRS=none. Otherwise any user of the sandbox can have requests sent to services on "
            "this machine and its network.",
        )


def is_public(host: str) -> bool:
    """Return whether a host name or address looks public.

    >>> [is_public(host) for host in ("sandbox.example.com", "8.8.8.8", "10.0.0.7", "localhost", "sluice.internal", "web")]
    [True, True, False, False, False, False]
    """
    try:
        return ip_address_rules.is_public(host.strip("[]"))
    except ValueError:
        name = host.lower().rstrip(".")
        return "." in name and not name.endswith(PRIVATE_DOMAINS)


PRIVATE_DOMAINS = (".localhost", ".local", ".internal", ".test", ".home.arpa", ".lan")


def _disk() -> Iterator[Finding]:
    folder = settings.SANDBOX_FOLDER.path if settings.SANDBOX else settings.BASE_DIR
    while not Path(folder).exists():
        folder = Path(folder).parent
    usage = shutil.disk_usage(folder)
    share = usage.free / usage.total
    said = f"{usage.free / 2**30:,.1f} GiB ({share:.0%}) free at {folder}."
    if share < FREE_WARNING:
        severity = Severity.BROKEN if share < FREE_BROKEN else Severity.WARNING
        yield Finding("disk", severity, said, "Free some space: a full disk stops the database and its logs.")
    else:
        yield Finding("disk", Severity.FINE, said)


def _database() -> Iterator[Finding]:
    started = time.perf_counter()
    try:
        with connection.cursor():
            pass  # it connects
        state = postgresql.rows(
            "SELECT current_setting('server_version_num')::int, current_setting('is_superuser') = 'on'"
        )
    except DatabaseError as error:
        yield Finding(
            "database",
            Severity.BROKEN,
            f"The database is unavailable ({type(error).__name__}).",
            "Check DATABASE_URL, that the server is running, and that it accepts connections from this machine.",
        )
        return
    milliseconds = (time.perf_counter() - started) * 1000
    for version, is_superuser in state:
        if version < OLDEST_POSTGRESQL:
            said = f"PostgreSQL {version // 10_000} is not supported."
            yield Finding("database", Severity.WARNING, said, "Upgrade to PostgreSQL 15 or newer.")
            return
        yield from _database_role(is_superuser=is_superuser)
    yield Finding("database", Severity.FINE, f"{connection.display_name} responds in {milliseconds:.1f} ms.")


def _database_role(*, is_superuser: bool) -> Iterator[Finding]:
    """A superuser could read files of the server and change rows that triggers protect."""
    if settings.SANDBOX:
        return
    if is_superuser:
        yield Finding(
            "database role",
            Severity.WARNING,
            "The service connects to PostgreSQL as a superuser.",
            'Give it a role of its own: see "The database\'s role" in docs/operations.md.',
        )
    else:
        yield Finding("database role", Severity.FINE, "The service's role is no superuser.")


def _migrations(_now: datetime) -> Iterator[Finding]:
    if names := unapplied_migrations(connection):
        said = f"Not applied: {', '.join(names)}."
        yield Finding("migrations", Severity.BROKEN, said, "Run manage.py migrate.")
    else:
        yield Finding("migrations", Severity.FINE, "All migrations are applied.")


def _triggers(_now: datetime) -> Iterator[Finding]:
    missing = triggers.missing(connection, further=triggered_checks.trigger_names(connection))
    if missing:
        yield Finding(
            "triggers",
            Severity.BROKEN,
            f"Database triggers that protect rows are missing or disabled: {', '.join(missing)}.",
            "Find out why. manage.py migrate creates missing ones, except those named written_…: run the CREATE "
            "statements that manage.py sqlmigrate prints for the migration that adds the check. Enable a disabled one "
            "with ALTER TABLE … ENABLE TRIGGER.",
        )
    else:
        yield Finding("triggers", Severity.FINE, "All database triggers exist.")


def _field_keys(_now: datetime) -> Iterator[Finding]:
    """Try to decrypt stored secrets: the newest and the oldest of each column."""
    tried = 0
    for column, read in key_rotation.readers():
        try:
            tried += sum(read(order, SECRETS_TRIED // 2) for order in ("pk", "-pk"))
        except UnreadableSecret:
            yield Finding(
                "field keys",
                Severity.BROKEN,
                f"Secrets in {column} can't be decrypted with any of FIELD_ENCRYPTION_KEYS.",
                "Add the key they were encrypted with to the end of FIELD_ENCRYPTION_KEYS.",
            )
            return
    yield Finding("field keys", Severity.FINE, f"{counted(tried, 'stored secret')} can be decrypted.")


def _clock(_now: datetime) -> Iterator[Finding]:
    """Compare this machine's clock with those of the servers. Signatures and schedules depend on it."""
    for name, theirs in _clocks():
        apart = abs(timezone.now() - theirs)
        said = f"The clocks of this machine and {name} differ by {apart.total_seconds():.1f} s."
        if apart < CLOCK_WARNING:
            yield Finding("clock", Severity.FINE, said)
        else:
            severity = Severity.BROKEN if apart >= CLOCK_BROKEN else Severity.WARNING
            yield Finding("clock", severity, said, "Synchronize both with NTP.")


def _clocks() -> Iterator[tuple[str, datetime]]:
    for (theirs,) in postgresql.rows("SELECT clock_timestamp()"):
        yield "the database", theirs
    if settings.REDIS_URL:
        try:
            with _redis() as broker:
                seconds, microseconds = broker.time()
        except RedisError:
            return  # reported by the check of the broker
        yield "Redis", datetime.fromtimestamp(seconds + microseconds / 1e6, tz=UTC)


def _broker() -> Iterator[Finding]:
    if not settings.REDIS_URL:
        yield Finding("broker", Severity.FINE, "In memory: web, worker and schedule run in one process.")
        return
    try:
        with _redis() as broker:
            broker.ping()
    except RedisError as error:
        yield Finding(
            "broker",
            Severity.BROKEN,
            f"Redis is unavailable ({type(error).__name__}).",
            "Check REDIS_URL, and that Redis is running. Payments and webhooks continue; scheduled tasks wait.",
        )
    else:
        yield Finding("broker", Severity.FINE, "Redis answers.")
        yield from _broker_access()


def _broker_access() -> Iterator[Finding]:
    """Warn about a Redis on another machine that requires no password."""
    options: dict[str, Any] = parse_url(settings.REDIS_URL)  # type: ignore[no-untyped-call]
    if options.get("password") or "path" in options or is_local(options.get("host", "localhost")):
        return
    yield Finding(
        "broker access",
        Severity.WARNING,
        "Redis is on another machine and requires no password.",
        "Set requirepass in Redis, and add the password to REDIS_URL: redis://:password@host:6379/0.",
    )


def is_local(host: str) -> bool:
    """Return whether a host is this machine.

    >>> is_local("127.0.0.2"), is_local("[::1]"), is_local("localhost"), is_local("redis")
    (True, True, True, False)
    """
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost" or host.lower().endswith(".localhost")


def _redis() -> Redis:
    return Redis.from_url(
        settings.REDIS_URL, socket_timeout=BROKER_TIMEOUT, socket_connect_timeout=BROKER_TIMEOUT
    )


def _standby(_now: datetime) -> Iterator[Finding]:
    waited = timedelta(seconds=longest_commit_wait())
    if waited >= COMMIT_WAIT_BROKEN:
        yield Finding(
            "standby",
            Severity.BROKEN,
            f"A commit has been waiting for a synchronous standby for {in_words(waited)}.",
            "Start the standby, or let commits wait for it no longer: "
            "ALTER SYSTEM RESET synchronous_standby_names, then SELECT pg_reload_conf().",
        )
    else:
        yield Finding("standby", Severity.FINE, "No commit waits for a standby.")


def _worker(now: datetime) -> Iterator[Finding]:
    beat = last_beat()
    advice = "Start at least one Celery worker and exactly one beat, and see their logs."
    if beat is None:
        yield Finding("worker", Severity.BROKEN, "No worker has ever sent a heartbeat.", advice)
    elif now - beat >= LATE_AFTER:
        said = f"The last heartbeat of a worker was {in_words(now - beat)} ago."
        yield Finding("worker", Severity.BROKEN, said, advice)
    else:
        yield Finding("worker", Severity.FINE, f"A worker sent a heartbeat {in_words(now - beat)} ago.")


def _deliveries(now: datetime) -> Iterator[Finding]:
    due = Delivery.objects.due(at=now).without_tests()
    oldest = due.aggregate(oldest=Min("next_attempt_at"))["oldest"]
    if oldest is None or now - oldest < DUE_WARNING:
        yield Finding("deliveries", Severity.FINE, "No webhooks are late.")
        return
    severity = Severity.BROKEN if now - oldest >= DUE_BROKEN else Severity.WARNING
    yield Finding(
        "deliveries",
        severity,
        f"{counted(due.count(), 'webhook is', 'webhooks are')} due, the oldest for {in_words(now - oldest)}.",
        "Check that workers are running, and start more. manage.py deliver_webhooks sends webhooks without Celery.",
    )


def _pending(now: datetime) -> Iterator[Finding]:
    unanswered = Transaction.objects.unanswered().filter(created_at__lte=now - PENDING_WARNING)
    oldest = unanswered.aggregate(oldest=Min("created_at"))["oldest"]
    if oldest is not None:
        yield Finding(
            "pending",
            Severity.WARNING,
            f"{counted(unanswered.count(), 'transaction is waiting for its rail', 'transactions are waiting for their rail')}, the oldest for {in_words(now - oldest)}.",
            "Run manage.py requery_pending, and ask the acquirer or bank about those that remain.",
        )
    operations = CardOperation.objects.unanswered().filter(created_at__lte=now - PENDING_WARNING)
    oldest_operation = operations.aggregate(oldest=Min("created_at"))["oldest"]
    if oldest_operation is not None:
        yield Finding(
            "pending",
            Severity.WARNING,
            f"{counted(operations.count(), 'capture, void or refund has', 'captures, voids and refunds have')} no response, the oldest for "
            f"{in_words(now - oldest_operation)}.",
            "Ask the acquirer about them, and resolve them in the admin.",
        )
    overdue = Transaction.objects.overdue(at=now - OVERDUE_WARNING).count()
    if overdue:
        yield Finding(
            "pending",
            Severity.WARNING,
            f"{counted(overdue, 'challenge or authorisation is', 'challenges or authorisations are')} overdue.",
            "Run manage.py expire_due, and check that beat is running.",
        )
    messages = ProviderMessage.objects.overdue(since=now - PENDING_WARNING)
    unanswered_messages = messages.count()
    if unanswered_messages:
        yield Finding(
            "pending",
            Severity.WARNING,
            f"{counted(unanswered_messages, 'message to the account provider has', 'messages to the account provider have')} no response.",
            "See the errors in the Provider messages list of the admin, and ask the provider.",
        )
    if not (oldest or oldest_operation or overdue or unanswered_messages):
        yield Finding("pending", Severity.FINE, "Nothing has been waiting for too long.")


def _accounts(_now: datetime) -> Iterator[Finding]:
    """Find orders that wait for an account which their connector isn't configured for now."""
    for (name, account), count in accounts.waiting().items():
        yield Finding(
            "accounts",
            Severity.WARNING,
            f"{counted(count, 'order waits', 'orders wait')} for {account}, and {name} is configured for another account.",
            "Set the connector's settings back until they are answered, or have two people declare in the admin that the "
            "configured account is the same one.",
        )


def _blocks(now: datetime) -> Iterator[Finding]:
    """Find accounts at banks and acquirers that refuse orders for a fault of ours."""
    blocks = list(RailBlock.objects.order_by("since"))
    for block in blocks:
        orders = "card payments" if block.rail == ACQUIRER else "payouts"
        held = (
            f"all {orders}"
            if block.amount is None
            else f"{orders} from {money(block.amount, block.currency)}"
        )
        yield Finding(
            "blocked banks",
            Severity.BROKEN,
            f"{block.account} has refused {held} for {in_words(now - block.since)}: {block.reason}",
            "Repair it there. The next probe, within a minute, or Unblock in the administration's Rail blocks ends the block.",
        )
    if not blocks:
        yield Finding(
            "blocked banks", Severity.FINE, "No bank or acquirer refuses orders for a fault of ours."
        )


def _ledger(_now: datetime) -> Iterator[Finding]:
    unbalanced = drift()
    if unbalanced:
        yield Finding(
            "ledger",
            Severity.BROKEN,
            f"{counted(unbalanced, 'business and currency has', 'businesses and currencies have')} accounts that do not sum to zero.",
            "Run manage.py check_ledger to find the rows. Correct them with new entries, never by changing rows.",
        )
    else:
        yield Finding(
            "ledger", Severity.FINE, "Accounts sum to zero. manage.py check_ledger checks every row."
        )


def _card_numbers(now: datetime) -> Iterator[Finding]:
    stopped = idempotency.guesses_stopped(since=now - timedelta(days=1))
    if stopped:
        references = counted(stopped, "reference was", "references were")
        yield Finding(
            "card numbers",
            Severity.WARNING,
            f"In the last 24 hours {references} used with 5 cards that differ from the stored card.",
            f"Search the audit trail for {idempotency.GUESSES_STOPPED}. Ask the business. If it didn't send these "
            "requests, revoke its API keys.",
        )
    else:
        yield Finding("card numbers", Severity.FINE, "No card numbers were guessed in the last 24 hours.")


def _search(now: datetime) -> Iterator[Finding]:
    lag = indexer.lag(now=now)
    if lag < SEARCH_WARNING:
        yield Finding("search", Severity.FINE, "The dashboard's search is up to date.")
        return
    yield Finding(
        "search",
        Severity.WARNING,
        f"The dashboard's search is {in_words(lag)} behind.",
        "Check that workers and the schedule are running. manage.py rebuild_search indexes everything now.",
    )


_NEED_THE_DATABASE = (
    _migrations,
    _triggers,
    _field_keys,
    _clock,
    _standby,
    _worker,
    _deliveries,
    _pending,
    _accounts,
    _blocks,
    _ledger,
    _card_numbers,
    _search,
)

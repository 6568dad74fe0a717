"""Metrics for Prometheus: counters of the processes of this host, and current figures from the database.

With several processes (gunicorn's workers), each writes to a folder that `config/runtime/gunicorn.py` creates at every
start, and any of them can report for all.
"""

import os
from collections.abc import Iterable, Iterator
from datetime import timedelta

from django.db import DatabaseError, connection
from django.db.models import Min, Sum
from django.utils import timezone
from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Metric,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from config.models import last_beat
from connectors.models import ProviderEvent
from dashboard.search import indexer
from kit.db import clock, postgresql
from ledger.models import Account
from operations.commit_waits import longest_commit_wait
from payments import trace_numbers
from payments.models import CardOperation, RailBlock, Transaction
from payments.services.links import link_uses
from payments.services.replays import idempotency
from webhooks.models import Delivery

COUNTED = 100_000  # counting stops here, because an exact count of a long backlog is slow


def exposition() -> bytes:
    """Return all metrics in Prometheus's text format."""
    return generate_latest(counted()) + generate_latest(_asked())


def counted() -> CollectorRegistry:
    """Return the counters of all processes that share the folder, or of this process without a folder."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return registry


def of_worker() -> CollectorRegistry:
    """Return the counters of a worker, and the one figure from the database that web hosts can't always report."""
    registry = CollectorRegistry()
    registry.register(counted())
    registry.register(CommitWaitCollector())
    return registry


def _asked() -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(DatabaseCollector())
    return registry


class DatabaseCollector(Collector):
    """Figures queried from the database. If it is unavailable, only that is reported."""

    def describe(self) -> Iterable[Metric]:
        """Return nothing, because registering must not query the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        try:
            found = [
                *_deliveries(),
                *_transactions(),
                *_provider_events(),
                *_rails(),
                *_workers(),
                *_ledger(),
                *_card_numbers(),
                *_payment_links(),
                *_search(),
                *_trace_numbers(),
                *_connections(),
                _commit_wait(),
            ]
        except DatabaseError:
            found = []
        yield GaugeMetricFamily("sluice_database_up", "Whether the database answers.", value=bool(found))
        yield from found


def _deliveries() -> Iterator[Metric]:
    now = timezone.now()
    due = Delivery.objects.due(at=now).without_tests()
    oldest = due.aggregate(oldest=Min("next_attempt_at"))["oldest"]
    yield GaugeMetricFamily(
        "sluice_deliveries_due", "Deliveries that should be sent now.", value=due[:COUNTED].count()
    )
    yield GaugeMetricFamily(
        "sluice_oldest_due_delivery_seconds",
        "How long the oldest of them has been due.",
        value=(now - oldest).total_seconds() if oldest else 0,
    )


def _transactions() -> Iterator[Metric]:
    now = timezone.now()
    unanswered = Transaction.objects.unanswered()
    operations = CardOperation.objects.unanswered()
    moments = [found.aggregate(oldest=Min("created_at"))["oldest"] for found in (unanswered, operations)]
    oldest = min(filter(None, moments), default=None)
    yield GaugeMetricFamily(
        "sluice_unanswered_operations",
        "Captures, voids and refunds whose acquirer has not answered.",
        value=operations[:COUNTED].count(),
    )
    yield GaugeMetricFamily(
        "sluice_unanswered_transactions",
        "Transactions whose outcome at the rail is unknown.",
        value=unanswered[:COUNTED].count(),
    )
    yield GaugeMetricFamily(
        "sluice_oldest_unanswered_seconds",
        "How long ago the oldest transaction or operation without an answer was made.",
        value=(now - oldest).total_seconds() if oldest else 0,
    )
    yield GaugeMetricFamily(
        "sluice_overdue_transactions",
        "Challenges and authorisations that have expired and were not ended yet.",
        value=Transaction.objects.overdue(at=now)[:COUNTED].count(),
    )


def _provider_events() -> Iterator[Metric]:
    now = timezone.now()
    oldest = ProviderEvent.objects.due(at=now).aggregate(oldest=Min("next_attempt_at"))["oldest"]
    yield GaugeMetricFamily(
        "sluice_oldest_due_provider_event_seconds",
        "How long the oldest event of a provider that should be processed now has been due.",
        value=(now - oldest).total_seconds() if oldest else 0,
    )


def _rails() -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "sluice_rail_blocks",
        "Blocks of accounts at banks and acquirers that refuse orders for a fault of ours.",
        value=RailBlock.objects.count(),
    )


def _workers() -> Iterator[Metric]:
    beat = last_beat()
    if beat is not None:
        yield GaugeMetricFamily(
            "sluice_worker_heartbeat_age_seconds",
            "Since a worker did what the schedule asked for.",
            value=(timezone.now() - beat).total_seconds(),
        )


def _ledger() -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "sluice_ledger_drift",
        "Businesses and currencies whose accounts do not sum to zero.",
        value=drift(),
    )


def drift() -> int:
    """Return the number of pairs of business and currency whose accounts don't sum to zero."""
    sums = Account.objects.order_by().values("business", "currency").annotate(sum=Sum("balance"))
    return int(sums.exclude(sum=0).count())


def _card_numbers() -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "sluice_card_number_guesses_stopped",
        "References that reached the limit of differing cards in the last 24 hours. They are no longer compared with any card.",
        value=idempotency.guesses_stopped(since=timezone.now() - timedelta(days=1)),
    )


def _payment_links() -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "sluice_link_uses_held",
        "Uses of payment links that pending payments hold.",
        value=link_uses.held(most=COUNTED),
    )


def _search() -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "sluice_search_lag_seconds",
        "Age of the oldest object that the dashboard's search doesn't find yet.",
        value=indexer.lag(now=timezone.now()).total_seconds(),
    )


def _trace_numbers() -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "sluice_trace_numbers_left",
        "Trace numbers of messages to acquirers that can still be reserved in this hour.",
        value=trace_numbers.left(now=clock.now()),
    )


def _connections() -> Iterator[Metric]:
    by_state = postgresql.rows(
        "SELECT coalesce(state, 'other'), count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() GROUP BY 1"
    )
    if not by_state:  # SQLite has no connections
        return
    [(limit,)] = postgresql.rows("SELECT current_setting('max_connections')::int")
    family = GaugeMetricFamily(
        "sluice_database_connections", "Connections to the database, by state.", labels=["state"]
    )
    for state, count in by_state:
        family.add_metric([state], count)
    yield family
    yield GaugeMetricFamily("sluice_database_connections_limit", "As many as the server takes.", value=limit)


def _commit_wait() -> Metric:
    return GaugeMetricFamily(
        "sluice_longest_commit_wait_seconds",
        "How long the oldest commit that waits for a synchronous standby has waited.",
        value=longest_commit_wait(),
    )


class CommitWaitCollector(Collector):
    """How long commits wait. While they do, all threads of a web host may wait too, and none answers Prometheus."""

    def describe(self) -> Iterable[Metric]:
        """Return nothing, because registering must not query the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        try:
            yield _commit_wait()
        except DatabaseError:
            return  # web hosts report it
        finally:
            connection.close()  # each answer to Prometheus has a thread of its own

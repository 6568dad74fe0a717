"""A payer's PIN and one-time codes reach the acquirer and nothing else: no row, log, trace, cache or answer."""

import os
import re
from unittest.mock import patch

import pytest
import redis
from django.apps import apps
from django.conf import settings as configured
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import Client
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from config.logging import instrumentation
from payments.models import Transaction
from payments.rails.protocol import ActionKind
from tests import orders
from tests.scripted_acquirer import LOST, asks, ends, use_scripted_acquirer
from tests.webhooks.rows import make_endpoint

pytestmark = pytest.mark.django_db

SECRETS = {
    ActionKind.PIN: {"pin": "730159"},
    ActionKind.OTP: {"code": "QZKXWVBNMT"},
    ActionKind.PHONE: {"phone": "08087654321"},
    ActionKind.BIRTHDAY: {"birthday": "1987-02-19"},
}
TOLD = re.compile("|".join(rf"\b{text}\b" for fields in SECRETS.values() for text in fields.values()))


@pytest.fixture
def acquirer(settings):
    return use_scripted_acquirer(settings)


@pytest.fixture
def spans():
    """Return a function that returns the spans as they left the process."""
    exporter = InMemorySpanExporter()
    provider, instrumentor = instrumentation.provider_of(exporter), DjangoInstrumentor()
    with patch.dict(os.environ, {"OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST": ".*"}):
        instrumentor.instrument(tracer_provider=provider)

    def exported():
        provider.force_flush()
        return "\n".join(span.to_json() for span in exporter.get_finished_spans())

    yield exported
    instrumentor.uninstrument()
    provider.shutdown()


@pytest.fixture
def logged(ada, caplog, capfd):
    """Return a function that returns everything that was logged, also about deliveries of events."""
    make_endpoint(business=ada.business)

    def text():
        output = capfd.readouterr()
        records = [vars(record) for record in caplog.records]
        return f"{caplog.text}{output.out}{output.err}{records}"

    return text


def stored():
    """Return the text of every table."""
    tables = {model._meta.db_table for model in apps.get_models()}
    with connection.cursor() as cursor:
        rows = []
        for table in sorted(tables & set(connection.introspection.table_names())):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608
            rows += cursor.fetchall()
    return repr(rows)


def cached():
    """Return everything in the cache."""
    if not configured.REDIS_URL:
        return repr(cache._cache)
    server = redis.Redis.from_url(configured.CACHES["default"]["LOCATION"])
    return repr([(key, server.dump(key)) for key in server.scan_iter()])


@pytest.mark.parametrize("kind", SECRETS)
def test_leave_no_trace(api, acquirer, spans, logged, kind):
    fields = SECRETS[kind]
    told = next(iter(fields.values()))
    acquirer.answers("authorise", *[asks(kind)] * 2)
    acquirer.answers("answer_action", asks(kind), RuntimeError(f"not understood: {fields}"), LOST)
    acquirer.answers("query", ends(), ends())
    payer, pages = Client(headers={"Accept": "text/html"}), []

    for _ in range(2):
        link = api.post("/api/payments", orders.card_payment()).json()["redirect_link"]
        for _ in range(2):
            page = payer.post(link, {"action": "approve", "kind": kind, **fields}, follow=True)
            pages.append(f"{page.redirect_chain} {page.content.decode()} {page.cookies}")
    call_command("requery_pending")

    assert len(acquirer.calls_of("answer_action")) == 3
    assert all(told in call.value.values() for call in acquirer.calls_of("answer_action"))
    assert {payment.status for payment in Transaction.objects.all()} == {"success"}
    places = {
        "rows": stored(),
        "cache": cached(),
        "spans": spans(),
        "log": logged(),
        "pages": repr(pages),
    }
    assert {name: TOLD.findall(text) for name, text in places.items()} == {place: [] for place in places}
    assert "input not answered" in places["log"]
    assert "POST" in places["spans"]

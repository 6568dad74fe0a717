"""Traces are enabled by an endpoint, and are masked like log lines before they leave the process."""

import os
import sys
from unittest.mock import patch

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from config.logging import instrumentation, tracing
from config.logging.secret_places import SECRET_PLACES

CARD = "4084080000005408"


@pytest.fixture(autouse=True)
def _environment():
    with patch.dict(os.environ):
        yield


class TestStart:
    def test_needs_no_package_without_an_endpoint(self, settings):
        settings.TRACES_ENDPOINT = ""

        with patch.dict(sys.modules, {"opentelemetry": None}):  # importing it fails
            tracing.start()

        assert "OTEL_SERVICE_NAME" not in os.environ

    def test_explains_how_to_install_the_packages_that_an_endpoint_needs(self, settings):
        settings.TRACES_ENDPOINT = "http://127.0.0.1:4318"

        with (
            patch.dict(sys.modules, {"opentelemetry": None, "config.logging.instrumentation": None}),
            pytest.raises(ImproperlyConfigured, match="uv sync --extra otel"),
        ):
            tracing.start()

    @pytest.mark.parametrize("configured", [None, "/admin/"])
    def test_omits_urls_that_are_credentials_unless_configured_otherwise(self, settings, configured):
        settings.TRACES_ENDPOINT = "http://127.0.0.1:4318"
        if configured:
            os.environ["OTEL_PYTHON_DJANGO_EXCLUDED_URLS"] = configured

        with patch.object(instrumentation, "instrument"):
            tracing.start()

        left_out = set(os.environ["OTEL_PYTHON_DJANGO_EXCLUDED_URLS"].split(","))
        assert left_out == {configured} if configured else set(SECRET_PLACES) <= left_out


@pytest.fixture
def traced():
    """Return a function that makes a request, and returns its spans as they left the process."""
    exporter = InMemorySpanExporter()
    provider = instrumentation.provider_of(exporter)
    os.environ["OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST"] = ".*"
    os.environ["OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_RESPONSE"] = ".*"
    # Spans with the names of the older conventions, and with those of the stable ones
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "http/dup"
    instrumentor = DjangoInstrumentor()
    instrumentor.instrument(tracer_provider=provider)

    def spans(target, **headers):
        Client().get(target, headers=headers, RAW_URI=target)  # as gunicorn sets it
        provider.force_flush()
        return exporter.get_finished_spans()

    try:
        yield spans
    finally:
        instrumentor.uninstrument()
        provider.shutdown()


def text_of(spans):
    return "\n".join(span.to_json() for span in spans)


@pytest.mark.django_db
class TestSpans:
    def test_have_route_path_method_and_status(self, traced):
        (span,) = traced("/api/banks?page=2")

        assert span.name == "GET api/banks"
        assert span.attributes["http.route"] == "api/banks"
        assert (span.attributes["http.target"], span.attributes["url.path"]) == ("/api/banks", "/api/banks")
        assert (span.attributes["http.method"], span.attributes["http.status_code"]) == ("GET", 401)

    @pytest.mark.parametrize(
        "target",
        [
            f"/api/payments/{CARD}",
            "/api/payments/4084%200800%200000%205408",
            f"/admin/payments/transaction/?q={CARD}",
            "/admin/payments/transaction/?q=ada%40example.com",
            "/dashboard/login/?next=%2Fdashboard%2Finvitation%2Ftok-5408",
            "/dashboard/invitation/tok-5408/",
            "/%33ds/tok-5408",
            "/l/tok-5408",
        ],
    )
    def test_contain_no_card_number_search_address_or_token(self, traced, target):
        spans = traced(target, **{"Referer": f"https://sluice.test{target}", "X-Note": "tok-5408"})

        assert spans
        for secret in (CARD, "4084 0800", "4084%20", "ada@", "ada%40", "tok-5408", "next="):
            assert secret not in text_of(spans)

    def test_name_an_exception_without_its_text(self):
        exporter = InMemorySpanExporter()
        provider = instrumentation.provider_of(exporter)
        boom = ValueError(f"No route for {CARD} of ada@example.com to /checkout/tok-5408")

        with pytest.raises(ValueError, match="No route"):
            self.raise_in_a_span(provider, boom)

        provider.shutdown()
        (span,) = exporter.get_finished_spans()
        assert span.status.status_code.name == "ERROR"
        assert span.events[0].attributes == {"exception.type": "ValueError"}
        assert "No route" not in span.to_json()

    @staticmethod
    def raise_in_a_span(provider, error):
        with provider.get_tracer("tests").start_as_current_span("GET api/banks"):
            raise error

    def test_do_not_repeat_what_a_caller_sends_as_trace_state(self, traced):
        parent = f"00-{'1' * 32}-{'2' * 16}-01"

        (span,) = traced("/api/banks", traceparent=parent, tracestate=f"shop={CARD}")

        assert span.parent.trace_id == int("1" * 32, 16)
        assert not span.context.trace_state
        assert not span.parent.trace_state

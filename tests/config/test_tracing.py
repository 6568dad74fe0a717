"""Traces are enabled by an endpoint and omit URLs that are credentials."""

import os
import sys
from types import ModuleType
from unittest.mock import MagicMock, patch

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import log_masking, tracing

MODULES = (
    "opentelemetry",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.instrumentation.celery",
    "opentelemetry.instrumentation.django",
    "opentelemetry.sdk.trace",
    "opentelemetry.sdk.trace.export",
)


@pytest.fixture(autouse=True)
def _environment():
    with patch.dict(os.environ):
        yield


@pytest.fixture
def packages():
    """Fakes of the packages that record their calls."""
    standins = {name: MagicMock(spec=ModuleType, name=name) for name in MODULES}
    standins["opentelemetry"].trace = MagicMock()
    standins["opentelemetry.exporter.otlp.proto.http.trace_exporter"].OTLPSpanExporter = MagicMock()
    standins["opentelemetry.instrumentation.celery"].CeleryInstrumentor = MagicMock()
    standins["opentelemetry.instrumentation.django"].DjangoInstrumentor = MagicMock()
    standins["opentelemetry.sdk.trace"].TracerProvider = MagicMock()
    standins["opentelemetry.sdk.trace.export"].BatchSpanProcessor = MagicMock()
    with patch.dict(sys.modules, standins):
        yield standins


class TestTracing:
    def test_needs_no_package_without_an_endpoint(self, settings):
        settings.TRACES_ENDPOINT = ""

        with patch.dict(sys.modules, {"opentelemetry": None}):  # importing it fails
            tracing.start()

        assert "OTEL_SERVICE_NAME" not in os.environ

    def test_explains_how_to_install_the_packages_that_an_endpoint_needs(self, settings):
        settings.TRACES_ENDPOINT = "http://127.0.0.1:4318"

        with (
            patch.dict(sys.modules, {"opentelemetry": None}),
            pytest.raises(ImproperlyConfigured, match="uv sync --extra otel"),
        ):
            tracing.start()

    def test_traces_requests_and_tasks(self, settings, packages):
        settings.TRACES_ENDPOINT = "http://127.0.0.1:4318"

        tracing.start()

        provider = packages["opentelemetry.sdk.trace"].TracerProvider.return_value
        packages["opentelemetry"].trace.set_tracer_provider.assert_called_once_with(provider)
        provider.add_span_processor.assert_called_once()
        for name, instrumentor in (("django", "DjangoInstrumentor"), ("celery", "CeleryInstrumentor")):
            made = getattr(packages[f"opentelemetry.instrumentation.{name}"], instrumentor).return_value
            made.instrument.assert_called_once_with()

    def test_omits_urls_that_are_credentials(self, settings, packages):
        settings.TRACES_ENDPOINT = "http://127.0.0.1:4318"

        tracing.start()

        left_out = os.environ["OTEL_PYTHON_DJANGO_EXCLUDED_URLS"].split(",")
        assert {*log_masking.SECRET_PLACES, "/pay/"} <= set(left_out)

    def test_omits_the_urls_that_the_operator_configures(self, settings, packages):
        settings.TRACES_ENDPOINT = "http://127.0.0.1:4318"
        os.environ["OTEL_PYTHON_DJANGO_EXCLUDED_URLS"] = "/admin/"

        tracing.start()

        assert os.environ["OTEL_PYTHON_DJANGO_EXCLUDED_URLS"] == "/admin/"

"""OpenTelemetry traces, if an endpoint is set (`uv sync --extra otel`). Otherwise nothing is imported.

Traces of requests have route, method and status. SQL statements are not traced, because the library would replace the
cursors that keep values separate from statements.
"""

import os

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

UNTRACED = (
    # The URLs of these pages are credentials, so traces don't contain them.
    "/3ds/",
    "/pay/",
    "/dashboard/invitation/",
    "/dashboard/login/new-password/",
    # Polled by machines every few seconds.
    "/livez",
    "/readyz",
    "/metrics",
)


def start() -> None:
    """Trace this process's requests and tasks. Call this before creating the application.

    :raises ImproperlyConfigured: an endpoint is set but the packages are not installed
    """
    if not settings.TRACES_ENDPOINT:
        return
    os.environ.setdefault("OTEL_PYTHON_DJANGO_EXCLUDED_URLS", ",".join(UNTRACED))
    os.environ.setdefault("OTEL_SERVICE_NAME", "sluice")
    try:
        # Imported here, because these packages are optional.
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.instrumentation.celery import CeleryInstrumentor  # noqa: PLC0415
        from opentelemetry.instrumentation.django import DjangoInstrumentor  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise ImproperlyConfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but its packages are missing: uv sync --extra otel"
        ) from error
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    DjangoInstrumentor().instrument()
    CeleryInstrumentor().instrument()

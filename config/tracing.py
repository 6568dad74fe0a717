"""Traces by OpenTelemetry, where an endpoint is set: `uv sync --extra otel`. Otherwise nothing is imported.

What a request says of itself is its route, method and status. Statements are not traced: the library would
take the place of the cursors that keep values apart from them.
"""

import os

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

UNTRACED = (
    # Who knows the address of such a page may see it, or act on it: it stays out of traces.
    "/3ds/",
    "/pay/",
    "/dashboard/invitation/",
    "/dashboard/login/new-password/",
    # Machines ask these every few seconds.
    "/livez",
    "/readyz",
    "/metrics",
)


def start() -> None:
    """Trace this process's requests and tasks. Call it before the application is made.

    :raises ImproperlyConfigured: an endpoint is set, and the packages are not installed
    """
    if not settings.TRACES_ENDPOINT:
        return
    os.environ.setdefault("OTEL_PYTHON_DJANGO_EXCLUDED_URLS", ",".join(UNTRACED))
    os.environ.setdefault("OTEL_SERVICE_NAME", "sluice")
    try:
        # Only here: who does not trace does not need these packages.
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.instrumentation.celery import CeleryInstrumentor  # noqa: PLC0415
        from opentelemetry.instrumentation.django import DjangoInstrumentor  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as error:
        raise ImproperlyConfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, and its packages are missing: uv sync --extra otel"
        ) from error
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    DjangoInstrumentor().instrument()
    CeleryInstrumentor().instrument()

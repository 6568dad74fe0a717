"""OpenTelemetry traces, if an endpoint is set (`uv sync --extra otel`). Otherwise nothing is imported.

Traces of requests have route, path without query, method and status; those of exceptions, their type. SQL statements are not traced, because the library would replace the
cursors that keep values separate from statements.
"""

import os

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from config.logging.secret_places import SECRET_PLACES

UNTRACED = (
    *SECRET_PLACES,  # `config.logging.instrumentation` masks them too, for an operator who traces these pages
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
        instrument = import_string("config.logging.instrumentation.instrument")  # its packages are optional
    except ImportError as error:
        raise ImproperlyConfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but its packages are missing: uv sync --extra otel"
        ) from error
    instrument()

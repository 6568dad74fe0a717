"""Sends traces with OpenTelemetry. Importing this needs the packages of `uv sync --extra otel`: see `config.logging.tracing`.

The libraries put whole URLs, headers and texts of exceptions into spans. Only attributes that are named here leave the
process, and they are masked as log lines are.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, Status

from config.logging.secret_places import without_credential
from kit.text.masking import mask_card_numbers

PATHS = {"http.target", "url.path"}
# Names of the semantic conventions, older and stable ones. Left out: queries and whole URLs, which hold searches, e-mail
# addresses and invitations; headers; addresses of clients; SQL; messages and tracebacks of exceptions, which the log has.
KEPT = PATHS | {
    "celery.action", "celery.state", "celery.task_name", "error.type", "exception.type", "http.flavor", "http.method",
    "http.request.method", "http.response.status_code", "http.route", "http.scheme", "http.status_code",
    "messaging.destination", "messaging.destination.name", "messaging.message.id", "messaging.operation",
    "network.protocol.version", "url.scheme",
}  # fmt: skip


class MaskingExporter(SpanExporter):  # type: ignore[misc, unused-ignore]
    """Passes masked copies of spans on to another exporter."""

    def __init__(self, exporter: SpanExporter) -> None:
        self.exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self.exporter.export([_masked(span) for span in spans])

    def shutdown(self) -> None:
        self.exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return bool(self.exporter.force_flush(timeout_millis))


def instrument() -> None:
    """Trace this process's requests and tasks."""
    provider = provider_of(OTLPSpanExporter())
    trace.set_tracer_provider(provider)
    DjangoInstrumentor().instrument()
    CeleryInstrumentor().instrument()  # type: ignore[no-untyped-call, unused-ignore]


def provider_of(exporter: SpanExporter) -> TracerProvider:
    """Return a provider whose spans are masked before the exporter gets them."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(MaskingExporter(exporter)))
    return provider


def _masked(span: ReadableSpan) -> ReadableSpan:
    """Return a copy without the caller's trace state, links, and descriptions of errors."""
    return ReadableSpan(
        name=mask_card_numbers(without_credential(span.name)),
        context=_without_state(span.context),
        parent=_without_state(span.parent),
        resource=span.resource,
        attributes=_kept(span.attributes),
        events=[Event(event.name, _kept(event.attributes), event.timestamp) for event in span.events],
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _without_state(context: SpanContext | None) -> SpanContext | None:
    if context is None:
        return None
    return SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags)


def _kept(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in (attributes or {}).items() if name in KEPT}


def _value(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name in PATHS:
        path, _, _ = value.partition("?")
        value = without_credential(unquote(path))
    return mask_card_numbers(value)

"""Metrics of the webhooks of providers."""

from prometheus_client import Counter

WEBHOOKS = Counter(
    "sluice_provider_webhooks_total",
    "Requests to the webhook address of a configured provider, by result: stored, repeated, or why it was refused.",
    ["provider", "result"],
)
EVENTS = Counter(
    "sluice_provider_events_total",
    "Processed events of providers, by result.",
    ["provider", "result"],
)

"""Metrics of deliveries, recorded by the dispatcher in the process that sends."""

from prometheus_client import Counter, Histogram

ATTEMPTS = Counter(
    "sluice_delivery_attempts_total",
    "Attempts at deliveries: delivered, or the class of what went wrong.",
    ["result"],
)
ATTEMPT_SECONDS = Histogram(
    "sluice_delivery_attempt_duration_seconds",
    "From the look-up of the endpoint's name to the end of its answer's headers.",
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
LEASES_LOST = Counter(
    "sluice_leases_lost_total",
    "Results that came after their lease had ended: the delivery may have been sent twice.",
)

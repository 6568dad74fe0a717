"""Metrics of payments, payouts and card checks."""

from prometheus_client import Counter

OUTCOMES = Counter(
    "sluice_outcomes_total",
    "Transactions that got their terminal status, by response code.",
    ["request_type", "payment_method", "code"],
)

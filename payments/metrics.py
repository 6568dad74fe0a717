"""Metrics of payments, payouts, card checks and payment links."""

from prometheus_client import Counter

OUTCOMES = Counter(
    "sluice_outcomes_total",
    "Transactions that got their terminal status, by response code.",
    ["request_type", "payment_method", "code"],
)
CHECKOUT_STEPS = Counter(
    "sluice_checkout_steps_total",
    "Steps of payers at payment links: opened, started, attempted, paid, or declined (a card that failed).",
    ["step"],
)
CHECKOUT_REFUSALS = Counter(
    "sluice_checkout_refusals_total",
    "Requests of payers that a limit refused, by rule.",
    ["rule"],
)

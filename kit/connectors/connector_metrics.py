"""Metrics of calls to acquirers, banks and account providers."""

import time
from collections.abc import Callable
from typing import Any

from prometheus_client import Counter, Gauge, Histogram

RAIL_SECONDS = Histogram(
    "sluice_rail_duration_seconds",
    "Calls to a connector, by result: answered, or the name of the exception.",
    ["connector", "call", "result"],
    buckets=(0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
BREAKERS_OPEN = Gauge(
    "sluice_rail_breakers_open",
    "Circuit breakers that are open: a process makes no calls of a rail to a provider, which doesn't answer or refuses the account.",
    ["connector"],
    multiprocess_mode="livesum",
)
TOKEN_WAIT_SECONDS = Histogram(
    "sluice_rail_token_wait_seconds",
    "Waits for a provider's rate limit, of calls for payments and of queries.",
    ["connector", "call"],
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5),
)
RAIL_DIFFERENCES = Counter(
    "sluice_rail_differences_total",
    "Answers of a rail about an order of ours with other values, such as another amount. None is a success.",
    ["connector"],
)


class Timed:
    """A proxy of a connector that measures the duration of its calls."""

    def __init__(self, connector: object) -> None:
        self._connector = connector

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._connector, name)
        if callable(value):
            value = _timed(value, connector=type(self._connector).__name__, call_name=name)
            setattr(self, name, value)  # cached for the next call
        return value


def _timed(call: Callable[..., Any], *, connector: str, call_name: str) -> Callable[..., Any]:
    answered = RAIL_SECONDS.labels(connector, call_name, "answered")

    def timed(*arguments: Any, **named: Any) -> Any:
        started = time.perf_counter()
        try:
            answer = call(*arguments, **named)
        except Exception as error:
            RAIL_SECONDS.labels(connector, call_name, type(error).__name__).observe(
                time.perf_counter() - started
            )
            raise
        answered.observe(time.perf_counter() - started)
        return answer

    return timed

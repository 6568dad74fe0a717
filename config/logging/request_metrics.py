"""Metrics of HTTP requests: durations by route, and problem documents by code."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from prometheus_client import Counter, Histogram, disable_created_metrics

disable_created_metrics()  # they double the number of lines

REQUEST_SECONDS = Histogram(
    "sluice_request_duration_seconds",
    "Answered requests.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
PROBLEMS_SENT = Counter("sluice_problems_total", "Errors that the API answered with, by code.", ["code"])

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def count_request(request: HttpRequest, response: HttpResponseBase, *, seconds: float) -> None:
    """Count a request by its route. All unknown paths share one."""
    match = request.resolver_match
    method = request.method if request.method in METHODS else "other"
    route = f"/{match.route}" if match else "none"
    REQUEST_SECONDS.labels(method, route, response.status_code).observe(seconds)

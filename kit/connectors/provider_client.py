"""What the clients of providers have in common: deadlines, and calls that a circuit breaker counts. Decisions 0085 and 0091."""

import time
from http import HTTPStatus

from kit.connectors.circuit_breaker import CircuitBreaker
from kit.connectors.http_client import HttpAnswer, HttpClient, HttpRequest, NoAnswer, NoRoom

OUR_FAULT = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


class Deadline:
    """The end of everything that one order or query may take. The calls of a query leave part of the rate limit to payments."""

    def __init__(self, seconds: float, *, of_query: bool = False) -> None:
        self._end = time.monotonic() + seconds
        self.of_query = of_query

    @property
    def left(self) -> float:
        return max(self._end - time.monotonic(), 0.0)


class ProviderClient:
    """Calls one account at a provider. Thread-safe.

    `harmless` is a call that changes nothing. The circuit breaker makes it to find out whether the provider answers again.
    """

    def __init__(self, connector: str, *, harmless: HttpRequest, timeout: float, ca_file: str) -> None:
        self.breaker = CircuitBreaker(connector, probe=self._is_accepted)
        self._http = HttpClient(ca_file=ca_file)
        self._harmless, self._timeout = harmless, timeout

    def deadline(self, *, of_query: bool = False) -> Deadline:
        """Return the end of an order or query that begins now."""
        return Deadline(self._timeout, of_query=of_query)

    def status_of_probe(self) -> int:
        """Make the harmless call, and return the status of its answer. Neither limited nor counted.

        :raises NoAnswer: there is none
        """
        return self._http.call(self._harmless, timeout=self._timeout).status

    def _is_accepted(self) -> bool:
        """Return whether the provider answers and accepts our key and address."""
        try:
            status = self.status_of_probe()
        except NoAnswer:
            return False
        return status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in OUR_FAULT

    def _counted(self, request: HttpRequest, *, timeout: float) -> HttpAnswer:
        """Make a call that the breaker counts.

        :raises NoAnswer: no answer arrived in time
        """
        try:
            answer = self._http.call(request, timeout=timeout)
        except NoRoom:
            raise
        except NoAnswer:
            self.breaker.record(is_answered=False)
            raise
        self.breaker.record(is_answered=answer.status < HTTPStatus.INTERNAL_SERVER_ERROR)
        return answer

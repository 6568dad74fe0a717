"""The statements of one card payment, recorded as the service sends them, as a script for pgbench."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg import sql

from benchmarks.pgbench import choosing
from ledger.account_ids import account_ids
from ledger.models import Account
from merchants.models import ApiKey
from payments.models import Transaction
from tests import orders
from tests.clients import Credentials, InProcessClient

# The accounts of a card payment, under the names that `pgbench.choosing` gives them.
ACCOUNTS = {
    Account.Kind.ACQUIRER_RECEIVABLE: "receivable",
    Account.Kind.PENDING_SETTLEMENT: "pending",
    Account.Kind.FEES: "fees",
}

Values = Sequence[Any] | Mapping[str, Any]


@dataclass
class Recorder:
    """Records statements with their values, and where database transactions begin and end."""

    statements: list[tuple[str, Values]] = field(default_factory=list)
    _block: object = None  # the outermost atomic block of the last statement

    def __call__(self, execute: Any, statement: str, values: Any, *others: Any) -> Any:
        self._enter(connection.atomic_blocks[0] if connection.in_atomic_block else None)
        self.statements.append((statement, values or ()))
        return execute(statement, values, *others)

    def close(self) -> None:
        self._enter(None)

    def _enter(self, block: object) -> None:
        if block is self._block:
            return
        if self._block is not None:
            self.statements.append(("COMMIT", ()))
        if block is not None:
            self.statements.append(("BEGIN", ()))
        self._block = block


@dataclass
class Stopwatch:
    """Measures how long the last statement took, in milliseconds."""

    milliseconds: float = 0

    def __call__(self, execute: Any, *statement: Any) -> Any:
        started = time.perf_counter()
        result = execute(*statement)
        self.milliseconds = (time.perf_counter() - started) * 1_000
        return result


def milliseconds_of_an_outcome(merchant: Credentials, payments: int) -> float:
    """Return the median time in which the outcome of a payment is stored and committed, over one connection."""
    client, stopwatch = InProcessClient(merchant), Stopwatch()
    _pay(client)  # fills the caches
    taken = []
    with connection.execute_wrapper(stopwatch):
        for _ in range(payments):
            _pay(client)
            taken.append(stopwatch.milliseconds)
    return median(taken)


class Replay:
    """A payment made in this process, whose statements can be replayed for some of these merchants.

    Each of them must have made a payment before, so that its ledger accounts exist.
    """

    def __init__(self, merchants: Sequence[Credentials]) -> None:
        keys = [ApiKey.objects.get(public_id=merchant.api_key) for merchant in merchants]
        self._businesses = [key.business_id for key in keys]
        self._lines = list(_recorded(merchants[0], business_id=self._businesses[0]))

    def script(self, businesses: int) -> str:
        """Return the statements of a payment of one of the first businesses, chosen at random."""
        connection.ensure_connection()
        chosen = choosing(connection.connection, self._businesses[:businesses])
        new = ", ".join(f"gen_random_uuid() AS {name}" for name in ("id", "reference", "nonce"))
        return "\n".join([chosen, f"SELECT {new} \\gset", *self._lines, ""])


def _recorded(merchant: Credentials, *, business_id: UUID) -> Iterator[str]:
    """Yield the statements of a payment, with variables for what differs from payment to payment."""
    client = InProcessClient(merchant)
    _pay(client)  # fills the caches
    recorder = Recorder()
    with connection.execute_wrapper(recorder):
        reference, nonce = _pay(client)
    recorder.close()
    ids = account_ids(business_id, "NGN")
    variables: dict[Any, str] = {
        Transaction.objects.get(business_id=business_id, reference=reference).pk: "id",
        reference: "reference",
        nonce: "nonce",
        business_id: "business",
        **{ids[kind]: name for kind, name in ACCOUNTS.items()},
    }
    for statement, values in recorder.statements:
        yield _line(statement, values, variables)


def _pay(client: InProcessClient) -> tuple[str, str]:
    """Make a payment; return its reference and the nonce of its request."""
    order = orders.card_payment()
    answer = client.post("/api/payments", order)
    if answer.status_code != 201:
        raise SystemExit(f"The payment was answered with {answer.status_code}: {answer.content!r}")
    return order["reference"], answer.wsgi_request.headers["X-Nonce"]


def _line(statement: str, values: Values, variables: dict[Any, str]) -> str:
    if isinstance(values, Mapping):
        text = statement % {name: _literal(value, variables) for name, value in values.items()}
    else:
        text = statement % tuple(_literal(value, variables) for value in values) if values else statement
    return f"{' '.join(text.split())};"  # on one line, as pgbench reads its own commands


def _literal(value: Any, variables: dict[Any, str]) -> str:
    """Return a value as SQL, or as a variable if it differs from payment to payment."""
    if isinstance(value, list) and value and all(one in variables for one in value):
        return f"ARRAY[{', '.join(':' + variables[one] for one in value)}]"
    if isinstance(value, str | UUID) and value in variables:
        return f":{variables[value]}"
    text = sql.Literal(value).as_string(connection.connection).strip()
    quoted, quote, cast = text.rpartition("'")
    if ":" not in quoted:
        return text
    # pgbench takes what follows a colon for a variable, within a string as well.
    escaped = quoted.replace(":", "\\x3a")
    return f"{'' if quoted.startswith('E') else 'E'}{escaped}{quote}{cast}"

"""A bank that hangs under mixed traffic: how late other tasks start, and when every outcome is known again.

Web, a worker, two re-query workers and beat run as they do in production, with their own database and Redis,
and payouts go to the bank simulator. Each figure is recorded as a distribution; the caller judges.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import psycopg
import requests

from kit.free_ports import free_port
from payments.simulators.bank import BankSimulator
from payments.simulators.fault_injection import ANSWER, Fault, FaultKind
from tests import orders
from tests.clients import Credentials, HttpClient
from tests.faults.processes import Process, Redis, wait_until
from tests.faults.receiver import Receiver, running_receiver
from tests.journeys.service import PROJECT, postgresql_database
from tests.serving import simulator_serving

CLIENT_ID, KEY = "sluice", "shared-key-of-a-test"
BANK_TIMEOUT = 8  # seconds
REQUERY = "payments.requery_due"
SHORTEST_SESSION = 60  # seconds: the API's minimum
WAIT_LIMIT = 120  # seconds for outcomes after the bank recovers
SHOPS = 4
UNANSWERED = (
    "SELECT (SELECT count(*) FROM payments_transaction WHERE awaiting IN ('rail', 'reversal') AND created_at < %(until)s)"
    " + (SELECT count(*) FROM payments_cardoperation WHERE status = 'pending' AND created_at < %(until)s)"
)


@dataclass(frozen=True, slots=True)
class BankCall:
    """A call to the bank about one payout, with the start and end of its caller's wait."""

    reference: str
    began_at: float
    ended_at: float


@dataclass(frozen=True, slots=True)
class Started:
    """A task run, and how long its message was queued."""

    name: str
    published_at: float
    started_at: float

    @property
    def seconds_late(self) -> float:
        return self.started_at - self.published_at


@dataclass
class Report:
    """The measurements of one run, in seconds."""

    calls: Counter[str] = field(default_factory=Counter)  # number of calls, by "payout 201"
    queries: list[BankCall] = field(default_factory=list)
    queries_while_hanging: int = 0
    duplicate_queries: list[str] = field(default_factory=list)
    tasks: list[Started] = field(default_factory=list)
    unknown_when_back: int = 0
    seconds_until_resolved: float = float("inf")
    webhooks_late: list[float] = field(default_factory=list)
    sessions_expired_late: list[float] = field(default_factory=list)
    lost_cards_resolved_after: list[float] = field(default_factory=list)
    payouts_by_status: dict[str, int] = field(default_factory=dict)
    paid_twice: int = 0
    ledger_holds: bool = False

    def lateness(self) -> dict[str, list[float]]:
        """Return how late each task's runs started, except those of requery."""
        found: dict[str, list[float]] = defaultdict(list)
        for task in self.tasks:
            if task.name != REQUERY:
                found[task.name].append(task.seconds_late)
        return found

    def latest(self) -> float:
        return max(late for each in self.lateness().values() for late in each)

    def longest_gap(self, name: str) -> float:
        """Return the longest time between two starts of a task that runs every second."""
        starts = sorted(task.started_at for task in self.tasks if task.name == name)
        return max((later - earlier for earlier, later in pairwise(starts)), default=float("inf"))

    def lines(self) -> Iterator[str]:
        yield f"calls: {dict(sorted(self.calls.items()))}"
        yield f"calls to the bank: {len(self.queries)}, {self.queries_while_hanging} of them while it hung"
        yield f"concurrent queries about one payout: {len(self.duplicate_queries)}"
        for name, late in sorted(self.lateness().items()):
            yield f"{name}: {len(late)} runs, late {spread(late)}"
        yield f"longest time between two runs of expiry: {self.longest_gap('payments.expire_due'):.2f} s"
        yield f"webhooks after their outcomes: {spread(self.webhooks_late)}"
        yield f"sessions ended late: {spread(self.sessions_expired_late)}"
        yield f"card payments with a lost answer known after: {spread(self.lost_cards_resolved_after)}"
        yield f"unknown when the bank was back: {self.unknown_when_back}; all known after {self.seconds_until_resolved:.1f} s"
        yield f"payouts: {self.payouts_by_status}; paid twice: {self.paid_twice}; ledger holds: {self.ledger_holds}"


def spread(seconds: Sequence[float]) -> str:
    if not seconds:
        return "(none)"
    ordered = sorted(seconds)
    p50, p99 = (ordered[min(int(len(ordered) * share), len(ordered) - 1)] for share in (0.5, 0.99))
    return f"p50 {p50:.2f}, p99 {p99:.2f}, most {ordered[-1]:.2f} s ({len(ordered)})"


class HangingBank(BankSimulator):
    """The bank simulator, which can stop answering, and records each call with its caller's wait."""

    def __init__(self) -> None:
        super().__init__(client_id=CLIENT_ID, key=KEY)
        self.queries: list[BankCall] = []
        self.is_hanging = threading.Event()
        self.plan = _Plan(self.is_hanging)  # type: ignore[assignment]
        self.RequestHandlerClass = _recording(self.RequestHandlerClass)


class _Plan:
    """The faults of the next calls: while the bank hangs, it executes the order or not, and answers too late."""

    LATE = BANK_TIMEOUT + 4.0  # seconds: the caller has timed out

    def __init__(self, is_hanging: threading.Event) -> None:
        self._is_hanging = is_hanging
        self._random = random.Random(20261122)

    def __bool__(self) -> bool:
        return self._is_hanging.is_set()

    def popleft(self) -> Fault:
        return (
            Fault(self._random.choice([FaultKind.DELAY, FaultKind.ARRIVE_LATE]), self.LATE)
            if self
            else ANSWER
        )


def _recording(handler: Any) -> Any:
    class Recording(handler):
        def _misbehave(self, fault: Fault, path: str, body: bytes) -> None:
            reference = json.loads(body)["reference"] if body else path.rsplit("/", 1)[-1]
            began_at = time.time()
            try:
                super()._misbehave(fault, path, body)
            finally:
                ended_at = min(time.time(), began_at + BANK_TIMEOUT)
                self.server.queries.append(BankCall(reference, began_at, ended_at))

    return Recording


class Service:
    """All processes and their database."""

    def __init__(self, folder: Path, *, database: str, bank: HangingBank, receiver: Receiver) -> None:
        self.folder, self.bank, self.receiver = folder, bank, receiver
        self.redis = Redis(folder)
        self.database = psycopg.connect(database, autocommit=True)
        port = free_port()
        self.base_url = f"http://127.0.0.1:{port}"
        self.task_log = folder / "tasks.log"
        self.environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "SANDBOX_DATA": str(folder),
            "DATABASE_URL": database,
            "REDIS_URL": f"redis://127.0.0.1:{self.redis.port}/0",
            "PUBLIC_URL": self.base_url,
            "RATE_LIMIT_WRITES": "1000000",
            "RATE_LIMIT_READS": "1000000",
            "LOG_LEVEL": "ERROR",
            "TASK_LOG": str(self.task_log),
            "PAYOUT_BANK": "payments.rails.http_bank.HttpBank",
            "BANK_URL": bank.url,
            "BANK_CLIENT_ID": CLIENT_ID,
            "BANK_SECRET_KEY": KEY,
            "BANK_TIMEOUT": str(BANK_TIMEOUT),
            "WEB_BIND": f"127.0.0.1:{port}",
            "WEB_WORKERS": "1",
            "WEB_THREADS": "32",  # a payout keeps one for as long as the bank hangs
        }
        celery = ("celery", "-A", "tests.faults.measured_celery")
        worker = ("--pool", "threads", "--without-mingle", "--without-gossip", "--loglevel", "WARNING")
        requery = (*celery, "worker", "--queues", "requery", "--concurrency", "2", *worker)
        self.processes = [
            self._process("web", "gunicorn", "-c", "config/runtime/gunicorn.py", "config.wsgi"),
            self._process(
                "worker",
                *celery,
                "worker",
                "--queues",
                "sluice",
                "--concurrency",
                "4",
                *worker,
                "--hostname",
                "one@%h",
            ),
            self._process("requery1", *requery, "--hostname", "requery1@%h"),
            self._process("requery2", *requery, "--hostname", "requery2@%h"),
            self._process("beat", *celery, "beat", "--schedule", str(folder / "beat"), "--pidfile", ""),
        ]

    def start(self) -> list[HttpClient]:
        """Start all processes, and return the merchants."""
        self.redis.start()
        seed = [sys.executable, "-m", "tests.faults.seed", self.receiver.url, str(SHOPS)]
        made = subprocess.run(
            seed,
            cwd=PROJECT,
            env=self.environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=300,
        )
        for process in self.processes:
            process.start()
        wait_until(self._answers, seconds=120, what="web")
        wait_until(lambda: self.redis.commands().count("brpop") >= 3, seconds=120, what="workers")
        keys = json.loads(made.stdout)
        return [HttpClient(self.base_url, Credentials(one["api_key"], one["secret_key"])) for one in keys]

    def stop(self) -> None:
        for process in (*self.processes, self.redis):
            process.kill()
        self.database.close()

    def query(self, statement: str, **named: Any) -> list[Any]:
        return self.database.execute(statement, named).fetchall()

    def unanswered(self, *, until: float) -> int:
        """Return how many of the transactions created until then have an unknown outcome."""
        statement = UNANSWERED.replace("%(until)s", "to_timestamp(%(until)s)")
        return int(self.query(statement, until=until)[0][0])

    def tasks(self) -> list[Started]:
        lines = (line.split() for line in self.task_log.read_text().splitlines())
        return [Started(name, float(published), float(started)) for name, published, started in lines]

    def ledger_holds(self) -> bool:
        self.database.execute("ANALYZE")
        command = [sys.executable, "manage.py", "check_ledger"]
        done = subprocess.run(
            command, cwd=PROJECT, env=self.environment, check=False, capture_output=True, text=True
        )
        if done.returncode:
            print(done.stdout + done.stderr)
        return done.returncode == 0

    def _process(self, name: str, *module: str) -> Process:
        command = [sys.executable, "-m", *module]
        return Process(name, command, self.folder / f"{name}.log", cwd=PROJECT, env=self.environment)

    def _answers(self) -> bool:
        try:
            return bool(requests.get(f"{self.base_url}/readyz", timeout=5).ok)
        except requests.RequestException:
            return False


class Traffic:
    """Payments of every kind at a constant rate."""

    def __init__(self, shops: list[HttpClient], *, rate: float) -> None:
        self.calls: Counter[str] = Counter()
        self._rate = rate
        self._shops = cycle(shops)
        self._accounts = {shop.base_url + shop.credentials.api_key: self._account_of(shop) for shop in shops}
        kinds = [self._pay] * 5 + [self._pay_out] * 2 + [self._lose_answer, self._refund, self._open_session]
        self._kinds: Iterator[Callable[[HttpClient], None]] = cycle(kinds)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        started, count = time.monotonic(), 0
        with ThreadPoolExecutor(48) as pool:
            while not self._over.is_set():
                count += 1
                pool.submit(self._once, next(self._kinds), next(self._shops))
                self._over.wait(max(0, started + count / self._rate - time.monotonic()))

    def _once(self, kind: Callable[[HttpClient], None], shop: HttpClient) -> None:
        try:
            kind(shop)
        except requests.RequestException as error:
            self.calls[type(error).__name__] += 1

    def _pay(self, shop: HttpClient) -> None:
        self._post("card", shop, "/api/payments", orders.card_payment())

    def _pay_out(self, shop: HttpClient) -> None:
        self._post("payout", shop, "/api/payments", orders.payout())

    def _lose_answer(self, shop: HttpClient) -> None:
        self._post("lost card", shop, "/api/payments", orders.card_payment(amount=50_098))

    def _refund(self, shop: HttpClient) -> None:
        order = orders.card_payment()
        self._post("card", shop, "/api/payments", order)
        refund = {"reference": orders.new_reference("rf"), "amount": 1_000}
        self._post("refund", shop, f"/api/payments/{order['reference']}/refunds", refund)

    def _open_session(self, shop: HttpClient) -> None:
        account = self._accounts[shop.base_url + shop.credentials.api_key]
        order = orders.transfer_payment(account, expiry_duration=SHORTEST_SESSION)
        self._post("session", shop, "/api/payments", order)

    def _post(self, kind: str, shop: HttpClient, target: str, body: Any) -> None:
        self.calls[f"{kind} {shop.post(target, body).status_code}"] += 1

    def _account_of(self, shop: HttpClient) -> str:
        return str(shop.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"])


def run(folder: Path, *, server_url: str, before: float, hanging: float, after: float, rate: float) -> Report:
    """Run the traffic, make the bank hang during it, and return the measurements. Times are seconds."""
    report = Report()
    with ExitStack() as exits:
        bank = exits.enter_context(simulator_serving(HangingBank()))
        receiver = exits.enter_context(running_receiver())
        database = exits.enter_context(postgresql_database(server_url))
        service = Service(folder, database=database, bank=bank, receiver=receiver)
        exits.callback(service.stop)
        traffic = Traffic(service.start(), rate=rate)
        began_at = time.time()
        traffic.start()
        try:
            time.sleep(before)
            bank.is_hanging.set()
            hung_at = time.time()
            time.sleep(hanging)
            bank.is_hanging.clear()
            back_at = time.time()
            report.unknown_when_back = service.unanswered(until=back_at)
            time.sleep(after)
        finally:
            traffic.end()
        report.seconds_until_resolved = _resolved_at(service, until=back_at) - back_at
        _wait_for_all(service)
        _collect(service, traffic, report, began_at=began_at)
        report.queries_while_hanging = sum(hung_at <= one.began_at < back_at for one in bank.queries)
    return report


def _resolved_at(service: Service, *, until: float) -> float:
    """Wait until all transactions created until then have their outcomes, and return the time."""
    wait_until(lambda: not service.unanswered(until=until), seconds=2 * WAIT_LIMIT, what="outcomes")
    latest = (
        "SELECT greatest((SELECT max(finished_at) FROM payments_transaction WHERE created_at < to_timestamp(%(until)s)"
        " AND request_type = 'payout'), (SELECT max(finished_at) FROM payments_cardoperation"
        " WHERE created_at < to_timestamp(%(until)s)))"
    )
    return float(service.query(latest, until=until)[0][0].timestamp())


def _wait_for_all(service: Service) -> None:
    """Wait for the remaining unknown outcomes and open sessions at the end of the traffic."""
    wait_until(lambda: not service.unanswered(until=time.time()), seconds=WAIT_LIMIT, what="outcomes")
    open_sessions = "SELECT count(*) FROM virtual_accounts_session WHERE status = 'pending'"
    wait_until(lambda: service.query(open_sessions)[0][0] == 0, seconds=SHORTEST_SESSION + 30, what="expiry")


def _collect(service: Service, traffic: Traffic, report: Report, *, began_at: float) -> None:
    report.calls = traffic.calls
    report.queries = sorted(service.bank.queries, key=lambda one: one.began_at)
    report.duplicate_queries = _concurrent_queries(report.queries)
    report.tasks = [task for task in service.tasks() if task.published_at >= began_at]
    report.webhooks_late = [one.delay for one in service.receiver.arrivals if one.number == 1]
    late = "SELECT extract(epoch FROM ended_at - expires_at)::float8 FROM virtual_accounts_session"
    report.sessions_expired_late = [row[0] for row in service.query(late)]
    lost = (
        "SELECT extract(epoch FROM finished_at - created_at)::float8 FROM payments_transaction "
        "WHERE amount = 50098 AND finished_at IS NOT NULL"
    )
    report.lost_cards_resolved_after = [row[0] for row in service.query(lost)]
    payouts = "SELECT status, count(*) FROM payments_transaction WHERE request_type = 'payout' GROUP BY 1"
    report.payouts_by_status = dict(service.query(payouts))
    ours = service.query(
        "SELECT replace(id::text, '-', ''), amount FROM payments_transaction "
        "WHERE request_type = 'payout' AND status = 'success'"
    )
    paid = service.bank.books.all_paid()
    report.paid_twice = sum(paid.get(reference, 0) != amount for reference, amount in ours)
    report.ledger_holds = service.ledger_holds()


def _concurrent_queries(queries: list[BankCall]) -> list[str]:
    """Return the payouts with two concurrent calls."""
    by_reference = defaultdict(list)
    for one in queries:
        by_reference[one.reference].append(one)
    tolerance = (
        0.25  # seconds: the caller's time-out began with its connection, before the bank read the request
    )
    return [
        reference
        for reference, calls in by_reference.items()
        if any(later.began_at < earlier.ended_at - tolerance for earlier, later in pairwise(calls))
    ]

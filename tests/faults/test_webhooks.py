"""The event of every acknowledged payment arrives, whichever process or server is killed, at any moment."""

import signal
import time
import uuid
from collections import Counter
from datetime import UTC, datetime

import pytest

from tests.faults.guarantees import check_events, check_sent_once, wait_until_settled
from tests.faults.latency import assert_duration, p95
from tests.faults.payment_load import PaymentLoad, under_load
from tests.faults.processes import HANGING, wait_until
from webhooks.sending import dispatcher

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

LEASE_OF_PRODUCTION = dispatcher.LEASE.total_seconds()
RESENT_WITHIN = 15  # seconds
CALM = 2  # seconds of undisturbed load before and after a fault
PAUSE = 3  # seconds between two payments to an idle dispatcher


def check(stack, receiver, load, **options):
    """Check the guarantees to merchants, and return how often each event was sent."""
    assert load.abandoned == []
    wait_until_settled(stack)
    receiver.wait_for(set(load.acknowledged))
    return check_events(stack, receiver, **options)


def first_delays(receiver):
    return sorted(min(arrivals, key=lambda one: one.at).delay for arrivals in receiver.by_event().values())


def undisturbed_delay(receiver):
    """Return the p95 of the first delays under undisturbed load."""
    time.sleep(CALM)
    wait_until(lambda: receiver.arrivals, what="an event")
    return p95(first_delays(receiver))


def assert_delays(receiver, *, undisturbed):
    """An event without a wake-up signal is found by the next poll."""
    delays = first_delays(receiver)
    assert_duration(
        "p95 of the first delays", p95(delays), undisturbed=undisturbed, by_design=dispatcher.INTERVAL
    )
    print(f"at most {delays[-1]:.2f} s")


# The beginning of the statement that records a result; pg_stat_activity shows no more.
RECORD = "%UPDATE webhooks_delivery AS delivery SET%lease_token = NULL%"


class Moments:
    """Kills processes at points that the receiver, a lock or a stopped broker determines."""

    def __init__(self, stack, receiver, load):
        self.stack, self.receiver, self.load = stack, receiver, load
        (self.worker, _) = stack.workers

    def kill_web_between_commit_and_signal(self):
        self.stack.redis.send(signal.SIGSTOP)  # wake-up signals wait, payments do not
        paid = len(self.load.acknowledged)
        wait_until(lambda: len(self.load.acknowledged) > paid + 2, what="payments without Redis")
        self.stack.web.kill()
        self.stack.redis.send(signal.SIGCONT)
        self.stack.web.start()

    def kill_worker_between_lease_and_request(self):
        self.receiver.stop_reading()
        wait_until(lambda: self.receiver.unread, what="a request")
        self.kill_worker()

    def kill_worker_between_request_and_response(self):
        self.receiver.stop_responding()
        wait_until(lambda: self.receiver.unanswered, what="a request")
        self.kill_worker()

    def kill_worker_between_response_and_result(self):
        is_killed = False
        while not is_killed:
            self.receiver.stop_responding()
            wait_until(lambda: self.receiver.unanswered, what="a request")
            is_killed = self._kill_worker_while_recording(uuid.UUID(self.receiver.unanswered[-1].event_id))

    def _kill_worker_while_recording(self, delivery):
        """Return False if the request ended before its row could be locked."""
        with self.stack.locked("SELECT 1 FROM webhooks_delivery WHERE id = %s FOR UPDATE", delivery):
            leased = "SELECT 1 FROM webhooks_delivery WHERE id = %s AND lease_token IS NOT NULL"
            if not self.stack.query(leased, delivery):
                return False
            self.receiver.resume()
            self.stack.wait_for_blocked(like=RECORD)
            self.kill_worker()
            return True

    def kill_worker_while_recording_a_result(self):
        """Kill the worker when the delivery is updated, its attempt not yet inserted, and nothing committed."""
        with self.stack.locked("LOCK TABLE webhooks_attempt IN SHARE ROW EXCLUSIVE MODE"):
            self.stack.wait_for_blocked(like=RECORD)
            self.kill_worker()

    def kill_worker(self):
        self.worker.kill()
        self.receiver.resume()
        self.worker.start()
        self.stack.wait_for_workers(1)


MOMENTS = (
    Moments.kill_web_between_commit_and_signal,
    Moments.kill_worker_between_lease_and_request,
    Moments.kill_worker_between_request_and_response,
    Moments.kill_worker_between_response_and_result,
    Moments.kill_worker_while_recording_a_result,
)


class TestKill:
    @pytest.mark.representative
    @pytest.mark.in_short
    def test_at_every_step_of_a_delivery_loses_and_duplicates_nothing(self, stack, receiver):
        with under_load(stack.shops) as load:
            for kill in MOMENTS:
                kill(Moments(stack, receiver, load))
            stack.wait_until_ready()

        sent = check(stack, receiver, load)
        print(f"{sum(sent.values())} events, by number of arrivals {dict(sent)}")

    @pytest.mark.timeout(HANGING)
    def test_ten_times_at_every_step_loses_and_duplicates_nothing(self, stack, receiver):
        """Nine times with one worker; the tenth time with two, in the other order."""
        with under_load(stack.shops, rate=15) as load:
            for kill in MOMENTS * 9:
                kill(Moments(stack, receiver, load))
            stack.ensure_running(workers=2)
            for number, kill in enumerate(reversed(MOMENTS)):
                moments = Moments(stack, receiver, load)
                moments.worker = stack.workers[number % 2]
                kill(moments)
            stack.wait_until_ready(2)

        sent = check(stack, receiver, load)
        print(f"{sum(sent.values())} events, by number of arrivals {dict(sent)}")

    def test_is_recovered_when_the_production_lease_expires(self, stack, receiver):
        stack.workers[0].kill()
        worker = stack.production_worker()
        try:
            began = time.monotonic()
            worker.start()
            stack.wait_for_workers(1)
            starting = time.monotonic() - began
            with under_load(stack.shops, rate=10) as load:
                receiver.stop_responding()
                wait_until(lambda: len(receiver.unanswered) >= 3, what="requests")
                worker.kill()
                unanswered = {arrival.event_id for arrival in receiver.unanswered}
                receiver.resume()
                worker.start()
                stack.wait_for_workers(1)
            wait_until_settled(stack)
            check(stack, receiver, load)
        finally:
            worker.kill()

        repeated = {key: arrivals for key, arrivals in receiver.by_event().items() if len(arrivals) > 1}
        assert repeated.keys() == unanswered
        waits = [second.at - first.at for first, second in repeated.values()]
        print(f"{len(waits)} resent after {min(waits):.1f} to {max(waits):.1f} s")
        assert min(waits) > LEASE_OF_PRODUCTION - 1  # the lease held
        assert_duration("resent", max(waits), undisturbed=starting, by_design=LEASE_OF_PRODUCTION)
        assert LEASE_OF_PRODUCTION + dispatcher.INTERVAL <= RESENT_WITHIN


class TestRedis:
    def test_stopped_for_some_seconds_causes_little_delay(self, stack, receiver):
        with under_load(stack.shops) as load:
            undisturbed = undisturbed_delay(receiver)
            stack.redis.kill()
            time.sleep(5)
            stack.redis.start()
            time.sleep(3)

        check(stack, receiver, load)
        assert_delays(receiver, undisturbed=undisturbed)

    def test_unavailable_for_twenty_seconds_without_beat_does_not_affect_an_idle_worker(
        self, stack, receiver
    ):
        """Without wake-up signals and beat, polling alone finds each payment's delivery."""
        stack.ensure_running(beat=False)
        load = PaymentLoad(stack.shops)
        load.pay_at_intervals(seconds=1, pause=PAUSE)
        undisturbed = undisturbed_delay(receiver)
        stack.redis.kill()
        load.pay_at_intervals(seconds=20, pause=PAUSE)
        wait_until_settled(stack)
        stack.redis.start()
        stack.wait_for_workers(1)
        load.pay_at_intervals(seconds=1, pause=PAUSE)

        check(stack, receiver, load)
        assert len(first_delays(receiver)) >= 3
        assert_delays(receiver, undisturbed=undisturbed)

    def test_emptied_loses_nothing(self, stack, receiver):
        with under_load(stack.shops) as load:
            undisturbed = undisturbed_delay(receiver)
            for _ in range(20):
                stack.redis.flush()
                time.sleep(0.2)

        check(stack, receiver, load)
        assert_delays(receiver, undisturbed=undisturbed)


class TestWakeUp:
    def test_signals_alone_are_sufficient(self, stack, receiver):
        with under_load(stack.shops) as load:
            undisturbed = undisturbed_delay(receiver)
            stack.beat.kill()
            time.sleep(5)

        check(stack, receiver, load)
        assert_delays(receiver, undisturbed=undisturbed)

    def test_polling_alone_is_sufficient(self, stack, receiver):
        """Wake-up signals are lost."""
        with under_load(stack.shops, rate=5):
            undisturbed = undisturbed_delay(receiver)
        stack.web.kill()
        here = stack.web.options["env"]
        stack.web.options["env"] = here | {"REDIS_URL": ""}
        try:
            stack.ensure_running()
            with under_load(stack.shops, rate=5) as load:
                time.sleep(3)
            check(stack, receiver, load)
        finally:
            stack.web.kill()
            stack.web.options["env"] = here
        assert_delays(receiver, undisturbed=undisturbed)


class TestPostgreSQL:
    def test_restarted_under_load_keeps_all_acknowledged_commits(self, stack, receiver):
        log = stack.workers[0].log
        logged_before = len(log.read_text())
        for ending in (signal.SIGINT, signal.SIGQUIT):  # fast, and as in a crash
            with under_load(stack.shops) as load:
                undisturbed = undisturbed_delay(receiver)
                stopped_at = time.time()
                stack.server.stop(ending)
                time.sleep(0.5)
                stack.server.start()
                back_at = time.time()
                known = set(load.acknowledged)
                wait_until(lambda: set(load.acknowledged) - known, what="payments")  # noqa: B023
                paid_after = time.time() - back_at
                later = set(load.acknowledged) - known
                receiver.wait_for(later)
                notified_after = time.time() - back_at

            check(stack, receiver, load)
            print(f"unavailable for {back_at - stopped_at:.1f} s, paid after {paid_after:.1f} s")
            # A lease whose commit was lost causes no delay: see tests/webhooks/test_dispatcher.py.
            assert_duration(
                "notified again", notified_after, undisturbed=undisturbed, by_design=dispatcher.INTERVAL
            )
        # A dispatcher survives a restart that is shorter than its lease, and resends no requests in flight.
        abandoned = log.read_text()[logged_before:].count("the dispatcher failed")
        print(f"{len(receiver.by_event())} events; {abandoned} dispatchers gave up")


class TestStoppedWorker:
    @pytest.mark.representative
    def test_resumed_after_its_lease_cannot_write_its_result(self, stack, receiver):
        first, second = stack.workers
        receiver.stop_responding()
        with under_load(stack.shops, rate=10) as load:
            wait_until(lambda: receiver.unanswered, what="a request")
            first.send(signal.SIGSTOP)
        stale = list(receiver.unanswered)
        receiver.resume()  # the 204 arrives while the process is stopped
        second.start()
        taken_over = [uuid.UUID(arrival.event_id) for arrival in stale]
        done = "SELECT 1 FROM webhooks_delivery WHERE id = ANY(%s) AND state <> 'delivered'"
        wait_until(lambda: not stack.query(done, taken_over), what="the other worker")
        attempts = "SELECT id, delivery_id, number, started_at, status FROM webhooks_attempt ORDER BY id"
        before = stack.query(attempts)
        resumed_at = datetime.now(tz=UTC)
        first.send(signal.SIGCONT)
        wait_until(lambda: "leases ended before their results" in first.log.read_text(), what="a refusal")

        check(stack, receiver, load, resumed_at=resumed_at.timestamp())
        held = [row for row in stack.query(attempts) if row[1] in taken_over]
        assert held == [row for row in before if row[1] in taken_over]


class TestTwoWorkers:
    def test_send_five_hundred_due_events_once_each(self, stack, receiver):
        stack.ensure_running(workers=2)
        for worker in stack.workers:
            worker.kill()
        stack.beat.kill()
        with under_load(stack.shops, rate=100) as load:
            wait_until(lambda: len(load.acknowledged) >= 500, what="payments")
        assert receiver.arrivals == []

        stack.ensure_running(workers=2)
        check(stack, receiver, load)

        check_sent_once(stack, receiver)
        numbers = Counter(arrival.number for arrival in receiver.arrivals)
        print(f"{len(receiver.by_event())} events, arrivals by attempt {dict(numbers)}")

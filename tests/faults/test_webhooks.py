"""Every acknowledged payment's event arrives, whichever process or server ends, at whatever moment."""

import signal
import time
import uuid
from collections import Counter
from datetime import UTC, datetime

import pytest

from tests.faults.pace import judge, p95
from tests.faults.processes import HANGING, wait_until
from tests.faults.promises import check_events, check_sent_once, wait_until_settled
from tests.faults.shop import Load, under_load
from webhooks import dispatcher, poll

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

LEASE_OF_PRODUCTION = 10 + dispatcher.LEASE_MARGIN
CALM = 2  # seconds of undisturbed load, before or after what a test does
ASLEEP = dispatcher.LINGER + 1  # seconds after which an idle dispatcher has ended


def check(stack, listener, load, **told):
    """Hold what arrived against what was promised to merchants; return how often each event was sent."""
    assert load.given_up == []
    wait_until_settled(stack)
    listener.wait_for(set(load.acknowledged))
    return check_events(stack, listener, **told)


def first_delays(listener):
    return sorted(min(arrivals, key=lambda one: one.at).delay for arrivals in listener.by_event().values())


def undisturbed_delay(listener):
    """Return the p95 of the first delays under a load that has begun, and that nothing has disturbed yet."""
    time.sleep(CALM)
    wait_until(lambda: listener.arrivals, what="an event")
    return p95(first_delays(listener))


def judge_delays(listener, *, undisturbed):
    """An event without a wake-up signal is found by the next poll."""
    delays = first_delays(listener)
    judge("p95 of the first delays", p95(delays), undisturbed=undisturbed, by_design=poll.INTERVAL)
    print(f"at most {delays[-1]:.2f} s")


# The beginning of the one statement that moves a delivery on and writes its attempt: PostgreSQL shows no more.
FINISH = "%UPDATE webhooks_delivery AS delivery SET%lease_token = NULL%"


class Moments:
    """Kills at moments that the receiver, a lock or a stopped broker brings about."""

    def __init__(self, stack, listener, load):
        self.stack, self.listener, self.load = stack, listener, load
        (self.worker, _) = stack.workers

    def kill_web_between_commit_and_ring(self):
        self.stack.redis.send(signal.SIGSTOP)  # wake-up signals wait, payments do not
        paid = len(self.load.acknowledged)
        wait_until(lambda: len(self.load.acknowledged) > paid + 2, what="payments without Redis")
        self.stack.web.kill()
        self.stack.redis.send(signal.SIGCONT)
        self.stack.web.start()

    def kill_worker_between_claim_and_request(self):
        self.listener.deaf_until_told()
        wait_until(lambda: self.listener.unheard, what="a request")
        self.kill_worker()

    def kill_worker_between_request_and_answer(self):
        self.listener.silent_until_told()
        wait_until(lambda: self.listener.unanswered, what="a request")
        self.kill_worker()

    def kill_worker_between_answer_and_finish(self):
        is_killed = False
        while not is_killed:
            self.listener.silent_until_told()
            wait_until(lambda: self.listener.unanswered, what="a request")
            is_killed = self._kill_worker_in_the_finish_of(uuid.UUID(self.listener.unanswered[-1].event_id))

    def _kill_worker_in_the_finish_of(self, delivery):
        """Return False where its request has ended before its row could be locked."""
        with self.stack.locked("SELECT 1 FROM webhooks_delivery WHERE id = %s FOR UPDATE", delivery):
            leased = "SELECT 1 FROM webhooks_delivery WHERE id = %s AND lease_token IS NOT NULL"
            if not self.stack.query(leased, delivery):
                return False
            self.listener.hear_all()
            self.stack.wait_for_blocked(like=FINISH)
            self.kill_worker()
            return True

    def kill_worker_in_the_finish(self):
        """The delivery is moved on, its attempt not yet written, nothing committed."""
        with self.stack.locked("LOCK TABLE webhooks_attempt IN SHARE ROW EXCLUSIVE MODE"):
            self.stack.wait_for_blocked(like=FINISH)
            self.kill_worker()

    def kill_worker(self):
        self.worker.kill()
        self.listener.hear_all()
        self.worker.start()
        self.stack.wait_for_workers(1)


MOMENTS = (
    Moments.kill_web_between_commit_and_ring,
    Moments.kill_worker_between_claim_and_request,
    Moments.kill_worker_between_request_and_answer,
    Moments.kill_worker_between_answer_and_finish,
    Moments.kill_worker_in_the_finish,
)


class TestKill:
    @pytest.mark.telling
    @pytest.mark.in_short
    def test_at_every_step_of_a_delivery_loses_and_duplicates_nothing(self, stack, listener):
        with under_load(stack.shops) as load:
            for kill in MOMENTS:
                kill(Moments(stack, listener, load))
            stack.wait_until_ready()

        sent = check(stack, listener, load)
        print(f"{sum(sent.values())} events, by number of arrivals {dict(sent)}")

    @pytest.mark.timeout(HANGING)
    def test_ten_times_at_every_step_loses_and_duplicates_nothing(self, stack, listener):
        """Nine times with one worker; the tenth time with two, in the other order."""
        with under_load(stack.shops, rate=15) as load:
            for kill in MOMENTS * 9:
                kill(Moments(stack, listener, load))
            stack.have(workers=2)
            for number, kill in enumerate(reversed(MOMENTS)):
                moments = Moments(stack, listener, load)
                moments.worker = stack.workers[number % 2]
                kill(moments)
            stack.wait_until_ready(2)

        sent = check(stack, listener, load)
        print(f"{sum(sent.values())} events, by number of arrivals {dict(sent)}")

    def test_is_recovered_when_the_production_lease_expires(self, stack, listener):
        stack.workers[0].kill()
        worker = stack.patient_worker()
        try:
            began = time.monotonic()
            worker.start()
            stack.wait_for_workers(1)
            starting = time.monotonic() - began
            with under_load(stack.shops, rate=10) as load:
                listener.silent_until_told()
                wait_until(lambda: len(listener.unanswered) >= 3, what="requests")
                worker.kill()
                unanswered = {arrival.event_id for arrival in listener.unanswered}
                listener.hear_all()
                worker.start()
                stack.wait_for_workers(1)
            wait_until_settled(stack)
            check(stack, listener, load)
        finally:
            worker.kill()

        repeated = {key: arrivals for key, arrivals in listener.by_event().items() if len(arrivals) > 1}
        assert repeated.keys() == unanswered
        waits = [second.at - first.at for first, second in repeated.values()]
        print(f"{len(waits)} sent again after {min(waits):.1f} to {max(waits):.1f} s")
        assert min(waits) > LEASE_OF_PRODUCTION - 1  # the lease held
        judge("sent again", max(waits), undisturbed=starting, by_design=LEASE_OF_PRODUCTION)


class TestRedis:
    def test_stopped_for_some_seconds_causes_little_delay(self, stack, listener):
        with under_load(stack.shops) as load:
            undisturbed = undisturbed_delay(listener)
            stack.redis.kill()
            time.sleep(5)
            stack.redis.start()
            time.sleep(3)

        check(stack, listener, load)
        judge_delays(listener, undisturbed=undisturbed)

    def test_unavailable_for_twenty_seconds_without_beat_does_not_affect_an_idle_worker(
        self, stack, listener
    ):
        """Without wake-up signals and beat, polling alone finds each payment's delivery."""
        stack.have(beat=False)
        load = Load(stack.shops)
        load.pay_now_and_then(seconds=1, pause=ASLEEP)
        undisturbed = undisturbed_delay(listener)
        stack.redis.kill()
        load.pay_now_and_then(seconds=20, pause=ASLEEP)
        wait_until_settled(stack)
        stack.redis.start()
        stack.wait_for_workers(1)
        load.pay_now_and_then(seconds=1, pause=ASLEEP)

        check(stack, listener, load)
        assert len(first_delays(listener)) >= 3
        judge_delays(listener, undisturbed=undisturbed)

    def test_emptied_loses_nothing(self, stack, listener):
        with under_load(stack.shops) as load:
            undisturbed = undisturbed_delay(listener)
            for _ in range(20):
                stack.redis.flush()
                time.sleep(0.2)

        check(stack, listener, load)
        judge_delays(listener, undisturbed=undisturbed)


class TestWakingUp:
    def test_signals_alone_are_sufficient(self, stack, listener):
        with under_load(stack.shops) as load:
            undisturbed = undisturbed_delay(listener)
            stack.beat.kill()
            time.sleep(5)

        check(stack, listener, load)
        judge_delays(listener, undisturbed=undisturbed)

    def test_polling_alone_is_sufficient(self, stack, listener):
        """Payments come seconds apart, so no dispatcher is running, and wake-up signals are lost."""
        with under_load(stack.shops, rate=5):
            undisturbed = undisturbed_delay(listener)
        stack.web.kill()
        here = stack.web.options["env"]
        stack.web.options["env"] = here | {"REDIS_URL": ""}
        try:
            stack.have()
            with under_load(stack.shops, rate=5) as load:
                time.sleep(3)
            check(stack, listener, load)
        finally:
            stack.web.kill()
            stack.web.options["env"] = here
        judge_delays(listener, undisturbed=undisturbed)


class TestPostgreSQL:
    def test_restarted_under_load_keeps_all_acknowledged_commits(self, stack, listener):
        log = stack.workers[0].log
        told_before = len(log.read_text())
        for ending in (signal.SIGINT, signal.SIGQUIT):  # fast, and as in a crash
            with under_load(stack.shops) as load:
                undisturbed = undisturbed_delay(listener)
                stopped_at = time.time()
                stack.server.stop(ending)
                time.sleep(0.5)
                stack.server.start()
                back_at = time.time()
                known = set(load.acknowledged)
                wait_until(lambda: set(load.acknowledged) - known, what="payments")  # noqa: B023
                paid_after = time.time() - back_at
                later = set(load.acknowledged) - known
                listener.wait_for(later)
                heard_after = time.time() - back_at

            check(stack, listener, load)
            print(f"away for {back_at - stopped_at:.1f} s, paid after {paid_after:.1f} s")
            # What a lost commit has leased is not waited for: see tests/webhooks/test_dispatcher.py.
            judge("notified again", heard_after, undisturbed=undisturbed, by_design=poll.INTERVAL)
        # A dispatcher outlives a server that is back within its lease: what was in flight is not sent again.
        given_up = log.read_text()[told_before:].count("Task webhooks.dispatcher")
        print(f"{len(listener.by_event())} events; {given_up} dispatchers gave up")


class TestStoppedWorker:
    @pytest.mark.telling
    def test_resumed_after_its_lease_cannot_write_its_result(self, stack, listener):
        first, second = stack.workers
        listener.silent_until_told()
        with under_load(stack.shops, rate=10) as load:
            wait_until(lambda: listener.unanswered, what="a request")
            first.send(signal.SIGSTOP)
        stale = list(listener.unanswered)
        listener.hear_all()  # the 204 is waiting when the process wakes up
        second.start()
        taken_over = [uuid.UUID(arrival.event_id) for arrival in stale]
        done = "SELECT 1 FROM webhooks_delivery WHERE id = ANY(%s) AND state <> 'delivered'"
        wait_until(lambda: not stack.query(done, taken_over), what="the other worker")
        ask = "SELECT id, delivery_id, number, started_at, status FROM webhooks_attempt ORDER BY id"
        before = stack.query(ask)
        woke_at = datetime.now(tz=UTC)
        first.send(signal.SIGCONT)
        wait_until(lambda: "leases ended before their results" in first.log.read_text(), what="a refusal")

        check(stack, listener, load, woken_at=woke_at.timestamp())
        held = [row for row in stack.query(ask) if row[1] in taken_over]
        assert held == [row for row in before if row[1] in taken_over]
        assert all(row[3] < woke_at for row in held)


class TestTwoWorkers:
    def test_send_five_hundred_due_events_once_each(self, stack, listener):
        stack.have(workers=2)
        for worker in stack.workers:
            worker.kill()
        stack.beat.kill()
        with under_load(stack.shops, rate=100) as load:
            wait_until(lambda: len(load.acknowledged) >= 500, what="payments")
        assert listener.arrivals == []

        stack.have(workers=2)
        check(stack, listener, load)

        check_sent_once(stack, listener)
        numbers = Counter(arrival.number for arrival in listener.arrivals)
        print(f"{len(listener.by_event())} events, arrivals by attempt {dict(numbers)}")

"""POST /api/sandbox/advance with an event: the next attempt of its delivery is made now."""

import threading
import uuid
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone

from ledger.invariants import check
from merchants.api import rate_limits
from merchants.api.request_log import request_log
from merchants.models import ApiRequest, AuditEntry
from payments.invariants.registry import INVARIANTS
from payments.services.sandbox import sandbox_events, sandbox_turns
from tests.payments.views.test_events import FIELDS
from tests.racing import racers
from tests.refunds import pay
from tests.webhooks.rows import DELIVERED, FAILED, acquire, make_delivery, make_endpoint, record
from webhooks.models import Attempt, Delivery

pytestmark = pytest.mark.django_db

PATH = "/api/sandbox/advance"
STATES = Delivery.State


def replace_sleep(monkeypatch, sleep):
    """Replace it in our modules only: other threads of the process, which sleep too, would open connections."""
    for module in (sandbox_events, sandbox_turns):
        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=sleep))


@pytest.fixture(autouse=True)
def receiver(monkeypatch):
    """Dispatch whatever is due while a call waits. Return the answer of the receiver, which tests change."""
    answers = [FAILED]

    def dispatch(_seconds):
        now = timezone.now() + timedelta(milliseconds=1)
        record(acquire(at=now), answers[0], at=now)

    replace_sleep(monkeypatch, dispatch)
    monkeypatch.setattr(sandbox_turns, "TURN", timedelta(0))
    return answers


@pytest.fixture
def endpoint(ada):
    return make_endpoint(business=ada.business)


@pytest.fixture
def waiting(api, endpoint):
    """Return the delivery of a payment after its first attempt."""
    pay(api)
    now = timezone.now()
    record(acquire(at=now), FAILED, at=now)
    return Delivery.objects.get()


def advance(api, event_id):
    return api.post(PATH, {"event": str(event_id)})


def refusal(answer):
    return answer.status_code, answer.json()["code"]


class TestEvent:
    def test_gets_its_next_attempt_now(self, api, waiting):
        answer = advance(api, waiting.pk)

        shown = answer.json()
        assert (answer.status_code, set(shown)) == (200, FIELDS), answer.content
        assert (shown["event_id"], shown["state"], shown["attempts_made"]) == (str(waiting.pk), "waiting", 2)
        (_, second) = waiting.attempts.order_by("number")
        assert (second.is_manual, second.status) == (False, 500)
        assert shown["next_attempt_at"] is not None

    def test_is_delivered_by_the_attempt(self, api, waiting, receiver):
        receiver[0] = DELIVERED

        assert advance(api, waiting.pk).json()["state"] == "delivered"
        assert refusal(advance(api, waiting.pk)) == (409, "invalid_state")

    def test_walks_all_eight_attempts_and_ends_dead(self, api, waiting):
        answers = [advance(api, waiting.pk).json() for _ in range(7)]

        assert [answer["state"] for answer in answers] == ["waiting"] * 6 + ["dead"]
        assert [attempt.number for attempt in Attempt.objects.order_by("number")] == list(range(1, 9))
        assert refusal(advance(api, waiting.pk)) == (409, "invalid_state")
        assert Attempt.objects.count() == 8

    def test_is_the_only_one_that_is_sent(self, api, endpoint, waiting):
        now = timezone.now()
        other = make_delivery(endpoint, at=now, next_attempt_at=now + timedelta(minutes=5))

        advance(api, waiting.pk)

        assert not other.attempts.exists()

    def test_is_in_the_audit_trail(self, api, ada, waiting):
        advance(api, waiting.pk)

        entry = AuditEntry.objects.get()
        assert (entry.action, entry.actor, entry.target, entry.after) == (
            "sandbox.event_advanced", ada.public_id, str(waiting.pk), {"attempt": 2},
        )  # fmt: skip

    def test_is_named_in_the_request_log(self, api, waiting):
        advance(api, waiting.pk)
        request_log.flush()

        logged = ApiRequest.objects.get(target=PATH)
        assert (logged.object_kind, logged.object_id) == ("event", waiting.pk)

    @pytest.mark.parametrize("state", [STATES.DELIVERED, STATES.DEAD, STATES.HELD, STATES.SKIPPED])
    def test_that_does_not_wait_is_refused(self, api, endpoint, state):
        now = timezone.now()
        event = make_delivery(endpoint, at=now, state=state, delivered_at=now)

        assert refusal(advance(api, event.pk)) == (409, "invalid_state")
        event.refresh_from_db()
        assert event.state == state
        assert not AuditEntry.objects.exists()

    def test_whose_attempt_is_in_progress_is_refused(self, api, waiting):
        Delivery.objects.update(next_attempt_at=timezone.now())
        acquire(at=timezone.now())

        assert refusal(advance(api, waiting.pk)) == (409, "invalid_state")

    def test_is_held_if_the_endpoint_is_disabled_by_now(self, api, endpoint, waiting):
        endpoint.enabled = False
        endpoint.save()

        assert advance(api, waiting.pk).json()["state"] == "held"
        assert Attempt.objects.count() == 1

    def test_is_returned_as_it_is_if_the_attempt_takes_too_long(self, api, waiting, monkeypatch):
        monkeypatch.setattr(sandbox_events, "LONGEST_WAIT", timedelta(0))
        replace_sleep(monkeypatch, lambda _: None)

        shown = advance(api, waiting.pk).json()

        assert (shown["state"], shown["attempts_made"]) == ("waiting", 1)

    def test_is_awaited_for_a_turn_only_while_other_calls_wait(self, api, waiting, monkeypatch):
        """The threads of the web process are therefore free for others, however slow the endpoints are."""
        slept = []
        monkeypatch.setattr(sandbox_events, "_long_waits", threading.Semaphore(0), raising=False)
        monkeypatch.setattr(sandbox_events, "LONGEST_WAIT", timedelta(milliseconds=10))
        replace_sleep(monkeypatch, slept.append)

        shown = advance(api, waiting.pk).json()

        assert (shown["state"], shown["attempts_made"], slept) == ("waiting", 1, [])

    def test_of_another_business_is_unknown(self, other_api, waiting):
        assert refusal(advance(other_api, waiting.pk)) == (404, "not_found")
        assert refusal(advance(other_api, uuid.uuid4())) == (404, "not_found")
        assert Attempt.objects.count() == 1

    def test_is_not_advanced_in_production(self, api, settings, waiting):
        settings.SANDBOX = False

        assert refusal(advance(api, waiting.pk)) == (403, "sandbox_only")
        assert Attempt.objects.count() == 1

    def test_holds_its_answer_back_until_the_turn_has_ended(self, api, waiting, monkeypatch):
        """A client that waits for each answer is therefore never refused."""
        ended = []
        monkeypatch.setattr(sandbox_turns, "end", lambda began_at, **_: ended.append(began_at))

        advance(api, waiting.pk)

        assert ended == [AuditEntry.objects.get().at]


@pytest.mark.django_db(transaction=True)
@pytest.mark.long
def test_of_fifty_simultaneous_calls_one_advances(api, waiting, monkeypatch):
    """Fails without turns: an attempt that fails at once leaves the next one for the next call in the queue."""
    monkeypatch.setattr(rate_limits, "SANDBOX_CALLS", 50)
    monkeypatch.setattr(sandbox_turns, "TURN", timedelta(hours=1))
    monkeypatch.setattr(sandbox_turns, "end", lambda began_at: None)

    with racers(10) as line:
        answers = [answer for _ in range(5) for answer in line.race(*[lambda: advance(api, waiting.pk)] * 10)]

    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 49
    assert (Attempt.objects.count(), AuditEntry.objects.count()) == (2, 1)
    assert all(one.holds for one in check(INVARIANTS))

"""POST /api/events/{event_id}/resend sends an event again."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.api.request_log import request_log
from merchants.models import ApiKey, ApiRequest, AuditEntry
from tests.clients import Credentials, InProcessClient
from tests.factories import ApiKeyFactory
from tests.payments.views.test_events import FIELDS
from tests.webhooks.rows import DATA, DELIVERED, FAILED, acquire, make_delivery, make_endpoint, record
from webhooks import purge, services
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

STATES = Delivery.State


@pytest.fixture
def now():
    return timezone.now()


@pytest.fixture
def endpoint(ada):
    return make_endpoint(business=ada.business)


@pytest.fixture
def delivered(endpoint, now):
    delivery = make_delivery(endpoint, at=now - timedelta(minutes=1))
    record(acquire(at=now), DELIVERED, at=now)
    return delivery


def resend(api, event, body=None):
    return api.post(f"/api/events/{event.pk}/resend", body)


def refusal(answer, status, code):
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    return answer.json()


class TestResend:
    @pytest.mark.parametrize("body", [None, {}, {"to": "endpoint"}, {"to": "both"}])
    def test_queues_a_manual_attempt_with_the_same_id_and_body(self, api, delivered, now, body):
        answer = resend(api, delivered, body)

        event = answer.json()
        assert (answer.status_code, set(event)) == (202, FIELDS)
        assert (event["event_id"], event["state"]) == (str(delivered.pk), "waiting")
        (again,) = acquire(at=now + timedelta(minutes=1))
        assert (again.id, again.body, again.is_manual) == (delivered.pk, delivered.body, True)

    def test_is_audited_with_the_public_id_of_the_key(self, api, ada, delivered):
        resend(api, delivered)

        entry = AuditEntry.objects.get(action="webhook.replayed")
        assert (entry.actor, entry.business, entry.target) == (ada.public_id, ada.business, str(delivered.pk))

    def test_notifies_workers(self, api, delivered, monkeypatch):
        signals = []
        monkeypatch.setattr(services.wake_up, "notify", lambda: signals.append(True))

        resend(api, delivered)

        assert signals == [True]

    @pytest.mark.parametrize("state", [STATES.DEAD, STATES.DELIVERED, STATES.HELD])
    def test_of_a_finished_or_held_event(self, api, endpoint, now, state):
        event = make_delivery(endpoint, at=now, state=state, delivered_at=now)

        assert resend(api, event).status_code == 202

    def test_to_listeners_sends_nothing_to_the_endpoint(self, api, delivered):
        answer = resend(api, delivered, {"to": "listeners"})

        assert (answer.status_code, answer.json()["state"]) == (202, "delivered")
        assert not AuditEntry.objects.filter(action="webhook.replayed").exists()

    def test_is_named_in_the_request_log(self, api, delivered):
        resend(api, delivered)
        request_log.flush()

        call = ApiRequest.objects.get()
        assert (call.object_kind, call.object_id) == ("event", delivered.pk)


@pytest.mark.parametrize("body", [{}, {"to": "listeners"}])
class TestRefused:
    def test_while_an_attempt_is_planned_or_under_way(self, api, endpoint, now, body):
        event = make_delivery(endpoint, at=now)

        planned = resend(api, event, body)
        acquire(at=now + timedelta(seconds=1))

        assert "attempt" in refusal(planned, 409, "invalid_state")["detail"]
        refusal(resend(api, event, body), 409, "invalid_state")

    def test_of_a_skipped_event(self, api, endpoint, now, body):
        event = make_delivery(endpoint, at=now, state=STATES.SKIPPED)

        assert "skipped" in refusal(resend(api, event, body), 409, "invalid_state")["detail"]

    def test_without_its_body(self, api, endpoint, now, body):
        event = make_delivery(endpoint, at=now - timedelta(days=400))
        record(acquire(at=now), DELIVERED, at=now)
        list(purge.purge_payloads(now=now))

        assert "body" in refusal(resend(api, event, body), 409, "invalid_state")["detail"]

    def test_of_a_test_event(self, api, endpoint, now, body):
        event = services.send_test_event(business=endpoint.business, data=DATA, now=now)
        record(acquire(at=now + timedelta(seconds=1)), FAILED, at=now)

        assert "Test events" in refusal(resend(api, event, body), 409, "invalid_state")["detail"]


class TestSecondResend:
    def test_before_the_first_was_sent_is_refused(self, api, delivered):
        answers = [resend(api, delivered) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [202, 409]
        assert AuditEntry.objects.filter(action="webhook.replayed").count() == 1


class TestRequest:
    @pytest.mark.parametrize("to", ["everyone", None, ["endpoint"], 1])
    def test_to_must_be_known(self, api, delivered, to):
        (error,) = resend(api, delivered, {"to": to}).json()["errors"]

        assert error["field"] == "to"
        delivered.refresh_from_db()
        assert delivered.state == STATES.DELIVERED

    def test_unknown_field_has_a_suggestion(self, api, delivered):
        (error,) = refusal(resend(api, delivered, {"too": "endpoint"}), 400, "unknown_field")["errors"]

        assert (error["field"], error["suggestion"]) == ("too", "to")


class TestProduction:
    @pytest.fixture(autouse=True)
    def _production(self, settings):
        settings.SANDBOX = False

    def test_sends_to_the_endpoint(self, api, delivered):
        assert resend(api, delivered).json()["state"] == "waiting"

    @pytest.mark.parametrize("to", ["listeners", "both"])
    def test_has_no_listeners(self, api, delivered, to):
        (error,) = refusal(resend(api, delivered, {"to": to}), 400, "invalid_request")["errors"]

        assert (error["field"], error["code"]) == ("to", "invalid_choice")


class TestAccess:
    def test_another_business_event_is_404(self, other_api, api, delivered):
        refusal(resend(other_api, delivered), 404, "not_found")
        refusal(api.post(f"/api/events/{uuid.uuid4()}/resend"), 404, "not_found")

        delivered.refresh_from_db()
        assert delivered.state == STATES.DELIVERED

    def test_read_only_key_is_403(self, ada, delivered):
        key = ApiKeyFactory(business=ada.business, access=ApiKey.Access.READ_ONLY)

        answer = resend(InProcessClient(Credentials(key.public_id, key.secret)), delivered)

        refusal(answer, 403, "key_may_not_write")

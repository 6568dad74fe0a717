"""The API of exams: starting, running, reporting, and what keeps them safe."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.models import AuditEntry, LimitSlot
from tests.clients import Credentials, InProcessClient
from tests.factories import ApiKeyFactory
from tests.racing import racers
from tests.webhooks import servers
from tests.webhooks.rows import KEY, make_endpoint
from webhooks.exams import exam_manners, exam_runner, exams
from webhooks.exams.exam import PROBES, SECONDS
from webhooks.exams.exam_records import KEPT, Exam
from webhooks.listeners import listener_keys
from webhooks.models import Attempt, Delivery
from webhooks.signing import sign

pytestmark = pytest.mark.django_db

PATH = "/api/sandbox/exams"
ENDPOINT = {"target": "endpoint"}
URL = "http://127.0.0.1:9/second"
CLIENT = {"target": "client", "listener": "laptop"}


@pytest.fixture
def endpoint(ada):
    return make_endpoint(business=ada.business)


@pytest.fixture(autouse=True)
def _quick(monkeypatch, settings):
    monkeypatch.setattr(exam_manners, "PIECE_PAUSE", 0.05)
    monkeypatch.setattr(exam_runner, "LOST_PAUSE", 0.01)
    settings.WEBHOOK_TIMEOUT = 2


def started(api, request=ENDPOINT):
    if "listener" in request:
        api.post("/api/sandbox/listeners", {"name": request["listener"]})
    answer = api.post(PATH, request)
    assert answer.status_code == 201, answer.content
    return answer.json()


def shown(api, exam):
    answer = api.get(f"{PATH}/{exam['id']}")
    assert answer.status_code == 200
    return answer.json()


def report(api, exam, **reported):
    return api.post(f"{PATH}/{exam['id']}/answers", reported)


def right_answers(exam):
    refused = {"no_signature", "empty_signature", "wrong_key", "altered_body", "odd_signatures"}
    return [
        {"request": each["number"], "error": "hung_up", "ms": 0}
        if each["manner"] == "hang_up"
        else {"request": each["number"], "status": 400 if each["probe"] in refused else 204, "ms": 3}
        for each in exam["requests"]
    ]


def refusal(answer):
    return answer.status_code, answer.json()["code"]


class TestOfAnEndpoint:
    def test_runs_in_a_worker_and_leaves_no_delivery(self, api, endpoint, ada):
        with servers.opened(servers.answering(servers.status(400))) as listener:
            endpoint.url = listener.url
            endpoint.save()
            exam = started(api)
            assert (exam["state"], exam["finished_at"]) == ("running", None)
            assert "requests" not in exam

            assert exam_runner.run_waiting() == 1

        exam = shown(api, exam)
        assert (exam["state"], exam["results"][0]["result"]) == ("failed", "failed")
        assert [each["probe"] for each in exam["results"]] == [probe.name for probe in PROBES]
        sent = listener.requests[0]
        assert sent.header("X-Service-Signature") == sign(KEY, sent.body)
        assert exam["results"][0]["headers"]["X-Service-Signature"] == sign(KEY, sent.body)
        assert exam["results"][0]["body"] == sent.body.decode()
        assert exam["results"][0]["guide"].endswith("/docs/webhooks#verify-the-signature")
        assert not Delivery.objects.exists()
        assert not Attempt.objects.exists()

    def test_names_payments_that_do_not_exist(self, api, endpoint):
        body = json.loads(started(api)["results"][0]["body"])

        assert api.get(f"/api/payments/{body['data']['reference']}").status_code == 404

    def test_sends_the_subscribed_events_only(self, api, ada):
        make_endpoint(business=ada.business, events=["payout", "refund"])
        started(api)

        genuine = [each for each in Exam.objects.get().requests if each["probe"] == "genuine"]
        assert [each["headers"]["X-Service-Event"] for each in genuine] == [
            "payout.success", "payout.failed", "refund.success", "refund.failed",
        ]  # fmt: skip

    @pytest.mark.parametrize("events", [None, ["refund"]])
    def test_needs_an_endpoint_with_such_events(self, api, ada, events):
        if events:
            make_endpoint(business=ada.business, events=events)

        assert refusal(api.post(PATH, ENDPOINT)) == (409, "invalid_state")

    def test_takes_no_address_from_the_request(self, api, endpoint):
        assert refusal(api.post(PATH, ENDPOINT | {"url": "http://127.0.0.1:1/"})) == (400, "unknown_field")

    def test_goes_to_the_configured_endpoint_when_it_runs(self, api, endpoint, settings):
        settings.WEBHOOK_ALLOW_CIDRS = []
        exam = started(api)
        with servers.opened(servers.answering(servers.status(204))) as listener:
            endpoint.url = listener.url
            endpoint.save()
            exam_runner.run_waiting()

        assert listener.connections == 0
        assert shown(api, exam)["results"][0]["cause"] == "The address is not a public one."

    def test_is_of_the_endpoint_that_is_named(self, api, endpoint, ada):
        with servers.opened(servers.answering(servers.status(204))) as listener:
            second = make_endpoint(business=ada.business, number=1, url=listener.url)
            exam = api.post(PATH, ENDPOINT | {"endpoint_id": str(second.public_id)}).json()
            exam_runner.run_waiting()

        assert exam["endpoint_id"] == str(second.public_id)
        assert listener.requests

    def test_of_an_unknown_or_deleted_endpoint_is_not_found(self, api, endpoint, ada, bisi):
        deleted = make_endpoint(business=ada.business, number=1, url=URL, deleted_at=timezone.now())
        others = make_endpoint(business=bisi.business)

        for each in (deleted, others):
            wanted = ENDPOINT | {"endpoint_id": str(each.public_id)}
            assert refusal(api.post(PATH, wanted)) == (404, "not_found")

    def test_is_of_the_first_endpoint_by_default(self, api, endpoint, ada):
        make_endpoint(business=ada.business, number=1, url=URL)

        assert started(api)["endpoint_id"] == str(endpoint.public_id)

    def test_is_not_reported_by_a_client(self, api, endpoint):
        exam = started(api)

        assert refusal(report(api, exam, answers=[])) == (409, "invalid_state")

    def test_is_run_once_by_several_workers(self, api, endpoint):
        started(api)
        begun = [exam_runner._begin_next(now=timezone.now()) for _ in range(2)]

        assert [each is not None for each in begun] == [True, False]

    def test_waits_while_two_others_run(self, api, other_api, endpoint, bisi):
        make_endpoint(business=bisi.business)
        third = ApiKeyFactory()
        make_endpoint(business=third.business)
        for each in (api, other_api, InProcessClient(Credentials(third.public_id, third.secret))):
            started(each)

        now = timezone.now()
        begun = [exam_runner._begin_next(now=now) for _ in range(3)]

        assert [each is not None for each in begun] == [True, True, False]
        assert exam_runner._begin_next(now=now + timedelta(seconds=SECONDS + 31)) is not None


class TestOfAClient:
    def test_answers_with_requests_that_the_listeners_key_signs(self, api, ada):
        exam = started(api, CLIENT)

        first = exam["requests"][0]
        key = listener_keys.hash_key(ada.business.pk, "laptop")
        assert first["headers"]["X-Service-Signature"] == sign(key, first["body"].encode())
        assert {each["manner"] for each in exam["requests"]} == {"whole", "in_pieces", "hang_up"}
        assert exam["listener"] == "laptop"

    def test_needs_a_live_listener(self, api, other_api):
        other_api.post("/api/sandbox/listeners", {"name": "laptop"})

        assert refusal(api.post(PATH, CLIENT)) == (404, "not_found")

    def test_sends_the_events_of_the_listener_only(self, api):
        api.post("/api/sandbox/listeners", {"name": "laptop", "events": ["payout.failed", "refund.failed"]})

        sent = api.post(PATH, CLIENT).json()["requests"]

        genuine = [each["headers"]["X-Service-Event"] for each in sent if each["probe"] == "genuine"]
        assert genuine == ["payout.failed", "refund.failed"]

    def test_is_judged_by_the_reported_answers(self, api):
        exam = started(api, CLIENT)
        answers = right_answers(exam)

        answer = report(api, exam, answers=answers)

        assert (answer.status_code, answer.json()["state"]) == (200, "passed")
        assert {each["result"] for each in answer.json()["results"]} == {"passed"}
        assert "requests" not in answer.json()

    def test_fails_where_an_answer_is_wrong(self, api):
        exam = started(api, CLIENT)
        answers = [{"request": 1, "error": "connection_refused", "ms": 1}]

        results = report(api, exam, answers=answers).json()["results"]

        assert (results[0]["result"], results[0]["cause"]) == ("failed", "The connection was refused.")
        assert {each["result"] for each in results[1:]} == {"not_run"}

    def test_takes_the_same_report_again_but_no_other(self, api):
        exam = started(api, CLIENT)
        answers = right_answers(exam)

        answers_of = [report(api, exam, answers=each) for each in (answers, answers, answers[:3])]

        assert [each.status_code for each in answers_of] == [200, 200, 409]

    @pytest.mark.parametrize(
        ("answers", "field"),
        [
            ([{"request": 41, "status": 204, "ms": 1}], "answers.0.request"),
            ([{"request": 1, "ms": 1}], "answers.0.status"),
            ([{"request": 1, "error": "odd", "ms": 1}], "answers.0.error"),
            ([{"request": 1, "status": 204, "ms": -1}], "answers.0.ms"),
            ([{"request": 1, "status": 204, "ms": 1}] * 41, "answers"),
            ("all of them", "answers"),
        ],
    )
    def test_rejects_malformed_answers(self, api, answers, field):
        exam = started(api, CLIENT)

        answer = report(api, exam, answers=answers)

        assert answer.status_code == 400
        assert [each["field"] for each in answer.json()["errors"]] == [field]

    @pytest.mark.parametrize(
        ("request_body", "field"),
        [
            ({}, "target"),
            ({"target": "shop"}, "target"),
            ({"target": "client"}, "listener"),
            ({"target": "client", "listener": "my laptop"}, "listener"),
            ({"target": "endpoint", "listener": "laptop"}, "listener"),
        ],
    )
    def test_rejects_malformed_requests(self, api, endpoint, request_body, field):
        answer = api.post(PATH, request_body)

        assert answer.status_code == 400
        assert [each["field"] for each in answer.json()["errors"]] == [field]


class TestTheQuestion:
    def test_is_asked_and_its_answer_is_stored_but_not_judged(self, api):
        exam = started(api, CLIENT)
        assert exam["question"].startswith("How often did your system act upon exam-")
        assert refusal(report(api, exam, acted="1")) == (409, "invalid_state")
        report(api, exam, answers=right_answers(exam))

        for acted in ("0", "1", "more"):
            answered = report(api, exam, acted=acted).json()
            assert (answered["acted"], answered["state"]) == (acted, "passed")
        assert report(api, exam, acted="2").status_code == 400
        assert report(api, exam).status_code == 400


class TestLimits:
    def test_of_one_exam_at_a_time(self, api, endpoint):
        exam = started(api)
        api.post("/api/sandbox/listeners", {"name": "laptop"})

        assert refusal(api.post(PATH, CLIENT)) == refusal(api.post(PATH, ENDPOINT)) == (409, "invalid_state")
        exams.finish(Exam.objects.get().pk, {}, now=timezone.now())
        assert shown(api, exam)["state"] == "failed"
        started(api, CLIENT)

    def test_of_ten_exams_an_hour(self, api, monkeypatch):
        assert (exams.EXAMS.slots, exams.EXAMS.window) == (10, timedelta(hours=1))
        monkeypatch.setattr(exams, "EXAMS", replace(exams.EXAMS, slots=2))
        for _ in range(2):
            report(api, started(api, CLIENT), answers=[])

        answer = api.post(PATH, CLIENT)

        assert refusal(answer) == (429, "rate_limited")
        assert 3_500 < int(answer["Retry-After"]) <= 3_601
        assert Exam.objects.count() == 2

    def test_counts_no_refused_exam(self, api, endpoint):
        started(api)
        for _ in range(3):
            api.post(PATH, ENDPOINT)

        assert LimitSlot.objects.count() == 1

    @pytest.mark.django_db(transaction=True)
    def test_hold_for_simultaneous_calls(self, api):
        """Fails without the unique constraint, because several exams would start."""
        api.post("/api/sandbox/listeners", {"name": "laptop"})
        with racers(6) as line:
            answers = line.race(*[lambda: api.post(PATH, CLIENT)] * 6)

        assert sorted(answer.status_code for answer in answers) == [201] + [409] * 5
        assert Exam.objects.count() == AuditEntry.objects.filter(action="webhook.exam_started").count() == 1

    def test_of_the_time_of_an_exam(self, api, ada):
        exam = started(api, CLIENT)
        Exam.objects.update(begun_at=timezone.now() - timedelta(seconds=SECONDS + 31))

        found = shown(api, exam)

        assert found["state"] == "failed"
        assert {each["probe"] for each in found["results"] if each["result"] == "failed"} == {"prompt"}
        assert report(api, exam, answers=right_answers(exam)).status_code == 409
        started(api, CLIENT)

    def test_of_twenty_kept_exams(self, api, ada, monkeypatch):
        monkeypatch.setattr(exams, "KEPT", 3)
        assert KEPT == 20
        for _ in range(5):
            report(api, started(api, CLIENT), answers=[])

        assert Exam.objects.filter(business=ada.business).count() == 3

    def test_of_thirty_days(self, api):
        report(api, started(api, CLIENT), answers=[])
        now = timezone.now()

        assert not exams.old_exams(now=now + timedelta(days=29)).exists()
        assert exams.old_exams(now=now + timedelta(days=31)).exists()


class TestAccess:
    def test_is_for_the_own_business_only(self, api, other_api):
        exam = started(api, CLIENT)

        assert other_api.get(f"{PATH}/{exam['id']}").status_code == 404
        assert report(other_api, exam, answers=[]).status_code == 404
        assert started(other_api, CLIENT)["results"]

    def test_needs_full_access_to_change_something(self, api, ada):
        exam = started(api, CLIENT)
        reader = ApiKeyFactory(business=ada.business, access="read")
        read_only = InProcessClient(Credentials(reader.public_id, reader.secret))

        assert read_only.get(f"{PATH}/{exam['id']}").status_code == 200
        assert refusal(read_only.post(PATH, CLIENT)) == (403, "key_may_not_write")
        assert refusal(report(read_only, exam, answers=[])) == (403, "key_may_not_write")

    def test_is_for_the_sandbox_only(self, api, endpoint, settings, django_assert_num_queries):
        exam = started(api)
        settings.SANDBOX = False

        answers = [api.post(PATH, ENDPOINT), api.get(f"{PATH}/{exam['id']}"), report(api, exam, answers=[])]

        assert [refusal(each) for each in answers] == [(403, "sandbox_only")] * 3
        with django_assert_num_queries(0):
            assert exam_runner.run_waiting() == 0

"""The exam of receivers: its requests, the judge, and what it finds in faulty receivers."""

import hashlib
import hmac
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import ClassVar

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from payments.sample_events import SampleEvents
from payments.services.events import receiver_exams
from tests.webhooks import rows, servers
from webhooks.exams import exam_manners, exam_runner
from webhooks.exams.exam import (
    MOST_REQUESTS,
    PROBE,
    PROBES,
    ExamAnswer,
    Expect,
    Manner,
    Verdict,
    has_passed,
    judge,
)
from webhooks.exams.exam_records import Exam
from webhooks.exams.exam_requests import KINDS, LARGE, requests_of
from webhooks.exams.exam_standard_headers import with_standard_headers
from webhooks.models import Event
from webhooks.signing import standard_secret

KEY = "whk_sandbox_Zk3W9sT1vXq8LrB6yNc0MdH5uJf2GaP7eQo4iRzVxK"
NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)
ACCEPTED, REFUSED, CRASHED = (ExamAnswer(status, "", 3.0) for status in (204, 400, 500))
UNREACHED = ExamAnswer(None, "connection_refused", 0.4)
TIMED_OUT = ExamAnswer(None, "timeout", 10_000.0)


def make_requests(kinds=KINDS):
    events = SampleEvents(SimpleNamespace(currencies=["NGN"]))
    return requests_of(kinds=kinds, hash_key=KEY, events=events, tag="5f2c81d0", now=NOW)


@pytest.fixture(scope="module")
def requests():
    return make_requests()


def sent_by(requests, probe):
    return [request for request in requests if request.probe == probe]


def event_of(request):
    return json.loads(request.body)


def is_signed(request, body=None):
    signature = hmac.new(KEY.encode(), (body or request.body).encode(), hashlib.sha256).hexdigest()
    return request.headers.get("X-Service-Signature") == signature


def right_answers(requests):
    return {
        request.number: REFUSED if PROBE[request.probe].expect is Expect.REFUSE else ACCEPTED
        for request in requests
    }


def verdicts(requests, answers, *, is_over=True):
    return {result.probe.name: result.verdict.value for result in judge(requests, answers, is_over=is_over)}


def with_answers(requests, **of_probes):
    """Return right answers, but for these probes."""
    return right_answers(requests) | {
        request.number: of_probes[request.probe] for request in requests if request.probe in of_probes
    }


class TestRequests:
    def test_stay_below_the_limit(self, requests):
        assert len(requests) <= MOST_REQUESTS
        assert {request.probe for request in requests} | {"prompt"} == set(PROBE)

    def test_are_marked_so_that_a_receiver_can_delete_them(self, requests):
        for request in requests:
            event = event_of(request)
            assert event["data"]["reference"].startswith("exam-5f2c81d0-")
            assert request.headers["User-Agent"].endswith("(exam)")
            assert request.headers["X-Service-Idempotency-Key"] == event["id"] == event["event_id"]
            assert request.headers["X-Service-Event"] == event["event"]

    def test_have_right_signatures_where_they_are_to_be_accepted(self, requests):
        for request in requests:
            assert is_signed(request) == (PROBE[request.probe].expect is not Expect.REFUSE), request.probe

    def test_are_genuine_for_each_subscribed_event(self):
        genuine = sent_by(make_requests(["payout.success", "payout.failed"]), "genuine")

        assert [event_of(each)["event"] for each in genuine] == ["payout.success", "payout.failed"]
        assert event_of(genuine[0])["data"]["reference"] == "exam-5f2c81d0-duplicate"

    def test_are_genuine_for_opt_in_events(self):
        """Of all events, some of each category are sent: an exam has a limit."""
        kinds = receiver_exams._chosen(Event.values)
        requests = make_requests(kinds)
        genuine = sent_by(requests, "genuine")

        assert [event_of(each)["event"] for each in genuine] == [Event(kind).label for kind in kinds]
        assert {kind.partition(".")[0] for kind in kinds} == {kind.partition(".")[0] for kind in Event.values}
        assert set(KINDS) <= set(kinds)
        assert len(requests) == MOST_REQUESTS
        for request in genuine:
            data = event_of(request)["data"]
            references = {value for name, value in data.items() if name.endswith("reference")}
            assert all(reference.startswith("exam-5f2c81d0-") for reference in references), data

    def test_change_one_digit_of_the_amount(self, requests):
        (altered,) = sent_by(requests, "altered_body")

        assert is_signed(altered, altered.body.replace('"amount":60000', '"amount":50000'))

    def test_write_the_same_document_in_other_layouts(self, requests):
        *encoded, unusual = (each.body for each in sent_by(requests, "other_layout"))

        assert encoded == [
            json.dumps(json.loads(encoded[0])),
            json.dumps(json.loads(encoded[1]), separators=(",", ":"), sort_keys=True),
            json.dumps(json.loads(encoded[2]), sort_keys=True),
        ]
        assert r"\u0065xam-" in unusual

    def test_send_malformed_signatures(self, requests):
        signatures = [each.headers["X-Service-Signature"] for each in sent_by(requests, "odd_signatures")]

        assert [len(each) for each in signatures] == [32, 63, 200, 64]
        assert not re.search("[0-9a-f]", signatures[3])

    def test_repeat_the_first_genuine_event(self, requests):
        (duplicate,) = sent_by(requests, "duplicate")

        assert duplicate.body == requests[0].body
        assert duplicate.headers == requests[0].headers | {"X-Service-Attempt": "2"}

    def test_send_one_event_twice_at_the_same_time(self, requests):
        first, second = sent_by(requests, "at_once")

        assert (first.step, first.body, first.headers) == (second.step, second.body, second.headers)

    def test_close_a_connection_and_send_the_event_again(self, requests):
        first, second = sent_by(requests, "lost_acknowledgement")

        assert (first.manner, second.manner) == (Manner.HANG_UP, Manner.WHOLE)
        assert first.body == second.body
        assert second.step > first.step

    def test_have_an_old_event_and_the_newer_of_two_first(self, requests):
        (old,) = sent_by(requests, "old")
        newer, older = sent_by(requests, "out_of_order")

        created_at = datetime.fromisoformat(event_of(old)["created_at"])
        assert NOW - created_at == timedelta(days=8) + (NOW - created_at) % timedelta(days=1)
        assert event_of(newer)["created_at"] > event_of(older)["created_at"]

    def test_have_new_fields_all_of_unicode_and_64_kib(self, requests):
        unknown, unicode, large = (
            sent_by(requests, name)[0] for name in ("unknown_field", "unicode", "large")
        )

        event = event_of(unknown)
        assert "new_field" in event
        assert "new_field" in event["data"]
        assert "new_field" in event["data"]["source"]
        assert "\N{EMOJI MODIFIER FITZPATRICK TYPE-5}" in event_of(unicode)["data"]["customer"]["name"]
        assert len(large.body.encode()) == LARGE

    def test_have_a_transfer_into_a_static_account_and_an_unknown_event(self, requests):
        (stranger,), (unknown,) = sent_by(requests, "stranger"), sent_by(requests, "unknown_event")

        assert event_of(stranger)["data"]["virtual_account_details"]["status"] == "success"
        assert unknown.headers["X-Service-Event"] == "payment.reversed"

    def test_differ_in_every_exam(self, requests):
        ids = [{event_of(each)["id"] for each in some} for some in (requests, make_requests())]

        assert not ids[0] & ids[1]


class TestStandardHeaders:
    def test_are_right_and_wrong_where_the_services_own_are(self, requests):
        verifier = Webhook(standard_secret(KEY))
        now = datetime.now(tz=UTC)
        for request in with_standard_headers(requests, hash_key=KEY, now=now):
            must_verify = PROBE[request.probe].expect is not Expect.REFUSE
            with nullcontext() if must_verify else pytest.raises(WebhookVerificationError):
                verifier.verify(request.body, request.headers)

    @pytest.mark.django_db
    @pytest.mark.usefixtures("quick")
    def test_are_sent_to_endpoints_that_have_them_with_the_time_of_the_exam(self):
        def receive(visit):
            while True:
                request = visit.read()
                try:
                    verifier.verify(request.body, {name.lower(): value for name, value in request.headers})
                except WebhookVerificationError:
                    visit.send(BAD)
                else:
                    visit.send(OK)

        verifier = Webhook(standard_secret(rows.KEY))
        with servers.opened(receive) as listener:
            endpoint = rows.make_endpoint(url=listener.url, standard_webhooks=True)
            long_ago = datetime.now(tz=UTC) - timedelta(minutes=9)
            receiver_exams.examine_endpoint(endpoint.business, actor=rows.ADA, now=long_ago)
            assert exam_runner.run_waiting(clock=lambda: datetime.now(tz=UTC)) == 1

        exam = Exam.objects.get()
        assert exam.state == Exam.State.PASSED, [(each.probe.name, each.cause) for each in exam.results]
        assert "webhook-signature" in exam.all_requests[0].headers


class TestJudge:
    def test_passes_right_answers(self, requests):
        assert set(verdicts(requests, right_answers(requests)).values()) == {"passed"}

    @pytest.mark.parametrize("status", [200, 201, 299])
    def test_accepts_every_2xx(self, requests, status):
        answers = with_answers(requests, unicode=ExamAnswer(status, "", 3.0))

        assert verdicts(requests, answers)["unicode"] == "passed"

    @pytest.mark.parametrize("status", [199, 300, 302, 400, 500])
    def test_fails_other_answers_where_acceptance_is_expected(self, requests, status):
        answers = with_answers(requests, unicode=ExamAnswer(status, "", 3.0))

        assert verdicts(requests, answers)["unicode"] == "failed"

    @pytest.mark.parametrize(
        ("status", "verdict"), [(400, "passed"), (401, "passed"), (499, "passed"), (302, "failed")]
    )
    def test_passes_refusals_with_4xx(self, requests, status, verdict):
        answers = with_answers(requests, wrong_key=ExamAnswer(status, "", 3.0))

        assert verdicts(requests, answers)["wrong_key"] == verdict

    def test_tells_a_crash_from_a_refusal_and_an_accepted_forgery(self, requests):
        results = {
            answer.status: next(
                each
                for each in judge(requests, with_answers(requests, wrong_key=answer), is_over=True)
                if each.probe.name == "wrong_key"
            )
            for answer in (CRASHED, ACCEPTED)
        }

        assert results[500].verdict is results[204].verdict is Verdict.FAILED
        assert results[500].cause == "Your receiver answered 500: it crashed, and refused by accident."
        assert (
            results[204].cause == "Your receiver answered 204: it accepted a signature made with another key."
        )

    def test_shows_the_request_that_decided(self, requests):
        second = sent_by(requests, "odd_signatures")[1]
        answers = right_answers(requests) | {second.number: CRASHED}

        (result,) = (
            each for each in judge(requests, answers, is_over=True) if each.probe.name == "odd_signatures"
        )

        assert (result.request, result.answer) == (second, CRASHED)

    def test_runs_no_other_probe_after_a_failed_genuine_one(self, requests):
        found = verdicts(requests, {1: REFUSED})

        assert found.pop("genuine") == "failed"
        assert set(found.values()) == {"not_run"}

    @pytest.mark.parametrize(
        ("status", "cause"),
        [
            (401, "it refused a genuine event. Does it verify the raw bytes, with the right signing key?"),
            (404, "it refused a genuine event."),
            (500, "it refused a genuine event."),
        ],
    )
    def test_asks_about_the_raw_bytes_of_a_refused_genuine_event(self, requests, status, cause):
        refused = {each.number: ExamAnswer(status, "", 3.0) for each in requests}

        assert judge(requests, refused, is_over=True)[0].cause == f"Your receiver answered {status}: {cause}"

    @pytest.mark.parametrize(
        ("failed", "needless"),
        [
            ("duplicate", {"at_once", "lost_acknowledgement"}),
            ("out_of_order", {"old"}),
            ("unknown_field", {"large"}),
            ("in_pieces", {"large"}),
            ("other_layout", {"unicode"}),
        ],
    )
    def test_fails_one_probe_for_one_fault(self, requests, failed, needless):
        found = verdicts(requests, with_answers(requests, **{failed: REFUSED}))

        assert {name for name, verdict in found.items() if verdict == "failed"} == {failed}
        assert {name for name, verdict in found.items() if verdict == "not_run"} == needless

    def test_gives_advice_about_unknown_events(self, requests):
        answers = with_answers(requests, unknown_event=REFUSED)

        assert verdicts(requests, answers)["unknown_event"] == "advice"
        assert has_passed(judge(requests, answers, is_over=True))

    @pytest.mark.parametrize(("ms", "verdict"), [(999, "passed"), (1_001, "advice")])
    def test_gives_advice_about_slow_answers(self, requests, ms, verdict):
        answers = with_answers(requests, stranger=ExamAnswer(204, "", ms))

        assert verdicts(requests, answers)["prompt"] == verdict

    def test_fails_answers_after_ten_seconds(self, requests):
        found = verdicts(requests, with_answers(requests, stranger=TIMED_OUT))

        assert {name for name, verdict in found.items() if verdict == "failed"} == {"stranger", "prompt"}

    def test_ignores_the_answer_to_a_closed_connection(self, requests):
        first, _ = sent_by(requests, "lost_acknowledgement")
        answers = right_answers(requests) | {first.number: ExamAnswer(None, "hung_up", 0)}

        assert verdicts(requests, answers)["lost_acknowledgement"] == "passed"

    @pytest.mark.parametrize(
        "last_answer", [ExamAnswer(None, "disconnected", 2.0), ExamAnswer(500, "", 2.0), ACCEPTED]
    )
    def test_names_the_probe_after_which_a_receiver_refuses_connections(self, requests, last_answer):
        (crashing,) = sent_by(requests, "no_signature")
        later = (each.number for each in requests if each.number > crashing.number)
        answers = right_answers(requests) | {crashing.number: last_answer} | dict.fromkeys(later, UNREACHED)

        results = {each.probe.name: each for each in judge(requests, answers, is_over=True)}

        found, cause = (
            results.pop("no_signature"),
            "Your receiver stopped answering after the probe `no_signature`",
        )
        assert (found.verdict, found.cause) == (Verdict.FAILED, f"{cause}: it probably crashed.")
        assert (found.request, found.answer) == (crashing, last_answer)
        assert results.pop("genuine").verdict is Verdict.PASSED
        assert {(each.verdict, each.cause) for each in results.values()} == {(Verdict.NOT_RUN, f"{cause}.")}

    def test_names_the_first_probe_without_an_answer_if_later_connections_are_refused(self, requests):
        first, second, third, *rest = (each for each in requests if each.number > 20)
        right = {number: answer for number, answer in right_answers(requests).items() if number <= 20}
        dying = {first.number: ExamAnswer(None, "connection_reset", 1.0), second.number: TIMED_OUT}
        answers = (
            right
            | dying
            | {third.number: UNREACHED}
            | dict.fromkeys((each.number for each in rest), UNREACHED)
        )

        failed = {name for name, verdict in verdicts(requests, answers).items() if verdict == "failed"}

        assert failed == {first.probe}

    def test_of_a_receiver_that_never_answered_or_answers_again_is_no_crash(self, requests):
        never = dict.fromkeys(right_answers(requests), UNREACHED)
        (refusing,) = sent_by(requests, "no_signature")
        again = right_answers(requests) | {refusing.number: UNREACHED}

        causes = [
            judge(requests, answers, is_over=True)[place].cause for answers, place in ((never, 0), (again, 1))
        ]

        assert causes == ["The connection was refused."] * 2
        assert verdicts(requests, again)["stranger"] == "passed"

    def test_fails_an_exam_that_was_cut_off(self, requests):
        answers = {number: answer for number, answer in right_answers(requests).items() if number < 15}

        found = verdicts(requests, answers)

        assert found["prompt"] == "failed"
        assert found["large"] == "not_run"
        assert verdicts(requests, answers, is_over=False)["prompt"] == "not_run"


# Receivers -------------------------------------------------------------------------------------------

OK, BAD, ERROR = (servers.status(code) for code in (204, 400, 500))
TIMEOUT = 1


class Shop:
    """A right receiver. Subclasses have one fault each."""

    def __init__(self):
        self.seen, self.lock = {}, threading.Lock()

    def receive(self, visit):
        while True:
            visit.send(self.answer(visit.read(), visit))

    def answer(self, request, visit):
        if not self.is_genuine(request.header("X-Service-Signature"), request.body):
            return BAD
        with self.lock:
            self.seen[request.header("X-Service-Idempotency-Key")] = True
        return self.handle(json.loads(request.body), request)

    def is_genuine(self, signature, body):
        return hmac.compare_digest((signature or "").encode(), self.sign(body).encode())

    def sign(self, body):
        return hmac.new(KEY.encode(), body, hashlib.sha256).hexdigest()

    def handle(self, event, request):
        return OK


class Disbelieving(Shop):
    probe = "genuine"

    def is_genuine(self, signature, body):
        return False


class WithoutHeader(Shop):
    probe = "no_signature"

    def is_genuine(self, signature, body):
        return signature is None or super().is_genuine(signature, body)


class EmptyHeader(Shop):
    probe = "empty_signature"

    def is_genuine(self, signature, body):
        return signature == "" or super().is_genuine(signature, body)


class Prefix(Shop):
    probe = "odd_signatures"

    def is_genuine(self, signature, body):
        return len(signature or "") >= 32 and (
            self.sign(body).startswith(signature) or super().is_genuine(signature, body)
        )


class Reencoding(Shop):
    probe = "other_layout"

    def is_genuine(self, signature, body):
        return super().is_genuine(signature, json.dumps(json.loads(body), separators=(",", ":")).encode())


class Python(Shop):
    probe = "genuine"
    cause = (
        "Your receiver answered 400: it refused a genuine event, but accepted one as a JSON encoder writes it. It parses "
        "and re-encodes the body before it verifies the signature. Verify the raw bytes."
    )
    layout: ClassVar = {}

    def is_genuine(self, signature, body):
        return super().is_genuine(signature, json.dumps(json.loads(body), **self.layout).encode())


class Sorting(Python):
    layout: ClassVar = {"separators": (",", ":"), "sort_keys": True}


class ReferenceOnly(Shop):
    probe = "altered_body"

    def is_genuine(self, signature, body):
        return super().is_genuine(signature, body) or b"altered-body" in body


class OtherKey(Shop):
    probe = "wrong_key"

    def is_genuine(self, signature, body):
        return super().is_genuine(signature, body) or b"wrong-key" in body


class Conflict(Shop):
    probe = "duplicate"

    def answer(self, request, visit):
        is_old = request.header("X-Service-Idempotency-Key") in self.seen
        return servers.status(409) if is_old else super().answer(request, visit)


class Racing(Shop):
    probe = "at_once"

    def __init__(self):
        super().__init__()
        self.busy = threading.Lock()

    def handle(self, event, request):
        if not self.busy.acquire(blocking=False):
            return ERROR
        time.sleep(0.1)
        self.busy.release()
        return OK


class Unfinished(Shop):
    """Never finishes an event whose connection was closed."""

    probe = "lost_acknowledgement"

    def handle(self, event, request):
        reference = event["data"]["reference"]
        is_second = request.header("X-Service-Attempt") == "2" and reference.endswith("lost-acknowledgement")
        return servers.status(409) if is_second else OK


class Tolerance(Shop):
    probe = "old"

    def handle(self, event, request):
        age = NOW - datetime.fromisoformat(event["created_at"])
        return BAD if age > timedelta(minutes=5) else OK


class Ordered(Shop):
    probe = "out_of_order"
    newest = ""

    def handle(self, event, request):
        if event["created_at"] < self.newest and request.header("X-Service-Attempt") == "1":
            return servers.status(409)
        self.newest = event["created_at"]
        return OK


class OwnPayments(Shop):
    probe = "stranger"

    def handle(self, event, request):
        details = event["data"].get("virtual_account_details", {})
        return servers.status(404) if details.get("status") == "success" else OK


class Closed(Shop):
    probe = "unknown_field"

    def handle(self, event, request):
        return servers.status(422) if "new_field" in event else OK


class Latin(Shop):
    probe = "unicode"

    def handle(self, event, request):
        try:
            event["data"].get("customer", {}).get("name", "").encode("latin-1")
        except UnicodeEncodeError:
            return ERROR
        return OK


class Small(Shop):
    probe = "large"

    def answer(self, request, visit):
        return servers.status(413) if len(request.body) > 32_768 else super().answer(request, visit)


class ReadingOnce(Shop):
    probe = "in_pieces"

    def receive(self, visit):
        head, _, body = visit.socket.recv(200_000).partition(b"\r\n\r\n")
        lines = [line.partition(": ") for line in head.decode().split("\r\n")[1:]]
        request = servers.Request("", [(name, value) for name, _, value in lines], body)
        visit.send(self.answer(request, visit).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))


FAULTY = [*Shop.__subclasses__(), Sorting]


def examine(url, requests=None):
    requests, answers = requests or make_requests(), {}
    exam_runner.send(requests, url, answers, progress=lambda _: None)
    return judge(requests, answers, is_over=True), answers


@pytest.fixture
def quick(monkeypatch, settings):
    monkeypatch.setattr(exam_manners, "PIECE_PAUSE", 0.2)
    monkeypatch.setattr(exam_runner, "LOST_PAUSE", 0.2)
    settings.WEBHOOK_TIMEOUT = TIMEOUT


@pytest.mark.long
class TestFaultyReceivers:
    @pytest.fixture(autouse=True)
    def _quick(self, quick):
        """Keep the pauses short."""

    def test_fail_exactly_the_probe_of_their_fault(self):
        with ExitStack() as stack:
            shops = [stack.enter_context(servers.opened(shop().receive)) for shop in (Shop, *FAULTY)]
            exams = [make_requests() for _ in shops]
            with ThreadPoolExecutor(6) as threads:
                found = list(threads.map(lambda shop, requests: examine(shop.url, requests)[0], shops, exams))

        failed = {
            shop.__name__: [result.probe.name for result in results if result.verdict is Verdict.FAILED]
            for shop, results in zip((Shop, *FAULTY), found, strict=True)
        }
        assert failed == {"Shop": [], **{shop.__name__: [shop.probe] for shop in FAULTY}}
        causes = {shop: results[0].cause for shop, results in zip((Shop, *FAULTY), found, strict=True)}
        assert (causes[Python], causes[Sorting]) == (Python.cause, Sorting.cause)
        assert {shop.probe for shop in FAULTY} | {"unknown_event", "prompt"} == {
            probe.name for probe in PROBES
        }

    def test_that_drip_are_given_up_after_three_timeouts(self):
        with servers.opened(servers.header_drip) as listener:
            results, _ = examine(listener.url)

        assert len(listener.requests) <= 3
        assert results[0].verdict is Verdict.FAILED


@pytest.mark.usefixtures("quick")
class TestBounds:
    def test_three_timeouts_end_the_exam(self):
        requests, answers = make_requests(), {1: ACCEPTED}
        with servers.opened(servers.answering(OK)) as listener:
            answers |= dict.fromkeys((13, 14, 15), TIMED_OUT)
            exam_runner.send(requests, listener.url, answers, progress=lambda _: None)

        assert listener.requests == []

    def test_the_time_of_an_exam_is_limited(self):
        requests, answers = make_requests(), {}
        with servers.opened(servers.slow(0.5)) as listener:
            started = time.monotonic()
            exam_runner.send(requests, listener.url, answers, progress=lambda _: None, seconds=1.5)

        assert time.monotonic() - started < 5
        assert 1 <= len(answers) < 4
        assert not has_passed(judge(requests, answers, is_over=True))

    def test_a_blocked_address_is_not_called(self, settings):
        settings.WEBHOOK_ALLOW_CIDRS = []
        with servers.opened(servers.answering(OK)) as listener:
            results, _ = examine(listener.url)

        assert listener.connections == 0
        assert results[0].verdict is Verdict.FAILED
        assert results[0].cause == "The address is not a public one."

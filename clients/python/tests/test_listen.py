"""`sluice listen`: what it prints, forwards, acknowledges and retries, with a service in this process."""

import argparse
import json
import re
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sluice import webhooks
from sluice._models import EventCopy, ListenerPoll
from sluice._models import Listener as Begun
from sluice.cli import forwarding, listen
from sluice.cli.arguments import WrongUsage
from sluice.errors import NotSent, error_of

KEY = "whk_listen_test"
ID = "5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11"


def copy(event_id=ID, **changes):
    body = json.dumps({"event_id": event_id, "data": {"reference": "order-1"}}, separators=(",", ":"))
    values = {
        "event_id": event_id,
        "event": "payment.success",
        "created_at": "2026-01-31T08:00:00.000Z",
        "origin": "event",
        "times": 1,
        "body": body,
    }
    return EventCopy(**values | changes)


def polled(*events, waiting=0, dropped=0, poll_after=0):
    return ListenerPoll(events=list(events), waiting=waiting, dropped=dropped, poll_after=poll_after)


class Service:
    """A listener whose polls return, or raise, what is given. The last one presses Ctrl-C."""

    def __init__(self, *answers):
        self.answers, self.acknowledged, self.waits, self.begun, self.has_ended = (
            list(answers),
            [],
            [],
            0,
            False,
        )

    def begin(self, events):
        self.begun += 1
        return Begun(name="laptop", events=events or [], hash_key=KEY, waiting=0, expires_at="")

    def poll(self, ack=(), wait=10):
        self.acknowledged.append(list(ack))
        self.waits.append(wait)
        if not self.answers:
            raise KeyboardInterrupt
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def end(self):
        self.has_ended = True


@pytest.fixture
def sleeps(monkeypatch):
    """Return the times that were slept. Time advances by sleeping only."""
    slept = []
    monkeypatch.setattr(listen.time, "sleep", slept.append)
    monkeypatch.setattr(listen.time, "monotonic", lambda: sum(slept))
    return slept


@pytest.fixture
def answers(monkeypatch):
    """Return what the receiver answers, in turn; then always 204. Forwarded events are kept in `answers.sent`."""

    class Answers(list):
        sent: list = []

    made = Answers()
    made.sent = []

    def forward(_to, body, headers):
        made.sent.append((body, headers))
        status = made.pop(0) if made else 204
        return forwarding.Answer(status, "" if status else "connection refused", 12)

    monkeypatch.setattr(listen, "forward", forward)
    return made


def run(service, *, to="http://127.0.0.1:1/hook", retry=False, forget=False, as_json=False, events=None):
    options = argparse.Namespace(json=as_json, retry=retry, forget=forget)
    with pytest.raises(KeyboardInterrupt):
        listen.Listening(service, events, forwarding.receiver(to) if to else None, options).run()


def test_prints_the_key_first_and_a_line_for_each_event(sleeps, answers, capsys):
    run(Service(polled(copy())))

    key, line = capsys.readouterr().out.splitlines()
    assert key.endswith(KEY)
    assert re.fullmatch(r"\d\d:\d\d:\d\d  payment\.success  order-1  204  12 ms", line)


def test_sends_the_headers_of_a_delivery(sleeps, answers):
    run(Service(polled(copy(times=3)), polled(copy(origin="test"))))

    (body, headers), (_, of_test) = answers.sent
    assert headers == {
        "User-Agent": "Sluice-Webhooks/1.0",
        "Accept": "*/*",
        "Content-Type": "application/json",
        "X-Service-Signature": webhooks.sign(body, KEY),
        "X-Service-Idempotency-Key": ID,
        "X-Service-Event": "payment.success",
        "X-Service-Attempt": "3",
    }
    assert of_test["X-Service-Test"] == "true"
    assert body == copy().body.encode()


def test_explains_once_that_a_receiver_needs_the_listeners_key(sleeps, answers, capsys):
    answers += [401, 401]

    run(Service(polled(copy(), copy())))

    assert capsys.readouterr().err.count("does your receiver have the signing key above?") == 1


def test_acknowledges_with_the_next_poll_whatever_the_answer(sleeps, answers):
    answers += [500, None]
    service = Service(polled(copy("a"), copy("b")), polled())

    run(service)

    assert service.acknowledged == [[], ["a", "b"], []]


def test_acknowledges_again_if_the_answer_of_the_poll_is_lost(sleeps, answers):
    service = Service(polled(copy("a")), NotSent("away"), polled())

    run(service)

    assert service.acknowledged == [[], ["a"], ["a"], []]


def test_without_a_receiver_prints_and_acknowledges(sleeps, answers, capsys):
    service = Service(polled(copy("a")), polled())

    run(service, to=None)

    assert capsys.readouterr().out.splitlines()[1].endswith("payment.success  order-1")
    assert (answers.sent, service.acknowledged[1]) == ([], ["a"])


def test_prints_json_lines(sleeps, answers, capsys):
    answers += [None]

    run(Service(polled(copy())), as_json=True)

    begun, event = map(json.loads, capsys.readouterr().out.splitlines())
    assert begun["hash_key"] == KEY
    assert (event["event_id"], event["reference"], event["body"]) == (ID, "order-1", copy().body)
    assert (event["status"], event["error"], event["milliseconds"]) == (None, "connection refused", 12)


def test_retries_after_1_2_4_and_8_seconds_if_asked(sleeps, answers, capsys):
    answers += [500, None, 404, 302, 500]
    service = Service(*[polled(copy())], *[polled()] * 30)

    def poll(ack=(), wait=10, poll=service.poll):
        listen.time.sleep(wait)
        return poll(ack, wait)

    service.poll = poll
    run(service, retry=True)

    lines = [line for line in capsys.readouterr().out.splitlines() if "order-1" in line]
    assert [line[10:].partition("  order-1  ")[2] for line in lines] == [
        "500  12 ms",
        "connection refused  12 ms  retry 1 of 4",
        "404  12 ms  retry 2 of 4",
        "302  12 ms  retry 3 of 4",
        "500  12 ms  retry 4 of 4",
    ]
    assert len(answers.sent) == 5


def test_does_not_retry_unless_asked(sleeps, answers):
    answers += [500]

    run(Service(polled(copy()), *[polled()] * 5))

    assert len(answers.sent) == 1


def test_tells_once_that_the_connection_is_lost_and_waits_up_to_five_seconds(sleeps, answers, capsys):
    run(Service(*[NotSent("away")] * 7, polled(copy())))

    assert sleeps == [0.5, 1, 2, 4, 5, 5, 5]
    told = capsys.readouterr().err
    assert told.count("is lost") == 1
    assert told.count("is back") == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_keeps_trying_while_the_service_has_trouble(sleeps, answers, status):
    run(Service(error_of(status, {}, retry_after=None), polled(copy())))

    assert len(answers.sent) == 1


def test_begins_anew_if_the_listener_has_ended(sleeps, answers):
    service = Service(error_of(404, {"code": "not_found"}, retry_after=None), polled(copy()))

    run(service)

    assert (service.begun, len(answers.sent)) == (2, 1)


def test_obeys_poll_after(sleeps, answers):
    run(Service(polled(poll_after=1), polled()))

    assert len(sleeps) == 1
    assert 1 <= sleeps[0] <= 1.5


def test_tells_of_dropped_events_once_in_red_on_a_terminal(sleeps, answers, capsys, monkeypatch):
    service = Service(polled(dropped=7), polled(dropped=7), polled(dropped=9))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)

    run(service)

    told = [line for line in capsys.readouterr().err.splitlines() if "dropped" in line]
    assert [line[:6] for line in told] == ["\x1b[31m7", "\x1b[31m9"]


def test_ends_the_listener_at_ctrl_c_only_if_asked(sleeps, answers):
    kept, forgotten = Service(), Service()

    run(kept)
    run(forgotten, forget=True)

    assert (kept.has_ended, forgotten.has_ended) == (False, True)


def test_default_name_is_one_that_the_service_accepts(monkeypatch):
    monkeypatch.setattr(listen.socket, "gethostname", lambda: "Ada's Mac." + "x" * 80)

    assert re.fullmatch(r"[A-Za-z0-9._:-]{1,64}", listen.default_name())


@pytest.mark.parametrize(
    "address", ["ftp://a/b", "http://", "http://a b/", "http://[::1", "http://a:0/", "http://a:b/"]
)
def test_refuses_an_address_that_is_none(address):
    with pytest.raises(WrongUsage):
        forwarding.receiver(address)


class TestForward:
    @pytest.fixture
    def server(self):
        received = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                received.append(
                    (self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"])))
                )
                if self.path == "/drip":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                    with suppress(OSError):
                        while True:
                            self.wfile.write(b"X: y\r\n")
                            time.sleep(0.02)
                    return
                self.send_response(302 if self.path == "/redirect" else 204)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *arguments):
                """Log nothing."""

        running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        running.daemon_threads = True
        running.received = received
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()
        running.server_close()

    def post(self, server, path, **options):
        to = forwarding.receiver(f"127.0.0.1:{server.server_port}{path}")
        return forwarding.forward(to, b"{}", {"X-Service-Attempt": "1"}, **options)

    def test_posts_the_bytes_to_the_path_and_query(self, server):
        assert self.post(server, "/hook?a=%3a").status == 204
        ((path, headers, body),) = server.received
        assert (path, headers["X-Service-Attempt"], body) == ("/hook?a=%3a", "1", b"{}")

    def test_posts_to_the_root_if_there_is_no_path(self, server):
        self.post(server, "")

        assert server.received[0][0] == "/"

    def test_follows_no_redirect(self, server):
        answer = self.post(server, "/redirect")

        assert (answer.status, answer.is_success, len(server.received)) == (302, False, 1)

    def test_ends_in_time_against_a_receiver_that_drips(self, server):
        answer = self.post(server, "/drip", seconds=0.3)

        assert (answer.status, answer.error) == (None, "no answer")

    def test_says_why_nothing_was_answered(self):
        answer = forwarding.forward(forwarding.receiver("127.0.0.1:1"), b"", {})

        assert (answer.status, answer.error) == (None, "connection refused")

import copy
import json
import logging
import pickle
import re
import socket
import traceback
from datetime import datetime, timezone
from pathlib import Path

import pytest
from config.errors.error_codes import ERROR_CODES

import sluice
from sluice import errors, signing
from sluice.transport import Response

KEYS = ("https://pay.example", "pk_1", "sk_canary_4084084084084081")
PAYMENT = {"request_type": "payment", "reference": "order-1", "status": "success", "amount": 500}


class Service:
    """A transport that answers from a list: responses, or exceptions to raise."""

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []

    def send(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def answer(status=200, document=PAYMENT, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, named, json.dumps(document).encode())


def problem(status, code, **more):
    return answer(status, {"status": status, "code": code, "title": "Title", "detail": "Detail.", **more})


@pytest.fixture
def waits(monkeypatch):
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)
    return slept


@pytest.fixture
def client(waits):
    def make(*answers, **options):
        service = Service(*answers)
        made = sluice.Sluice(*KEYS, transport=service, **options)
        made._caller._sleep = waits.append
        return made, service

    return make


def _assert_signed(request):
    text = signing.string_to_sign(
        timestamp=request.headers["X-Timestamp"],
        nonce=request.headers["X-Nonce"],
        method=request.method,
        target=request.target,
        body=request.body,
    )
    assert request.headers["X-Signature"] == signing.sign(KEYS[2], text)


class TestCall:
    def test_signs_the_target_and_the_bytes_that_are_sent(self, client):
        made, service = client(answer(), answer())

        made.payments.get("a:b~c")
        made.payouts.create(reference="p-1", amount=1, currency="NGN", customer={"name": "Ọ̀rẹ́"})

        assert [request.target for request in service.requests] == ["/api/payments/a:b~c", "/api/payments"]
        assert json.loads(service.requests[1].body)["customer"] == {"name": "Ọ̀rẹ́"}
        for request in service.requests:
            _assert_signed(request)

    def test_returns_what_came_beside_the_body(self, client):
        made, _ = client(answer(x_request_id="r-1", idempotent_replayed="true"))

        meta = made.payments.get("order-1").meta

        assert (meta.status, meta.request_id, meta.replayed) == (200, "r-1", True)

    def test_keeps_unknown_fields_and_accepts_missing_ones(self, client):
        made, _ = client(answer(document={"reference": "r-1", "colour": "green"}))

        payment = made.payments.get("r-1")

        assert (payment.reference, payment.status, payment.extra) == ("r-1", None, {"colour": "green"})

    @pytest.mark.parametrize("amount", [1.0, True, 10.5])
    @pytest.mark.parametrize(
        "call",
        [
            lambda made, amount: made.payments.create({"reference": "r", "amount": amount}),
            lambda made, amount: made.payments.capture("r", amount),
            lambda made, amount: made.refunds.create("r", reference="f", amount=amount),
            lambda made, amount: made.payouts.create(reference="p", amount=amount, currency="NGN"),
            lambda made, amount: made.virtual_accounts.simulate_transfer(account_number="1", amount=amount),
            lambda made, amount: made.payment_links.create(reference="l", amount_range={"min": amount}),
            lambda made, amount: made.payment_links.create(
                reference="l", amount_range={"suggested": [1, amount]}
            ),
            lambda made, amount: made.payment_links.update("l", max_uses=amount),
            lambda made, amount: made.call("POST", "/api/new", body={"items": [{"amount": amount}]}),
        ],
    )
    def test_refuses_amounts_that_are_not_whole_before_anything_is_sent(self, client, call, amount):
        made, service = client()

        with pytest.raises(TypeError, match="must be an int") as refused:
            call(made, amount)
        assert repr(amount) not in str(refused.value)
        assert service.requests == []

    def test_sends_fractions_of_an_overlap(self, client):
        made, service = client(answer(document={"id": "e-1", "hash_key": "whk_1"}))

        made.webhook_endpoints.rotate("e-1", overlap_hours=0.5)

        assert json.loads(service.requests[0].body) == {"overlap_hours": 0.5}

    def test_encodes_what_can_not_be_sent_and_nothing_else(self, client):
        made, service = client(answer(), answer(document={"data": [], "next": None}))

        made.call("GET", "/api/x/a:b~?q=%3a b\u00e9")
        made.call(
            "GET", "/api/events", {"test": True, "created_from": datetime(2026, 1, 1, tzinfo=timezone.utc)}
        )

        first, second = service.requests
        assert first.target == "/api/x/a:b~?q=%3a%20b%C3%A9"
        assert second.target == "/api/events?test=true&created_from=2026-01-01T00%3A00%3A00%2B00%3A00"
        _assert_signed(first)

    def test_needs_a_path(self, client):
        made, service = client()

        with pytest.raises(ValueError, match="slash"):
            made.call("GET", "@evil.example/api/banks")
        assert service.requests == []

    def test_names_the_nearest_argument(self, client):
        made, service = client()

        with pytest.raises(TypeError, match="no argument refrence; did you mean reference"):
            made.payments.card(refrence="r-1")
        assert service.requests == []

    def test_sends_three_ds_under_the_name_of_the_api(self, client, card):
        made, service = client(answer())

        made.payments.card(reference="r", amount=1, currency="NGN", source=card, three_ds={"enabled": True})

        assert json.loads(service.requests[0].body)["3ds"] == {"enabled": True}

    def test_gives_a_card_check_a_reference(self, client, card):
        made, service = client(answer(), answer())

        for _ in range(2):
            made.card_checks.create(currency="NGN", source=card)

        references = {json.loads(request.body)["reference"] for request in service.requests}
        assert len(references) == 2
        assert all(len(reference) == len("check-") + 24 for reference in references)

    def test_removes_a_value_of_a_payment_link_with_none(self, client):
        made, service = client(answer())

        made.payment_links.update("workshop", expires_at=None, max_uses=3)

        assert json.loads(service.requests[0].body) == {"expires_at": None, "max_uses": 3}


class TestRetries:
    @pytest.mark.parametrize(
        "trouble",
        [
            errors.NotSent("no"),
            errors.OutcomeUnknown("lost"),
            *(problem(status, "internal_error") for status in (429, 500, 502, 503, 504)),
        ],
    )
    def test_send_the_same_bytes_with_a_new_signature(self, client, waits, trouble):
        made, service = client(trouble, trouble, answer(201))

        made.payouts.create(reference="p-1", amount=1, currency="NGN", customer={})

        assert len({request.body for request in service.requests}) == 1
        assert len({request.headers["X-Nonce"] for request in service.requests}) == 3
        assert len(waits) == 2
        assert 0 <= waits[0] <= 0.5
        assert 0 <= waits[1] <= 1

    def test_end_after_the_last_one_with_what_happened(self, client):
        made, service = client(*[errors.OutcomeUnknown("lost")] * 3)

        with pytest.raises(sluice.OutcomeUnknown, match=r"client\.payments\.get\('p-1'\)") as lost:
            made.payouts.create(reference="p-1", amount=1, currency="NGN", customer={})
        assert lost.value.reference == "p-1"
        assert len(service.requests) == 3

    def test_can_be_turned_off(self, client):
        made, service = client(errors.NotSent("no"), retries=0)

        with pytest.raises(sluice.NotSent):
            made.payments.get("r")
        assert len(service.requests) == 1

    def test_end_after_a_minute_whatever_is_left(self, client, waits, monkeypatch):
        made, service = client(*[problem_with(retry_after="25")] * 4, retries=9)
        monkeypatch.setattr("time.monotonic", lambda: sum(waits))

        with pytest.raises(sluice.RateLimited):
            made.payments.get("r")
        assert (waits, len(service.requests)) == ([25, 25], 3)

    @pytest.mark.parametrize("call", ["capture", "void", "cancel"])
    def test_are_for_what_the_contract_makes_repeatable(self, client, call):
        made, service = client(errors.OutcomeUnknown("lost"), answer())

        getattr(made.payments, call)("order-1")

        assert len(service.requests) == 2

    def test_are_not_for_what_would_happen_twice(self, client):
        made, service = client(errors.OutcomeUnknown("lost"), errors.OutcomeUnknown("lost"))

        with pytest.raises(sluice.OutcomeUnknown):
            made.virtual_accounts.simulate_transfer(account_number="0123456789", amount=1)
        with pytest.raises(sluice.OutcomeUnknown):
            made.events.resend("e-1")
        assert len(service.requests) == 2

    def test_obey_retry_after_up_to_half_a_minute(self, client, waits):
        made, _ = client(problem_with(retry_after="7"), answer())
        made.payments.get("r")
        assert waits == [7]

        made, service = client(problem_with(retry_after="31"))
        with pytest.raises(sluice.RateLimited) as limited:
            made.payments.get("r")
        assert (limited.value.retry_after, len(service.requests)) == (31, 1)

    def test_are_not_for_requests_that_are_wrong(self, client):
        made, service = client(problem(400, "invalid_request"))

        with pytest.raises(sluice.InvalidRequest):
            made.payments.get("r")
        assert len(service.requests) == 1


def problem_with(**headers):
    return answer(429, {"code": "rate_limited"}, **headers)


class TestUnknownOutcome:
    @pytest.mark.parametrize(
        ("call", "lookup"),
        [
            (lambda made: made.payments.create({"reference": "o-1"}), "payments.get('o-1')"),
            (lambda made: made.payments.capture("o:1"), "payments.get('o:1')"),
            (lambda made: made.payments.void("o-1"), "payments.get('o-1')"),
            (lambda made: made.refunds.create("o-1", reference="f-1"), "refunds.get('f-1')"),
            (lambda made: made.virtual_accounts.dynamic(reference="a-1"), "virtual_accounts.get('a-1')"),
            (lambda made: made.virtual_accounts.deactivate("a-1"), "virtual_accounts.get('a-1')"),
            (lambda made: made.payment_links.update("l-1", title="x"), "payment_links.get('l-1')"),
            (lambda made: made.events.resend("e-1"), "events.get('e-1')"),
            (lambda made: made.unapplied_transfers.credit("t-1", reason="x"), "requests.list()"),
            (lambda made: made.call("POST", "/api/new"), "requests.list()"),
            (
                lambda made: made.virtual_accounts.simulate_transfer(account_number="1", amount=1),
                "requests.list()",
            ),
        ],
    )
    def test_says_which_call_asks_for_it(self, client, call, lookup):
        made, _ = client(errors.OutcomeUnknown("lost"), retries=0)

        with pytest.raises(sluice.OutcomeUnknown) as lost:
            call(made)
        assert f"The request may have arrived: client.{lookup}" in str(lost.value)
        assert lost.value.reference in ("o-1", "o:1", "f-1", "a-1", "l-1", "e-1", "t-1", "")
        if lost.value.reference:
            assert lost.value.reference in lookup or "t-1" in lost.value.reference

    def test_has_nothing_to_look_up_after_a_get(self, client):
        made, _ = client(errors.OutcomeUnknown("lost"), retries=0)

        with pytest.raises(sluice.OutcomeUnknown, match=r"^lost$"):
            made.payments.get("r")


class TestErrors:
    @pytest.mark.parametrize(
        ("status", "code", "kind"),
        [
            (409, "duplicate_reference", sluice.DuplicateReference),
            (409, "invalid_state", sluice.InvalidState),
            (409, "something_new", sluice.Conflict),
            (418, "something_new", sluice.InvalidRequest),
            (404, "", sluice.NotFound),
            (302, "", sluice.ApiError),
        ],
    )
    def test_are_of_the_code_or_else_of_the_status(self, client, status, code, kind):
        made, _ = client(problem(status, code))

        with pytest.raises(sluice.ApiError) as refused:
            made.payments.get("r")
        assert type(refused.value) is kind

    def test_list_every_wrong_field(self, client):
        wrong = [{"field": "amount", "code": "required", "message": "This field is required."}]
        made, _ = client(problem(400, "invalid_request", errors=wrong))

        with pytest.raises(sluice.InvalidRequest, match="amount: This field is required"):
            made.payments.create({})

    def test_compare_what_was_signed_and_mark_the_first_line_that_differs(self, client):
        made, service = client()
        theirs = "1767225602\nnonce\nGET\n/api/payments/a%3Ab\ne3b0"
        service.answers = [problem(401, "invalid_signature", string_to_sign=theirs)]

        with pytest.raises(sluice.AuthenticationFailed) as refused:
            made.payments.get("a:b")

        text = str(refused.value)
        for line in (*theirs.split("\n"), *refused.value.signed.split("\n")):
            assert line in text
        (marked,) = [line for line in text.splitlines() if line.startswith(">")]
        assert marked.split()[1] == "timestamp"

    def test_say_that_the_secret_is_another_one_if_nothing_differs(self, client):
        made, service = client()

        def echo(request):
            text = signing.string_to_sign(
                timestamp=request.headers["X-Timestamp"], nonce=request.headers["X-Nonce"],
                method="GET", target=request.target, body=b"",
            )  # fmt: skip
            return problem(401, "invalid_signature", string_to_sign=text)

        service.send = echo
        with pytest.raises(sluice.AuthenticationFailed, match="secret key is not that of this API key"):
            made.payments.get("r")

    def test_say_what_holds_a_reference(self, client):
        existing = {"id": "7", "status": "failed"}
        made, _ = client(problem(409, "duplicate_reference", existing=existing))

        with pytest.raises(sluice.DuplicateReference) as refused:
            made.payments.create({"reference": "r"})
        assert (refused.value.id, refused.value.first_status) == ("7", "failed")
        assert "The first request made 7, failed. Use a new reference" in str(refused.value)

    @pytest.mark.parametrize(
        ("code", "members", "line"),
        [
            ("duplicate_reference", {"differs": ["amount", "source"]}, "Fields that differ: amount, source."),
            ("invalid_state", {"differs": ["amount"]}, "Fields that differ: amount."),
            ("invalid_signature", {"mistake": {"code": "x", "message": "Sign this."}}, "Sign this."),
        ],
    )
    def test_name_the_cause_that_the_service_found(self, client, code, members, line):
        made, _ = client(problem(409 if "differs" in members else 401, code, **members))

        with pytest.raises(sluice.ApiError) as refused:
            made.payments.create({"reference": "r"})
        assert line in str(refused.value).splitlines()

    @pytest.mark.parametrize("reference", ["", "a/b"])
    def test_are_raised_for_a_reference_that_cant_be_part_of_a_path(self, client, reference):
        made, service = client()

        with pytest.raises(ValueError, match="is no reference"):
            made.payments.get(reference)
        assert service.requests == []

    @pytest.mark.parametrize("body", [b"", b"<html>", b"\xff"])
    def test_are_raised_for_answers_that_are_not_of_the_service(self, client, body):
        made, _ = client(Response(200, {}, body), retries=0)
        with pytest.raises(sluice.OutcomeUnknown, match="address of the service"):
            made.payments.get("r")

        made, _ = client(Response(502, {}, body), retries=0)
        with pytest.raises(sluice.ServerTrouble):
            made.payments.get("r")


class TestClock:
    def test_is_corrected_with_a_warning(self, client, caplog):
        made, service = client()
        server_time = int(made._caller._now()) + 600
        service.answers = [
            problem(401, "timestamp_out_of_range", server_time=server_time),
            answer(),
            answer(),
        ]

        made.payments.get("r")
        made.payments.get("r")

        times = [int(request.headers["X-Timestamp"]) - server_time for request in service.requests]
        assert times[0] < -590
        assert all(abs(time) <= 2 for time in times[1:])
        assert "600 s slow" in caplog.text or "599 s slow" in caplog.text

    @pytest.mark.parametrize("off", [600, 25 * 3600])
    def test_is_left_alone_if_asked_to_or_if_it_is_a_day_off(self, client, off):
        made, service = client(correct_clock=off != 600)
        server_time = int(made._caller._now()) + off
        service.answers = [problem(401, "timestamp_out_of_range", server_time=server_time)]

        with pytest.raises(
            sluice.AuthenticationFailed, match=r"clock of this machine is \d+ s slow"
        ) as refused:
            made.payments.get("r")
        assert refused.value.document["server_time"] == server_time
        assert len(service.requests) == 1
        assert f"{off} s" in str(refused.value) or f"{off - 1} s" in str(refused.value)

    def test_is_forgotten_after_ten_minutes_and_corrected_once_for_each_call(self, client, caplog):
        made, service = client()
        now = [1_000_000.0]
        made._caller._now = lambda: now[0]
        late = problem(401, "timestamp_out_of_range", server_time=int(now[0]) - 600)
        service.answers = [late, answer(), answer(), late, late]

        made.payments.get("r")
        now[0] += 601
        made.payments.get("r")
        assert service.requests[2].headers["X-Timestamp"] == str(int(now[0]))
        with pytest.raises(sluice.AuthenticationFailed):
            made.payments.get("r")
        assert len(service.requests) == 5
        assert "600 s fast" in caplog.text


class TestPages:
    def test_run_through_all_and_never_to_another_host(self, client):
        first = {
            "data": [PAYMENT],
            "next": "https://evil.example/api/payments?cursor=a%3ab",
            "previous": None,
        }
        last = {"data": [PAYMENT | {"reference": "order-2"}], "next": None, "previous": None}
        made, service = client(answer(document=first), answer(document=last))

        references = [payment.reference for payment in made.payments.list(limit=1, status=None)]

        assert references == ["order-1", "order-2"]
        targets = [request.target for request in service.requests]
        assert targets == ["/api/payments?limit=1", "/api/payments?cursor=a%3ab"]

    @pytest.mark.parametrize(
        "address", ["x:@evil.example/api", "https://pay.example//evil.example/api", "?a=b"]
    )
    def test_keep_to_the_service_whatever_the_answer_says(self, client, address):
        page = {"data": [], "next": address}
        made, service = client(answer(document=page), answer(document={"data": [], "next": None}))

        assert list(made.payments.list()) == []
        assert service.requests[1].target.startswith("/")

    def test_give_each_item_what_came_beside_the_list(self, client):
        made, _ = client(answer(document={"data": [PAYMENT], "next": None}, x_request_id="r-1"))

        assert made.payments.list().data[0].meta.request_id == "r-1"

    def test_are_errors_if_they_are_no_lists(self, client):
        made, _ = client(answer(document={"hello": "world"}), retries=0)

        with pytest.raises(sluice.OutcomeUnknown, match="address of the service"):
            made.payments.list()


class TestBanks:
    def test_are_fetched_again_only_after_a_change(self, client):
        banks = {"data": [{"code": "058", "name": "GTBank"}]}
        made, service = client(answer(document=banks, etag='"1"'), Response(304, {}, b""))

        assert made.banks.list() == made.banks.list()
        assert [request.headers.get("If-None-Match") for request in service.requests] == [None, '"1"']


class TestLog:
    def test_has_path_status_attempt_and_request_id_and_nothing_else(self, client, caplog):
        caplog.set_level(logging.INFO, "sluice")
        made, _ = client(errors.NotSent("no"), answer(document={"data": []}, x_request_id="r-7"))

        made.events.list(reference="canary")

        first, second = caplog.messages
        assert re.fullmatch(r"GET /api/events not sent \d+ ms, attempt 1 ", first)
        assert re.fullmatch(r"GET /api/events 200 \d+ ms, attempt 2 r-7", second)


def shown(problem):
    """Return a traceback with the variables of every frame, but the test's own."""
    problem.__traceback__ = problem.__traceback__.tb_next
    return "".join(traceback.TracebackException.from_exception(problem, capture_locals=True).format())


class TestSecrets:
    def test_appear_in_no_text_log_or_traceback(self, client, caplog, card):
        caplog.set_level(logging.DEBUG)
        del card["type"]
        source = sluice.Card(**card | {"cvv": "cvv-canary"})
        refusals = [problem(declared.status, code) for code, declared in ERROR_CODES.items()]
        lost = [errors.OutcomeUnknown("lost"), errors.NotSent("not sent"), Response(200, {}, b"<html>")]
        made, service = client(answer(), *lost, *refusals, retries=0)
        texts = [repr(made), str(made), repr(made.payments), repr(made._caller), f"{source} {source!r}"]

        texts.append(repr(made.payments.card(reference="r", amount=1, currency="NGN", source=source)))
        for _ in range(len(lost) + len(refusals)):
            with pytest.raises(sluice.SluiceError) as failed:
                made.payments.card(reference="r", amount=1, currency="NGN", source=source)
            texts += [shown(failed.value), repr(failed.value), repr(vars(failed.value))]
        texts += [repr(request) for request in service.requests]

        everything = "\n".join([*texts, caplog.text])
        assert "**** 4081" in everything
        for secret in ("canary", card["pan"]):
            assert secret not in everything

    def test_appear_in_no_traceback_of_a_connection_that_fails(self, card):
        del card["type"]
        source = sluice.Card(**card | {"cvv": "cvv-canary"})
        with socket.create_server(("127.0.0.1", 0)) as server:
            made = sluice.Sluice(
                f"http://127.0.0.1:{server.getsockname()[1]}", *KEYS[1:], retries=0, read_timeout=0.1
            )
            with pytest.raises(sluice.OutcomeUnknown) as failed:
                made.payments.card(reference="r", amount=1, currency="NGN", source=source)

        everything = shown(failed.value)
        assert "**** 4081" in everything
        for secret in ("canary", card["pan"]):
            assert secret not in everything

    def test_can_not_be_pickled(self, client):
        made, _ = client()

        for held in (made, made._caller, made.payments):
            with pytest.raises(TypeError, match="secret"):
                pickle.dumps(held)

    def test_of_cards_can_not_be_pickled_or_copied(self, card):
        del card["type"]
        for take in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="card"):
                take(sluice.Card(**card))
        assert json.loads(json.dumps(sluice.Card(**card)))["pan"] == card["pan"]

    @pytest.mark.parametrize(
        "keys", [("", "sk"), ("pk", ""), ("pk", "sk\n"), ("pk 1", "sk"), ("pk", "s\u043a")]
    )
    def test_have_the_letters_of_a_key(self, keys):
        with pytest.raises(ValueError, match="key is empty, or has") as refused:
            sluice.Sluice("https://pay.example", *keys)
        assert "sk" not in str(refused.value)

    @pytest.mark.parametrize(
        "address",
        [
            "http://pay.example", "pay.example", "ftp://pay.example", "https://",
            "https://pay.example/sluice", "https://a:b@pay.example",
        ],
    )  # fmt: skip
    def test_do_not_travel_over_http_unless_asked_to(self, address):
        with pytest.raises(ValueError, match="base URL"):
            sluice.Sluice(address, "pk", "sk")

    def test_travel_over_http_to_this_machine(self):
        assert sluice.Sluice("http://127.0.0.1:8000", "pk", "sk").base_url == "http://127.0.0.1:8000"
        assert sluice.Sluice("http://pay.example", "pk", "sk", insecure_http=True)


def test_every_code_of_the_service_has_a_class():
    assert errors.BY_CODE.keys() == set(ERROR_CODES)
    for code, declared in ERROR_CODES.items():
        assert type(errors.error_of(declared.status, {"code": code})) is errors.BY_CODE[code]


def test_node_client_has_the_same_classes():
    source = Path(__file__, "../../../node/src/errors.ts").resolve().read_text()
    table = source[source.index("const CODES") : source.index("export const BY_CODE")]
    rows = re.findall(r"\[\s*(\w+),\s*((?:\"[^\"]*\"[\s+]*)+),?\s*\]", table)
    theirs = {code: kind for kind, codes in rows for code in re.findall(r"[a-z_]+", codes)}

    assert theirs == {code: kind.__name__ for code, kind in errors.BY_CODE.items()}

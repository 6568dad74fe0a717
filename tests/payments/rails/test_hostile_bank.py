"""Hostile answers of a bank: an unreadable outcome stays pending, at a bounded cost."""

import gzip
import json
import time
from contextlib import suppress
from io import StringIO
from itertools import repeat

import pytest
from django.core.management import call_command

from kit.connectors.http_client import LARGEST_ANSWER
from payments.rails import RailUnavailable
from payments.rails.bank_signing import SIGNATURE_HEADER, answer_signature
from payments.services.payouts import name_enquiries
from payments.simulators import bank as simulator
from tests import orders
from tests.memory import peak_below
from tests.simulators import short_bank_timeout

pytestmark = pytest.mark.django_db

PAYMENTS = "/api/payments"
PATIENCE = 0.5  # seconds: the longest that a call may take
MOST_MEMORY = 16 * 1024 * 1024  # bytes at peak
SIZE = LARGEST_ANSWER - 1_000  # bytes of a hostile value
OK = b"HTTP/1.1 200 OK\r\n"


def nested(depth):
    return "[" * depth + "]" * depth


# Values of a member, as JSON. The rest of the answer is signed and reports a completed transfer.
UNREADABLE = {
    "as many lists as fit": nested(SIZE // 2),
    "open lists": "[" * SIZE,
    "objects": '{"a":' * (SIZE // 6) + "1" + "}" * (SIZE // 6),
    "lists that Python can still read": nested(900),
    "a long number": "9" * SIZE,
}

# Other values in an answer. They are readable, but never stored unchanged.
STRANGE_SESSIONS = {
    "no text": '["a"]',
    "a number": "1e400",
    "NUL": '"a\\u0000b"',
    "half a surrogate pair": '"\\ud800"',
    "a long text": json.dumps("é" * 10_000),
}

# Answers that never end, or exceed the size limit by far. They are yielded in pieces.
ENDLESS = {
    "100 MB": lambda: [OK, b"Content-Length: 104857600\r\n\r\n", *repeat(b"x" * 65_536, 1_600)],
    "no end": lambda: _then(OK + b"\r\n", b"x" * 65_536),
    "chunks": lambda: _then(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n"),
    "a line of a chunk's length": lambda: _then(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 65_536),
    "trailers": lambda: _then(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n" * 10_000),
    "a header": lambda: _then(OK + b"X-Long: ", b"x" * 65_536),
    "headers": lambda: _then(OK, b"X-Long: x\r\n" * 6_000),
    "interim answers": lambda: _then(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 3_000),
    "a drip": lambda: _dripping(OK + b"Content-Length: 1000\r\n\r\n"),
}


def _then(first, again):
    yield first
    yield from repeat(again)


def _dripping(head):
    for byte in head + b" " * 1_000:
        time.sleep(0.02)
        yield bytes([byte])


@pytest.fixture
def answer_with(bank, monkeypatch):
    """Make the bank execute the next calls but send a different answer."""
    usual = simulator._Exchange._send

    def use(write):
        def send(exchange, status, document, **options):
            with suppress(OSError):
                write(exchange, document)
            exchange.close_connection = True

        monkeypatch.setattr(simulator._Exchange, "_send", send if write else usual)

    return use


def signed(body, *, headers=b"", sent=None):
    """Write a signed answer."""

    def write(exchange, document):
        raw = body(document)
        signature = answer_signature(exchange.server.key, asked=exchange.headers[SIGNATURE_HEADER], body=raw)
        exchange.wfile.write(
            OK
            + headers
            + f"Content-Length: {len(raw)}\r\n{SIGNATURE_HEADER}: {signature}\r\n\r\n".encode()
            + raw
        )

    return write


def streamed(pieces):
    def write(exchange, _document):
        for piece in pieces():
            exchange.wfile.write(piece)

    return write


def with_member(name, value):
    """Return a body: the bank's own answer with one more member, given as JSON."""

    def body(document):
        whole = json.dumps({other: kept for other, kept in document.items() if other != name})
        return f'{whole[:-1]}, "{name}": {value}}}'.encode()

    return body


def requery_all():
    call_command("requery_pending", stdout=StringIO(), stderr=StringIO())


def pay_out(api):
    answer = api.post(PAYMENTS, orders.payout())
    assert answer.status_code == 201, answer.content
    return answer.json()


def status(api, payout):
    return api.get(f"{PAYMENTS}/{payout['reference']}").json()["status"]


def is_paid_once(bank, payout):
    return bank.books.all_paid() == {payout["id"].replace("-", ""): payout["amount"]}


@pytest.mark.long
class TestUnreadableAnswer:
    @pytest.fixture(params=UNREADABLE.values(), ids=UNREADABLE)
    def value(self, request):
        return request.param

    @pytest.mark.parametrize("member", ["session_id", "unknown"])
    def test_leaves_the_payout_pending_until_it_can_be_read(self, api, bank, answer_with, value, member):
        answer_with(signed(with_member(member, value)))

        with peak_below(MOST_MEMORY):
            payout = pay_out(api)
            requery_all()

        assert (payout["status"], status(api, payout)) == ("pending", "pending")
        answer_with(None)
        requery_all()
        assert status(api, payout) == "success"
        assert is_paid_once(bank, payout)

    def test_is_not_used_as_an_account_name(self, ada, bank, answer_with, value):
        answer_with(signed(with_member("account_name", value)))

        with peak_below(MOST_MEMORY), pytest.raises(RailUnavailable):
            name_enquiries.account_name(business=ada.business, bank_code="058", account_number="0123456789")

    def test_is_not_decompressed(self, api, bank, answer_with):
        bomb = gzip.compress(b" " * 50_000_000)
        answer_with(signed(lambda _document: bomb, headers=b"Content-Encoding: gzip\r\n"))

        with peak_below(MOST_MEMORY):
            payout = pay_out(api)

        assert payout["status"] == "pending"


@pytest.mark.long
class TestEndlessAnswer:
    @pytest.mark.parametrize("pieces", ENDLESS.values(), ids=ENDLESS)
    def test_leaves_the_payout_pending_until_it_ends(self, api, bank, answer_with, pieces):
        answer_with(streamed(pieces))

        begun = time.monotonic()
        with peak_below(MOST_MEMORY), short_bank_timeout(PATIENCE):
            payout = pay_out(api)

        assert payout["status"] == "pending"
        assert time.monotonic() - begun < 8  # seconds; the bank runs in this process and floods it
        answer_with(None)
        requery_all()
        assert status(api, payout) == "success"
        assert is_paid_once(bank, payout)


class TestStrangeSession:
    @pytest.mark.parametrize("value", STRANGE_SESSIONS.values(), ids=STRANGE_SESSIONS)
    def test_is_truncated_to_storable_text(self, api, bank, answer_with, value):
        answer_with(signed(with_member("session_id", value)))

        payout = pay_out(api)

        assert payout["status"] == "success"
        session = payout.get("acquirer_transaction_id", "")
        assert len(session) <= 64
        assert session.isprintable()
        assert is_paid_once(bank, payout)

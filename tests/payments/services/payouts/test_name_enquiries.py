"""POST /api/banks/resolve: the name of an account's holder."""

import pytest
from django.db import connection

from payments.rails.protocol import AnswerLost
from payments.rails.sandbox import SandboxBank
from payments.services.payouts import name_enquiries
from tests.clients import Credentials, InProcessClient
from tests.factories import ApiKeyFactory

pytestmark = pytest.mark.django_db

PATH = "/api/banks/resolve"
ASKED = {"bank_code": "058", "account_number": "0123456789"}


def test_returns_the_name_with_the_account(api):
    answer = api.post(PATH, ASKED)

    assert (answer.status_code, answer.json()) == (
        200,
        {"account_name": "Sandbox Account 6789", "account_number": "0123456789", "bank_code": "058"},
    )


def test_name_is_the_same_each_time_and_for_the_nip_code(api):
    names = [api.post(PATH, ASKED | {"bank_code": code}).json() for code in ("058", "000013", "058")]

    assert names[0] == names[1] == names[2]


def test_unknown_account_is_404(api):
    answer = api.post(PATH, ASKED | {"account_number": "0000000000"})

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_beneficiary")


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({}, {"bank_code": "required", "account_number": "required"}),
        ({**ASKED, "bank_code": "999"}, {"bank_code": "unknown_bank"}),
        ({**ASKED, "account_number": "123"}, {"account_number": "invalid_length"}),
        ({**ASKED, "account_number": "012345678x"}, {"account_number": "invalid"}),
        ({**ASKED, "account_number": 123456789}, {"account_number": "invalid_type"}),
        ({**ASKED, "name": "Ada"}, {"name": "unknown_field"}),
    ],
)
def test_wrong_request_names_every_field(api, body, wrong):
    answer = api.post(PATH, body)

    assert answer.status_code == 400
    found = {error["field"]: error["code"] for error in answer.json()["errors"]}
    assert found.keys() == wrong.keys()
    assert all(found[name] == code for name, code in wrong.items() if code != "invalid_length")


def test_unanswered_enquiry_is_503_with_retry_after(api, monkeypatch):
    class SilentBank(SandboxBank):
        def account_name(self, **_):
            raise AnswerLost

    monkeypatch.setattr(name_enquiries, "bank_for", lambda _business: SilentBank())

    answer = api.post(PATH, ASKED)

    assert (answer.status_code, answer.json()["code"]) == (503, "rail_unavailable")
    assert int(answer.headers["Retry-After"]) > 0


def test_no_bank_is_503(api, settings):
    settings.PAYOUT_BANK = ""

    assert api.post(PATH, ASKED).json()["code"] == "rail_unavailable"


def test_get_of_a_path_below_banks_is_405(api):
    assert api.get(PATH).status_code == 405


def test_read_only_key_cannot_query_banks(ada):
    reading = ApiKeyFactory(business=ada.business, access="read")
    client = InProcessClient(Credentials(reading.public_id, reading.secret))

    assert client.post(PATH, ASKED).json()["code"] == "key_may_not_write"


@pytest.mark.django_db(transaction=True)
def test_bank_is_called_outside_database_transactions(api, monkeypatch):
    seen = []

    class CuriousBank(SandboxBank):
        def account_name(self, **_):
            seen.append(connection.in_atomic_block)
            return "Ada Obi"

    monkeypatch.setattr(name_enquiries, "bank_for", lambda _business: CuriousBank())

    assert api.post(PATH, ASKED).json()["account_name"] == "Ada Obi"
    assert seen == [False]

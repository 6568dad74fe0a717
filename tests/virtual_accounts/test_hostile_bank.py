"""Generated notifications: every authentic one with valid strict fields is recorded, and none causes a 500."""

import json
import uuid

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger.invariants import check
from payments.invariants.registry import INVARIANTS
from payments.models import PayoutReturn, Transaction
from tests import orders
from tests.bank_signing import KEY, signed_headers
from virtual_accounts.models import Transfer, UnclaimedTransfer

pytestmark = pytest.mark.django_db

# `json.dumps` writes lone surrogates and U+0000 as JSON escapes.
TEXT = st.text(st.characters(codec=None), max_size=60)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), TEXT, st.integers(10**40, 10**60), st.just(1e300)
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
LENIENT = st.dictionaries(
    st.sampled_from(["sender_name", "sender_account_number", "sender_bank_code", "narration", "reason"])
    | TEXT,
    ANYTHING,
    max_size=30,
)
# Similar to valid values of the strict fields, and sometimes valid.
AMOUNTS = st.one_of(
    st.integers(-2, 2**63), st.sampled_from([1.0, 5e4, 0.5, "1", None, True, 2**63 - 1, 2**63])
)
CURRENCIES = st.sampled_from(["NGN", "USD", "JPY", "ngn", "XXX", "", 566, None])
REFERENCES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=100) | TEXT
FUZZED = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(autouse=True)
def _key(settings):
    settings.BANK_NOTIFICATION_KEYS = [KEY]


@pytest.fixture
def notify(client):
    def send(path, members):
        raw = json.dumps(members).encode()
        headers = signed_headers(raw)
        with transaction.atomic():
            return client.generic("POST", path, raw, content_type="application/json", headers=headers)

    return send


def is_strict_field_wrong(answer, names):
    """Return whether the response rejects only strict fields."""
    errors = answer.json().get("errors", [])
    return answer.status_code == 400 and errors != [] and {error["field"] for error in errors} <= names


class TestTransfers:
    STRICT = frozenset({"bank_reference", "account_number", "amount", "currency"})

    @pytest.mark.long
    @FUZZED
    @given(lenient=LENIENT, amount=st.integers(1, 2**63 - 1))
    def test_with_valid_strict_fields_are_recorded(self, notify, static, lenient, amount):
        reference = uuid.uuid4()
        number = static["customer"]["account_number"]
        strict = {
            "bank_reference": reference.hex, "account_number": number, "amount": amount, "currency": "NGN",
        }  # fmt: skip

        answer = notify("/bank/transfers", lenient | strict)

        assert answer.status_code == 200, answer.content
        rows = Transfer.objects.filter(bank_reference=reference.hex).count()
        assert rows + UnclaimedTransfer.objects.filter(bank_reference=reference.hex).count() == 1

    @pytest.mark.long
    @FUZZED
    @given(
        lenient=LENIENT,
        strict=st.fixed_dictionaries(
            {
                "bank_reference": REFERENCES,
                "account_number": st.from_regex(r"[0-9]{10}", fullmatch=True) | TEXT,
                "amount": AMOUNTS,
                "currency": CURRENCIES,
            }
        ),
    )
    def test_are_recorded_or_rejected_for_a_strict_field(self, notify, lenient, strict):
        answer = notify("/bank/transfers", lenient | strict)

        assert answer.status_code in {200, 409} or is_strict_field_wrong(answer, self.STRICT), answer.content
        if answer.status_code == 200:
            assert UnclaimedTransfer.objects.filter(bank_reference=strict["bank_reference"]).exists()


class TestPayoutReturns:
    STRICT = frozenset({"bank_reference", "payout_reference", "amount", "currency"})

    @pytest.mark.long
    @FUZZED
    @given(data=st.data(), lenient=LENIENT)
    def test_with_valid_strict_fields_are_recorded(self, api, notify, data, lenient):
        reference = uuid.uuid4()
        payout = self.payout(api)
        named = data.draw(
            st.sampled_from([payout.pk.hex, str(payout.pk), payout.reference, "none", "../x", "'"])
        )
        amount = data.draw(st.sampled_from([1, 1_000, 250_000, 250_001, 2**63 - 1]))
        currency = data.draw(st.sampled_from(["NGN", "USD"]))
        strict = {
            "bank_reference": reference.hex, "payout_reference": named, "amount": amount, "currency": currency,
        }  # fmt: skip

        answer = notify("/bank/payout-returns", lenient | strict)

        assert answer.status_code == 200, answer.content
        recorded = PayoutReturn.objects.get(bank_reference=reference.hex)
        assert (recorded.amount, recorded.applied) == (amount, answer.json()["applied"])
        payout.refresh_from_db()
        assert payout.status == "success"
        assert 0 <= payout.amount_returned <= payout.amount

    @pytest.mark.long
    @FUZZED
    @given(
        lenient=LENIENT,
        strict=st.fixed_dictionaries(
            {
                "bank_reference": REFERENCES,
                "payout_reference": REFERENCES,
                "amount": AMOUNTS,
                "currency": CURRENCIES,
            }
        ),
    )
    def test_are_recorded_or_rejected_for_a_strict_field(self, notify, lenient, strict):

        answer = notify("/bank/payout-returns", lenient | strict)

        assert answer.status_code in {200, 409} or is_strict_field_wrong(answer, self.STRICT), answer.content
        if answer.status_code == 200:
            assert PayoutReturn.objects.filter(bank_reference=strict["bank_reference"]).exists()

    @staticmethod
    def payout(api):
        found = Transaction.objects.filter(request_type="payout").first()
        if found is None:
            api.post("/api/payments", orders.payout(amount=250_000))
            found = Transaction.objects.get(request_type="payout")
        return found


def test_ledger_is_valid_after_hostile_notifications(api, notify, static):
    number = static["customer"]["account_number"]
    payout = TestPayoutReturns.payout(api)
    for place, amount in enumerate([1, 10**12, 10**16, 10**16 + 1, 2**63 - 1]):
        notice = {"bank_reference": f"t-{place}", "amount": amount, "currency": "NGN"}
        assert notify("/bank/transfers", notice | {"account_number": number}).status_code == 200
        assert notify("/bank/transfers", notice | {"account_number": "9999999999"}).status_code in {200, 409}
        assert notify("/bank/payout-returns", notice | {"payout_reference": payout.pk.hex}).status_code == 200

    assert [one.invariant.name for one in check(INVARIANTS) if not one.holds] == []

"""What happens to disputed payments at the same moment in different processes (PostgreSQL).

Each example ends with a check of the whole ledger. DISPUTE_EXAMPLES=200 plays more of them. The races fail without the
lock of the payment (`lock_dispute`, `intents.lock`), except for two: the same news twice is stopped by unique keys as
well, and two releases by the condition of the batch's UPDATE.
"""

import os
import random
from collections import Counter
from datetime import datetime, timedelta
from functools import partial
from io import StringIO
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection

from disputes.models import Dispute, DisputeReport, DisputeStep
from disputes.services import clock as deadlines
from disputes.services.answers import answers
from payments.models import InvalidState, SettlementBatch, Transaction
from payments.rules.words.dispute_words import Stage, Status
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.disputed import AMOUNT, disputed, file_of, payment_of, row
from tests.disputes.actions import (
    ACTOR,
    NAMES,
    SETTINGS,
    Actions,
    act,
    assert_everything_is_accounted_for,
    assert_paid_back_once,
    broken,
)
from tests.factories import BusinessFactory, UserFactory
from tests.process_racers import process_racers
from tests.settling import decide, settle

EXAMPLES = int(os.environ.get("DISPUTE_EXAMPLES", "3"))
ROUNDS, PROCESSES = 10, 4

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(120 + 20 * EXAMPLES),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer"),
]


@pytest.fixture
def pair():
    with process_racers(2, **SETTINGS) as line:
        yield line


@pytest.fixture(autouse=True)
def _configure(settings):
    for name, value in SETTINGS.items():
        setattr(settings, name, value)


def assert_right(business):
    assert broken() == []
    assert_paid_back_once()
    assert_everything_is_accounted_for(business)


def read(file):
    """Read a file of disputes, and return what the command says."""
    said = StringIO()
    call_command("read_disputes", file=file, stdout=said, stderr=StringIO())
    return said.getvalue()


def post(credentials: Credentials, address: str, body: object = None) -> tuple[int, str]:
    """Send a signed request, and return the status with the code of a problem."""
    answer = InProcessClient(credentials).post(address, body)
    return answer.status_code, answer.json().get("code", "")


def submit(dispute_id: UUID, at: datetime) -> bool:
    try:
        answers.submit(dispute_id, actor=ACTOR, clock=lambda: at)
    except InvalidState:
        return False
    return True


def expire(dispute_id: UUID, at: datetime) -> bool:
    return deadlines.expire_one(dispute_id, clock=lambda: at)


def release(batch: SettlementBatch) -> bool:
    try:
        decide(batch, "release")
    except InvalidState:
        return False
    return True


def told_in(folder, payment: Transaction, **changes: object):
    """Return a file that reports a dispute of the payment."""
    place = folder / str(len(list(folder.iterdir())))
    place.mkdir()
    return file_of(place, row(payment, **{"case_number": f"CB-{payment.pk.hex[-8:]}"} | changes))


def test_any_actions(db):
    dice = random.Random(7)
    with process_racers(PROCESSES, **SETTINGS) as line:
        for example in range(EXAMPLES):
            business, person = BusinessFactory(), UserFactory(is_staff=True, is_superuser=True)
            Actions(business, person, dice.choice).pay()
            for number in range(ROUNDS):
                names = dice.choices(NAMES, k=PROCESSES)
                line.race(
                    *[
                        partial(act, business.pk, person.pk, name, f"{example} {number} {place}")
                        for place, name in enumerate(names)
                    ]
                )
            assert_right(business)


def test_the_same_news_twice(api, ada, pair, tmp_path):
    for _ in range(EXAMPLES):
        payment = payment_of(api)
        news = told_in(tmp_path, payment)

        assert pair.race(*[partial(read, news)] * 2) == ["1 row: 1 matched, 0 unmatched.\n"] * 2

        assert Dispute.objects.get(transaction=payment).steps.count() == 1
        assert DisputeReport.objects.filter(dispute__transaction=payment).count() == 1
        assert_right(ada.business)


@pytest.mark.parametrize(
    "later", [{"status": Status.LOST}, {"stage": Stage.PRE_ARBITRATION}], ids=["end", "gap"]
)
def test_news_in_any_order(api, ada, pair, tmp_path, later):
    """The later news may be stored first, and the earlier one changes nothing then."""
    for _ in range(EXAMPLES):
        payment = payment_of(api)
        files = [told_in(tmp_path, payment), told_in(tmp_path, payment, **later)]

        pair.race(*[partial(read, file) for file in files])

        last = Dispute.objects.get(transaction=payment, next=None)
        assert (last.stage, last.status) == (
            later.get("stage", Stage.CHARGEBACK),
            later.get("status", Status.NEEDS_RESPONSE),
        )
        assert (
            not Dispute.objects.filter(transaction=payment).exclude(pk=last.pk).exclude(status="won").exists()
        )
        assert_right(ada.business)


def test_news_and_refund(api, ada, pair, tmp_path):
    """Money that is disputed is never refunded, and what was refunded is marked on the dispute."""
    for _ in range(EXAMPLES):
        payment = payment_of(api)
        address, wanted = (
            f"/api/payments/{payment.reference}/refunds",
            {"reference": orders.new_reference("rf")},
        )

        refunded, _ = pair.race(
            partial(post, api.credentials, address, wanted | {"amount": AMOUNT}),
            partial(read, told_in(tmp_path, payment)),
        )

        dispute = Dispute.objects.get(transaction=payment)
        assert (refunded, dispute.already_refunded) in (
            ((201, ""), True),
            ((409, "payment_disputed"), False),
        )
        assert_right(ada.business)


def test_news_and_submission(api, ada, pair, tmp_path):
    for _ in range(EXAMPLES):
        dispute = disputed(payment_of(api))
        lost = told_in(tmp_path, dispute.transaction, status=Status.LOST)

        submitted, _ = pair.race(
            partial(post, api.credentials, f"/api/disputes/{dispute.pk}/submit"), partial(read, lost)
        )

        dispute.refresh_from_db()
        assert dispute.status == "lost"
        assert submitted in [(200, ""), (409, "invalid_state")]
        assert (dispute.answer is not None) == (submitted[0] == 200)
        assert_right(ada.business)


def test_submission_and_acceptance(api, ada, pair):
    for _ in range(EXAMPLES):
        dispute = disputed(payment_of(api))
        address = f"/api/disputes/{dispute.pk}"

        answered = pair.race(
            *[partial(post, api.credentials, f"{address}/{each}") for each in ("submit", "accept")]
        )

        assert Counter(status for status, _ in answered) == {200: 1, 409: 1}
        dispute.refresh_from_db()
        assert dispute.status == ("under_review" if answered[0][0] == 200 else "accepted")
        assert_right(ada.business)


def test_submission_in_the_second_of_the_deadline_and_expiry(api, ada, pair):
    """The submission reads a time just before the deadline, and the expiry the deadline itself."""
    for _ in range(EXAMPLES):
        dispute = disputed(payment_of(api))
        at = dispute.respond_by

        submitted, expired = pair.race(
            partial(submit, dispute.pk, at - timedelta(microseconds=1)), partial(expire, dispute.pk, at)
        )

        dispute.refresh_from_db()
        assert (dispute.status, submitted, expired) in [
            ("under_review", True, False),
            ("expired", False, True),
        ]
        ends = DisputeStep.objects.filter(dispute=dispute, kind__in=["submitted", "closed"])
        assert ends.count() == 1
        assert_right(ada.business)


def test_news_and_two_releases(api, ada, tmp_path):
    """The dispute is netted before the release or afterwards, and the settlement is paid once."""
    with process_racers(3, **SETTINGS) as line:
        for _ in range(EXAMPLES):
            payment = payment_of(api)
            [batch] = settle()
            decide(batch, "approve")

            *released, _ = line.race(
                *[partial(release, batch)] * 2, partial(read, told_in(tmp_path, payment))
            )

            assert sorted(released) == [False, True]
            assert Dispute.objects.get(transaction=payment).status == "needs_response"
            assert_right(ada.business)

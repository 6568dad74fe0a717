"""Another processing channel behind the same connector: what one channel has is never told to another."""

import pytest

from disputes.models import Dispute
from kit.connectors import connectors
from payments.models import Transaction
from payments.rails import ACQUIRERS
from payments.rails.protocol import CardAcquirer
from tests.connectors.checkout.connecting import InProcess, follow_clock, requery
from tests.connectors.checkout.desk import Desk
from tests.disputed import declare_moved

pytestmark = pytest.mark.django_db

ANOTHER = "pc_another2channel3of4the5sh"


@pytest.fixture
def reconfigure(settings, simulator, transport):
    """Return a function that restarts the service with other settings, and returns its transport."""

    def change(**changes):
        for name, value in changes.items():
            setattr(settings, f"CHECKOUT_{name}", value)
        connectors._made.cache_clear()
        made = connectors.make(ACQUIRERS["checkout"], protocol=CardAcquirer)
        made.client._http = InProcess(simulator)
        follow_clock(made.client, simulator)
        return made.client._http

    return change


@pytest.fixture
def opened(pay, simulator):
    """Return an authorised payment, a charged one, and one whose outcome isn't known, by their references."""
    authorised, charged = pay(capture=False).json(), pay().json()
    simulator.plan.add("authorise: swallow")
    simulator.plan.add("authorise: swallow")
    unknown = pay().json()
    assert [each["status"] for each in (authorised, charged, unknown)] == ["pending", "success", "pending"]
    return [each["reference"] for each in (authorised, charged, unknown)]


def try_everything(api, opened, pass_time):
    authorised, charged, _ = opened
    answers = [
        api.post(f"/api/payments/{authorised}/capture", {"amount": 100}),
        api.post(f"/api/payments/{authorised}/void"),
        api.post(f"/api/payments/{charged}/refunds", {"reference": "rf-1", "amount": 100}),
    ]
    pass_time(60)
    requery()
    return answers


def test_is_told_nothing_of_open_payments(api, opened, reconfigure, pass_time):
    second = reconfigure(PROCESSING_CHANNEL=ANOTHER)

    answers = try_everything(api, opened, pass_time)

    assert second.sent == []
    assert [each.status_code for each in answers] == [503, 503, 503]
    assert Transaction.objects.get(reference=opened[2]).status == "pending"


def test_is_the_same_one_with_another_key(api, opened, reconfigure, simulator, pass_time):
    key = "sk_sbox_anotherkey7of8the9channel2x"
    simulator.account.identity.secret_key = key
    second = reconfigure(SECRET_KEY=key)

    try_everything(api, opened, pass_time)

    assert {headers["Authorization"] for *_, headers in second.sent} == {f"Bearer {key}"}
    assert {"POST captures", "POST refunds"} <= set(second.calls())


@pytest.mark.parametrize("way", ["deliver", "look_again"])
def test_has_the_cases_of_one_that_is_declared_to_be_the_same(pay, simulator, inbox, reconfigure, way):
    reconfigure(WEBHOOK_KEYS=["webhook-key"])
    payment = Transaction.objects.get(reference=pay().json()["reference"])
    simulator.clock.advance(2)
    simulator.tick()
    desk = Desk(simulator, inbox)
    desk.open(payment)
    desk.deliver()
    reconfigure(PROCESSING_CHANNEL=ANOTHER)
    declare_moved(payment, present=f"checkout:{ANOTHER}")
    simulator.disputes.decide(desk.case(), "lost")

    getattr(desk, way)()

    assert Dispute.objects.get().status == "lost"

"""From a card payment to the wallet, through the API, commands and the admin of a running service."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
import requests

from payments.rules.settlement.business_days import business_day
from tests import orders
from tests.journeys.killed_settle import POINTS
from tests.journeys.service import PROJECT

pytestmark = [pytest.mark.journey, pytest.mark.long, pytest.mark.xdist_group("journey")]

PASSWORD = "correct horse battery staple"


def today():
    return business_day(datetime.now(tz=UTC)).isoformat()


def settle(service):
    done = service.command("settle", "--date", today(), "--unfinished", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["batches"]


def pay(client, amount=50_000):
    order = orders.card_payment(amount=amount)
    assert client.post("/api/payments", order).json()["status"] == "success"
    return order["reference"]


def settle_status(client, reference):
    return client.get(f"/api/payments/{reference}").json().get("settle_status")


def balance(client):
    (naira,) = [one for one in client.get("/api/balance").json()["data"] if one["currency"] == "NGN"]
    return naira["pending"], naira["available"]


class Staff:
    """A member of staff who uses the admin."""

    def __init__(self, service):
        self._base = service.base_url
        self._browser = requests.Session()
        made = service.command("shell", "-c", MAKE_STAFF)
        assert made.returncode == 0, made.stderr
        self._send(
            "/dashboard/login/",
            {"email": "staff@example.com", "password": PASSWORD, "next": "/admin/"},
        )

    def decide(self, batch, decision, reason="The bank says so."):
        page = f"/admin/payments/settlementbatch/{batch['id']}"
        answer = self._send(f"{page}/change/", {"decision": decision, "reason": reason}, to=f"{page}/decide/")
        assert f"The batch is {decision}." in answer.text

    def _send(self, page, form, *, to=None):
        shown = self._browser.get(self._base + page, timeout=30)
        (token, *_) = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', shown.text)
        headers = {"Referer": self._base + page}
        answer = self._browser.post(
            self._base + (to or page), form | {"csrfmiddlewaretoken": token}, headers=headers, timeout=30
        )
        assert answer.status_code == 200, answer.text
        return answer


MAKE_STAFF = f"""
from merchants.models import User
User.objects.filter(email="staff@example.com").exists() or User.objects.create_superuser("staff@example.com", "{PASSWORD}")
"""


@pytest.fixture(scope="module")
def staff(service):
    return Staff(service)


class TestSettlement:
    def test_brings_the_net_of_a_payment_into_the_wallet(self, service, staff):
        client = service.open_business("Settled Shoes")
        reference = pay(client, 52_000)
        seen = [(settle_status(client, reference), balance(client))]

        (batch,) = [one for one in settle(service) if one["gross"] == 52_000]  # excludes those of other tests
        seen.append((settle_status(client, reference), balance(client)))
        for decision in ("approved", "released"):
            staff.decide(batch, decision)
            seen.append((settle_status(client, reference), balance(client)))

        assert seen == [
            (None, (51_220, 0)),
            ("pending", (51_220, 0)),
            ("approved", (51_220, 0)),
            ("released", (0, 51_220)),
        ]

    def test_of_a_rejected_batch_joins_the_next_run(self, service, staff):
        client = service.open_business("Rejected Rugs")
        reference = pay(client, 70_000)
        (first,) = [one for one in settle(service) if one["gross"] == 70_000]
        staff.decide(first, "rejected", "The acquirer's file is short.")
        rejected = settle_status(client, reference)

        (second,) = [one for one in settle(service) if one["gross"] == 70_000]

        assert (rejected, settle_status(client, reference)) == ("rejected", "pending")
        assert second["number"] == first["number"] + 1


class TestKilledSettle:
    @pytest.mark.parametrize("point", POINTS)
    def test_is_finished_by_the_next_run_and_nothing_is_settled_twice(self, service, staff, point):
        settle(service)  # settle what other tests left
        client = service.open_business(f"Killed {point}")
        references = [pay(client) for _ in range(5)]

        killed = subprocess.run(
            [sys.executable, "-m", "tests.with_django", "tests.journeys.killed_settle", point, today()],
            cwd=PROJECT, env=service.environment, capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        between = {settle_status(client, reference) for reference in references}
        again = settle(service)
        once_more = settle(service)

        assert killed.returncode == -9, killed.stderr
        is_complete = point in {"at the end", "while payments follow"}
        assert between <= ({"initiated", "pending"} if is_complete else {None, "initiated"})
        assert {settle_status(client, reference) for reference in references} == {"pending"}
        assert once_more == []
        batches = again or [made_by_the_killed(service)]
        assert [one["payments"] for one in batches] == [5]
        for decision in ("approved", "released"):
            staff.decide(batches[0], decision)
        assert balance(client) == (0, 5 * 49_250)


def made_by_the_killed(service):
    shown = service.command("shell", "-c", NEWEST)
    return json.loads(shown.stdout.splitlines()[-1])


NEWEST = """
import json
from payments.models import SettlementBatch
batch = SettlementBatch.objects.latest("id")
print(json.dumps({"id": str(batch.pk), "payments": batch.payments_count}))
"""

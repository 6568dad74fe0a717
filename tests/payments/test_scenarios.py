import copy
import re

import pytest

from payments.rules.sandbox_triggers import LOST_ANSWER_ACCOUNT, RETURNED_ACCOUNT, TEST_CARDS
from payments.sandbox.sandbox_guide import tables
from payments.sandbox.scenario_steps import GOOD_CARD
from payments.sandbox.scenarios import find, scenarios
from tests.scenarios import play
from tests.webhooks.rows import make_endpoint
from webhooks.models import Category, Delivery, event_name

SCENARIOS = "/api/sandbox/scenarios"
NAMES = [scenario.name for scenario in scenarios()]
STEP_OF_TABLE = {
    "cards": "pay",
    "amounts": "pay",
    "captures": "capture",
    "refunds": "refund",
    "payouts": "payout",
}
CHANGED = {
    "amount": 90_000,
    "narration": "Changed",
    "reason": "Changed",
    "metadata": {"changed": "yes"},
    "reference": "changed-1",
    "email": "changed@shop.example",
    "name": "Chidi Eze",
}  # fmt: skip


@pytest.fixture
def listed(client):
    return {scenario["name"]: scenario for scenario in client.get(SCENARIOS).json()["data"]}


@pytest.fixture
def _everything_subscribed(ada):
    make_endpoint(business=ada.business, events=Category.values)


def _events_of(business):
    events = Delivery.objects.filter(business=business).values_list("event", flat=True)
    return {event_name(event) for event in events}


@pytest.mark.usefixtures("_everything_subscribed")
class TestScenario:
    @pytest.mark.parametrize("name", NAMES)
    def test_ends_as_it_says(self, api, ada, listed, name):
        scenario = listed[name]

        answers = play(scenario, api)

        ends = dict(scenario["ends"])
        assert ends.items() - {("step", ends["step"])} <= answers[ends["step"]].items()
        events = _events_of(ada.business)
        assert scenario["event"] in events if scenario["event"] else not events

    @pytest.mark.long
    @pytest.mark.parametrize("name", [each.name for each in scenarios() if each.changes])
    def test_ends_as_it_says_with_everything_changed_that_may_be(self, api, ada, listed, name):
        scenario = copy.deepcopy(listed[name])
        steps = {step["id"]: step for step in scenario["steps"]}
        for path in scenario["changes"]:
            step, *parents, last = path.split(".")
            body = steps[step]["body"]
            for parent in parents:
                body = body[parent]
            body[last] = CHANGED[last]

        answers = play(scenario, api)

        ends = scenario["ends"]
        assert answers[ends["step"]]["response_code"] == ends["response_code"]
        assert not scenario["event"] or scenario["event"] in _events_of(ada.business)


class TestList:
    def test_needs_no_signature_and_is_for_the_sandbox_only(self, client, settings):
        assert client.get(SCENARIOS).json()["version"] == 1

        settings.SANDBOX = False
        refused = client.get(SCENARIOS)
        assert (refused.status_code, refused.json()["code"]) == (403, "sandbox_only")

    def test_names_each_scenario_and_step_once(self):
        assert len(set(NAMES)) == len(NAMES)
        for scenario in scenarios():
            ids = [step.id for step in scenario.steps]
            assert len(set(ids)) == len(ids)
            assert all(re.fullmatch(r"[a-z0-9_]+", step) for step in ids)
            assert scenario.ends.step in ids

    def test_refers_only_to_earlier_answers(self):
        for scenario in scenarios():
            known = {"new"}
            for step in scenario.steps:
                found = re.findall(r"\{\{([^}]*)\}\}", f"{step.path} {step.body}")
                assert {expression.split(".")[0] for expression in found} <= known, (scenario.name, step.id)
                known.add(step.id)

    def test_has_only_test_cards(self):
        numbers = {
            step.body["source"]["pan"]
            for scenario in scenarios()
            for step in scenario.steps
            if step.body and "source" in step.body
        }
        assert numbers == {GOOD_CARD, *(card.number for card in TEST_CARDS)}

    def test_has_a_scenario_for_each_row_of_the_guides(self, subtests):
        for table, row in [(group.name, row) for group in tables() for row in group.rows]:
            with subtests.test(table=table, row=row):
                scenario = find(row.scenario)
                if not row.trigger.isdecimal():
                    assert row.code in {
                        scenario.ends.outcome.code,
                        *(s.expect.response_code for s in scenario.steps),
                    }
                    return
                (body, code) = next(
                    (step.body, step.expect.response_code)
                    for step in scenario.steps
                    if step.id == STEP_OF_TABLE[table]
                )
                triggered = f"{body['amount'] % 100:02}" if len(row.trigger) == 2 else body["source"]["pan"]
                assert (triggered, code) == (row.trigger, row.code)

    def test_is_named_on_the_page_of_the_test_data(self, client):
        page = client.get("/docs/test-data").content.decode()

        assert {row.scenario for table in tables() for row in table.rows} <= set(
            re.findall("<code>([a-z0-9_.]+)</code>", page)
        )

    def test_plays_the_accounts_of_the_sandbox(self):
        accounts = {
            step.body["customer"]["account_number"]
            for scenario in scenarios()
            for step in scenario.steps
            if step.id == "payout"
        }
        assert {LOST_ANSWER_ACCOUNT, RETURNED_ACCOUNT} <= accounts

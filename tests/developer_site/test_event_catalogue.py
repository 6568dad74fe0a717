"""The catalogue of events shows what the document and the scenarios declare."""

import json
import re
from html import unescape

import pytest

from developer_site.guides.event_catalogue import catalogue
from developer_site.openapi.document import document
from payments.sandbox.scenarios import scenarios
from webhooks.models import Event, category_of


@pytest.fixture
def sections(client):
    """The page's section of each event."""
    text = unescape(client.get("/docs/events").content.decode())
    return {
        event: re.search(rf'aria-labelledby="{re.escape(event)}".*?</section>', text, re.DOTALL)[0]
        for event in Event.labels
    }


class TestCatalogue:
    def test_lists_every_event_in_the_order_of_the_contract(self):
        assert [entry.page.slug for entry in catalogue().entries] == Event.labels

    def test_says_when_each_is_sent_and_to_whom(self, sections):
        for event in Event:
            assert document()["webhooks"][event.label]["post"]["summary"] in sections[event.label]
            assert f"<code>{category_of(event)}</code>" in sections[event.label]

    def test_names_and_links_the_schema(self, sections):
        for name, reference in document()["components"]["schemas"]["WebhookEvent"]["discriminator"][
            "mapping"
        ].items():
            assert (
                f'<a href="/api/docs/{name}"><code>{reference.rpartition("/")[2]}</code></a>'
                in sections[name]
            )

    def test_shows_every_example_body(self, sections):
        for name, section in sections.items():
            bodies = [
                json.loads(body)
                for body in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", section, re.DOTALL)
            ]
            content = document()["webhooks"][name]["post"]["requestBody"]["content"]["application/json"]
            assert bodies == [example["value"] for example in content["examples"].values()]

    def test_names_the_scenarios_that_send_it(self, sections):
        for scenario in scenarios():
            for name, section in sections.items():
                is_here = scenario.event is not None and scenario.event.label == name
                assert (f">{scenario.name}</code>" in section) == is_here

    def test_links_scenarios_to_the_sandbox_page_in_the_sandbox_only(self, client, settings):
        link = 'href="/dashboard/sandbox/?scenario=payment.mismatch"'
        assert link in client.get("/docs/events").content.decode()

        settings.SANDBOX = False
        assert link not in client.get("/docs/events").content.decode()

    def test_shows_the_headers_of_every_event(self, client):
        text = client.get("/docs/events").content.decode()

        for header in ("Signature", "Idempotency-Key", "Event", "Attempt", "Test"):
            assert f"<code>X-Service-{header}</code>" in text


class TestExamples:
    def test_are_of_every_flow_that_ends_in_the_event(self):
        flows = {
            "card": "card",
            "virtual_account": "virtual account",
            "payout": "payout",
            "refund": "refund",
            "dispute": "dispute",
        }
        of_events = {"transfer.unapplied": "transfer", "payout_batch.completed": "batch"}
        for entry in catalogue().entries:
            labels = " ".join(body.label.lower() for body in entry.bodies)
            for scenario in entry.scenarios:
                expected = of_events.get(entry.page.slug, flows[scenario.flow])
                assert expected in labels, (entry.page.slug, scenario.name)

    @pytest.mark.parametrize(
        "event", ["payment.failed", "payment.mismatch", "payout.failed", "refund.failed"]
    )
    def test_of_failures_say_why(self, event):
        content = document()["webhooks"][event]["post"]["requestBody"]["content"]["application/json"]

        for example in content["examples"].values():
            data = example["value"]["data"]
            assert data["status"] == "failed"
            assert data["response_code"] != "10000"

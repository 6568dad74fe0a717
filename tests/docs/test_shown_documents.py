"""Documents that guides show without a request have the fields of real ones."""

import hmac
import json
import re

import pytest

from developer_site.openapi.document import document
from tests import orders
from tests.docs.flows import DOCS
from tests.webhooks.rows import KEY, make_endpoint
from webhooks.models import Delivery


def shape_of(value):
    """Return the names of a document's fields, in their order, with those of nested objects."""
    if isinstance(value, dict):
        return {name: shape_of(part) for name, part in value.items()}
    return [shape_of(value[0])] if isinstance(value, list) and value else None


class TestExampleOfAWebhook:
    @pytest.fixture
    def request_shown(self):
        text = (DOCS / "webhooks.md").read_text()
        head, _, body = re.search(r"```http\n(POST /hooks/sluice.*?)\n```", text, re.DOTALL)[1].partition(
            "\n\n"
        )
        return dict(line.split(": ", 1) for line in head.splitlines()[1:]), body

    @pytest.mark.django_db
    def test_has_the_fields_of_a_real_event(self, request_shown, ada, api):
        make_endpoint(business=ada.business)
        payment = api.post("/api/payments", orders.card_payment()).json()
        event = json.loads(Delivery.objects.get(subject=payment["id"]).body)

        shown = json.loads(request_shown[1])

        assert shape_of(shown) == shape_of(event)
        assert list(shown["data"]) == list(event["data"])

    def test_is_signed_with_the_key_that_the_guide_names(self, request_shown):
        headers, body = request_shown

        assert headers["X-Service-Signature"] == hmac.digest(KEY.encode(), body.encode(), "sha256").hex()
        assert headers["X-Service-Idempotency-Key"] == json.loads(body)["id"]
        assert int(headers["Content-Length"]) == len(body.encode())


OBJECTS = [  # guide, place among its JSON blocks, what it shows
    ("settlement", 0, "SettlementList"),
    ("virtual-accounts", 0, "UnappliedTransfer"),
]


@pytest.mark.parametrize(("guide", "place", "name"), OBJECTS)
def test_object_shown_has_every_field_that_is_always_there(guide, place, name):
    blocks = re.findall(r"```json\n(.*?)\n```", (DOCS / f"{guide}.md").read_text(), re.DOTALL)

    assert list(missing(json.loads(blocks[place]), {"$ref": f"#/components/schemas/{name}"})) == []


def missing(value, schema, path=""):
    """Yield the paths of fields that the OpenAPI document requires and an object lacks, or doesn't know."""
    if "$ref" in schema:
        schema = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "array":
        for each in value:
            yield from missing(each, schema["items"], path)
    if schema.get("type") == "object" and "properties" in schema:
        for name in {*schema.get("required", []), *value} - ({*value} & {*schema["properties"]}):
            yield f"{path}{name}"
        for name, part in value.items():
            yield from missing(part, schema["properties"].get(name, {}), f"{path}{name}.")

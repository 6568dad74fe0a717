import json
import re

import jsonschema
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls.resolvers import RoutePattern
from django.utils import timezone
from drf_spectacular.validation import validate_schema

from config.errors.error_codes import ERROR_CODES
from developer_site.openapi.examples import CREATED_LINK, REQUESTS
from merchants.api.request_log import request_log
from merchants.models import Business
from merchants.people.access import routes
from payments.api.serializers import CardPaymentSerializer, PayoutSerializer
from payments.models import Transaction
from payments.services.payouts import payout_returns
from tests import orders
from tests.batches import completed_batch
from tests.disputed import every_event_of_disputes
from tests.journals import debited_by_staff
from tests.opening import REFUSED, open_later
from tests.settling import STAFF, decide, settle
from tests.unapplied import mismatched_money
from tests.webhooks.rows import DATA, acquire, make_delivery, make_endpoint, record
from virtual_accounts.models import VirtualAccount
from virtual_accounts.representation import VIRTUAL_ACCOUNT
from virtual_accounts.serializers import StaticAccountSerializer
from webhooks import services as webhooks
from webhooks.models import Category, Delivery, Event

LIMITS = {"string": {"maxLength", "enum", "const"}, "integer": {"maximum", "enum"}, "array": {"maxItems"}}
METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def document(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock():
        return Client().get("/api/openapi.json").json()


@pytest.fixture
def check(document):
    """Return a function that validates a response against the document."""

    def check(response, path, method):
        described = document["paths"][path][method]["responses"][str(response.status_code)]
        content_type = response.headers["Content-Type"]
        schema = described["content"][content_type]["schema"]
        jsonschema.Draft202012Validator(_resolvable(schema, document)).validate(response.json())
        only_in_replays = {"Idempotent-Replayed"} if method == "post" else set()
        assert not set(described["headers"]) - set(response.headers) - only_in_replays
        return response.json()

    return check


@pytest.fixture
def everything_subscribed(ada):
    make_endpoint(business=ada.business, events=Category.values)


@pytest.fixture
def example_account(ada, api):
    """The account that receives the payments of the examples."""
    api.post("/api/virtual-accounts", orders.dynamic_account())
    VirtualAccount.objects.update(id=VIRTUAL_ACCOUNT["id"].example)


def _resolvable(schema, document):
    return {**schema, "components": document["components"]}


def _schemas(document):
    return document["components"]["schemas"]


def _name(reference):
    return reference["$ref"].removeprefix("#/components/schemas/")


def _only_value(schema, field):
    values = schema["properties"].get(field, {}).get("enum", [None])
    assert len(values) == 1
    return values[0]


def _operations(document):
    for path, operations in document["paths"].items():
        for method in METHODS & operations.keys():
            yield path, method, operations[method]


class TestDocument:
    def test_is_made_without_a_warning(self, capsys):
        call_command("spectacular", format="openapi-json", fail_on_warn=True)

        assert json.loads(capsys.readouterr().out)["info"]["title"] == "Sluice"

    def test_is_valid_openapi_31_and_served_without_a_signature(self, document):
        validate_schema(document)
        assert document["openapi"].startswith("3.1")

    def test_has_every_route_of_the_api_with_every_method(self, document):
        described = {(path, method) for path, method, _ in _operations(document)}

        assert described == set(_routes())

    def test_names_every_operation(self, document):
        assert {operation["operationId"] for *_, operation in _operations(document)} == {
            "createPayment",
            "getPayment",
            "listPayments",
            "capturePayment",
            "voidPayment",
            "createRefund",
            "listDisputes",
            "getDispute",
            "addDisputeEvidence",
            "removeDisputeEvidence",
            "addDisputeFile",
            "getDisputeFile",
            "submitDispute",
            "acceptDispute",
            "listRefunds",
            "cancelPayment",
            "getRefund",
            "listBanks",
            "listCapabilities",
            "resolveBeneficiary",
            "advanceSandbox",
            "beginListener",
            "pollListener",
            "endListener",
            "listScenarios",
            "createExam",
            "getExam",
            "reportExamAnswers",
            "listUnappliedTransfers",
            "creditUnappliedTransfer",
            "returnUnappliedTransfer",
            "getBalance",
            "listMovements",
            "listEvents",
            "getEvent",
            "resendEvent",
            "listRequests",
            "listSettlements",
            "getSettlement",
            "createVirtualAccount",
            "listVirtualAccounts",
            "getVirtualAccount",
            "deactivateVirtualAccount",
            "simulateTransfer",
            "createPayoutBatch",
            "listPayoutBatches",
            "getPayoutBatch",
            "listBatchPayouts",
            "approvePayoutBatch",
            "cancelPayoutBatch",
            "retryPayoutBatch",
            "listWebhookEndpoints",
            "createWebhookEndpoint",
            "getWebhookEndpoint",
            "updateWebhookEndpoint",
            "deleteWebhookEndpoint",
            "rotateWebhookKey",
            "createBeneficiary",
            "listBeneficiaries",
            "getBeneficiary",
            "updateBeneficiary",
            "deleteBeneficiary",
            "createPaymentLink",
            "listPaymentLinks",
            "getPaymentLink",
            "updatePaymentLink",
            "deactivatePaymentLink",
            "activatePaymentLink",
            "listCheckouts",
            "getPaymentCheckout",
            "listListeners",
        }

    def test_has_every_code_of_a_problem_with_an_example(self, document):
        schemas = _schemas(document)
        codes = set(schemas["Problem"]["properties"]["code"]["x-extensible-enum"])

        assert codes == set(ERROR_CODES)
        for example in document["components"]["examples"].values():
            _validate(example["value"], "Problem", document)

    def test_has_every_code_at_an_operation_but_one(self, document):
        at_operations = {
            code
            for *_, operation in _operations(document)
            for answer in operation["responses"].values()
            for code in answer.get("content", {}).get("application/problem+json", {}).get("examples", {})
        }

        # A described operation is never a wrong method.
        assert set(ERROR_CODES) - at_operations == {"method_not_allowed"}

    def test_limits_every_text_number_and_array(self, document):
        assert [str(schema) for schema in _schemas_within(document) if not _is_limited(schema)] == []

    def test_requires_all_four_headers_together(self, document):
        schemes = document["components"]["securitySchemes"]
        headers = {"X-Api-Key", "X-Timestamp", "X-Nonce", "X-Signature"}

        assert {scheme["name"] for scheme in schemes.values()} == headers
        for *_, operation in _operations(document):
            needed = [] if operation["operationId"] == "listScenarios" else [set(schemes)]
            assert [set(each) for each in operation["security"]] == needed

    def test_closes_requests_and_explains_every_field(self, document):
        requests = {name: schema for name, schema in _schemas(document).items() if name.endswith("Request")}

        assert "3ds" in requests["CardPaymentRequest"]["properties"]
        for name, schema in requests.items():
            if "oneOf" in schema:
                continue
            assert schema["additionalProperties"] is False, name
            assert all("description" in field for field in schema.get("properties", {}).values()), name

    def test_describes_fields_as_their_serializers_do(self, document):
        for serializer in (CardPaymentSerializer(), PayoutSerializer(), StaticAccountSerializer()):
            name = type(serializer).__name__.removesuffix("Serializer")
            properties = _schemas(document)[f"{name}Request"]["properties"]
            assert {field: schema["description"] for field, schema in properties.items()} == {
                field: declared.help_text for field, declared in serializer.fields.items()
            }

    def test_distinguishes_kinds_of_requests_by_fields_with_one_value(self, document):
        schemas = _schemas(document)
        members = [_name(member) for member in schemas["CreatePaymentRequest"]["oneOf"]]

        kinds = {
            (_only_value(schemas[name], "request_type"), _only_value(schemas[name], "payment_method"))
            for name in members
        }
        assert kinds == {
            ("payment", "card"), ("payment", "virtual_account"), ("payout", None), ("card_check", None),
        }  # fmt: skip
        assert len(members) == len(kinds)

    def test_refers_to_one_schema_for_duplicate_references_and_other_conflicts(self, document):
        responses = document["paths"]["/api/payments"]["post"]["responses"]

        conflict = responses["409"]["content"]["application/problem+json"]["schema"]
        refused = responses["400"]["content"]["application/problem+json"]["schema"]
        assert (_name(conflict), _name(refused)) == ("Conflict", "Problem")
        assert _name(_schemas(document)["Conflict"]["anyOf"][0]) == "DuplicateReference"
        assert "`duplicate_reference`" in responses["409"]["description"]

    def test_keeps_lists_that_may_grow_open(self, document):
        schemas = _schemas(document)

        for name, field in [
            ("Problem", "code"),
            ("Payment", "response_code"),
            ("Payment", "gateway_recommendation"),
            ("CardShown", "card_type"),
        ]:
            assert "enum" not in schemas[name]["properties"][field]
            assert len(schemas[name]["properties"][field]["x-extensible-enum"]) > 1

    def test_has_a_schema_for_each_event_open_to_new_fields(self, document):
        schemas = _schemas(document)

        for kind, name in {
            "payment.success": "PaymentSuccessEvent",
            "payment.failed": "PaymentFailedEvent",
            "payment.mismatch": "PaymentMismatchEvent",
            "payout.success": "PayoutSuccessEvent",
            "payout.failed": "PayoutFailedEvent",
        }.items():
            assert schemas["WebhookEvent"]["discriminator"]["mapping"][kind].endswith(f"/{name}")
            assert _only_value(schemas[name], "event") == kind
            assert _name(schemas[name]["properties"]["data"]) == "Payment"
            assert "additionalProperties" not in schemas[name]

    def test_has_valid_examples(self, document):
        received = [each["post"] for each in document["webhooks"].values()]
        for operation in [*received, *(operation for *_, operation in _operations(document))]:
            bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
            for body in bodies:
                for content in body.get("content", {}).values():
                    for example in content.get("examples", {}).values():
                        if "value" in example:
                            schema = _resolvable(content["schema"], document)
                            jsonschema.Draft202012Validator(schema).validate(example["value"])


class TestRequestSchemas:
    """The schema and the serializer accept and refuse the same requests."""

    @pytest.mark.parametrize(
        "order",
        [
            orders.card_payment(),
            orders.card_payment(amount=1000.0),
            orders.card_payment(three_ds={"enabled": True, "challenge_preference": "no_preference"}),
            orders.card_payment(customer={"reference": "c-1", "email": "ada@shop.example"}),
            orders.payout(),
            orders.card_check(),
            orders.card_check(source=orders.card_source(type="CaRd")),
        ],
    )
    def test_accept_what_the_service_accepts(self, api, document, order):
        assert _fits(order, document)
        assert api.post("/api/payments", order).status_code == 201

    def test_reject_what_the_service_rejects(self, subtests, api, document):
        for order in [
            orders.card_payment(amount=0),
            orders.card_payment(amount=10.5),
            orders.card_payment(amount="1000"),
            orders.card_payment(amount=10**12 + 1),
            orders.card_payment(reference="a b"),
            orders.card_payment(reference="r" * 101),
            orders.card_payment(currency="ngn"),
            orders.card_payment(capture="true"),
            orders.card_payment(capture=None),
            orders.card_payment(redirect_url="shop.example"),
            orders.card_payment(redirect_url=...),
            orders.card_payment(narration="x" * 256),
            orders.card_payment(authorization_type="other"),
            orders.card_payment(three_ds={"challenge_preference": "sometimes"}),
            orders.card_payment(customer={"name": "Ada Obi"}),
            orders.card_payment(customer={"reference": "c-1"}),
            orders.card_payment(customer={"account_number": "0123456789"}),
            orders.card_payment(source=orders.card_source(pan="4084")),
            orders.card_payment(source=orders.card_source(expiry_month="13")),
            orders.card_payment(source=orders.card_source(name=" ")),
            orders.card_payment(source=orders.card_source(cvv="12")),
            orders.card_payment(colour="green"),
            orders.payout(redirect_url="https://shop.example"),
            orders.payout(customer={"name": "Ada Obi", "account_number": "123", "bank_code": "058"}),
            orders.card_check(amount=1),
            orders.card_payment(request_type="gift"),
        ]:
            with subtests.test(order=order):
                assert not _fits(order, document)
                assert api.post("/api/payments", order).status_code == 400


class TestAnswers:
    @pytest.mark.usefixtures("example_account")
    @pytest.mark.parametrize("name", REQUESTS["CreatePaymentRequest"])
    def test_to_the_examples_match_their_schema(self, api, check, name):
        order = REQUESTS["CreatePaymentRequest"][name]["value"]

        created = api.post("/api/payments", order)
        shown = check(created, "/api/payments", "post")
        check(api.post("/api/payments", order), "/api/payments", "post")
        found = check(api.get(f"/api/payments/{order['reference']}"), "/api/payments/{reference}", "get")

        assert created.status_code == 201
        assert found == shown
        assert shown["status"] in {"success", "pending", "failed"}

    @pytest.mark.parametrize("name", REQUESTS["CreateVirtualAccountRequest"])
    def test_to_the_examples_of_accounts_match_their_schema(self, api, check, name):
        order, path = REQUESTS["CreateVirtualAccountRequest"][name]["value"], "/api/virtual-accounts"

        created = api.post(path, order)
        shown = check(created, path, "post")
        check(api.post(path, order), path, "post")
        check(api.post(path, order | {"email": "other@shop.example"}), path, "post")
        check(api.get(f"{path}?limit=1"), path, "get")
        found = check(api.get(f"{path}/{order['reference']}"), f"{path}/{{reference}}", "get")
        switched_off = api.post(f"{path}/{order['reference']}/deactivate")
        check(switched_off, f"{path}/{{reference}}/deactivate", "post")

        assert created.status_code == 201
        assert found == shown

    @pytest.mark.parametrize("name", REQUESTS["LinkRequest"])
    def test_to_the_examples_of_links_are_the_examples(self, api, check, name):
        created = api.post("/api/payment-links", REQUESTS["LinkRequest"][name]["value"])

        shown, example = check(created, "/api/payment-links", "post"), CREATED_LINK[name]["value"]
        varying = ("id", "slug", "url", "created_at", "updated_at")
        assert shown == example | {field: shown[field] for field in varying}

    @pytest.mark.parametrize("name", REQUESTS["SimulateRequest"])
    def test_to_simulated_transfers_match_their_schema(self, api, check, name):
        request_body, path = REQUESTS["SimulateRequest"][name]["value"], "/api/virtual-accounts/simulate"
        number = api.post("/api/virtual-accounts", orders.static_account()).json()["customer"][
            "account_number"
        ]

        arrived = check(api.post(path, request_body | {"account_number": number}), path, "post")
        lost = check(api.post(path, request_body | {"account_number": "0123456789"}), path, "post")
        check(api.post(path, {}), path, "post")

        assert (arrived["success"], lost["success"]) == (True, False)

    @pytest.mark.usefixtures("example_account")
    def test_have_no_undescribed_fields(self, api, document):
        described = _schemas(document)["Payment"]["properties"].keys()

        for example in REQUESTS["CreatePaymentRequest"].values():
            assert api.post("/api/payments", example["value"]).json().keys() <= described

    def test_of_captures_voids_and_refunds_match_their_schema(self, api, check):
        first, second = (orders.card_payment(capture=False) for _ in range(2))
        for order in (first, second):
            api.post("/api/payments", order)
        reference = "/api/payments/{reference}"

        paths = f"/api/payments/{first['reference']}", f"/api/payments/{second['reference']}"
        captured = api.post(f"{paths[0]}/capture", REQUESTS["CaptureRequest"]["a_part"]["value"])
        check(captured, f"{reference}/capture", "post")
        check(api.post(f"{paths[0]}/capture"), f"{reference}/capture", "post")
        voided = api.post(f"{paths[1]}/void", {})
        check(voided, f"{reference}/void", "post")
        for name in ("a_part", "everything_left"):
            example = REQUESTS["RefundRequest"][name]
            refunded = api.post(f"{paths[0]}/refunds", example["value"])
            assert check(refunded, f"{reference}/refunds", "post")["status"] == "success"
            check(api.post(f"{paths[0]}/refunds", example["value"]), f"{reference}/refunds", "post")
        check(api.get(f"{paths[0]}/refunds"), f"{reference}/refunds", "get")
        made = api.get(f"{paths[0]}/refunds").json()["data"][0]["reference"]
        check(api.get(f"/api/refunds/{made}"), "/api/refunds/{reference}", "get")
        check(api.get("/api/payments?limit=1"), "/api/payments", "get")

    def test_of_refunds_of_transfer_payments_match_their_schema(self, api, check):
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
        order = orders.transfer_payment(account)
        number = api.post("/api/payments", order).json()["virtual_account_details"]["account_number"]
        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 50_000})

        path = f"/api/payments/{order['reference']}"
        refunded = api.post(f"{path}/refunds", REQUESTS["RefundRequest"]["to_an_account"]["value"])

        assert check(refunded, "/api/payments/{reference}/refunds", "post")["status"] == "success"
        check(api.get(f"{path}/refunds"), "/api/payments/{reference}/refunds", "get")
        check(api.get(path), "/api/payments/{reference}", "get")

    def test_of_the_balance_match_their_schema(self, api, check):
        api.post("/api/payments", orders.payout())

        check(api.get("/api/balance"), "/api/balance", "get")
        check(api.get("/api/balance/movements"), "/api/balance/movements", "get")
        check(api.get("/api/balance/movements?currency=NGN"), "/api/balance/movements", "get")
        check(api.get("/api/balance/movements?currency=ngn"), "/api/balance/movements", "get")

    def test_of_events_match_their_schema(self, ada, api, check):
        make_endpoint(business=ada.business)
        api.post("/api/payments", orders.card_payment())
        webhooks.send_test_event(business=ada.business, data=DATA, now=timezone.now())
        record(acquire(at=timezone.now()), at=timezone.now())

        for shown in check(api.get("/api/events"), "/api/events", "get")["data"]:
            address = f"/api/events/{shown['event_id']}"
            check(api.get(address), "/api/events/{event_id}", "get")
        check(api.get("/api/events?state=none"), "/api/events", "get")

    def test_of_the_request_log_match_their_schema(self, api, check):
        api.get("/api/banks")
        api.get("/api/payments/unknown")
        request_log.flush()

        assert len(check(api.get("/api/requests"), "/api/requests", "get")["data"]) == 2
        check(api.get("/api/requests?since=today"), "/api/requests", "get")

    @pytest.mark.parametrize("name", REQUESTS["ResendRequest"])
    def test_of_resent_events_match_their_schema(self, ada, api, check, name):
        event = make_delivery(make_endpoint(business=ada.business), state=Delivery.State.DEAD)
        path = f"/api/events/{event.pk}/resend"

        for status in (202, 409):
            answer = api.post(path, REQUESTS["ResendRequest"][name]["value"])
            check(answer, "/api/events/{event_id}/resend", "post")
            assert answer.status_code == status

    @pytest.mark.usefixtures("everything_subscribed")
    def test_bodies_of_webhooks_match_their_schema(self, ada, api, document):
        order, sent = orders.card_payment(), orders.payout()
        for each in (order, orders.card_payment(amount=10_051), sent, orders.payout(amount=20_051)):
            api.post("/api/payments", each)
        for amount in (20_000, 10_005):
            wanted = {"reference": f"refund-{amount}", "amount": amount}
            api.post(f"/api/payments/{order['reference']}/refunds", wanted)
        payout = Transaction.objects.get(reference=sent["reference"])
        payout_returns.reverse(transaction_id=payout.pk, reason="Closed", actor=STAFF, now=timezone.now())
        mismatched_money(business=ada.business, now=timezone.now())
        open_later(ada.business)
        open_later(ada.business, REFUSED)
        every_event_of_disputes(Transaction.objects.get(reference=order["reference"]))
        decide(*settle(), "approve", "release")
        completed_batch(ada.business)
        debited_by_staff(ada.business)

        bodies = [json.loads(body) for body in Delivery.objects.values_list("body", flat=True)]

        assert {body["event"] for body in bodies} == set(document["webhooks"]) == set(Event.labels)
        for body in bodies:
            content = document["webhooks"][body["event"]]["post"]["requestBody"]["content"]
            schema = _resolvable(content["application/json"]["schema"], document)
            jsonschema.Draft202012Validator(schema).validate(body)

    def test_of_settlements_match_their_schema(self, api, check):
        order = orders.card_payment()
        api.post("/api/payments", order)
        api.post(f"/api/payments/{order['reference']}/refunds", {"reference": "refund-1", "amount": 100})
        decide(*settle(), "approve", "release")

        listed = check(api.get("/api/settlements"), "/api/settlements", "get")
        (shown,) = listed["data"]
        found = check(api.get(f"/api/settlements/{shown['id']}"), "/api/settlements/{id}", "get")
        check(api.get("/api/settlements?status=none"), "/api/settlements", "get")

        assert [item["kind"] for item in found["items"]["data"]] == ["payment", "refund"]

    def test_of_unapplied_transfers_match_their_schema(self, api, check, ada):
        path = "/api/unapplied-transfers"
        credited, returned = (mismatched_money(business=ada.business, now=timezone.now()) for _ in range(2))
        refused = check(
            api.post(f"{path}/{credited.pk}/credit", {"reason": "a"}), f"{path}/{{id}}/credit", "post"
        )
        Business.objects.update(keys_decide_unapplied=True)

        check(api.get(path), path, "get")
        for money, what, examples_of in (
            (credited, "credit", REQUESTS["CreditUnappliedRequest"]),
            (returned, "return", REQUESTS["ReturnUnappliedRequest"]),
        ):
            for example in examples_of.values():
                check(
                    api.post(f"{path}/{money.pk}/{what}", example["value"]), f"{path}/{{id}}/{what}", "post"
                )
        check(api.post(f"{path}/{credited.pk}/return", {"reason": "a"}), f"{path}/{{id}}/return", "post")
        listed = check(api.get(path), path, "get")

        assert refused["code"] == "key_may_not_decide"
        assert [each["state"] for each in listed["data"]] == ["returned", "credited"]

    def test_of_the_list_of_banks_match_their_schema(self, api, check):
        banks = api.get("/api/banks")

        check(banks, "/api/banks", "get")
        assert api.get("/api/banks", **{"If-None-Match": banks.headers["ETag"]}).status_code == 304

    def test_with_errors_match_their_schema(self, api, client, check):
        order = orders.card_payment()
        api.post("/api/payments", order)

        reused = check(api.post("/api/payments", order | {"amount": 1}), "/api/payments", "post")
        check(api.post("/api/payments", order | {"colour": "green"}), "/api/payments", "post")
        check(api.post("/api/payments", b"{"), "/api/payments", "post")
        check(api.send("POST", "/api/payments", b"{}", content_type="text/plain"), "/api/payments", "post")
        check(api.get("/api/payments/none"), "/api/payments/{reference}", "get")
        check(api.get("/api/payments?limit=0"), "/api/payments", "get")
        check(api.get("/api/banks", Accept="text/html"), "/api/banks", "get")
        check(client.get("/api/banks"), "/api/banks", "get")

        assert (reused["code"], reused["existing"]["status"]) == ("duplicate_reference", "success")


def _validate(value, name, document):
    reference = {"$ref": f"#/components/schemas/{name}"}
    jsonschema.Draft202012Validator(_resolvable(reference, document)).validate(value)


def _fits(order, document):
    reference = {"$ref": "#/components/schemas/CreatePaymentRequest"}
    return jsonschema.Draft202012Validator(_resolvable(reference, document)).is_valid(order)


def _routes():
    """Yield path and method of every described view of the API."""
    for _, route in routes():
        view = getattr(route.callback, "view_class", None) or getattr(route.callback, "cls", None)
        if not isinstance(route.pattern, RoutePattern) or not str(route.pattern).startswith("api/"):
            continue
        if getattr(view, "schema", None) is None:
            continue
        for method in METHODS:
            if hasattr(view, method) and (route.name, method) != ("simulate", "get"):
                yield "/" + re.sub(r"<(?:str|uuid):(\w+)>", r"{\1}", str(route.pattern)), method


def _schemas_within(part):
    """Yield all schemas with a type, examples left out."""
    if isinstance(part, list):
        for each in part:
            yield from _schemas_within(each)
    elif isinstance(part, dict):
        if isinstance(part.get("type"), str | list) and "in" not in part:
            yield part
        for name, each in part.items():
            if name not in {"example", "examples"}:
                yield from _schemas_within(each)


def _is_limited(schema):
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return all(LIMITS[each] & schema.keys() for each in types if each in LIMITS)

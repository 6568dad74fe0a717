"""Every API operation accepts the query parameters in its description and no others."""

from uuid import UUID

import pytest

from kit.api.filters import PAGING
from merchants.models import Nonce
from merchants.people.access import routes
from payments.models import CardOperation, Transaction
from tests import orders
from tests.developer_site.openapi.test_document import _routes

pytestmark = pytest.mark.django_db

OPERATION_PATHS = sorted(set(_routes()))
# Operations whose resource a test can name.
LISTS = sorted(
    f"/{route.pattern}"
    for _, route in routes()
    if (view := getattr(route.callback, "cls", None)) and hasattr(view, "get")
    if getattr(view.get, "query_parameters", ()) in (None, PAGING)
    if "<" not in str(route.pattern) or str(route.pattern).startswith("api/payments/")
)


def filled(path):
    """Return a path with a reference or an id for each of its parameters."""
    values = {"{reference}": "x", "<str:reference>": "x"}
    return "/".join(
        values.get(part, str(UUID(int=0)) if part.startswith(("{", "<")) else part)
        for part in path.split("/")
    )


class TestUnknownParameter:
    def test_is_rejected_by_every_operation(self, subtests, api):
        for path, method in OPERATION_PATHS:
            with subtests.test(path=path, method=method):
                answer = api.send(
                    method.upper(),
                    f"{filled(path)}?colour=red&utm_source=",
                    b"{}" if method == "post" else b"",
                )

                assert answer.status_code == 400, answer.content
                assert answer.json()["code"] == "unknown_field"
                assert [error["field"] for error in answer.json()["errors"]] == ["colour", "utm_source"]

    @pytest.mark.parametrize(
        ("path", "method"), [each for each in OPERATION_PATHS if each[0].startswith("/api/sandbox/")]
    )
    def test_of_the_sandbox_is_not_read_in_production(self, api, settings, path, method):
        settings.SANDBOX = False

        answer = api.send(method.upper(), f"{filled(path)}?colour=red", b"{" if method == "post" else b"")

        assert (answer.status_code, answer.json()["code"]) == (403, "sandbox_only")

    def test_is_rejected_if_simulate_is_a_reference(self, api):
        answer = api.get("/api/virtual-accounts/simulate?colour=red")

        assert (answer.status_code, answer.json()["code"]) == (400, "unknown_field")

    def test_returns_401_without_a_signature(self, client):
        assert client.get("/api/banks?colour=red").status_code == 401

    def test_of_a_create_changes_nothing(self, api):
        first = api.post("/api/payments", orders.card_payment(capture=False)).json()
        path = f"/api/payments/{first['reference']}"

        answers = [
            api.post("/api/payments?capture=false", orders.card_payment()),
            api.post(f"{path}/capture?amount=5", {}),
            api.post(f"{path}/void?force=1"),
            api.post(f"{path}/refunds?amount=5", {"reference": "r"}),
        ]

        assert {answer.status_code for answer in answers} == {400}
        assert Transaction.objects.get().status == "pending"
        assert not CardOperation.objects.exists()
        assert Nonce.objects.count() == 5

    def test_comes_with_the_closest_known_one(self, api):
        api.post("/api/payments", orders.card_payment(reference="x"))

        [error] = api.get("/api/payments/x/refunds?limt=5").json()["errors"]

        assert error["suggestion"] == "limit"

    def test_of_a_list_with_filters_comes_with_the_closest_known_one(self, api):
        answer = api.get("/api/payments?limt=5")

        assert answer.json()["errors"][0]["suggestion"] == "limit"

    def test_with_a_card_number_is_masked(self, api):
        answer = api.get(f"/api/banks?{orders.GOOD_CARD}=1")

        assert answer.status_code == 400
        assert orders.GOOD_CARD not in answer.content.decode()


class TestKnownParameter:
    @pytest.mark.parametrize("path", LISTS)
    def test_is_accepted_by_every_list(self, api, path):
        api.post("/api/payments", orders.card_payment(reference="x"))

        assert api.get(f"{filled(path)}?limit=5").status_code == 200

    def test_is_accepted_by_head_as_by_get(self, api):
        assert api.send("HEAD", "/api/payments?limit=1").status_code == 200
        assert api.send("HEAD", "/api/banks?limit=1").status_code == 400

"""/api/webhook-endpoints, as an API key uses it."""

import uuid

import pytest
from django.utils import timezone

from merchants.models import AuditEntry, Business
from tests.factories import MemberFactory
from tests.webhooks.rows import make_deliveries, make_endpoint
from webhooks.endpoints import endpoint_changes
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db

PATH = "/api/webhook-endpoints"


def made(api, number=1, **fields):
    return api.post(PATH, {"url": f"http://127.0.0.1:{9000 + number}/hook", **fields})


@pytest.fixture(autouse=True)
def _owner(api):
    MemberFactory(business=Business.objects.get(), role="owner")


@pytest.fixture
def first(api):
    return made(api).json()


@pytest.fixture
def second(api, first):
    return made(api, 2).json()


def test_creation_shows_the_key_once(api, mailoutbox, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        answer = made(api, subscribed_events=["refund.success", "payment"], description="Warehouse")

    document = answer.json()
    assert answer.status_code == 201
    assert set(document) == {
        *("id", "url", "subscribed_events", "enabled", "description", "standard_webhooks", "api_version"),
        *("created_at", "hash_key"),
    }
    assert answer["Location"] == f"{PATH}/{document['id']}"
    assert document.pop("hash_key") == Endpoint.objects.get().hash_key
    assert api.get(answer["Location"]).json() == document
    assert document["subscribed_events"] == ["payment", "refund.success"]
    assert (document["description"], document["api_version"]) == ("Warehouse", "2026-11-01")
    assert AuditEntry.objects.filter(action="webhook.configured").count() == 1
    assert "http://127.0.0.1:9001/hook" in mailoutbox[0].body


def test_list_is_oldest_first(api, first, second):
    page = api.get(PATH).json()

    assert [each["id"] for each in page["data"]] == [first["id"], second["id"]]
    assert "hash_key" not in page["data"][0]


def test_same_url_twice_names_the_existing_one(api, first):
    answer = made(api)

    assert (answer.status_code, answer.json()["code"]) == (409, "url_taken")
    assert answer.json()["existing"] == {"id": first["id"]}


def test_eleventh_is_refused(api):
    for number in range(10):
        assert made(api, number).status_code == 201
    answer = made(api, 11)

    assert (answer.status_code, answer.json()["code"]) == (409, "limit_reached")


def test_change_is_audited_and_another_url_mailed(api, first, mailoutbox, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        answer = api.patch(f"{PATH}/{first['id']}", {"enabled": False, "description": None})
    assert (answer.status_code, answer.json()["enabled"], mailoutbox) == (200, False, [])

    with django_capture_on_commit_callbacks(execute=True):
        api.patch(f"{PATH}/{first['id']}", {"url": "http://127.0.0.1:9/new"})
    assert Endpoint.objects.get().url == "http://127.0.0.1:9/new"
    assert "has another URL" in mailoutbox[0].subject
    assert AuditEntry.objects.filter(action="webhook.configured").count() == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "ftp://shop.example/"},
        {"subscribed_events": []},
        {"subscribed_events": ["refunds"]},
        {"api_version": "2020-01-01"},
        {"number": 0},
        {"url": "x" * 3000},
        {"description": "\x00"},
        {"enabled": None},
    ],
)
def test_invalid_changes_change_nothing(api, first, wrong):
    before = Endpoint.objects.values().get()

    assert api.patch(f"{PATH}/{first['id']}", wrong).status_code == 400
    assert Endpoint.objects.values().get() == before


def test_first_is_not_deleted(api, first):
    answer = api.delete(f"{PATH}/{first['id']}")

    assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")


def test_deleted_one_is_gone(api, second):
    assert api.delete(f"{PATH}/{second['id']}").status_code == 204
    assert api.get(f"{PATH}/{second['id']}").status_code == 404
    assert api.delete(f"{PATH}/{second['id']}").status_code == 404
    assert len(api.get(PATH).json()["data"]) == 1


@pytest.mark.parametrize(("method", "call"), [("patch", ""), ("post", "/rotate")])
def test_deleted_after_it_was_found_is_not_found(api, second, monkeypatch, method, call):
    find = endpoint_changes.find

    def find_and_delete(business, endpoint_id):
        found = find(business, endpoint_id)
        Endpoint.objects.filter(pk=found.pk).update(deleted_at=timezone.now(), enabled=False)
        return found

    monkeypatch.setattr(endpoint_changes, "find", find_and_delete)
    answer = getattr(api, method)(
        f"{PATH}/{second['id']}{call}", {"description": "x"} if method == "patch" else {}
    )

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_rotation_with_overlap_keeps_the_newest_old_key(api, first):
    path = f"{PATH}/{first['id']}/rotate"
    newer = api.post(path, {"overlap_hours": 0.5}).json()["hash_key"]
    newest = api.post(path, {"overlap_hours": 72}).json()["hash_key"]

    stored = Endpoint.objects.get()
    assert (stored.hash_key, stored.previous_hash_key) == (newest, newer)
    assert api.post(path, {"overlap_hours": 72.5}).status_code == 400


def test_rotation_takes_fractions_in_the_sandbox_only(api, first, settings):
    settings.SANDBOX = False

    assert api.post(f"{PATH}/{first['id']}/rotate", {"overlap_hours": 0.5}).status_code == 400


class TestForbidden:
    @pytest.fixture(autouse=True)
    def _forbidden(self, first):
        Business.objects.update(keys_change_webhooks=False)

    def test_key_adds_no_endpoint(self, api):
        answer = made(api, 2)

        assert (answer.status_code, answer.json()["code"]) == (403, "key_may_not_decide")

    def test_key_changes_no_url(self, api, first):
        path = f"{PATH}/{first['id']}"

        assert api.patch(path, {"url": "http://127.0.0.1:9/new"}).status_code == 403
        assert api.patch(path, {"url": first["url"], "enabled": False}).status_code == 200


def test_endpoint_of_another_business_is_not_found(api):
    other = make_endpoint()

    assert api.get(f"{PATH}/{other.public_id}").status_code == 404
    assert api.get(f"{PATH}/{uuid.uuid4()}").status_code == 404


class TestEvents:
    def test_has_a_row_for_each_delivery_and_a_filter_by_endpoint(self, api, first, second):
        one, other = Endpoint.objects.order_by("number")
        make_deliveries(one)
        (row,) = make_deliveries(other)

        assert len(api.get("/api/events").json()["data"]) == 2
        (shown,) = api.get(f"/api/events?endpoint_id={second['id']}").json()["data"]
        assert (shown["id"], shown["endpoint_id"]) == (str(row.pk), second["id"])
        assert shown["event_id"] == str(row.shared_event_id)
        assert api.get(f"/api/events?endpoint_id={uuid.uuid4()}").json()["data"] == []

    def test_resends_to_one_endpoint(self, api, second):
        (row,) = make_deliveries(Endpoint.objects.get(number=1), state="dead")

        assert api.post(f"/api/events/{row.pk}/resend", {}).json()["endpoint_id"] == second["id"]

    def test_deleted_endpoints_deliveries_are_listed_but_not_resent(self, api, second):
        (row,) = make_deliveries(Endpoint.objects.get(number=1), state="dead")
        api.delete(f"{PATH}/{second['id']}")

        answer = api.post(f"/api/events/{row.pk}/resend", {})
        assert (answer.status_code, answer.json()["detail"]) == (409, "The event's endpoint was deleted.")
        assert len(api.get(f"/api/events?endpoint_id={second['id']}").json()["data"]) == 1

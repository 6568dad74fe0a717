"""Memory for pasted or received JSON is proportional to its size, however deeply it is nested."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kit.files import bounded_json
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory, UserFactory
from tests.memory import peak_below
from tests.webhooks.rows import make_delivery, make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

SIZE = 62_000
MOST = 24 * 1024 * 1024  # bytes: peak above the previous use


def nested(depth, opening, closing, inner):
    return opening * depth + inner + closing * depth


def wide(depth):
    """A deeply nested list of many items."""
    return nested(depth, "[", "]", ",".join("0" * ((SIZE - 2 * depth) // 2)))


TEXTS = {
    "open lists": "[" * SIZE,
    "lists": nested(SIZE // 2, "[", "]", ""),
    "objects": nested(SIZE // 6 - 1, '{"a":', "}", "1"),
    "many items in 500 lists": wide(500),
    "many items in as many lists as are allowed": wide(bounded_json.MAX_DEPTH),
    "many objects": "[" + ",".join(['{"a":{"a":{"a":1}}}'] * (SIZE // 21)) + "]",
    "quotes": '"\\"' * (SIZE // 3),
}  # fmt: skip


COSTLIEST = "many items in as many lists as are allowed"


@pytest.fixture(params=["open lists", COSTLIEST])
def text(request):
    """The text that takes most where it is read, and one that isn't read to its end."""
    return TEXTS[request.param]


@pytest.fixture
def viewer(ada):
    return signed_in(MemberFactory(business=ada.business, role="viewer").user)


@pytest.mark.long
def test_signature_checker(viewer, ada, text):
    moment = int(timezone.now().timestamp())
    headers = (
        f"X-Api-Key: {ada.public_id}\nX-Timestamp: {moment}\nX-Nonce: {'n' * 16}\nX-Signature: {'0' * 64}"
    )
    form = {"method": "POST", "target": "/api/payments", "headers": headers, "body": text, "secret": ""}
    viewer.post("/dashboard/developers/signature/", form | {"body": "{}"})

    with peak_below(MOST):
        answer = viewer.post("/dashboard/developers/signature/", form)

    assert answer.status_code == 200
    assert "Signature" in answer.content.decode()


@pytest.mark.long
def test_page_of_a_delivery(viewer, ada, text):
    delivery = make_delivery(make_endpoint(business=ada.business))
    address = reverse("dashboard-delivery", args=[delivery.pk])
    viewer.get(address)
    Delivery.objects.filter(pk=delivery.pk).update(body=text)

    with peak_below(MOST):
        assert viewer.get(address).status_code == 200


@pytest.mark.long
def test_body_of_a_call(api, text):
    api.post("/api/payments", b"{}")

    with peak_below(MOST):
        answer = api.post("/api/payments", f'{{"metadata": {text}}}'.encode())

    assert answer.status_code == 400


@pytest.mark.long
def test_call_from_the_sandbox_page(ada, text):
    browser = signed_in(MemberFactory(business=ada.business, role="owner").user)
    form = {"target": "/api/payments", "body": text[:8000]}
    browser.post("/dashboard/sandbox/", form | {"body": "{}"})

    with peak_below(MOST):
        assert browser.post("/dashboard/sandbox/", form).status_code == 200


@pytest.mark.long
def test_field_of_the_administration(ada, text):
    """An accepted field would be a redirect."""
    staff = signed_in(UserFactory(is_staff=True, is_superuser=True), client=Client())
    address = f"/admin/merchants/business/{ada.business_id}/change/"
    form = {"name": "Ada", "currencies": "[]", "reason": "Try."}
    staff.post(address, form)

    with peak_below(MOST):
        answer = staff.post(address, form | {"currencies": text})

    assert answer.status_code == 200


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_that_is_indented(text):
    assert len(text) <= 65_536
    with peak_below(MOST):
        assert bounded_json.indented(text)

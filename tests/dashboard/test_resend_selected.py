"""Deliveries that are selected in the list are resent together, once."""

from datetime import timedelta

import pytest

from merchants.models import AuditEntry
from tests.factories import MemberFactory
from tests.webhooks.rows import DELIVERED, FAILED, acquire, make_deliveries, make_endpoint, record
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

LIST = "/dashboard/webhooks/deliveries/"
STATE = Delivery.State


@pytest.fixture
def dead(ada):
    return make_deliveries(
        make_endpoint(business=ada.business), 3, state=STATE.DEAD, next_attempt_at=None, attempts_made=8
    )


def boxes(browser):
    return [row.selection for row in browser.get(LIST).context["rows"]]


def resend(browser, values, **form):
    return browser.post(f"{LIST}resend/", {"delivery": values, **form}, follow=True).content.decode()


def test_selected_deliveries_are_resent_and_audited(browser, dead):
    chosen = [f"{each.pk}.8" for each in dead[:2]]
    assert set(chosen) < set(boxes(browser))

    assert "Resending 2 deliveries." in resend(browser, chosen)

    assert [Delivery.objects.get(pk=each.pk).state for each in dead] == [
        STATE.WAITING,
        STATE.WAITING,
        STATE.DEAD,
    ]
    assert AuditEntry.objects.filter(action="webhook.replayed").count() == 2


def test_form_submitted_twice_resends_once(browser, dead, now):
    chosen = boxes(browser)
    resend(browser, chosen)
    record(acquire(at=now + timedelta(minutes=1)), DELIVERED, at=now)

    assert "3 deliveries were not resent" in resend(browser, chosen)

    assert not Delivery.objects.filter(state=STATE.WAITING).exists()


def test_waiting_deliveries_and_test_events_have_no_checkbox(browser, ada, now):
    make_deliveries(make_endpoint(business=ada.business), at=now)
    browser.post("/dashboard/webhooks/test/")

    assert boxes(browser) == ["", ""]


def test_other_businesses_and_invalid_values_change_nothing(browser, bisi):
    (other,) = make_deliveries(make_endpoint(business=bisi.business), state=STATE.DEAD, next_attempt_at=None)

    assert "1 delivery was not resent" in resend(browser, [f"{other.pk}.0", "x", "", f"{other.pk}.x"])
    assert "Select the deliveries to resend." in resend(browser, [])

    assert Delivery.objects.get().state == STATE.DEAD


def test_list_keeps_its_filter(browser, dead):
    answer = browser.post(f"{LIST}resend/", {"query": "state=dead&event=payment.success"})

    assert answer["Location"] == f"{LIST}?state=dead&event=payment.success"


def test_viewers_see_no_checkboxes(client, ada, dead):
    client.force_login(MemberFactory(business=ada.business, role="viewer").user)

    assert 'type="checkbox"' not in client.get(LIST).content.decode()


def test_failed_resend_can_be_repeated(browser, dead, now):
    resend(browser, boxes(browser))
    record(acquire(at=now + timedelta(minutes=1)), FAILED, at=now)

    assert "Resending 3 deliveries." in resend(browser, boxes(browser))

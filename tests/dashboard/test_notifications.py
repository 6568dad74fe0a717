"""Settings → Notifications: members turn e-mails of a business off for themselves, except those about security."""

import pytest
from django.utils import timezone

from dashboard.disputes import mail as dispute_mail
from merchants.models import MutedNotification
from merchants.people import notifications
from merchants.people.notifications import Kind
from merchants.people.roles import Role
from payments.services.settlement.payouts import settlement_notices
from tests.dashboard.people import signed_in
from tests.disputed import disputed
from tests.factories import MemberFactory
from tests.settlement_accounts import waiting_account
from tests.transactions import captured_payment

pytestmark = pytest.mark.django_db

PAGE = "/dashboard/settings/notifications/"


@pytest.fixture
def finance(ada):
    return MemberFactory(business=ada.business, role=Role.FINANCE, user__email="finance@example.com")


def receivers(mailoutbox):
    return sorted(address for message in mailoutbox for address in message.to)


def test_all_are_on_at_first(browser, ada, ada_member, finance, subtests):
    assert browser.get(PAGE).content.decode().count(" checked") == len(Kind)
    for kind, notification in notifications.NOTIFICATIONS.items():
        with subtests.test(kind=kind):
            everyone = {"ada@example.com": Role.OWNER, "finance@example.com": Role.FINANCE}
            expected = {address for address, role in everyone.items() if role in notification.roles}
            assert set(notifications.recipients(ada.business, kind)) == expected


def test_are_turned_off_by_a_member_for_themselves(browser, ada, ada_member, finance, mailoutbox):
    browser.post(PAGE, {"endpoints": "on", "batches": "on", "settlements": "on", "rates": "on"})

    disputed(captured_payment(business=ada.business, now=timezone.now()))
    dispute_mail.mail_due(now=timezone.now())

    assert receivers(mailoutbox) == ["finance@example.com"]
    assert MutedNotification.objects.get().kind == Kind.DISPUTES


def test_are_turned_on_again(browser, ada, ada_member):
    browser.post(PAGE, {})
    browser.post(PAGE, {"disputes": "on"})

    assert list(notifications.recipients(ada.business, Kind.DISPUTES)) == ["ada@example.com"]
    assert not notifications.recipients(ada.business, Kind.ENDPOINTS)


def test_of_another_business_stay(browser, ada_member, bisi):
    MemberFactory(business=bisi.business, user=ada_member.user, role=Role.OWNER)
    browser.post(PAGE, {"for_business": str(ada_member.business_id)})

    assert list(notifications.recipients(bisi.business, Kind.DISPUTES)) == ["ada@example.com"]


def test_about_security_are_always_sent(browser, ada, ada_member, mailoutbox):
    browser.post(PAGE, {})
    change = waiting_account(ada.business, made_by=ada_member.user)
    mailoutbox.clear()

    settlement_notices.mail_change(change)

    assert receivers(mailoutbox) == ["ada@example.com"]


def test_are_those_of_the_role(ada, finance, subtests):
    for role in Role:
        with subtests.test(role=role):
            client = signed_in(MemberFactory(business=ada.business, role=role).user)
            text = client.get(PAGE).content.decode()
            assert text.count('role="switch"') == len(notifications.kinds_for(role))

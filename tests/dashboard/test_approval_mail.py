"""E-mails to the members who can approve payouts or a batch."""

from datetime import timedelta
from smtplib import SMTPException

import pytest
from django.utils import timezone

from dashboard.payouts.approval_mail import mail_due
from merchants.models import MutedNotification
from merchants.people.audit import Actor
from payments.models import PayoutApproval, PayoutControls, Transaction
from payments.services.payouts.controls import waiting_payouts
from payout_batches.services import batches, corrections
from tests import orders
from tests.batches import checked_batch
from tests.factories import ApiKeyFactory, MemberFactory
from tests.payout_controls import waiting_payout

pytestmark = pytest.mark.django_db
ACTING = {"actor": Actor(name="test"), "now": timezone.now()}


@pytest.fixture
def business(ada):
    return ada.business


@pytest.fixture(autouse=True)
def finance(business):
    return MemberFactory(business=business, role="finance", user__email="finance@example.com")


@pytest.fixture(autouse=True)
def developer(business):
    return MemberFactory(business=business, role="developer")


def waiting_batch(business):
    PayoutControls.objects.update_or_create(business=business, defaults={"approval": "always"})
    made = checked_batch(business, orders.batch_item(1), orders.batch_item(2), title="Suppliers, week 48")
    batches.approve(made.pk, actor=Actor(name="test"), now=timezone.now())
    return made


def made_by(member, **key):
    PayoutApproval.objects.update(maker=member.user, **key)


def receivers(mailoutbox):
    return [sorted(message.to) for message in mailoutbox]


def test_one_about_a_batch_goes_to_all_who_can_approve_it(business, ada_member, mailoutbox):
    made = waiting_batch(business)

    mail_due(now=timezone.now())
    mail_due(now=timezone.now())

    assert receivers(mailoutbox) == [["ada@example.com", "finance@example.com"]]
    body = mailoutbox[0].body
    assert "the batch “Suppliers, week 48” of 2 payouts" in body
    assert f"/dashboard/payouts/batches/{made.pk}/" in body


def test_one_does_not_go_to_the_maker(business, ada_member, mailoutbox):
    waiting_batch(business)
    made_by(ada_member)

    mail_due(now=timezone.now())

    assert receivers(mailoutbox) == [["finance@example.com"]]
    assert mailoutbox[0].body.startswith("ada@example.com asks for your approval")


def test_one_about_a_keys_payout_does_not_go_to_who_made_the_key(business, ada_member, mailoutbox):
    payout = waiting_payout(business)
    made_by(ada_member, key=ApiKeyFactory(business=business, public_id="pk_shop"))

    mail_due(now=timezone.now())

    assert receivers(mailoutbox) == [["finance@example.com"]]
    assert mailoutbox[0].body.startswith("The API key pk_shop asks for your approval of a payout of NGN ")
    assert f"/dashboard/payouts/{payout.pk}/approval/" in mailoutbox[0].body


def test_one_does_not_go_to_who_turned_it_off(business, ada_member, finance, mailoutbox):
    MutedNotification.objects.create(member=finance, kind="batches")
    waiting_batch(business)

    mail_due(now=timezone.now())

    assert receivers(mailoutbox) == [["ada@example.com"]]


def test_payouts_of_one_maker_share_one(business, mailoutbox):
    for _ in range(3):
        waiting_payout(business)

    mail_due(now=timezone.now())

    assert "3 payouts" in mailoutbox[0].body
    assert "/dashboard/payouts/?status=awaiting_approval" in mailoutbox[0].body
    assert len(mailoutbox) == 1


def test_one_about_a_batch_leaves_out_removed_rows(business, mailoutbox):
    PayoutControls.objects.create(business=business, approval="always")
    made = checked_batch(business, orders.batch_item(1), orders.batch_item(2, amount=30_000))
    corrections.remove(made.items.get(position=1).pk, **ACTING)
    batches.approve(made.pk, **ACTING)

    mail_due(now=timezone.now())

    assert "of 1 payout, NGN 200.00" in mailoutbox[0].body


def test_payouts_are_mailed_at_most_once_an_hour(business, mailoutbox):
    now = timezone.now()
    waiting_payout(business)
    mail_due(now=now)
    waiting_payout(business)

    mail_due(now=now + timedelta(minutes=59))
    assert len(mailoutbox) == 1
    mail_due(now=now + timedelta(minutes=61))
    assert len(mailoutbox) == 2


def test_what_was_decided_is_not_mailed(business, finance, mailoutbox):
    payout = waiting_payout(business)
    waiting_payouts.cancel(payout.pk, now=timezone.now())

    mail_due(now=timezone.now())

    assert mailoutbox == []


def test_one_that_cannot_be_sent_is_tried_again(business, mailoutbox, monkeypatch):
    waiting_batch(business)

    def refuse(*_args, **_options):
        raise SMTPException

    with monkeypatch.context() as broken:
        broken.setattr("kit.mail.send_mail", refuse)
        assert mail_due(now=timezone.now()) == 0
    assert mail_due(now=timezone.now()) == 1
    assert len(mailoutbox) == 1


def test_names_in_one_hold_no_links(business, mailoutbox):
    waiting_payout(
        business,
        customer={"name": "https://evil.example/pay", "account_number": "0123456789", "bank_code": "058"},
    )

    mail_due(now=timezone.now())

    assert "to https evil example pay of" in mailoutbox[0].body
    assert Transaction.objects.get().customer_name == "https://evil.example/pay"

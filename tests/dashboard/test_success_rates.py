"""Success rates by method, bank and BIN, beside those of last week, and the notice when one falls by a third."""

import re
from datetime import timedelta
from functools import partial
from smtplib import SMTPServerDisconnected

import pytest
from django.utils import timezone

from dashboard.models import FallenRate
from dashboard.success_rates import fall_mail, falls
from kit import banks
from merchants.models import Member
from merchants.people import notifications
from tests import orders
from tests.developer_site.test_pages import Audit
from tests.factories import BusinessFactory, MemberFactory
from tests.query_counts import at_most
from tests.racing import racers
from tests.transactions import captured_payment, start
from virtual_accounts.models import VirtualAccount

pytestmark = [pytest.mark.django_db, pytest.mark.servers]

PAGE = "/dashboard/payments/success-rates/"
OVERVIEW = "/dashboard/"
WEEK = timedelta(days=7)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DECLINED = orders.card_source(pan=orders.DECLINED_CARD)


def pay(business, *, succeeded, failed, at):
    """Make card payments at a time. All cards begin with 408408."""
    for _ in range(succeeded):
        captured_payment(business=business, now=at)
    for _ in range(failed):
        start(orders.card_payment(source=DECLINED), business=business, now=at)


def fallen(business, *, now, succeeded=12, failed=8):
    """Make payments of which fewer succeed than a week before."""
    pay(business, succeeded=20, failed=0, at=now - WEEK - MINUTE)
    pay(business, succeeded=succeeded, failed=failed, at=now - MINUTE)


def text_of(answer):
    page = answer.content.decode()
    assert Audit(page).findings == []
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


class TestPage:
    def test_compares_with_the_same_hours_of_last_week(self, browser, ada, now):
        fallen(ada.business, now=now)
        pay(ada.business, succeeded=3, failed=0, at=now - WEEK + HOUR)  # later than now, a week ago
        pay(ada.business, succeeded=0, failed=3, at=now - timedelta(hours=25))

        with at_most(6):
            answer = browser.get(PAGE)
        text = text_of(answer)

        assert "Change Succeeded" in text
        assert text.count("60.0% Last week 100.0% ↓ 40.0 pts 12 of 20") == 2  # by method and by BIN
        assert "408408 VISA" in text
        assert f"{PAGE}?hours=6".partition("?")[2] in answer.content.decode()
        assert "method=card&amp;status=failed&amp;since=" in answer.content.decode()

    def test_shows_no_change_of_few_payments(self, browser, ada, now):
        fallen(ada.business, now=now, succeeded=11)

        text = text_of(browser.get(PAGE))

        assert "57.9% Last week 100.0% Too few to compare 11 of 19" in text
        assert " pts" not in text

    def test_groups_transfers_by_the_bank_of_the_account(self, browser, ada, api, now):
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()
        payment = api.post("/api/payments", orders.transfer_payment(account["id"])).json()
        number = payment["virtual_account_details"]["account_number"]
        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": payment["amount"]})

        text = text_of(browser.get(PAGE))

        bank = banks.name_of(VirtualAccount.objects.get().bank_code)
        assert f"{bank} 100.0% Last week – Nothing earlier to compare 1 of 1" in text  # noqa: RUF001
        assert "Bank transfer 100.0%" in text

    def test_of_other_businesses_and_of_nothing_is_empty(self, other_browser, ada, now):
        fallen(ada.business, now=now)

        assert "No finished payments" in text_of(other_browser.get(PAGE))

    def test_is_reached_from_the_reasons_of_failure(self, browser, ada, now):
        pay(ada.business, succeeded=0, failed=1, at=now)

        assert f'href="{PAGE}"' in browser.get(OVERVIEW).content.decode()


class TestFall:
    def test_is_shown_on_the_overview_until_the_rate_recovers(self, browser, ada, now):
        fallen(ada.business, now=now)
        assert "succeed less often" not in text_of(browser.get(OVERVIEW))

        fall_mail.check(now=now)
        text = text_of(browser.get(OVERVIEW))
        assert "Card payments succeed less often than a week ago" in text
        assert "60.0% instead of 100.0% when it was noticed, and 1 other rate fell too." in text

        pay(ada.business, succeeded=24, failed=0, at=now)  # 36 of 44
        fall_mail.check(now=now + MINUTE)
        assert FallenRate.objects.count() == 2
        pay(ada.business, succeeded=20, failed=0, at=now)  # 56 of 64
        fall_mail.check(now=now + MINUTE)
        assert not FallenRate.objects.exists()

    @pytest.mark.parametrize(("succeeded", "failed"), [(14, 7), (0, 19), (20, 0)])
    def test_is_a_third_of_enough_payments(self, ada, now, succeeded, failed):
        pay(ada.business, succeeded=20, failed=0, at=now - WEEK - MINUTE)
        pay(ada.business, succeeded=succeeded, failed=failed, at=now - MINUTE)

        fall_mail.check(now=now)

        assert FallenRate.objects.exists() is (succeeded == 14)

    def test_is_none_without_enough_payments_last_week(self, ada, now):
        pay(ada.business, succeeded=19, failed=0, at=now - WEEK - MINUTE)
        pay(ada.business, succeeded=0, failed=20, at=now - MINUTE)

        fall_mail.check(now=now)

        assert not FallenRate.objects.exists()

    def test_of_which_nothing_is_known_any_more_ends_after_a_day(self, ada, now):
        fallen(ada.business, now=now)
        fall_mail.check(now=now)

        fall_mail.check(now=now + 7 * HOUR)
        assert FallenRate.objects.count() == 2
        fall_mail.check(now=now + timedelta(days=1, minutes=1))
        assert not FallenRate.objects.exists()


class TestMail:
    @pytest.fixture
    def business(self, now):
        business = BusinessFactory(name="Ada Books")
        for role in ("owner", "developer", "finance"):
            MemberFactory(business=business, role=role, user__email=f"{role}@example.com")
        fallen(business, now=now)
        return business

    def test_is_sent_once_for_each_fall(self, business, now, mailoutbox):
        assert [fall_mail.check(now=now + minutes * MINUTE) for minutes in (0, 10, 20)] == [1, 0, 0]

        (sent,) = mailoutbox
        assert sorted(sent.to) == ["developer@example.com", "owner@example.com"]
        assert sent.subject == "Payments of Ada Books fail more often than a week ago"
        assert "Last 6 hours:\n- Card payments: 60.0% instead of 100.0%\n" in sent.body
        assert PAGE in sent.body
        assert "- Payments with cards that begin with 408408: 60.0%" in sent.body

    def test_is_not_sent_to_members_who_turned_it_off(self, business, now, mailoutbox):
        notifications.choose(Member.objects.get(user__email="owner@example.com"), wanted=[])

        fall_mail.check(now=now)

        assert [message.to for message in mailoutbox] == [["developer@example.com"]]

    def test_is_retried_after_the_mail_server_failed(self, business, now, mailoutbox, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr("kit.mail.send_mail", _raise)
            assert fall_mail.check(now=now) == 0

        assert [fall_mail.check(now=now + wait) for wait in (MINUTE, fall_mail.LEASE)] == [0, 1]


def _raise(*args):
    raise SMTPServerDisconnected


@pytest.mark.django_db(transaction=True)
class TestRace:
    def test_sends_one_mail_from_two_workers(self, mailoutbox, monkeypatch):
        """Without the condition of the lease, both send it."""
        now, business = timezone.now(), MemberFactory().business
        fallen(business, now=now)
        falls.update(now=now)
        monkeypatch.setattr(falls, "update", lambda **_: None)

        with racers(2) as started:
            results = started.race(*[partial(fall_mail.check, now=now)] * 2)

        assert sorted(results) == [0, 1]
        assert len(mailoutbox) == 1

    def test_records_one_fall_by_two_workers(self):
        now, business = timezone.now(), MemberFactory().business
        fallen(business, now=now)

        with racers(2) as started:
            results = started.race(*[partial(falls.update, now=now)] * 2)

        assert results == [None, None]
        assert FallenRate.objects.count() == 2

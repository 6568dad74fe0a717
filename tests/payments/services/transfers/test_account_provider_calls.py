"""Messages to the account provider about deactivations are in order, repeated until answered, and sent one at a time."""

import threading
import time
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.db import transaction as database

from kit.connectors import connectors
from kit.db.clock import database_now
from payments.services.rails.rail_queries import query_leases
from payments.services.transfers import account_deactivation, account_provider_calls
from tests import orders
from tests.racing import racers
from tests.rails import RecordingProvider
from virtual_accounts.models import ProviderMessage, VirtualAccount
from virtual_accounts.services import provider_messages

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def provider(settings):
    """A provider that records its calls. It answers unless a test makes it fail."""
    settings.ACCOUNT_PROVIDER = "tests.rails.RecordingProvider"
    connectors._made.cache_clear()
    RecordingProvider.begin()
    yield RecordingProvider
    RecordingProvider.begin()
    eventually(lambda: all(thread.name != "rail-call" for thread in threading.enumerate()))


@pytest.fixture(autouse=True)
def _long_run(monkeypatch):
    monkeypatch.setattr(account_provider_calls, "RUN_TIME", 30.0)


@pytest.fixture
def account(api):
    made = api.post("/api/virtual-accounts", orders.static_account()).json()
    return VirtualAccount.objects.get(pk=made["id"])


def eventually(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def deactivate(account):
    account_deactivation.deactivate(account.pk, now=database_now())


def activate(account):
    account_deactivation.activate(account.pk, now=database_now())


def make_due():
    ProviderMessage.objects.filter(answered_at=None).update(
        next_attempt_at=database_now() - timedelta(seconds=1)
    )


class TestMessage:
    def test_is_created_atomically_with_the_change(self, account, provider):
        with database.atomic():
            deactivate(account)
            database.set_rollback(True)
        account_provider_calls.send_due()

        assert not ProviderMessage.objects.exists()
        assert provider.calls == []

    def test_is_sent_outside_the_request(self, api, account, provider):
        api.post(f"/api/virtual-accounts/{account.reference}/deactivate")
        before = list(provider.calls)

        account_provider_calls.send_due()

        assert before == []
        assert provider.calls == [("close", account.account_number)]
        assert ProviderMessage.objects.get().answered_at is not None

    def test_is_not_created_for_a_repeated_change_or_a_dynamic_account(self, api, account):
        dynamic = api.post("/api/virtual-accounts", orders.dynamic_account()).json()
        account_deactivation.deactivate(dynamic["id"], now=database_now())
        deactivate(account)
        deactivate(account)

        assert ProviderMessage.objects.count() == 1

    def test_is_repeated_until_the_provider_answers(self, account, provider):
        deactivate(account)
        provider.fails = True
        for _ in range(3):
            make_due()
            account_provider_calls.send_due()
        lost = ProviderMessage.objects.get()
        provider.fails = False
        make_due()

        assert account_provider_calls.send_due() == 1

        message = ProviderMessage.objects.get()
        assert (lost.attempts_made, lost.last_error) == (3, "AnswerLost")
        assert (message.attempts_made, message.last_error) == (4, "")
        assert provider.calls == [("close", account.account_number)] * 4

    def test_has_a_growing_retry_interval(self, account, provider):
        deactivate(account)
        provider.fails = True
        waits = []
        for _ in range(len(provider_messages.INTERVALS) + 1):
            make_due()
            before = database_now()
            account_provider_calls.send_due()
            waits.append(ProviderMessage.objects.get().next_attempt_at - before)

        longest = provider_messages.UNANSWERED_INTERVAL
        expected = [*(min(each, longest) for each in provider_messages.INTERVALS), longest]
        rounded = [timedelta(seconds=int(each.total_seconds())) for each in waits]
        assert rounded == expected

    def test_follows_the_earlier_ones_of_its_account(self, account, provider):
        """An activation must not reach the provider before the preceding deactivation."""
        deactivate(account)
        provider.fails = True
        account_provider_calls.send_due()
        activate(account)
        account_provider_calls.send_due()
        failed = list(provider.calls)
        provider.fails = False

        make_due()
        account_provider_calls.send_due()

        number = account.account_number
        assert failed == [("close", number)] * 2
        assert provider.calls[2:] == [("close", number), ("reopen", number)]

    def test_does_not_wait_for_other_accounts(self, api, account, provider):
        other = VirtualAccount.objects.get(
            pk=api.post("/api/virtual-accounts", orders.static_account()).json()["id"]
        )
        deactivate(account)
        provider.fails = True
        account_provider_calls.send_due()
        provider.fails = False
        deactivate(other)

        account_provider_calls.send_due()

        assert provider.calls[-1] == ("close", other.account_number)


class TestLease:
    def test_lets_one_of_four_runs_send_a_message(self, account, provider, monkeypatch):
        monkeypatch.setattr(account_provider_calls, "RUN_TIME", 0.3)
        provider.may_answer.clear()
        deactivate(account)

        with racers(4) as threads:
            threads.race(*[account_provider_calls.send_due] * 4)

        assert provider.calls == [("close", account.account_number)]
        provider.may_answer.set()
        eventually(lambda: ProviderMessage.objects.get().answered_at is not None)

    def test_of_a_killed_process_expires_and_another_sends(self, account, provider):
        deactivate(account)
        provider_messages.lease(limit=1, at=database_now(), length=query_leases.length())
        account_provider_calls.send_due()
        before = list(provider.calls)

        ProviderMessage.objects.update(leased_until=database_now() - timedelta(seconds=1))
        account_provider_calls.send_due()

        assert (before, provider.calls) == ([], [("close", account.account_number)])

    def test_that_was_lost_records_nothing(self, account):
        deactivate(account)
        now, length = database_now(), timedelta(seconds=30)
        (stopped,) = provider_messages.lease(limit=1, at=now, length=length)
        (current,) = provider_messages.lease(limit=1, at=now + length, length=length)

        assert not provider_messages.record_failure(stopped, "AnswerLost", now=now)
        assert not provider_messages.record_answer(stopped, now=now)
        assert provider_messages.record_answer(current, now=now)

    def test_hanging_provider_delays_only_its_own_messages(self, account, provider, monkeypatch):
        monkeypatch.setattr(account_provider_calls, "RUN_TIME", 0.2)
        provider.may_answer.clear()
        deactivate(account)
        began = time.monotonic()

        account_provider_calls.send_due()
        activate(account)

        assert not provider.may_answer.is_set()
        assert time.monotonic() - began < provider.PATIENCE
        provider.may_answer.set()


class TestChangesAtTheSameTime:
    def test_reach_the_provider_in_order(self, account, provider):
        """Tests the account's lock around the message: the last message has the account's current state."""
        with racers(3) as threads:
            for _ in range(10):
                threads.race(
                    partial(deactivate, account),
                    partial(activate, account),
                    account_provider_calls.send_due,
                )
                make_due()
                account_provider_calls.send_due()

                account.refresh_from_db()
                last = {"close": "inactive", "reopen": "active"}
                if provider.calls:
                    assert last[provider.calls[-1][0]] == account.status
        kinds = [kind for kind, _ in provider.calls]
        assert kinds == ["close", "reopen"] * (len(kinds) // 2) + ["close"] * (len(kinds) % 2)

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks no rows")
    def test_lease_skips_locked_messages(self, account):
        deactivate(account)
        found = []

        def lease_here():
            found.append(provider_messages.lease(limit=9, at=database_now(), length=timedelta(seconds=9)))
            connection.close()

        with database.atomic():
            ProviderMessage.objects.select_for_update().get()
            other = threading.Thread(target=lease_here)
            other.start()
            other.join(10)

        assert found == [[]]

"""The wallet statement over the API."""

import itertools
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kit.time.timestamps import timestamp
from ledger.models import Account, Entry
from ledger.statements import wallet_statements
from payments.services.payouts import payout_returns
from payments.services.reporting.wallet_statement import MOVEMENT_KINDS
from payments.services.transfers import unapplied_decisions
from tests import orders
from tests.payments.views.test_settlements import address, pay
from tests.settling import STAFF, decide, settle
from tests.unapplied import mismatched_money
from tests.wallets import fill_wallet

pytestmark = pytest.mark.django_db

MOVEMENTS = "/api/balance/movements"
DAY = timedelta(days=1)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def top_up(business, amount, *, at, currency="NGN"):
    return str(fill_wallet(business, amount, at=at, currency=currency, reason="Float"))


def walk(api, target):
    while target:
        page = api.get(target).json()
        yield page
        target = page["next"] and address(page["next"])


class TestMovements:
    def test_shows_each_movement_with_its_balance(self, api, ada):
        cause = top_up(ada.business, 500_000, at=NOON)
        api.post("/api/payments", orders.payout(reference="salary-1", amount=100_000))

        payout, added = api.get(f"{MOVEMENTS}?currency=NGN").json()["data"]

        assert added == {
            "id": "NGN-1",
            "kind": "top_up",
            "amount": 500_000,
            "balance_after": 500_000,
            "currency": "NGN",
            "reference": cause,
            "created_at": "2026-03-01T12:00:00.000Z",
        }
        assert (payout["kind"], payout["reference"]) == ("payout_accepted", "salary-1")
        assert (payout["amount"], payout["balance_after"]) == (-101_000, 399_000)

    def test_shows_the_cause_of_each(self, api, ada):
        money = mismatched_money(business=ada.business, now=timezone.now())
        unapplied_decisions.credit(money.pk, reason="Theirs", actor=STAFF, now=timezone.now())
        pay(api)
        batch = decide(*settle(), "approve", "release")
        api.post("/api/payments", orders.payout(reference="refused", amount=10_051))
        sent = api.post("/api/payments", orders.payout(reference="returned")).json()
        payout_returns.reverse(
            transaction_id=UUID(sent["id"]), reason="Closed", actor=STAFF, now=timezone.now()
        )

        shown = api.get(MOVEMENTS).json()["data"]

        assert [(row["kind"], row["reference"]) for row in shown] == [
            ("payout_reversed", "returned"),
            ("payout_accepted", "returned"),
            ("payout_failed", "refused"),
            ("payout_accepted", "refused"),
            ("settlement_released", str(batch.pk)),
            ("unapplied_out", str(money.pk)),
        ]

    def test_every_kind_of_wallet_movement_is_described(self, api, ada):
        kinds = Entry.objects.filter(postings__account__kind=Account.Kind.WALLET).values_list(
            "kind", flat=True
        )
        fill_wallet(ada.business, 1)
        api.post("/api/payments", orders.payout(amount=10_051))

        assert set(kinds) <= set(MOVEMENT_KINDS) <= set(Entry.Kind)

    def test_shows_only_own_wallets(self, api, bisi):
        fill_wallet(bisi.business, 50_000)

        assert api.get(f"{MOVEMENTS}?currency=NGN").json() == {
            "data": [],
            "next": None,
            "previous": None,
            "opening_balance": 0,
            "closing_balance": 0,
        }

    @pytest.mark.parametrize("limit", [1, 3, 100])
    def test_pages_through_all_currencies_newest_first(self, api, ada, limit):
        for n in range(7):
            top_up(ada.business, n + 1, at=NOON + n * DAY, currency=("NGN", "USD")[n % 2])

        pages = list(walk(api, f"{MOVEMENTS}?limit={limit}"))

        assert [row["amount"] for page in pages for row in page["data"]] == [7, 6, 5, 4, 3, 2, 1]
        assert all(len(page["data"]) <= limit for page in pages)
        assert "opening_balance" not in pages[0]

    def test_pages_can_be_paged_back(self, api, ada):
        for n in range(5):
            top_up(ada.business, n + 1, at=NOON, currency=("NGN", "USD")[n % 2])
        last = list(walk(api, f"{MOVEMENTS}?limit=2"))[-1]

        before = api.get(address(last["previous"])).json()

        assert [row["amount"] for row in before["data"]] == [3, 2]

    def test_number_of_queries_does_not_depend_on_number_of_movements(self, api, ada):
        api.post("/api/payments", orders.payout())
        queries = []
        for _ in range(2):
            with CaptureQueriesContext(connection) as captured:
                api.get(f"{MOVEMENTS}?currency=NGN&limit=100")
            queries.append(len(captured))
            for _ in range(20):
                api.post("/api/payments", orders.payout(amount=20_051))

        assert queries[0] == queries[1]


class TestPeriods:
    @pytest.fixture
    def _week(self, ada):
        for n in range(7):
            top_up(ada.business, 10**n, at=NOON + n * DAY)

    @pytest.mark.parametrize(
        ("days", "movements", "balances"),
        [
            ((0, 6), 7, (0, 1_111_111)),
            ((2, 4), 3, (11, 11_111)),
            ((0, 0), 1, (0, 1)),
            ((7, 9), 0, (1_111_111, 1_111_111)),
            ((-3, -1), 0, (0, 0)),
        ],
    )
    @pytest.mark.usefixtures("_week")
    def test_balances_are_those_of_the_period(self, api, days, movements, balances):
        since, until = (timestamp(NOON + day * DAY) for day in days)
        query = f"created_from={since}&created_to={until}"

        for limit in (1, 100):
            shown = api.get(f"{MOVEMENTS}?currency=NGN&{query}&limit={limit}").json()
            assert len(shown["data"]) == min(movements, limit)
            assert (shown["opening_balance"], shown["closing_balance"]) == balances

    def test_both_ends_are_inclusive_to_the_millisecond(self, api, ada):
        top_up(ada.business, 1, at=NOON.replace(microsecond=1_999))

        same = "2026-03-01T12:00:00.001Z"
        shown = api.get(f"{MOVEMENTS}?currency=NGN&created_from={same}&created_to={same}").json()

        assert (len(shown["data"]), shown["closing_balance"]) == (1, 1)

    def test_periods_in_microseconds_join_without_a_gap(self, api, ada):
        top_up(ada.business, 1, at=NOON.replace(microsecond=1_200))

        before = api.get(f"{MOVEMENTS}?currency=NGN&created_to=2026-03-01T12:00:00.000999Z").json()
        after = api.get(f"{MOVEMENTS}?currency=NGN&created_from=2026-03-01T12:00:00.001900Z").json()

        assert before["closing_balance"] == after["opening_balance"] == 0
        assert [each["amount"] for each in after["data"]] == [1]

    def test_the_last_moment_of_the_calendar_is_after_every_movement(self, api, ada):
        top_up(ada.business, 1, at=NOON)

        period = "created_from=0001-01-01T00:00:00Z&created_to=9999-12-31T23:59:59.999Z"
        shown = api.get(f"{MOVEMENTS}?currency=NGN&{period}").json()

        assert (len(shown["data"]), shown["opening_balance"], shown["closing_balance"]) == (1, 0, 1)

    def test_periods_join_without_a_gap_even_if_times_are_out_of_order(self, ada):
        moments = [0, 5, 3, 4, 9, 7, 8, 2, 11, 10]
        for n, second in enumerate(moments):
            top_up(ada.business, 10**n, at=NOON + timedelta(seconds=second))
        cuts = [NOON + timedelta(seconds=second) for second in range(-1, 13)]

        periods = [
            wallet_statements(ada.business, currency="NGN", since=since, before=before)[0]
            for since, before in itertools.pairwise(cuts)
        ]

        booked = [sum(each.amount for each in period.postings) for period in periods]
        assert sum(booked) == 10 ** len(moments) // 9
        for period, amount in zip(periods, booked, strict=True):
            assert period.opening_balance + amount == period.closing_balance
        for before, after in itertools.pairwise(periods):
            assert before.closing_balance == after.opening_balance

    @pytest.mark.parametrize(
        ("query", "code"),
        [
            ("kind=top_up", "unknown_field"),
            ("currency=ngn", "unsupported_currency"),
            ("created_from=today", "invalid_request"),
            ("cursor=abc", "invalid_request"),
            ("cursor=cD05OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk%3D", "invalid_request"),
        ],
    )
    def test_rejects_invalid_parameters(self, api, ada, query, code):
        fill_wallet(ada.business, 1)

        answer = api.get(f"{MOVEMENTS}?{query}")

        assert (answer.status_code, answer.json()["code"]) == (400, code)

    def test_requires_a_signature(self, client):
        assert client.get(MOVEMENTS).status_code == 401

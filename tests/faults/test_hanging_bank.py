"""A bank that hangs for half a minute under mixed traffic."""

import pytest

from tests.faults import hanging_bank
from tests.faults.hanging_bank import WAIT_LIMIT

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("hanging_bank"), pytest.mark.timeout(900)]


class TestHangingBank:
    def test_delays_no_other_task_and_gets_no_concurrent_duplicate_queries(self, tmp_path, postgresql_server):
        report = hanging_bank.run(
            tmp_path, server_url=postgresql_server.url, before=10, hanging=30, after=20, rate=5
        )

        print("\n".join(report.lines()))
        assert report.queries_while_hanging > 0
        assert report.unknown_when_back > 0
        assert report.duplicate_queries == []
        assert report.paid_twice == 0
        assert report.payouts_by_status.keys() == {"success"}
        assert report.ledger_holds
        # How late a task starts depends on the machine, but none may wait for a call to the bank.
        assert report.latest() < hanging_bank.BANK_TIMEOUT
        assert report.seconds_until_resolved < WAIT_LIMIT

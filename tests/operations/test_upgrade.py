"""The guide's upgrade over two releases: from the first one, by way of the last with its migrations, to this one."""

import pytest

from config.management.commands.migrate import BEFORE_SQUASH
from payments.rails import ACQUIRERS
from tests.clients import Credentials
from tests.operations.guide_operator import shown
from tests.operations.surroundings import is_shallow
from tests.operations.traffic import flowing
from tests.simulators import ISO8583

pytestmark = [pytest.mark.operations, pytest.mark.timeout(900)]

FIRST = "c1ab994c"


@pytest.fixture(scope="module")
def releases(operator):
    """The versions to upgrade to, oldest first. The first is where the upgrade begins."""
    if is_shallow():
        pytest.fail("This clone lacks the releases to upgrade from. Fetch them: git fetch --unshallow")
    operator.surroundings.publish_release("v0.1", FIRST)
    operator.surroundings.publish_release("v0.2", BEFORE_SQUASH)
    return ["0.1", "0.2", "1.1"]


class Upgrade:
    """The guide's three blocks, for any version."""

    def __init__(self, blocks, operator):
        self._install, self._migrate, self._switch = blocks
        self._operator = operator

    def install(self, version):
        with self._operator.host.shell(internet=True) as shell:
            self._operator.follow(self._install.with_version(version), shell=shell)

    def migrate(self, version, shell):
        self._operator.follow(self._migrate.with_version(version), shell=shell)

    def switch(self, version, shell, *, has_heartbeats=True):
        block = self._switch.with_version(version)
        *switch, doctor = block.commands
        assert "manage.py doctor" in doctor
        for command in switch:
            shell.run(command)
        if has_heartbeats:  # of an earlier worker
            shell.run(doctor, accepted=(0, 1))


class TestUpgrade:
    def test_over_two_releases(self, guide, operator, releases):
        upgrade = Upgrade(guide.take("Upgrade without downtime", count=3), operator)
        first, *later = releases
        self.start_over(operator, upgrade, first)
        paid = operator.pay()
        known = operator.look_up(paid).json()

        for version in later:
            upgrade.install(version)
            with operator.terminal() as shell, flowing(lambda: operator.look_up(paid).status) as statuses:
                upgrade.migrate(version, shell)
                upgrade.switch(version, shell)
            print(version, dict(statuses))
            assert set(statuses) == {200}

            assert operator.inspect("readlink /opt/sluice/current").strip() == f"/opt/sluice/{version}"
            assert known.items() <= operator.look_up(paid).json().items()
            assert operator.look_up(operator.pay()).json()["status"] == "success"
            operator.manage("check_ledger")

    def start_over(self, operator, upgrade, version):
        """Install the first release, with a database of its own. It has no re-query workers."""
        operator.inspect("systemctl stop sluice.target && systemctl disable sluice-requery@1")
        operator.surroundings.create_database("first")
        operator.fill_in(
            DATABASE_URL=operator.settings["DATABASE_URL"].rpartition("/")[0] + "/first",
            CARD_ACQUIRER=ACQUIRERS[ISO8583],  # it has no names yet; this release takes both
        )
        upgrade.install(version)
        with operator.terminal() as shell:
            upgrade.migrate(version, shell)
            created = shell.run(
                ".venv/bin/python manage.py create_business --name 'Ada Books' --email ada@example.com"
            )
            operator.inspect("systemctl start sluice-web.socket")
            upgrade.switch(version, shell, has_heartbeats=False)
        operator.inspect("systemctl start sluice-worker@1 sluice-beat")
        operator.keys = Credentials(shown(created, "api key"), shown(created, "secret key"))
        operator.wait_until_ready()


def test_every_block_is_executed(guide):
    """Every block of the guide has been executed by these tests, except for the commands in NOT_RUN."""
    assert guide.remaining == []

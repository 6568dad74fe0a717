"""The operations guide, command by command, on a host with systemd, nginx, PostgreSQL and Redis.

The tests run in order and on one host, like the guide.
"""

import re
import shlex
from zipfile import ZipFile

import pytest

from tests import orders
from tests.clients import Credentials
from tests.faults.processes import wait_until
from tests.operations.blocks import GUIDE, PROJECT
from tests.operations.guide_operator import shown
from tests.operations.surroundings import DATABASE, PAY, SECOND_DATABASE, is_signed, new_field_key

pytestmark = [pytest.mark.operations, pytest.mark.timeout(600)]

UNITS = [
    "sluice.target",
    "sluice-web.socket",
    "sluice-web",
    "sluice-beat",
    "sluice-worker@1",
    "sluice-worker@2",
]
UNITS += ["sluice-requery@1"]
BEHIND_THE_PROXY = "http://127.0.0.1:8000"


class TestDeploy:
    def test_offers_a_trial(self, guide, operator):
        [trial] = guide.take("Deploy", count=1)

        assert operator.follow(trial) == []

    def test_prepares_files_for_containers(self, guide, operator):
        start, pin = guide.take("With containers", count=2)
        with operator.host.shell() as shell:
            shell.run(f"mkdir /srv/compose && cp {PROJECT}/.env.example /srv/compose && cd /srv/compose")

            operator.follow(start, shell=shell)
            operator.follow(pin, shell=shell)

            assert shell.run("ls -A").split() == [".env", ".env.example", "certificates"]

    def test_installs_with_systemd(self, guide, operator):
        packages, database, install, start, proxy = guide.take("With systemd", count=5)
        given, host = operator.surroundings, operator.host
        operator.enter = start.commands[0]

        operator.follow(packages)
        operator.follow(database, typed=(given.role_password, given.role_password))
        with host.shell(internet=True) as shell:
            operator.follow(install, shell=shell)
        operator.fill_in(**given.settings())
        *_, created = operator.follow(start)
        given.issue_certificate(PAY, "/etc/nginx/certificates")
        operator.follow(proxy)

        operator.keys = Credentials(shown(created, "api key"), shown(created, "secret key"))
        operator.password = shown(created, "password")
        operator.subscribe()
        operator.wait_until_ready()
        assert operator.inspect(f"systemctl is-active {' '.join(UNITS)}").split() == ["active"] * len(UNITS)
        assert operator.webhook_of(operator.pay())

    def test_installs_valid_units(self, operator):
        units = (
            operator.inspect("cd /etc/systemd/system && ls sluice*.service sluice*.socket sluice.target")
            .replace("@.", "@1.")
            .split()
        )

        assert operator.inspect(f"systemd-analyze verify {' '.join(units)}") == ""
        assert operator.inspect("systemctl --failed --no-legend") == ""

    def test_gives_web_its_settings_and_no_privileges(self, operator):
        pid = operator.inspect("systemctl show --property MainPID --value sluice-web").strip()
        process = operator.host.root / "proc" / pid

        variables = dict(entry.partition("=")[::2] for entry in (process / "environ").read_text().split("\0"))
        status = (process / "status").read_text()
        user = operator.inspect("id --user sluice").strip()
        assert {name: variables[name] for name in operator.settings} == operator.settings
        assert re.search(r"^Uid:\s+(\S+)", status, re.MULTILINE)[1] == user
        assert re.search(r"^CapBnd:\s+(\S+)", status, re.MULTILINE)[1].strip("0") == ""
        assert "NoNewPrivs:\t1" in status

    def test_keeps_starting_web_however_often_it_fails(self, operator):
        def restarts():
            return int(operator.inspect("systemctl show --property NRestarts --value sluice-web"))

        operator.inspect("mv /opt/sluice/current /opt/sluice/away && systemctl kill --signal KILL sluice-web")
        wait_until(lambda: restarts() >= 7, what="failed starts")
        operator.inspect("mv /opt/sluice/away /opt/sluice/current")

        operator.wait_until_ready()


class TestProxy:
    def test_redirects_to_https(self, operator):
        answer = operator.host.request(f"http://{PAY}/dashboard/?a=b")

        assert (answer.status, answer.headers["Location"]) == (308, f"https://{PAY}/dashboard/?a=b")

    def test_passes_signed_calls(self, operator):
        reference = operator.pay()

        assert operator.look_up(reference).json()["reference"] == reference

    @pytest.mark.parametrize(
        ("path", "options", "code"),
        [
            (f"/api/payments?{'a' * 9000}", (), "uri_too_long"),
            ("/api/payments", ("--header", f"X-Large: {'a' * 9000}"), "headers_too_large"),
            ("/api/payments", ("--header", "Content-Length: 9000000", "--max-time", "5"), "body_too_large"),
        ],
        ids=["line", "headers", "body"],
    )  # fmt: skip
    def test_refuses_with_problem_documents(self, operator, path, options, code):
        answer = operator.get(path, "--http1.1", *options)

        assert answer.headers["Content-Type"] == "application/problem+json"
        assert (answer.json()["code"], answer.json()["status"]) == (code, answer.status)

    def test_says_when_web_is_unavailable(self, operator):
        operator.inspect("systemctl stop sluice-web.socket sluice-web")
        answer = operator.get("/api/payments")
        operator.inspect("systemctl start sluice-web.socket sluice-web")

        assert (answer.status, answer.json()["code"]) == (503, "temporarily_unavailable")
        assert answer.headers["Retry-After"] == "5"
        operator.wait_until_ready()


class TestWatch:
    def test_health(self, guide, operator):
        [doctor] = guide.take("Health", count=1)

        [output] = operator.follow(doctor)

        assert "ok       database: PostgreSQL responds in " in output
        assert "ok       worker: A worker sent a heartbeat " in output
        assert "BROKEN" not in output
        assert re.search(r"^Verdict: (fine|warning)\.$", output, re.MULTILINE)

    def test_support_bundle(self, operator):
        [command] = re.findall(r"`(support_bundle --log) FILE`", GUIDE.read_text())
        operator.inspect("journalctl --unit sluice-web --output cat > /root/web.log")

        operator.manage(*command.split(), "/root/web.log", "--output", "/root/bundle.zip")

        with ZipFile(operator.host.root / "root/bundle.zip") as bundle:
            texts = [bundle.read(name).decode() for name in bundle.namelist()]
        assert texts
        for name in ("SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "FINGERPRINT_KEY", "METRICS_TOKEN"):
            assert not any(operator.settings[name] in text for text in texts)

    def test_card_page(self, guide, operator):
        [compare] = guide.take("Watch the card page", count=1)
        link = operator.call("POST", "/api/payment-links", orders.payment_link()).json()
        [script] = compare.commands
        with operator.terminal() as shell:
            shell.run(
                f"mkdir /root/watch && cd /root/watch && touch expected && export LINK={shlex.quote(link['url'])}"
            )
            shell.run(script, accepted=(1,))  # nothing is expected yet
            shell.run(
                "mv seen expected && grep -i content-security-policy expected && grep '<script' expected"
            )
            shell.run(script)
            shell.run("sed -i 's/script-src/script-src evil.example/' expected")
            assert "evil.example" in shell.run(script, accepted=(1,))

    def test_regular_work(self, operator):
        table = GUIDE.read_text().partition("## Regular work")[2]
        commands = sorted(set(re.findall(r"\| `(\w+)` \|$", table, re.MULTILINE)))

        assert "check_ledger" in commands
        for command in commands:
            operator.manage(command)


class TestBackup:
    def test_restores_to_another_server(self, guide, operator):
        backup, restore, check = guide.take("Back up and restore", count=3)
        paid = operator.pay()
        with operator.terminal() as shell:
            operator.follow(backup, shell=shell)
            later = operator.pay()
            operator.follow(restore, shell=shell)

            enter, check_ledger, doctor, serve = check.commands
            shell.run(enter)
            assert SECOND_DATABASE in shell.run("echo $DATABASE_URL")
            shell.run(check_ledger)
            found = shell.run(doctor, accepted=(0, 1, 2))
            shell.run(f"{serve.partition('    # ')[0]} 2>/root/copy.log & wait_for=$!")
            copy = "http://127.0.0.1:8001"
            wait_until(lambda: "200" in shell.run(f"curl -s -o /dev/null -w '%{{http_code}}' {copy}/livez || true"), what="the copy")  # fmt: skip
            secure = ("--header", f"Host: {PAY}", "--header", "X-Forwarded-Proto: https")
            answers = [operator.look_up(each, base_url=copy, options=secure) for each in (paid, later)]
            shell.run("kill -INT $wait_for")

        assert "ok       field keys: " in found
        assert [answer.status for answer in answers] == [200, 404]
        assert answers[0].json() == operator.look_up(paid).json()

    def test_restores_to_a_point_in_time(self, guide, operator):
        archive, base, recovery, start = guide.take("To a point in time", count=4)
        given, host = operator.surroundings, operator.host
        host.run(
            "install",
            "-d",
            "--owner",
            "postgres",
            "--mode",
            "0700",
            "/var/backups/postgresql",
            "/var/backups/postgresql/wal",
        )
        host.append("/srv/db/data/postgresql.conf", f"{archive.text}\n")
        host.run("systemctl", "restart", "given-db")
        operator.wait_until_ready()
        with host.shell("/var/lib/postgresql", user="postgres") as shell:
            given.enter_as_postgres(shell)
            operator.follow(base, shell=shell)
            before = operator.pay()
            now = given.query("SELECT now()")
            after = operator.pay()
            segment = given.query("SELECT pg_walfile_name(pg_switch_wal())")
            archived = "SELECT max(last_archived_wal) FROM pg_stat_archiver"
            wait_until(lambda: given.query(archived) >= segment, what="the archive")

            host.run("systemctl", "stop", "given-db2")
            example = re.search(r"recovery_target_time = '(.+)'", recovery.text)[1]
            host.write(
                "/var/lib/postgresql/recovery.conf",
                recovery.text.replace(example, now) + given.place_of(SECOND_DATABASE),
            )
            operator.follow(start, shell=shell)
            wait_until(lambda: shell.run(start.commands[-1]).split() == ["f"], what="the promotion")

        found = given.query("SELECT reference FROM payments_transaction", host=SECOND_DATABASE).split()
        assert before in found
        assert after not in found
        with operator.terminal() as shell:
            shell.run(f'export DATABASE_URL="${{DATABASE_URL/{DATABASE}/{SECOND_DATABASE}}}"')
            shell.run(".venv/bin/python manage.py check_ledger")


class TestKeys:
    def test_of_a_merchant(self, guide, operator):
        [rotate] = guide.take("Keys of a merchant", count=1)
        old_keys, old_webhook_key = operator.keys, operator.webhook_key

        with operator.terminal() as shell:
            api_key, hash_key = operator.follow(rotate, shell=shell)
        operator.keys = Credentials(shown(api_key, "api key"), shown(api_key, "secret key"))
        operator.webhook_key = hash_key.rpartition("(shown only once): ")[2].split()[0]  # warnings follow

        reference = operator.pay()
        assert operator.call("GET", f"/api/payments/{reference}", keys=old_keys).status == 200
        arrival = operator.webhook_of(reference)
        assert is_signed(arrival, operator.webhook_key)
        assert not is_signed(arrival, old_webhook_key)

    def test_in_the_settings(self, guide, operator):
        """Each key of the table has its effect and no other one."""
        operator.restart, rewrite = guide.take("Keys in the settings", count=2)
        order = orders.card_payment()
        first = operator.call("POST", "/api/payments", order)
        session = operator.sign_in()
        old = operator.settings

        assert operator.call("POST", "/api/payments", order).json()["id"] == first.json()["id"]
        assert operator.is_signed_in(session)
        operator.change_settings(METRICS_TOKEN=new_field_key())
        assert operator.is_signed_in(session)
        assert operator.scrape(operator.settings["METRICS_TOKEN"]) == 200
        assert operator.scrape(old["METRICS_TOKEN"]) == 403

        operator.change_settings(SECRET_KEY=new_field_key())
        assert not operator.is_signed_in(session)
        assert operator.is_signed_in(operator.sign_in())
        assert operator.call("POST", "/api/payments", order).json()["id"] == first.json()["id"]

        operator.change_settings(FINGERPRINT_KEY=new_field_key())
        repeated = operator.call("POST", "/api/payments", order)
        assert (repeated.status, repeated.json()["code"]) == (409, "duplicate_reference")
        assert operator.pay()

        self.rotate_field_keys(operator, rewrite)

    def rotate_field_keys(self, operator, rewrite):
        old, new = operator.settings["FIELD_ENCRYPTION_KEYS"], new_field_key()
        operator.change_settings(FIELD_ENCRYPTION_KEYS=f"{new},{old}")
        before = operator.pay()
        with operator.terminal() as shell:
            _, planned, _, remaining = operator.follow(rewrite, shell=shell)
        assert re.search(r"Would rewrite [1-9]", planned)
        assert re.search(r"Would rewrite 0 of [1-9]", remaining)
        assert not re.search(r"Would rewrite [1-9]", remaining)

        operator.change_settings(FIELD_ENCRYPTION_KEYS=new)
        assert operator.look_up(before).status == 200
        assert is_signed(operator.webhook_of(operator.pay()), operator.webhook_key)

    def test_of_the_database(self, guide, operator):
        create, disable = guide.take("Password of the database", count=2)
        given, password = operator.surroundings, new_field_key().strip("=")

        operator.follow(create, typed=(password, password))
        before = operator.pay()
        operator.change_settings(DATABASE_URL=given.database_url(role="sluice_2", password=password))
        operator.follow(disable)

        assert operator.look_up(before).status == 200
        assert operator.webhook_of(operator.pay())
        operator.manage("migrate", "--check")
        owners = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'"
        assert given.query(owners) == "sluice"
        refused = operator.host.run("psql", given.database_url(), "--command", "SELECT 1", check=False)
        assert 'password authentication failed for user "sluice"' in refused

    def test_of_redis(self, guide, operator):
        add, remove = guide.take("Password of Redis", count=2)
        given, new = operator.surroundings, new_field_key().strip("=")
        with operator.terminal() as shell:
            shell.run(f"export REDISCLI_AUTH={given.redis_password}")
            operator.follow(add, typed=(new,), shell=shell)
            assert operator.get("/readyz").json()["broker"] == "ok"
            operator.change_settings(REDIS_URL=given.redis_url(new))
            operator.follow(remove, shell=shell)

            assert "WRONGPASS" in shell.run("redis-cli -h redis.example.com PING 2>&1")
        wait_until(lambda: operator.get("/readyz").json()["status"] == "ok", what="the workers")
        assert operator.webhook_of(operator.pay())

    def test_of_tls(self, guide, operator):
        [reload] = guide.take("TLS certificate", count=1)

        def serial():
            command = f"openssl s_client -connect 127.0.0.1:443 -servername {PAY} < /dev/null 2>/dev/null | openssl x509 -noout -serial"
            return operator.inspect(command)

        before = serial()
        operator.surroundings.issue_certificate(PAY, "/etc/nginx/certificates")
        operator.follow(reload)

        wait_until(lambda: serial() != before, what="the new certificate")
        assert operator.get("/livez").status == 200


class TestSecondFactor:
    def test_is_reset(self, guide, operator):
        [reset] = guide.take("Reset a lost second factor", count=1)
        activate = """
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth import get_user_model
TOTP.activate(get_user_model().objects.get(email="ada@example.com"), generate_totp_secret())
"""
        operator.manage("shell", "-c", activate)

        with operator.terminal() as shell:
            planned, done = operator.follow(reset, shell=shell)

        assert "Would remove" in planned
        assert "Removed" in done

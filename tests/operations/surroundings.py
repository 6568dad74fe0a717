"""What the guide takes for granted, on a scratch host: database servers, Redis, names, certificates, an acquirer, a
merchant's receiver, and a repository to clone.

All names are those of the guide. Several hosts are addresses of the one host's loopback interface.
"""

import hashlib
import hmac
import json
import secrets
import subprocess
import sys
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field

import trustme

from tests.faults.postgresql import find_programs
from tests.operations.blocks import PROJECT
from tests.operations.scratch_host import ScratchHost, Shell
from tests.simulators import ISO8583

PAY = "pay.example.com"  # our service, as merchants and payers see it
SHOP = "shop.example.com"  # a merchant's receiver
DATABASE, SECOND_DATABASE, REDIS = "db.example.com", "db2.example.com", "redis.example.com"
# Webhooks go to public addresses only. This one is public, but assigned to no network, and exists on no other host.
PUBLIC_ADDRESS = "2d00::1"
ADDRESSES = {
    PAY: "127.0.0.1",
    DATABASE: "127.0.0.2",
    SECOND_DATABASE: "127.0.0.3",
    REDIS: "127.0.0.4",
    SHOP: PUBLIC_ADDRESS,
}
ARRIVALS = "/srv/receiver/arrivals"


@dataclass
class Surroundings:
    host: ScratchHost
    superuser_password: str = field(default_factory=lambda: secrets.token_hex(16))
    role_password: str = field(default_factory=lambda: secrets.token_hex(16))
    redis_password: str = field(default_factory=lambda: secrets.token_hex(16))
    authority: trustme.CA = field(default_factory=trustme.CA)

    def prepare(self) -> None:
        self._name_hosts()
        self._trust_the_authority()
        self.start_postgresql("db", DATABASE)
        self.start_postgresql("db2", SECOND_DATABASE)
        passwords = [
            f"{name}:5432:*:postgres:{self.superuser_password}\n" for name in (DATABASE, SECOND_DATABASE)
        ]
        self.host.write("/root/.pgpass", "".join(passwords), mode=0o600)
        self._start_redis()
        self._start_acquirer()
        self._start_receiver()

    def settings(self) -> dict[str, str]:
        """Return the settings of a first installation."""
        return {
            "ENVIRONMENT": "production",
            "SECRET_KEY": secrets.token_hex(32),
            "FIELD_ENCRYPTION_KEYS": new_field_key(),
            "FINGERPRINT_KEY": secrets.token_hex(32),
            "PUBLIC_URL": f"https://{PAY}",
            "DATABASE_URL": self.database_url(),
            "REDIS_URL": self.redis_url(self.redis_password),
            "CARD_ACQUIRER": ISO8583,
            "ACQUIRER_HOST": "127.0.0.1",
            "ACQUIRER_TLS": "False",
            "ACQUIRER_INSTITUTION_ID": "628051",
            "ACQUIRER_TERMINAL_ID": "SLUICE01",
            "ACQUIRER_MERCHANT_ID": "SLUICE000000001",
            "CHECKOUT_CARD_WITHOUT_3DS": "True",
            "METRICS_TOKEN": secrets.token_hex(16),
        }

    def database_url(self, *, role: str = "sluice", password: str = "", name: str = "sluice") -> str:
        return f"postgres://{role}:{password or self.role_password}@{DATABASE}/{name}"

    def redis_url(self, password: str) -> str:
        return f"redis://:{password}@{REDIS}:6379/0"

    def issue_certificate(self, name: str, folder: str) -> None:
        """Write a new `certificate.pem` and `key.pem` for a host name."""
        issued = self.authority.issue_cert(name)
        chain = "".join(part.bytes().decode() for part in issued.cert_chain_pems)
        self.host.write(f"{folder}/certificate.pem", chain)
        self.host.write(f"{folder}/key.pem", issued.private_key_pem.bytes().decode(), mode=0o600)

    def publish_release(self, tag: str, commit: str = "HEAD") -> None:
        """Tag a release in the host's copy of this repository, which is also what the guide's URL leads to."""
        git = ("git", "-C", str(PROJECT), "-c", "user.name=Sluice", "-c", "user.email=sluice@example.com")
        self.host.run(
            "git",
            "config",
            "--global",
            f"url.file://{PROJECT}.insteadOf",
            "https://git.example.com/sluice.git",
        )
        if commit == "HEAD":  # with what has not been committed here
            self.host.run(*git, "add", "--all")
            self.host.run(*git, "commit", "--quiet", "--allow-empty", "--message", "As in the working tree")
        self.host.run(*git, "tag", "--force", tag, commit)

    def arrivals(self) -> list[dict[str, str]]:
        """Return the webhooks that the merchant has received, with their signatures."""
        file = self.host.root / ARRIVALS.removeprefix("/")
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def start_postgresql(self, unit: str, name: str) -> None:
        """Create a database server and start it as a unit of systemd."""
        home = f"/srv/{unit}"
        as_postgres = ("runuser", "--user", "postgres", "--")
        self.host.run("install", "-d", "--owner", "postgres", home)
        self.host.write(f"{home}/password", self.superuser_password, mode=0o644)
        self.host.run(
            *as_postgres, _program("initdb"), "-D", f"{home}/data", "-U", "postgres", "--no-sync",
            "--auth-host=scram-sha-256", "--auth-local=trust", f"--pwfile={home}/password", "-E", "UTF8", "--locale=C",
        )  # fmt: skip
        self.host.append(f"{home}/data/pg_hba.conf", "host all,replication all 127.0.0.0/8 scram-sha-256\n")
        self.host.append(f"{home}/data/postgresql.conf", self.place_of(name))
        self.start_server(unit, f"{home}/data")
        self.host.run("pg_isready", "--host", name, "--timeout", "30")

    def place_of(self, name: str) -> str:
        """Return the part of `postgresql.conf` that says where a server listens."""
        return f"\nlisten_addresses = '{ADDRESSES[name]}'\nunix_socket_directories = ''\n"

    def enter_as_postgres(self, shell: Shell) -> None:
        """Give a terminal of the user `postgres` the programs of the server, and the password of the superuser."""
        shell.run(f"export PATH={_program('')}:$PATH PGPASSWORD={self.superuser_password}")

    def create_database(self, name: str) -> None:
        self.host.run("createdb", "--host", DATABASE, "--username", "postgres", "--owner", "sluice", name)

    def query(self, statement: str, *, host: str = DATABASE) -> str:
        """Run a statement as the superuser in our database, and return its only value or column."""
        words = (
            "psql",
            "--host",
            host,
            "--username",
            "postgres",
            "--dbname",
            "sluice",
            "--tuples-only",
            "--no-align",
        )
        return self.host.run(*words, "--command", statement).strip()

    def start_server(self, unit: str, data: str) -> None:
        self.host.start(f"given-{unit}", "--property=Type=notify", "--property=KillSignal=SIGINT",
                        _program("postgres"), "-D", data, user="postgres")  # fmt: skip

    def _name_hosts(self) -> None:
        lines = [f"{address} {name}\n" for name, address in ADDRESSES.items()]
        self.host.append("/etc/hosts", "".join(lines))
        self.host.run("ip", "address", "add", f"{PUBLIC_ADDRESS}/128", "dev", "lo")

    def _trust_the_authority(self) -> None:
        pem = self.authority.cert_pem.bytes().decode()
        self.host.write("/usr/local/share/ca-certificates/operations.crt", pem)
        self.host.run("update-ca-certificates")

    def _start_redis(self) -> None:
        self.host.write(
            "/srv/redis.conf", f"bind {ADDRESSES[REDIS]}\nrequirepass {self.redis_password}\nsave ''\n"
        )
        self.host.start("given-redis", "redis-server", "/srv/redis.conf")

    def _start_acquirer(self) -> None:
        self._start_own("acquirer", "manage.py", "acquirer_simulator")

    def _start_receiver(self) -> None:
        self.issue_certificate(SHOP, "/srv/receiver")
        files = ("/srv/receiver/certificate.pem", "/srv/receiver/key.pem", ARRIVALS)
        self._start_own("receiver", "-m", "tests.operations.webhook_receiver", PUBLIC_ADDRESS, *files)

    def _start_own(self, unit: str, *arguments: str) -> None:
        self.host.start(
            f"given-{unit}",
            f"--working-directory={PROJECT}",
            sys.executable,
            *arguments,
            SANDBOX_DATA="/srv/simulators",
        )


def _program(name: str) -> str:
    programs = find_programs()
    assert programs is not None, "PostgreSQL is not installed"
    return str(programs / name)


def new_field_key() -> str:
    return urlsafe_b64encode(secrets.token_bytes(32)).decode()


def is_signed(arrival: dict[str, str], key: str) -> bool:
    expected = hmac.new(key.encode(), arrival["body"].encode(), hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, arrival["signature"])


def is_shallow() -> bool:
    """Return whether this clone lacks the history."""
    answer = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    return answer.stdout.strip() == "true"

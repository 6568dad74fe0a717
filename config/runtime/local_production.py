"""Production's processes on this machine: `make run-production`.

PostgreSQL, Redis, gunicorn over TLS, a Celery worker and beat run as separate processes, with a temporary folder,
generated secrets and a temporary certificate. This tests that the parts work together. Payments need rails: with
`--simulators`, simulated providers run too, with keys of the live form, and SIMULATED_PROVIDERS allows their addresses on this
machine. With `--environment sandbox` it is the simulated acquirer and bank. For a real installation, see `docs/operations.md`.
"""

import argparse
import json
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import trustme

from kit.files import bounded_json
from kit.free_ports import free_port

PROJECT = Path(__file__).resolve().parents[2]
Command = Sequence[str | Path]
Processes = dict[str, "subprocess.Popen[bytes]"]

START_TIMEOUT = 60  # seconds for a server to come up
GRACE = 30  # seconds for a process to end
SETTINGS_FILE = "settings.sh"
KEY_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"  # of Checkout.com's keys


class Stopped(Exception):
    """Ctrl-C or SIGTERM."""


def main() -> None:
    """Start everything, print the addresses, and stop it on Ctrl-C, SIGTERM or the end of any process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8443, help="where gunicorn listens (default 8443)")
    parser.add_argument(
        "--environment",
        choices=("production", "sandbox"),
        default="production",
        help="sandbox has simulated rails; production has those that the environment names (default)",
    )
    parser.add_argument(
        "--simulators",
        action="store_true",
        help="start simulators too, and use them as rails: of Checkout.com and Paystack in production, "
        "of an ISO 8583 acquirer and a bank in the sandbox",
    )
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    with ExitStack() as stack:
        stack.callback(print, "Stopped.", flush=True)
        folder = Path(tempfile.mkdtemp(prefix="sluice-production-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)  # PostgreSQL, another user where this is root, passes through
        with suppress(Stopped):
            sys.exit(_run(folder, options.port, options.environment, stack, simulators=options.simulators))


def _stop(*_: Any) -> None:
    raise Stopped


def _run(folder: Path, port: int, environment_name: str, stack: ExitStack, *, simulators: bool) -> int:
    """Start the servers, prepare the database and start our processes; return when one of them has ended."""
    processes: Processes = {}
    database_port, redis_port = free_port(), free_port()
    _say("Starting PostgreSQL and Redis ...")
    processes["postgres"] = _start_postgresql(folder, database_port, stack)
    processes["redis"] = _start("redis", _redis_command(folder, redis_port), folder, stack)
    for name, its_port in (("postgres", database_port), ("redis", redis_port)):
        _wait_for(its_port, processes[name], folder / f"{name}.log")
    settings = {
        "ENVIRONMENT": environment_name,
        "SECRET_KEY": secrets.token_urlsafe(48),
        "FIELD_ENCRYPTION_KEYS": urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        "FINGERPRINT_KEY": secrets.token_urlsafe(32),
        "PUBLIC_URL": f"https://localhost:{port}",
        "PROXIES_IN_FRONT": "0",
        "DATABASE_URL": f"postgres://postgres@127.0.0.1:{database_port}/postgres",
        "REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
        "SANDBOX_DATA": str(folder),
        "WEB_BIND": f"127.0.0.1:{port}",
        "WORKER_METRICS_ADDRESS": f"127.0.0.1:{free_port()}",
    }
    certificate, key = _certificate(folder)
    settings["CURL_CA_BUNDLE"] = str(certificate)  # for curl beside it
    rails = _free_ports(environment_name) if simulators else {}
    if rails:
        settings |= _rail_settings(rails) if "bank" in rails else _provider_settings(rails)
    _write_settings(folder / SETTINGS_FILE, settings)
    environment = os.environ | settings
    business = _prepare(environment)
    if rails:
        start_simulators = _start_simulators if "bank" in rails else _start_providers
        _say("Starting the simulators ...")
        start_simulators(rails, environment | {"SSL_CERT_FILE": str(certificate)}, processes, folder, stack)
    _say("Starting web, workers and beat ...")
    for name, command in _own_commands(folder, certificate, key).items():
        metrics = {"WORKER_METRICS_ADDRESS": f"127.0.0.1:{free_port()}"} if name == "requery" else {}
        processes[name] = _start(name, command, folder, stack, cwd=PROJECT, env=environment | metrics)
    _wait_for(port, processes["web"], folder / "web.log")
    _say(_greeting(business, environment, processes, folder))
    if rails:
        _say(_to_try(business, folder, rails))
    return _watch(processes, folder)


def _free_ports(environment_name: str) -> dict[str, int]:
    """Return a port for each simulator of an environment, by its name."""
    names = ("checkout", "paystack") if environment_name == "production" else ("acquirer", "control", "bank")
    return {name: free_port() for name in names}


def _provider_settings(ports: dict[str, int]) -> dict[str, str]:
    """Return the settings of accounts at our simulators of providers, with keys of the live form."""
    letters = "".join(secrets.choice(KEY_LETTERS) for _ in range(27))
    return {
        "SIMULATED_PROVIDERS": "True",
        "RAILS": ",".join(ports),
        "CHECKOUT_SECRET_KEY": f"sk_{letters}",
        "CHECKOUT_PROCESSING_CHANNEL": "pc_simulatorsimulatorsimulato",
        "CHECKOUT_URL": f"http://127.0.0.1:{ports['checkout']}",
        "CHECKOUT_WEBHOOK_KEYS": secrets.token_urlsafe(32),
        "PAYSTACK_SECRET_KEY": f"sk_live_{secrets.token_hex(20)}",
        "PAYSTACK_INTEGRATION": "463433",
        "PAYSTACK_FALLBACK_EMAIL": "payers@localhost.example",
        "PAYSTACK_URL": f"http://127.0.0.1:{ports['paystack']}",
        "PAYOUT_REQUIRES_BALANCE": "False",  # the business's wallet is empty
    }


def _rail_settings(ports: dict[str, int]) -> dict[str, str]:
    """Return the settings of connectors to our simulators, as in `docs/rails.md`."""
    return {
        "CARD_ACQUIRER": "iso8583",
        "ACQUIRER_HOST": "127.0.0.1",
        "ACQUIRER_PORT": str(ports["acquirer"]),
        "ACQUIRER_TLS": "False",
        "ACQUIRER_INSTITUTION_ID": "628051",
        "ACQUIRER_TERMINAL_ID": "SLUICE01",
        "ACQUIRER_MERCHANT_ID": "SLUICE000000001",
        "PAYOUT_BANK": "http",
        "BANK_URL": f"http://127.0.0.1:{ports['bank']}",
        "BANK_CLIENT_ID": "sluice",
        "BANK_SECRET_KEY": secrets.token_urlsafe(32),
        "BANK_NOTIFICATION_KEYS": secrets.token_urlsafe(32),
    }


def _start_simulators(
    ports: dict[str, int], environment: dict[str, str], processes: Processes, folder: Path, stack: ExitStack
) -> None:
    manage = [sys.executable, "manage.py"]
    acquirer = [
        "acquirer_simulator",
        "--port",
        str(ports["acquirer"]),
        "--control-port",
        str(ports["control"]),
    ]
    bank = ["bank_simulator", "--port", str(ports["bank"]), "--notify", environment["PUBLIC_URL"]]
    for name, command in {"acquirer": acquirer, "bank": bank}.items():
        processes[name] = _start(name, [*manage, *command], folder, stack, cwd=PROJECT, env=environment)
        _wait_for(ports[name], processes[name], folder / f"{name}.log")


def _start_providers(
    ports: dict[str, int], environment: dict[str, str], processes: Processes, folder: Path, stack: ExitStack
) -> None:
    """Start the simulators of providers, which run in a sandbox's environment and don't read our settings of them."""
    url = f"{environment['PUBLIC_URL']}/connectors"
    given = {
        "checkout": [
            "--secret-key", environment["CHECKOUT_SECRET_KEY"],
            "--channel", environment["CHECKOUT_PROCESSING_CHANNEL"],
            "--notify", f"{url}/checkout", "--webhook-key", environment["CHECKOUT_WEBHOOK_KEYS"],
        ],
        "paystack": ["--key", environment["PAYSTACK_SECRET_KEY"], "--webhook-url", f"{url}/paystack"],
    }  # fmt: skip
    ours = ("CHECKOUT_", "PAYSTACK_", "RAILS", "SIMULATED_")
    theirs = {name: value for name, value in environment.items() if not name.startswith(ours)}
    for name, arguments in given.items():
        command = [sys.executable, "manage.py", f"{name}_simulator", "--port", str(ports[name]), *arguments]
        processes[name] = _start(
            name, command, folder, stack, cwd=PROJECT, env=theirs | {"ENVIRONMENT": "sandbox"}
        )
        _wait_for(ports[name], processes[name], folder / f"{name}.log")


def _write_settings(path: Path, settings: dict[str, str]) -> None:
    """Write the settings for a shell in another terminal. The file holds secrets, so only its owner may read it."""
    path.touch(mode=0o600)
    path.write_text("".join(f"export {name}={shlex.quote(value)}\n" for name, value in settings.items()))


def _prepare(environment: dict[str, str]) -> dict[str, str]:
    """Migrate and create a business; return the output of `create_business`."""
    _say("Migrating the database ...")
    _manage(environment, "migrate", "-v0")
    if environment["ENVIRONMENT"] == "production":
        _say("Collecting static files ...")
        _manage(environment, "collectstatic", "--no-input", "-v0", "--skip-checks")
    _say("Creating a business ...")
    who = ("--name", "Demo Business", "--email", "owner@localhost.example")
    business: dict[str, str] = bounded_json.loads(
        _manage(environment, "create_business", *who, "--json", "--skip-checks")
    )
    return business


def _own_commands(folder: Path, certificate: Path, key: Path) -> dict[str, list[str]]:
    """Return the commands of our processes, by the name of their logs."""
    celery = [sys.executable, "-m", "celery", "-A", "config"]
    worker = ["--pool", "threads", "--without-mingle", "--without-gossip", "--hostname"]
    return {
        "web": [
            sys.executable, "-m", "gunicorn", "-c", "config/runtime/gunicorn.py",
            "--certfile", str(certificate), "--keyfile", str(key), "config.wsgi",
        ],
        "worker": [*celery, "worker", "--queues", "sluice", "--concurrency", "4", *worker, "worker@%h"],
        "requery": [*celery, "worker", "--queues", "requery", "--concurrency", "2", *worker, "requery@%h"],
        "beat": [*celery, "beat", "--schedule", str(folder / "beat"), "--pidfile", ""],
    }  # fmt: skip


def _watch(processes: Processes, folder: Path) -> int:
    """Wait until any process ends, show its log and return the exit code."""
    while all(process.poll() is None for process in processes.values()):
        time.sleep(0.5)
    for name, process in processes.items():
        if process.poll() is not None:
            _say(f"{name} has ended:\n{(folder / f'{name}.log').read_text(errors='replace')[-3000:]}")
    return 1


def _greeting(
    business: dict[str, str], environment: dict[str, str], processes: Processes, folder: Path
) -> str:
    running = ", ".join(f"{name} {process.pid}" for name, process in processes.items())
    return f"""
Sluice is running as in production at {environment["PUBLIC_URL"]} (Ctrl-C stops all of it).

  ENVIRONMENT   {environment["ENVIRONMENT"]}
  dashboard     {environment["PUBLIC_URL"]}/dashboard/  {business["email"]}  {business["password"]}
  API key       {business["api_key"]}
  secret key    {business["secret_key"]}
  readiness     {environment["PUBLIC_URL"]}/readyz
  metrics       {environment["PUBLIC_URL"]}/metrics and http://{environment["WORKER_METRICS_ADDRESS"]}/metrics
  certificate   {folder / "certificate.pem"} (curl --cacert)
  database      {environment["DATABASE_URL"]}
  Redis         {environment["REDIS_URL"]}
  processes     {running}
  logs          {folder}/*.log

manage.py in a second terminal:
. {shlex.quote(str(folder / SETTINGS_FILE))}; .venv/bin/python manage.py doctor
"""


def _to_try(business: dict[str, str], folder: Path, ports: dict[str, int]) -> str:
    """Return commands that pay by card and pay out, and with a simulated bank also pay by transfer."""
    money = {"amount": 50_000, "currency": "NGN"}
    number, cvv = ("4084084084084081", "408") if "bank" in ports else ("4242424242424242", "100")
    card = {"type": "card", "pan": number, "name": "Ada Obi", "cvv": cvv}
    card |= {"expiry_month": "12", "expiry_year": "2035"}
    to_bank = {"name": "Ada Obi", "account_number": "0123456789", "bank_code": "058"}
    payer = {"first_name": "Ada", "last_name": "Obi", "email": "ada@shop.example", "currency": "NGN"}
    payment = {"request_type": "payment", "redirect_url": "https://shop.example/back"}
    by_transfer = {"request_type": "payment", "payment_method": "virtual_account", "payment_method_id": "ID"}
    calls = [
        ("payments", payment | {"payment_method": "card", "reference": "try-card", "source": card} | money),
        ("payments", {"request_type": "payout", "reference": "try-payout", "customer": to_bank} | money),
        ("virtual-accounts", {"type": "dynamic", "reference": "try-account"} | payer),
        ("payments", by_transfer | {"expiry_duration": 900, "reference": "try-transfer"} | money),
    ]
    if "bank" not in ports:
        del calls[2:]
    lines = "\n".join(f"call /api/{path} '{json.dumps(body)}'" for path, body in calls)
    received = json.dumps(
        {"receive": {"account_number": "NUMBER", "amount": 50_000, "sender_name": "Ada Obi"}}
    )
    beside = f"""
. {shlex.quote(str(folder / SETTINGS_FILE))}
call() {{ .venv/bin/python manage.py sign_request POST "$1" --api-key {business["api_key"]} --body "$2" | sh; echo; }}
{lines}
"""
    if "bank" not in ports:
        control = "\n".join(f"{name}: http://127.0.0.1:{port}/control" for name, port in ports.items())
        return f"Take a card payment and pay out in a second terminal.\n{beside}\nThe simulators:\n{control}"
    return f"""Take payments in a second terminal: a card payment, a payout, and a transfer into an account. Replace ID by the
"id" of the account, and NUMBER by the "account_number" of its payment.
{beside}curl -sSd '{received}' http://127.0.0.1:{ports["bank"]}/control
"""


def _start_postgresql(folder: Path, port: int, stack: ExitStack) -> subprocess.Popen[bytes]:
    """Start a PostgreSQL server. It refuses to run as root, so root runs it as the user postgres."""
    found = shutil.which("initdb") or max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=None)
    if found is None:
        sys.exit("PostgreSQL is not installed; on Debian: apt-get install postgresql")
    programs, data = Path(found).parent, folder / "postgres" / "data"
    data.parent.mkdir()
    user: dict[str, Any] = {}
    if os.getuid() == 0:
        shutil.chown(data.parent, "postgres")
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    initdb: Command = [
        programs / "initdb",
        "-D",
        data,
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
    ]
    subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd=data.parent, **user)
    command: Command = [
        programs / "postgres",
        "-D",
        data,
        "-p",
        str(port),
        "-k",
        data.parent,
        "-h",
        "127.0.0.1",
    ]
    return _start("postgres", command, folder, stack, cwd=data.parent, stop=signal.SIGINT, **user)


def _redis_command(folder: Path, port: int) -> list[str]:
    program = shutil.which("redis-server")
    if program is None:
        sys.exit("Redis is not installed; on Debian: apt-get install redis-server")
    return [program, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(folder)]


def _start(
    name: str,
    command: Command,
    folder: Path,
    stack: ExitStack,
    *,
    stop: int = signal.SIGTERM,
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Start a process in its own session, so that Ctrl-C reaches only us and we can stop it in order."""
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **options)
    stack.callback(_end, process, stop)
    return process


def _end(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(timeout=GRACE)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _manage(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(
        command, cwd=PROJECT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_TIMEOUT
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    sys.exit(f"It did not start:\n{log.read_text(errors='replace')[-3000:]}")


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Create a key and a certificate for this machine's names, valid for a day.

    The file of the certificate also has its authority's, so that clients can use it as their trust store.
    """
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1", not_after=datetime.now(UTC) + timedelta(days=1))
    certificate_file, key_file = folder / "certificate.pem", folder / "key.pem"
    for part in (*issued.cert_chain_pems, authority.cert_pem):
        part.write_to_path(str(certificate_file), append=True)
    key_file.touch(mode=0o600)
    issued.private_key_pem.write_to_path(str(key_file))
    return certificate_file, key_file


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  (command line output)


if __name__ == "__main__":
    main()

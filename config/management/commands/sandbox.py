import json
import os
import secrets
import shlex
import socket
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections, transaction
from django.utils import timezone

from config.environment import variable_names
from config.environment.sandbox_folder import DEFAULT, AlreadyRunning
from config.runtime import embedded, simulated_providers
from config.runtime.simulated_providers import SIMULATED
from kit.terminal.terminal import TerminalCommand
from merchants.api.curl import sign_call
from merchants.api.request_log import request_log
from merchants.businesses.businesses import new_password, open_business
from merchants.models import ApiKey, Business, User
from merchants.people.audit import Actor
from payments.models import PaymentLink
from payments.rails import RailUnavailable
from payments.services.links import links
from payments.services.rails.rail_choices import configured_acquirer_for

HIGHEST_PORT = 65535
OWNER_EMAIL = "owner@sandbox.example"
ADMIN_EMAIL = "admin@sandbox.example"
CLIENT_SETTINGS = ("base_url", "api_key", "secret_key")  # SLUICE_… in the environment of a client
DEMO_PAYMENT = {
    "request_type": "payment",
    "payment_method": "card",
    "amount": 250_000,
    "currency": "NGN",
    "redirect_url": "http://localhost/done",
    "source": {
        "type": "card",
        "pan": "4084084084084081",
        "name": "Ada Obi",
        "expiry_month": "12",
        "expiry_year": "2030",
        "cvv": "408",
    },
}
DEMO_LINK = {
    "reference": "demo-link",
    "title": "Bookbinding workshop",
    "description": "Two days, material included.",
    "amount": 1_500_000,
    "currency": "NGN",
}

FIRST_PAYMENT = "Your first card payment: paste this within five minutes.\n\n{curl}"
ON_THEIR_PAGE = "Payers enter their card on the provider's page: open the payment link above."


class Command(TerminalCommand):
    help = (
        "Run the whole service on this machine: web, worker and schedule in one process, on SQLite, with a "
        "demo business. Example: manage.py sandbox --port 8000 --data var/sandbox"
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="the port to listen on (default 8000)")
        parser.add_argument(
            "--data", type=Path, help="the sandbox's folder (default SANDBOX_DATA, else var/sandbox)"
        )
        parser.add_argument(
            "--rails",
            default="",
            metavar="PROVIDERS",
            help=f"use connectors of these providers with their simulators: {', '.join(SIMULATED)}, comma separated. "
            "Other rails keep the sandbox's own",
        )

    def handle(self, *, port: int, data: Path | None, rails: str, **options: Any) -> None:
        if not settings.SANDBOX:
            raise CommandError("ENVIRONMENT is production; the sandbox does not run there.", returncode=2)
        _require_free(port)
        self._restart_with_settings(port=port, data=data, rails=rails)
        _lock_folder()
        settings.SANDBOX_FOLDER.protect_database()
        for sentence in variable_names.misspelt():
            self.stderr.write(sentence)
        self.stdout.write("Preparing the database ...")
        call_command("migrate", verbosity=0)
        greeting = self._greeting(self._credentials(), simulated_providers.addresses() if rails else {})
        settings.SANDBOX_FOLDER.become_current(settings.SANDBOX_CURRENT)
        connections.close_all()  # each thread opens its own
        if rails:
            simulated_providers.start()
        from config.wsgi import application  # noqa: PLC0415  (it loads all pages)

        request_log.start()
        embedded.serve(application, port=port, when_ready=lambda: self._say(greeting))

    def _restart_with_settings(self, *, port: int, data: Path | None, rails: str) -> None:
        """Run the command again with its folder, address and rails in the environment, for the settings."""
        folder = (data or settings.SANDBOX_FOLDER.path).resolve()
        wanted = {"SANDBOX_DATA": str(folder), "PUBLIC_URL": f"http://127.0.0.1:{port}"}
        if rails:
            wanted |= simulated_providers.environment_for(_providers(rails))
        if {name: os.environ.get(name) for name in wanted} != wanted:
            os.environ |= wanted
            os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606  (the same command again)

    def _credentials(self) -> dict[str, Any]:
        """Return the demo business's credentials, which are created at the first start."""
        folder = settings.SANDBOX_FOLDER
        addresses = {
            "base_url": settings.PUBLIC_URL,
            "dashboard_url": f"{settings.PUBLIC_URL}/dashboard/",
            "admin_url": f"{settings.PUBLIC_URL}/admin/",
        }
        # Written before the commit. If the process is killed in between, the key in the file doesn't exist.
        with transaction.atomic():
            known = folder.read_credentials()
            if known is None or not ApiKey.objects.filter(public_id=known["api_key"]).exists():
                known = self._open_demo_business()
            document = known | addresses
            folder.write_credentials(document)
        return document

    def _open_demo_business(self) -> dict[str, Any]:
        opened = open_business(
            name="Demo Business", email=OWNER_EMAIL, actor=Actor(name="sandbox"), now=timezone.now()
        )
        password = new_password()
        User.objects.filter(email=ADMIN_EMAIL).delete()
        User.objects.create_superuser(ADMIN_EMAIL, password)
        return opened.credentials(admin_email=ADMIN_EMAIL, admin_password=password)

    def _demo_link(self, business: Business) -> PaymentLink:
        """Return the demo business's payment link, which is created at the first start."""
        return links.create(
            business=business, request=DEMO_LINK, actor=Actor(name="sandbox"), now=timezone.now()
        ).resource

    def _greeting(self, credentials: dict[str, Any], simulators: dict[str, str]) -> str:
        base, folder = credentials["base_url"], settings.SANDBOX_FOLDER
        key = ApiKey.objects.get(public_id=credentials["api_key"])
        link = self._demo_link(key.business)
        body = json.dumps(DEMO_PAYMENT | {"reference": f"first-{secrets.token_hex(4)}"})
        curl = sign_call(key=key, method="POST", target="/api/payments", body=body).curl_line()
        first, another = (
            FIRST_PAYMENT.format(curl=curl),
            ".venv/bin/sluice payments create --scenario payment.success\n",
        )
        if _enters_cards_elsewhere(key.business):
            first, another = ON_THEIR_PAGE, ""
        export = f"export SANDBOX_DATA={shlex.quote(str(folder.path))}\n" if folder.path != DEFAULT else ""
        exports = "export " + " ".join(
            f"SLUICE_{name.upper()}={credentials[name]}" for name in CLIENT_SETTINGS
        )
        simulated = "".join(f"  simulated   {url}/control  ({name})\n" for name, url in simulators.items())
        return f"""
Sluice is ready at {base} (Ctrl-C stops it).

  API docs    {base}/api/docs
  dashboard   {credentials["dashboard_url"]}  {credentials["email"]}  {credentials["password"]}
  admin       {credentials["admin_url"]}  {credentials["admin_email"]}  {credentials["admin_password"]}
  all of it   {folder.credentials}
  pay here    {link.url}  (a payment link: pay as your payers would)
{simulated}
The address, API key and secret key, for the clients and for a program of your own:

{exports}

{first}

In a second terminal:
{export}{another}.venv/bin/sluice links create --once --amount 250000 --currency NGN
.venv/bin/sluice sign GET /api/banks --curl | sh
.venv/bin/sluice listen
"""

    def _say(self, greeting: str) -> None:
        self.stdout.write(greeting)
        self.stdout.flush()


def _enters_cards_elsewhere(business: Business) -> bool:
    try:
        return configured_acquirer_for(business).capabilities.hosted_only
    except RailUnavailable:
        return False


def _lock_folder() -> None:
    """Refuse to start if a sandbox runs in this folder: both would write the same database, keys and addresses."""
    folder = settings.SANDBOX_FOLDER
    try:
        folder.lock()
    except AlreadyRunning:
        where = f" at {folder.address()}" if folder.address() else ""
        raise CommandError(
            f"A sandbox is already running in {folder.path}{where}. Stop it with Ctrl-C, or start another one in a "
            "folder of its own: --data DIR --port N (with make: DATA=DIR PORT=N)"
        ) from None


def _providers(rails: str) -> list[str]:
    names = [name.strip() for name in rails.split(",") if name.strip()]
    if unknown := [name for name in names if name not in SIMULATED]:
        raise CommandError(
            f"--rails may have {', '.join(SIMULATED)}, not {', '.join(unknown)}.", returncode=2
        )
    return names


def _require_free(port: int) -> None:
    if not 1 <= port <= HIGHEST_PORT:
        raise CommandError(f"--port must be 1 to {HIGHEST_PORT}.", returncode=2)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise CommandError(f"Port {port} is taken. Choose another: --port {port + 1}") from None

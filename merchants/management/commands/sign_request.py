import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from kit.terminal.terminal import TerminalCommand
from merchants.api.curl import sign_call
from merchants.api.signed_headers import HEADERS
from merchants.models import ApiKey


def _no_key() -> str:
    if not settings.SANDBOX:
        return "Choose the signing key with --api-key pk_..."
    return (
        f"There is no sandbox in {settings.SANDBOX_FOLDER.path}. Start one with `make run`, or name the folder of one "
        "that exists: export SANDBOX_DATA=folder."
    )


class Command(TerminalCommand):
    help = (
        "Sign a request and print it as a curl command, valid for five minutes and one use. "
        "Example: manage.py sign_request GET /api/banks"
    )

    requires_system_checks = ()  # signing needs no connector

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("method", help="GET or POST")
        parser.add_argument("target", help="path with its query, such as '/api/payments?limit=5'")
        parser.add_argument("--body", default="", help="the body's text; - reads standard input")
        parser.add_argument(
            "--api-key", help="the public id to sign as (default: the sandbox's demo business)"
        )
        parser.add_argument("--timestamp", help="Unix seconds (default: now)")
        parser.add_argument("--nonce", help="16 to 128 characters of A-Z a-z 0-9 - _ (default: random)")
        parser.add_argument("--json", action="store_true", help="print headers and string to sign as JSON")

    def handle(self, *, method: str, target: str, body: str, **options: Any) -> None:
        if not target.startswith("/"):
            raise CommandError("The target starts with a slash, such as /api/banks.", returncode=2)
        for option, header in {"timestamp": "X-Timestamp", "nonce": "X-Nonce"}.items():
            if options[option] is not None and not HEADERS[header].match(options[option]):
                raise CommandError(f"--{option} does not have the form of {header}.", returncode=2)
        if body == "-":  # as bytes: reading it as text would turn CR LF into LF
            body = sys.stdin.buffer.read().decode(errors="surrogateescape")
        call = sign_call(
            key=self._key(options["api_key"]),
            method=method,
            target=target,
            body=body,
            timestamp=options["timestamp"],
            nonce=options["nonce"],
        )
        if options["json"]:
            self.stdout.write(
                json.dumps({"headers": call.headers, "string_to_sign": call.string_to_sign}, indent=2)
            )
        else:
            self.stdout.write(call.curl_line())

    def _key(self, public_id: str | None) -> ApiKey:
        if public_id is None:
            credentials = settings.SANDBOX_FOLDER.read_credentials() if settings.SANDBOX else None
            if credentials is None:
                raise CommandError(_no_key(), returncode=2)
            public_id = credentials["api_key"]
        key: ApiKey | None = ApiKey.objects.usable(at=timezone.now()).filter(public_id=public_id).first()
        if key is None:
            raise CommandError(f"No active key pair is named {public_id}.")
        return key

"""What we need to help with an installation, in one archive, with no secret in it.

Settings are shown by name from a list of those that are harmless; of every other one only whether it is
set. Log lines go through the same mask as the log itself, and through one for keys, tokens and passwords.
With `redact` what names people and their business goes too: e-mail addresses, references, IP addresses.
"""

import json
import platform
import re
import sys
import zipfile
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count

from config import doctor, metrics
from merchants.masking import mask_card_numbers
from payments.models import Transaction
from webhooks.models import Delivery

LOG_LINES = 2000  # of each file, the last ones

# What may be seen as it is. A setting that is not listed here is only said to be set or not.
HARMLESS = (
    "ENVIRONMENT", "SANDBOX", "DEBUG", "PUBLIC_URL", "ALLOWED_HOSTS", "PROXIES_IN_FRONT", "MAX_BODY_BYTES",
    "RATE_LIMIT_WRITES", "RATE_LIMIT_READS", "SIGNATURE_TOLERANCE", "NONCE_RETENTION", "CARD_ACQUIRER",
    "PAYOUT_BANK", "AUTHORISATION_LIFETIME", "CHALLENGE_LIFETIME", "DEFAULT_CURRENCIES",
    "WEBHOOK_RETRY_DELAYS", "WEBHOOK_TIMEOUT", "WEBHOOK_ALLOW_CIDRS", "LOG_LEVEL", "LOG_REQUESTS",
    "METRICS_ALLOW_CIDRS", "WORKER_METRICS_ADDRESS", "TIME_ZONE",
)  # fmt: skip
ONLY_WHETHER_SET = (
    "SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "FINGERPRINT_KEY", "DATABASE_URL", "REDIS_URL", "METRICS_TOKEN",
)  # fmt: skip

_SECRETS = re.compile(
    r"\b(?:sk|whk)_[A-Za-z]+_[A-Za-z0-9_-]{8,}"  # secret keys and webhook signing keys
    r"|\bgAAAA[A-Za-z0-9_=-]{20,}"  # Fernet tokens
    r"|(?<=://)[^\s/@'\"]+:[^\s/@'\"]*(?=@)"  # user and password of a URL
    r"|(?<=[Bb]earer )[^\s'\",]+"
    r"|(?i:(?<=signature: )|(?<=signature\": \"))[0-9a-f]{64}"
    r"|(?i:(?:password|passwd|secret|token|cvv|bvn|pan)['\"]?\s*[=:]\s*['\"]?)[^\s'\",}]+"
)
_PEOPLE = re.compile(
    r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}"
    r"|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b"
    r"|(?<=/api/payments/)[^\s/?\"']+"
    r"|(?<=/api/virtual-accounts/)[^\s/?\"']+"
)


def write(target: Path, *, logs: Sequence[Path], redact: bool, now: datetime) -> None:
    """Write the archive.

    :raises FileExistsError: there is a file of that name
    """
    with target.open("xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        target.chmod(0o600)
        for name, document in _documents(now):
            archive.writestr(name, json.dumps(_cleaned(document, redact=redact), indent=2))
        archive.writestr("metrics.txt", clean(metrics.exposition().decode(), redact=redact))
        for number, path in enumerate(logs, start=1):
            archive.writestr(f"logs/{number}-{path.name}", "".join(_tail(path, redact=redact)))


def clean(text: str, *, redact: bool) -> str:
    """Take secrets and card numbers out of a text, and with `redact` what names people.

    >>> clean("Bearer abc for postgres://user:pass@db/x, card 4084084084084081", redact=False)
    'Bearer [removed] for postgres://[removed]@db/x, card 408408******4081'
    >>> clean("GET /api/payments/order-7 by ada@example.com from 10.0.0.7", redact=True)
    'GET /api/payments/[removed] by [removed] from [removed]'
    """
    text = _SECRETS.sub("[removed]", mask_card_numbers(text))
    return _PEOPLE.sub("[removed]", text) if redact else text


def _cleaned(value: Any, *, redact: bool) -> Any:
    """Clean every text of a document."""
    if isinstance(value, dict):
        return {name: _cleaned(below, redact=redact) for name, below in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item, redact=redact) for item in value]
    return value if isinstance(value, int | float | None) else clean(str(value), redact=redact)


def _documents(now: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    findings = doctor.examine(now=now)
    yield "doctor.json", {"at": now, "findings": [finding.document() for finding in findings]}
    yield "versions.json", _versions()
    yield "settings.json", _settings()
    yield "counts.json", _counts()


def _versions() -> dict[str, Any]:
    packages = {package.metadata["Name"]: package.version for package in distributions()}
    return {
        "sluice": settings.SPECTACULAR_SETTINGS["VERSION"],
        "python": sys.version,
        "platform": platform.platform(),
        "database": f"{connection.display_name} {_database_version()}",
        "packages": dict(sorted(packages.items())),
    }


def _database_version() -> str:
    statement = {"postgresql": "SHOW server_version", "sqlite": "SELECT sqlite_version()"}[connection.vendor]
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return str(cursor.fetchone()[0])
    except DatabaseError as error:
        return type(error).__name__


def _settings() -> dict[str, Any]:
    shown = {name: getattr(settings, name) for name in HARMLESS}
    return shown | {name: "set" if getattr(settings, name) else "not set" for name in ONLY_WHETHER_SET}


def _counts() -> dict[str, Any]:
    try:
        return {
            "rows": {model._meta.label: model._default_manager.count() for model in apps.get_models()},
            "transactions": _by(Transaction, "request_type", "status"),
            "deliveries": _by(Delivery, "state"),
        }
    except DatabaseError as error:
        return {"error": type(error).__name__}


def _by(model: Any, *columns: str) -> dict[str, int]:
    rows = model.objects.order_by().values_list(*columns).annotate(count=Count("pk"))
    return {" ".join(str(value) for value in values): count for *values, count in rows}


def _tail(path: Path, *, redact: bool) -> Iterator[str]:
    with path.open(errors="replace") as file:
        for line in deque(file, maxlen=LOG_LINES):
            yield clean(line, redact=redact)

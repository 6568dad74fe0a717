"""The support bundle: an archive with the data that support needs, without secrets and names.

It keeps only values on allow-lists: of settings here, of log lines and metrics in `operations.support_bundle_redaction`.
"""

import json
import platform
import re
import zipfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count

from kit.text.plurals import counted
from operations import metrics
from operations.doctor_checks import Finding, examine
from operations.support_bundle_redaction import REMOVED, Redaction
from operations.support_bundle_redaction import metrics as redacted_metrics
from payments.models import Transaction
from webhooks.models import Delivery

LOG_LINES = 2000  # of each file, the last ones
# An operator's own connectors are packages too, and may name their bank.
PACKAGES = (
    "aiohttp", "celery", "cryptography", "django", "django-allauth", "django-environ", "djangorestframework",
    "drf-spectacular", "gunicorn", "kombu", "prometheus-client", "psycopg", "redis", "structlog",
    "waitress", "whitenoise",
)  # fmt: skip

# Numbers, booleans and lengths of these are shown. Others are shown as set or not set.
HARMLESS = (
    "ENVIRONMENT", "SANDBOX", "DEBUG", "ALLOWED_HOSTS", "PROXIES_IN_FRONT", "MAX_BODY_BYTES",
    "RATE_LIMIT_WRITES", "RATE_LIMIT_READS", "SIGNATURE_TOLERANCE", "NONCE_RETENTION", "CARD_ACQUIRER",
    "PAYOUT_BANK", "RAILS_NOT_USED", "AUTHORISATION_LIFETIME", "CHALLENGE_LIFETIME", "DEFAULT_CURRENCIES",
    "LINK_MINIMUM_AMOUNTS", "CHECKOUT_CARD_WITHOUT_3DS",
    "CHECKOUT_RETENTION", "CHECKOUT_PAID_RETENTION",
    "WEBHOOK_RETRY_DELAYS", "WEBHOOK_TIMEOUT", "WEBHOOK_ALLOW_CIDRS", "LOG_LEVEL", "LOG_REQUESTS",
    "METRICS_ALLOW_CIDRS", "TIME_ZONE",
)  # fmt: skip
# The doctor's checks whose text names nothing of the installation.
OWN_WORDS = (
    "migrations", "triggers", "database", "database role", "field keys", "clock", "standby", "worker", "deliveries",
    "pending", "ledger", "card numbers", "search", "broker", "broker access",
)  # fmt: skip
# Shown if the value is one of these.
CHOICES: dict[str, tuple[object, ...]] = {
    "ENVIRONMENT": ("sandbox", "production"),
    "LOG_LEVEL": ("DEBUG", "INFO", "WARNING", "ERROR"),
    "TIME_ZONE": ("UTC",),
    "CARD_ACQUIRER": (
        "sandbox",
        "iso8583",
        "checkout",
        "payments.rails.sandbox.SandboxAcquirer",
        "payments.rails.iso8583.Iso8583Acquirer",
    ),
    "PAYOUT_BANK": (
        "sandbox",
        "http",
        "paystack",
        "payments.rails.sandbox.SandboxBank",
        "payments.rails.http_bank.HttpBank",
    ),
    "ACCOUNT_PROVIDER": ("sandbox", "paystack", "virtual_accounts.providers.sandbox.SandboxProvider"),
}


def write(target: Path, *, logs: Sequence[Path], now: datetime, progress: Callable[[str], object]) -> None:
    """Write the archive, or nothing. `progress` receives the name of each file once it is complete.

    :raises FileExistsError: there is a file of that name
    :raises OSError: the archive can't be written, or a log can't be read
    """
    with target.open("xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        target.chmod(0o600)
        try:
            for name, text in _files(logs, now=now):
                archive.writestr(name, text)
                progress(name)
        except BaseException:  # Ctrl-C too: the next run may have the same name
            target.unlink()
            raise


def _files(logs: Sequence[Path], *, now: datetime) -> Iterator[tuple[str, str]]:
    redaction = Redaction()
    for name, document in _documents(now):
        yield name, json.dumps(document, indent=2)
    yield "metrics.txt", redacted_metrics(metrics.exposition().decode())
    for number, path in enumerate(logs, start=1):  # file names may contain personal data
        yield f"logs/{number}.log", "".join(f"{redaction.line(line)}\n" for line in _tail(path))


def _documents(now: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "doctor.json", {"at": str(now), "findings": [_finding(each) for each in examine(now=now)]}
    yield "versions.json", _versions()
    yield "settings.json", {name: shown_setting(name) for name in _own_settings()}
    yield "counts.json", _counts()


def _own_settings() -> list[str]:
    """Return the names of Sluice's own settings, without Django's defaults."""
    return sorted(name for name in vars(import_module("config.settings")) if name.isupper())


def _finding(finding: Finding) -> dict[str, Any]:
    """Return a finding, with its text only if that consists of our words and figures."""
    shown = finding.document() | {"id": "".join(re.findall(r"^[a-z_]+\.[CEWI][0-9]{3}", finding.said))}
    return shown if finding.check in OWN_WORDS else shown | {"said": REMOVED, "advice": REMOVED}


def _versions() -> dict[str, Any]:
    """Return the versions of Python, Sluice and the packages that every installation has."""
    packages = {package.metadata["Name"].lower(): package.version for package in distributions()}
    return {
        "sluice": settings.SPECTACULAR_SETTINGS["VERSION"],
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "database": connection.display_name,
        "database_version": _database_version(),
        "packages": {name: packages[name] for name in PACKAGES if name in packages},
    }


def _database_version() -> str:
    try:
        return ".".join(map(str, connection.get_database_version()))
    except DatabaseError as error:
        return type(error).__name__


def shown_setting(name: str) -> Any:
    """Return a number, a boolean or a known choice; the length of a list; or whether the setting is set."""
    value = getattr(settings, name)
    if value in CHOICES.get(name, ()) or (name in HARMLESS and isinstance(value, int)):
        return value
    if name in HARMLESS and isinstance(value, list):
        return counted(len(value), "entry", "entries")
    return "set" if value else "not set"


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


def _tail(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from deque(file, maxlen=LOG_LINES)

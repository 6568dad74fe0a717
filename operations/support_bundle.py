"""The support bundle: an archive with the data that support needs, without secrets.

Settings on a list of harmless ones are shown with their values, others as set or not set. Values of this
installation's secrets, and text in the form of a secret, are removed from log lines. Some forms may be missed, so
bundles that leave the company need `redact`, which keeps only values that `operations.support_bundle_redaction` allows.
"""

import json
import os
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
from urllib.parse import unquote, urlsplit

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count

from config.logging.secret_places import without_credentials
from kit.text.masking import mask_card_numbers
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

# Shown with their values, unless the bundle is redacted. Others are shown as set or not set.
HARMLESS = (
    "ENVIRONMENT", "SANDBOX", "DEBUG", "PUBLIC_URL", "ALLOWED_HOSTS", "PROXIES_IN_FRONT", "MAX_BODY_BYTES",
    "RATE_LIMIT_WRITES", "RATE_LIMIT_READS", "SIGNATURE_TOLERANCE", "NONCE_RETENTION", "CARD_ACQUIRER",
    "PAYOUT_BANK", "RAILS_NOT_USED", "AUTHORISATION_LIFETIME", "CHALLENGE_LIFETIME", "DEFAULT_CURRENCIES",
    "LINK_MINIMUM_AMOUNTS", "CHECKOUT_CARD_WITHOUT_3DS",
    "CHECKOUT_RETENTION", "CHECKOUT_PAID_RETENTION",
    "WEBHOOK_RETRY_DELAYS", "WEBHOOK_TIMEOUT", "WEBHOOK_ALLOW_CIDRS", "LOG_LEVEL", "LOG_REQUESTS",
    "METRICS_ALLOW_CIDRS", "WORKER_METRICS_ADDRESS", "TIME_ZONE",
)  # fmt: skip
# The doctor's checks whose text names nothing of the installation; shown in redacted bundles too.
OWN_WORDS = (
    "migrations", "triggers", "database", "database role", "field keys", "clock", "standby", "worker", "deliveries",
    "pending", "ledger", "card numbers", "search", "broker", "broker access",
)  # fmt: skip
# Shown in redacted bundles too, if the value is one of these.
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
}

_SECRET_NAMES = re.compile(r"KEY|SECRET|TOKEN|PASSWORD")
_MIN_SECRET = 6  # characters; a shorter text is part of too many words
_SECRETS = re.compile(
    r"\b(?:sk|whk)_[A-Za-z]+_[A-Za-z0-9_-]{8,}"  # secret keys and webhook signing keys
    r"|\bgAAAA[A-Za-z0-9_=-]{20,}"  # Fernet tokens
    r"|(?<=://)[^\s/@'\"]*:[^\s/@'\"]*(?=@)"  # user and password of a URL
    r"|(?<=[Bb]earer )[^\s'\",]+"
    r"|(?<=[Bb]asic )[A-Za-z0-9+/]{8,}=*"
    r"|\botpauth://[^\s'\"]+"
    r"|(?i:(?<=signature: )|(?<=signature\": \"))[0-9a-f]{64}"
    r"|(?i:(?<=cookie: )|(?<=cookie\": \"))[^\"\n]+"
    r"|(?i:(?:session(?:id)?|csrf(?:token)?|csrfmiddlewaretoken)['\"]?\s*[=:]\s*['\"]?)[^\s'\",;}]+"
    r"|(?i:(?:[a-z_-]*(?:password|passwd|secret|token|[_-]key)|cvv|bvn|pan)['\"]?\s*[=:]\s*['\"]?)[^\s'\",}]+"
)


def write(
    target: Path, *, logs: Sequence[Path], redact: bool, now: datetime, progress: Callable[[str], object]
) -> None:
    """Write the archive. `progress` receives the name of each file once it is complete.

    :raises FileExistsError: there is a file of that name
    """
    with target.open("xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        target.chmod(0o600)
        for name, text in _redacted(logs, now=now) if redact else _plain(logs, now=now):
            archive.writestr(name, text)
            progress(name)


def _plain(logs: Sequence[Path], *, now: datetime) -> Iterator[tuple[str, str]]:
    secrets = known_secrets()
    for name, document in _documents(now, finding=Finding.document, setting=_setting):
        yield name, json.dumps(_cleaned(document, secrets=secrets), indent=2)
    yield "metrics.txt", clean(metrics.exposition().decode(), secrets=secrets)
    for number, path in enumerate(logs, start=1):
        yield f"logs/{number}-{path.name}", "".join(clean(line, secrets=secrets) for line in _tail(path))


def _redacted(logs: Sequence[Path], *, now: datetime) -> Iterator[tuple[str, str]]:
    redaction = Redaction()
    for name, document in _documents(now, finding=_redacted_finding, setting=redacted_setting):
        yield name, json.dumps(document, indent=2)
    yield "metrics.txt", redacted_metrics(metrics.exposition().decode())
    for number, path in enumerate(logs, start=1):  # file names may contain personal data
        yield f"logs/{number}.log", "".join(f"{redaction.line(line)}\n" for line in _tail(path))


def _documents(
    now: datetime, *, finding: Callable[[Finding], Any], setting: Callable[[str], Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "doctor.json", {"at": str(now), "findings": [finding(each) for each in examine(now=now)]}
    yield "versions.json", _versions()
    yield "settings.json", {name: setting(name) for name in _own_settings()}
    yield "counts.json", _counts()


def clean(text: str, *, secrets: Sequence[str] = ()) -> str:
    """Remove card numbers, the given secrets, and text in the form of a secret.

    >>> clean("Bearer abc for postgres://user:pass@db/x, card 4084084084084081")
    'Bearer [removed] for postgres://[removed]@db/x, card 408408******4081'
    >>> clean("redis://:hunter2@redis:6379/0 and GET /3ds/tok-1", secrets=["redis"])
    '[removed]://[removed]@[removed]:6379/0 and GET /3ds/[removed]'
    """
    for secret in secrets:
        text = text.replace(secret, REMOVED)
    return _SECRETS.sub(REMOVED, mask_card_numbers(without_credentials(text, placeholder=REMOVED)))


def known_secrets() -> list[str]:
    """Return the secrets of this installation, the longest first."""
    found = {part for name in _own_settings() for part in _secret_parts(name, getattr(settings, name))}
    found |= {part for name, value in os.environ.items() for part in _secret_parts(name, value)}
    return sorted((secret for secret in found if len(secret) >= _MIN_SECRET), key=len, reverse=True)


def _secret_parts(name: str, value: Any) -> Iterator[str]:
    values = value if isinstance(value, list | tuple) else [value]
    for text in values:
        if not isinstance(text, str) or not text:
            continue
        if _SECRET_NAMES.search(name):
            yield from (part.strip() for part in text.split(","))
        elif "://" in text:
            yield from _password_of(text)


def _password_of(url: str) -> Iterator[str]:
    try:
        password = urlsplit(url).password or ""
    except ValueError:
        return
    yield from {password, unquote(password)}


def _own_settings() -> list[str]:
    """Return the names of Sluice's own settings, without Django's defaults."""
    return sorted(name for name in vars(import_module("config.settings")) if name.isupper())


def _cleaned(value: Any, *, secrets: Sequence[str]) -> Any:
    """Clean every text of a document."""
    if isinstance(value, dict):
        return {name: _cleaned(below, secrets=secrets) for name, below in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item, secrets=secrets) for item in value]
    return value if isinstance(value, int | float | None) else clean(str(value), secrets=secrets)


def _redacted_finding(finding: Finding) -> dict[str, Any]:
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


def _setting(name: str) -> Any:
    return getattr(settings, name) if name in HARMLESS else _whether_set(name)


def redacted_setting(name: str) -> Any:
    """Return a number, a boolean or a known choice; the length of a list; or whether the setting is set."""
    value = getattr(settings, name)
    if name in HARMLESS and isinstance(value, int):
        return value
    if value in CHOICES.get(name, ()):
        return value
    if name in HARMLESS and isinstance(value, list):
        return counted(len(value), "entry", "entries")
    return _whether_set(name)


def _whether_set(name: str) -> str:
    return "set" if getattr(settings, name) else "not set"


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

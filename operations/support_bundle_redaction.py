"""Redaction of support bundles: fields and values on allow-lists, and no free text.

Text of callers, payers and operators is never searched for secrets, because a list of secrets is never complete. A
log line keeps the fields below, each in a form that can't hold a secret. Of a line of another program, it keeps
requests, exceptions, source locations and a few known phrases. Identifiers become numbers such as `business-2`, so
that lines can still be matched. Everything else becomes `[removed]`.
"""

import json
import re
import sysconfig
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.urls import Resolver404, resolve
from prometheus_client.parser import text_string_to_metric_families

from config.logging.request_metrics import METHODS
from kit.files import bounded_json

REMOVED = "[removed]"
COUNTS_BELOW = 1_000_000  # a larger number may be an amount or an identifier
PHRASES = (
    "WORKER TIMEOUT", "Booting worker", "Worker exiting", "Handling signal", "Shutting down", "SIGKILL", "out of memory",
    "Connection refused", "Connection reset", "Connection timed out", "Broken pipe", "server closed the connection",
    "Name or service not known", "No space left on device", "Permission denied", "Too many open files",
    "too many clients", "database is locked", "deadlock detected", "statement timeout", "lock timeout", "duplicate key",
    "Internal Server Error", "Service Unavailable", "Traceback (most recent call last)",
)  # fmt: skip
# Results of delivery attempts. All other errors are names of exceptions.
RESULTS = frozenset((
    "redirect", "client_error", "server_error", "network_error", "timeout", "blocked_address", "tls_certificate",
    "tls_error", "dns_error", "connection_refused", "connection_reset",
))  # fmt: skip
# Labels whose values the code chooses. The name of a private connector is none of them.
LABELS = frozenset((
    "method", "route", "status", "code", "request_type", "payment_method", "state", "call", "result", "step", "rule", "le",
    "generation",
))  # fmt: skip

_METRICS = re.compile(r"(?:sluice|process|python_gc)_[a-z_]+")
_CONSOLE = re.compile(  # a line of a sandbox's log
    r"(?P<timestamp>\S+) \[(?P<level>[a-z]+) *\] (?P<event>.*\S) *\[(?P<logger>[a-z_.]+)\](?P<fields>.*)"
)
_REQUEST = re.compile(rf'\b({"|".join(sorted(METHODS))}) (/[^\s"]*)(?: HTTP/[0-9.]+"? ([1-5][0-9]{{2}})\b)?')
_FRAME = re.compile(r'\s*File "([^"]*)", line ([0-9]{1,6})\b.*')


class Redaction:
    """Redaction of the files of one bundle. An identifier has the same number in all of them."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = defaultdict(dict)

    def line(self, line: str) -> str:
        """Return the harmless parts of a log line, without a line feed."""
        try:
            entry = bounded_json.loads(line)
        except ValueError:
            entry = _console_entry(line)
        return json.dumps(self._entry(entry)) if isinstance(entry, dict) else foreign(line)

    def _entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        is_ours = str(entry.get("logger")).startswith("sluice.")
        shown = {
            name: self._event(value, is_ours=is_ours) if name == "event" else self._field(name, value)
            for name, value in entry.items()
            if name in FIELDS or name == "event"
        }
        others = len(entry) - len(shown)
        return shown | ({"other_fields": others} if others else {})

    def _event(self, value: Any, *, is_ours: bool) -> str:
        """Return an event of our own loggers, which are constants, or what is harmless in another."""
        is_constant = is_ours and re.fullmatch(r"[A-Za-z][a-z' -]{0,80}", str(value))
        return str(value) if is_constant else foreign(str(value))

    def _field(self, name: str, value: Any) -> Any:
        if not isinstance(value, str | int | float):
            return REMOVED
        return FIELDS[name](value) if name not in IDENTIFIERS else self._number(name, value)

    def _number(self, kind: str, value: Any) -> str:
        known = self._numbers[kind]
        return f"{kind}-{known.setdefault(str(value), len(known) + 1)}"


def _console_entry(line: str) -> dict[str, Any] | None:
    found = _CONSOLE.fullmatch(line.rstrip())
    if found is None:
        return None
    own = found.groupdict() | {"fields": ""}
    # Twice, because text in a field may look like another field. It must not replace the event or the logger.
    return own | dict(re.findall(r"(\w+)=(\S+)", found["fields"])) | own


def foreign(text: str) -> str:
    """Return what is known to be harmless in text of another program.

    >>> foreign('203.0.113.9 - - "GET /api/payments/order-7 HTTP/1.1" 502 150 "-" "curl/8"')
    'GET /api/payments/<str:reference> 502'
    >>> foreign("redis.exceptions.ConnectionError: connecting to redis:6379. Connection refused."), foreign("hunter2")
    ('ConnectionError, Connection refused', '[removed]')
    """
    if frame := _FRAME.fullmatch(text.rstrip()):
        return _frame(*frame.groups())
    requests = [
        " ".join(filter(None, (method, route(path), status)))
        for method, path, status in _REQUEST.findall(text)
    ]
    phrases = [phrase for phrase in PHRASES if phrase.lower() in text.lower()]
    return (
        ", ".join(filter(None, [*requests, exception_name(text.partition(":")[0].strip()), *phrases]))
        or REMOVED
    )


def exception_name(text: str) -> str:
    """Return the name of an exception class that this process has loaded, or an empty text."""
    name = text.rpartition(".")[2]
    return name if name in _exception_names() else ""


@lru_cache(maxsize=1)
def _exception_names() -> frozenset[str]:
    found: set[type[BaseException]] = set()
    unseen: list[type[BaseException]] = [BaseException]
    while unseen:
        kind = unseen.pop()
        if kind not in found:
            found.add(kind)
            unseen += kind.__subclasses__()
    return frozenset(kind.__name__ for kind in found)


def route(target: Any) -> str:
    """Return the route of a request target, without parameters and query.

    >>> route("/api/payments/order-7?x=1"), route("/order-7")
    ('/api/payments/<str:reference>', '[removed]')
    """
    try:
        return f"/{resolve(str(target).partition('?')[0]).route}"
    except (Resolver404, ValueError):
        return REMOVED


def _traceback(text: Any) -> str:
    """Return the source locations of a traceback and the name of its exception, without its message."""
    lines = (foreign(line) for line in str(text).splitlines())
    return "\n".join(line for line in lines if line != REMOVED) or REMOVED


def _frame(file: str, line: str) -> str:
    """Return a source location in Sluice, Python or an installed package."""
    path = Path(file)
    installed = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib", "stdlib")]
    folder = next((each for each in (*installed, settings.BASE_DIR) if each in path.parents), None)
    if folder is None or ".." in path.parts or path.suffix != ".py" or not path.is_file():
        return f"  File {REMOVED}"
    return f'  File "{path.relative_to(folder)}", line {line}'


def _count(value: Any) -> Any:
    if type(value) not in (int, float) or not abs(value) < COUNTS_BELOW:  # NaN is no count
        return REMOVED
    return round(value, 1)


def _if(pattern: str) -> Callable[[Any], Any]:
    return lambda value: value if re.fullmatch(pattern, str(value)) else REMOVED


IDENTIFIERS = frozenset({"request_id", "business", "delivery", "id"})
FIELDS: dict[str, Callable[[Any], Any]] = {
    "timestamp": _if(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|\+00:00)"),
    "level": _if("debug|info|warning|error|critical"),
    "logger": _if(r"(?:sluice|django|gunicorn|celery|kombu|asyncio|aiohttp|waitress|allauth)(?:\.[a-z_]{1,30}){0,4}"),
    "method": _if("|".join(METHODS)),
    "status": _if("[1-5][0-9]{2}"),
    "path": route,
    "error": lambda value: value if value in RESULTS else exception_name(str(value)) or REMOVED,
    "exception": _traceback,
    "where": _traceback,
    **dict.fromkeys(IDENTIFIERS, str),
    **dict.fromkeys(("ms", "count", "deliveries", "next_try_in", "brought_forward"), _count),
}  # fmt: skip


def metrics(exposition: str) -> str:
    """Return the samples of Sluice, its process and its interpreter, with known labels only."""
    samples = (sample for family in text_string_to_metric_families(exposition) for sample in family.samples)
    return "".join(
        f"{sample.name}{{{_labels(sample.labels)}}} {sample.value}\n"
        if sample.labels
        else f"{sample.name} {sample.value}\n"
        for sample in samples
        if _METRICS.fullmatch(sample.name)
    )


def _labels(labels: dict[str, str]) -> str:
    return ",".join(f'{name}="{value if name in LABELS else REMOVED}"' for name, value in labels.items())

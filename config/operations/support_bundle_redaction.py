"""Redaction of support bundles, by an allowlist.

Log lines and findings contain text from callers, payers and operators. A list of secrets is never complete, so this
module lists harmless values: words of Sluice's own log messages, names of exceptions, source locations, routes,
states and counts. Identifiers become numbers, such as `business-2`, so that lines can still be matched. Everything
else becomes `[removed]`.
"""

import ast
import json
import logging
import re
import string
import sysconfig
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.urls import Resolver404, resolve
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from config.access_rules import routes
from config.error_codes import ERROR_CODES
from config.operations.migration_state import migration_names
from config.request_metrics import METHODS
from kit import bounded_json, durations
from payments import outcomes
from payments.models import Transaction

REMOVED = "[removed]"
COUNTS_BELOW = 1_000_000  # a larger number may be an amount or an identifier

# Words in messages of other programs that describe an error and identify no one.
OPERATIONAL_WORDS = frozenset(
    """
    a address again an and answer are as at available be been booting broken by cannot celery closed closing code
    connect connected connecting connection connections could critical database deadlock debug denied detected died
    disk does down duplicate ended error errors exception exceeded exited exiting failed fatal file for found from
    full gunicorn handling has host http/1.0 http/1.1 http/2.0 in info internal into invalid is it key kill killed
    last limit line listening lock lost memory missing name no not of on open or out pending permission pid pipe pool
    port postgresql process query queue ready recent redis refused relation request requests reset resolution restart
    retry running server shutdown shutting sigkill signal sigterm sqlite start started starting statement stopped
    stopping sync table task temporary terminated terminating than the thread time timed timeout to too traceback
    transaction transport unable unavailable unexpected unique unknown unreachable url user using value violates
    waiting warning was while will with within worker workers
    """.split()  # noqa: SIM905  (a list of words is easier to read)
)
DURATION_WORDS = frozenset(word for _, unit in durations.UNITS for word in (unit, f"{unit}s"))
LOGGER_CALLS = frozenset({"get_logger", "getLogger"})
LEVELS = frozenset({"debug", "info", "warning", "error", "critical"})
JOBS = frozenset({"worker", "schedule"})
RAIL_CALLS = frozenset((
    "is_available", "authorise", "verify", "is_right_code", "resume", "query", "capture", "void", "refund", "reverse",
    "send", "account_name", "issue", "close", "reopen",
))  # fmt: skip
# Results of delivery attempts and of rail calls. All other results are names of exceptions.
RESULTS = frozenset((
    "answered", "delivered", "redirect", "client_error", "server_error", "network_error", "timeout", "blocked_address",
    "tls_certificate", "tls_error", "dns_error", "connection_refused", "connection_reset",
))  # fmt: skip

_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|\+00:00)"
)
_FRAME = re.compile(r'\s*File "(?P<file>[^"]*)", line (?P<line>[0-9]{1,6}), in (?P<name>\S+)\s*')
# A count, a percentage or a duration. Addresses, account numbers and telephone numbers don't match.
_FIGURE = re.compile(r"[0-9]{1,3}(?:,[0-9]{3}){0,2}(?:\.[0-9]{1,2})?%?")
_STATUS = re.compile(r"[1-5][0-9]{2}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_CHECK_ID = re.compile(r"[a-z_]+\.[CEWI][0-9]{3}")
_EDGES = string.punctuation.replace("/", "").replace("_", "") + "…"


class Redaction:
    """Redaction of the files of one bundle. An identifier has the same number in all of them."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = defaultdict(dict)

    def line(self, line: str) -> str:
        """Return the harmless parts of a log line, without a line feed."""
        try:
            entry = bounded_json.loads(line)
        except ValueError:
            entry = None
        if isinstance(entry, dict):
            return json.dumps(self._entry(entry))
        frame = _FRAME.fullmatch(line.rstrip())
        return _frame(frame) if frame else self.words(line.strip(), vocabulary=messages())

    def _entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        shown = {name: self._field(name, value) for name, value in entry.items() if name in _FIELDS}
        others = len(entry) - len(shown)
        return shown | ({"other_fields": others} if others else {})

    def _field(self, name: str, value: Any) -> Any:
        if not isinstance(value, str | int | float):
            return REMOVED
        return _FIELDS[name](self, name, value)

    def words(self, text: str, *, vocabulary: frozenset[str], figures: bool = False) -> str:
        """Return a text with only the words of a vocabulary. Each run of other words becomes one mark."""
        shown: list[str] = []
        for chunk in text.split():
            is_status = bool(shown) and shown[-1].lower().startswith("http/")
            word = self._chunk(chunk, vocabulary, figures=figures, is_status=is_status)
            if word != REMOVED or shown[-1:] != [REMOVED]:
                shown.append(word)
        return " ".join(shown)

    def _chunk(self, chunk: str, vocabulary: frozenset[str], *, figures: bool, is_status: bool) -> str:
        core = chunk.strip(_EDGES)
        name, _, value = chunk.partition("=")
        if name in _FIELDS and value:
            return f"{name}={self._field(name, value.strip(_EDGES))}"
        if core.startswith("/"):
            return route(core)
        if core.lower() in vocabulary or core in METHODS or (is_status and _STATUS.fullmatch(core)):
            return core
        if figures and (_FIGURE.fullmatch(core + "%") or _FIGURE.fullmatch(core)):
            return core
        if _TIMESTAMP.fullmatch(core) or core in migration_names():
            return core
        return exception_name(core) or REMOVED

    def number(self, kind: str, value: Any) -> str:
        """Return the number of an identifier within the bundle."""
        known = self._numbers[kind]
        return f"{kind}-{known.setdefault(str(value), len(known) + 1)}"

    # Fields of log entries

    def text(self, _name: str, value: Any) -> str:
        return value if value in log_messages() else self.words(str(value), vocabulary=messages())

    def identifier(self, name: str, value: Any) -> str:
        return self.number(name, value)

    def count(self, _name: str, value: Any) -> Any:
        if type(value) not in (int, float) or not abs(value) < COUNTS_BELOW:  # NaN is no count
            return REMOVED
        return round(value, 1)

    def route(self, _name: str, value: Any) -> str:
        return route(str(value))

    def source(self, _name: str, value: Any) -> str:
        """Return the source locations of a traceback and the name of its exception, without its message."""
        lines = (_traceback_line(line) for line in str(value).splitlines())
        return "\n".join(line for line in lines if line)

    def exception(self, _name: str, value: Any) -> str:
        return value if value in RESULTS else exception_name(str(value)) or REMOVED


# Harmless values --------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def log_messages() -> frozenset[str]:
    """Return every log message in Sluice's source."""
    calls = (call for call in _calls() if isinstance(call.func, ast.Attribute))
    return frozenset(_first_text(call) for call in calls if ast.unparse(call.func.value) == "log")  # type: ignore[attr-defined]


@lru_cache(maxsize=1)
def _loggers() -> frozenset[str]:
    calls = (
        call for call in _calls() if isinstance(call.func, ast.Attribute) and call.func.attr in LOGGER_CALLS
    )
    return frozenset({_first_text(call) for call in calls} | set(logging.root.manager.loggerDict)) - {""}


def _calls() -> Iterator[ast.Call]:
    return (node for tree in _sources() for node in ast.walk(tree) if isinstance(node, ast.Call))


def _first_text(call: ast.Call) -> str:
    """Return the first argument of a call if it is a string literal."""
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


@lru_cache(maxsize=1)
def messages() -> frozenset[str]:
    """Return the words that stay in log lines."""
    own = {word.strip(_EDGES).lower() for message in log_messages() for word in message.split()}
    return frozenset(own | OPERATIONAL_WORDS | LEVELS)


@lru_cache(maxsize=1)
def findings() -> frozenset[str]:
    """Return the words that stay in the findings of `doctor`: the words of its source, and durations."""
    tree = ast.parse((settings.BASE_DIR / "config" / "operations" / "doctor_checks.py").read_text())
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    texts = (constant for constant in constants if isinstance(constant, str))
    own = {word.strip(_EDGES).lower() for text in texts for word in text.split()}
    return frozenset(own | DURATION_WORDS | messages())


def _sources() -> Iterator[ast.Module]:
    for package in sorted({"kit"} | {name.partition(".")[0] for name in settings.INSTALLED_APPS}):
        for path in sorted((settings.BASE_DIR / package).rglob("*.py")):
            yield ast.parse(path.read_text())


def exception_name(text: str) -> str:
    """Return the name of an exception class that this process has loaded, or an empty text.

    >>> exception_name("redis.exceptions.ConnectionError"), exception_name("hunter2")
    ('ConnectionError', '')
    """
    name = text.rpartition(".")[2]
    return name if _NAME.fullmatch(text) and name in _exception_names() else ""


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


def route(target: str) -> str:
    """Return the route of a request target, without parameters and query.

    >>> route("/api/payments/order-7?x=1"), route("/order-7")
    ('/api/payments/<str:reference>', '[removed]')
    """
    try:
        return f"/{resolve(target.partition('?')[0]).route}"
    except (Resolver404, ValueError):
        return REMOVED


def check_id(text: str) -> str:
    """Return the identifier of a Django system check at the start of a finding, or an empty text."""
    found = _CHECK_ID.match(text)
    return found.group() if found else ""


# Fields of log entries ------------------------------------------------------------------------------


def _shown_if(known: Callable[[Any], Any]) -> Callable[[Redaction, str, Any], Any]:
    return lambda _redaction, _name, value: value if known(value) else REMOVED


_FIELDS: dict[str, Callable[[Redaction, str, Any], Any]] = {
    "timestamp": _shown_if(lambda value: _TIMESTAMP.fullmatch(str(value))),
    "level": _shown_if(lambda value: value in LEVELS),
    "logger": _shown_if(lambda value: value in _loggers()),
    "method": _shown_if(lambda value: value in METHODS),
    "status": _shown_if(lambda value: _STATUS.fullmatch(str(value))),
    "job": _shown_if(lambda value: value in JOBS),
    "event": Redaction.text,
    "path": Redaction.route,
    "error": Redaction.exception,
    "exception": Redaction.source,
    "where": Redaction.source,
} | {
    **dict.fromkeys(("request_id", "business", "delivery", "id"), Redaction.identifier),
    **dict.fromkeys(("ms", "count", "deliveries", "next_try_in", "brought_forward"), Redaction.count),
}  # fmt: skip


# Tracebacks -----------------------------------------------------------------------------------------


def _traceback_line(line: str) -> str:
    frame = _FRAME.fullmatch(line)
    if frame:
        return _frame(frame)
    if line.startswith("Traceback "):
        return "Traceback (most recent call last):"
    return exception_name(line.partition(":")[0].strip()) if line[:1].strip() else ""


def _frame(frame: re.Match[str]) -> str:
    """Return a frame whose file and function are part of Sluice, of Python or of an installed package."""
    path = Path(frame["file"])
    folder = next((folder for folder in _source_folders() if folder in path.parents), None)
    if folder is None or ".." in path.parts or path.suffix != ".py" or not path.is_file():
        return f"  File {REMOVED}"
    name = frame["name"] if frame["name"] in _functions(path) else REMOVED
    return f'  File "{path.relative_to(folder)}", line {frame["line"]}, in {name}'


@lru_cache(maxsize=1)
def _source_folders() -> tuple[Path, ...]:
    """Return the folders of source code, the innermost first."""
    installed = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib", "stdlib")]
    return (*installed, Path(settings.BASE_DIR))


@lru_cache(maxsize=256)
def _functions(path: Path) -> frozenset[str]:
    names = re.findall(r"\bdef ([A-Za-z_][A-Za-z0-9_]*)", path.read_text(errors="replace"))
    return frozenset(names) | {"<module>", "<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"}


# Metrics ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _routes() -> frozenset[str]:
    """Return every route, as the metrics of requests name it."""
    return frozenset(f"/{name}" for name, _ in routes()) | {"none"}


@lru_cache(maxsize=1)
def _response_codes() -> frozenset[str]:
    return frozenset(
        outcome.code for outcome in vars(outcomes).values() if isinstance(outcome, outcomes.Outcome)
    )


_METRICS = re.compile(r"(?:sluice|process|python_gc)_[a-z_]+")
_BOUND = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,4})?|\+Inf")
_LABEL_VALUES: dict[str, Callable[[str], Any]] = {
    "method": lambda value: value in METHODS | {"other"},
    "status": _STATUS.fullmatch,
    "route": lambda value: value in _routes(),
    "code": lambda value: value in ERROR_CODES or value in _response_codes(),
    "request_type": lambda value: value in Transaction.RequestType.values,
    "payment_method": lambda value: value in {"", *Transaction.Method.values},
    "state": lambda value: value in {"active", "idle", "idle in transaction", "other"},
    "call": lambda value: value in RAIL_CALLS,
    "result": lambda value: value in RESULTS or exception_name(value),
    "le": _BOUND.fullmatch,
    "generation": _BOUND.fullmatch,
}


def metrics(exposition: str) -> str:
    """Return the samples of Sluice, its process and its interpreter, with known label values only."""
    samples = (sample for family in text_string_to_metric_families(exposition) for sample in family.samples)
    return "".join(f"{_sample(sample)}\n" for sample in samples if _METRICS.fullmatch(sample.name))


def _sample(sample: Sample) -> str:
    labels = ",".join(
        f'{name}="{value if _is_known_label(name, value) else REMOVED}"'
        for name, value in sample.labels.items()
    )
    return f"{sample.name}{{{labels}}} {sample.value}" if labels else f"{sample.name} {sample.value}"


def _is_known_label(name: str, value: str) -> bool:
    return name in _LABEL_VALUES and bool(_LABEL_VALUES[name](value))

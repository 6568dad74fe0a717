"""DATABASE_URL, read by libpq's own parser: one host or several, of which the connection uses the primary."""

from typing import Any

import psycopg
from environ import Env
from psycopg.conninfo import conninfo_to_dict

from config.environment.env import InvalidPart

POSTGRESQL, SQLITE = "django.db.backends.postgresql", "django.db.backends.sqlite3"

# libpq's names of what Django has settings for.
DJANGO_NAMES = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}

# A parameter of the URL takes precedence.
CONNECTION_DEFAULTS: dict[str, Any] = {
    # After a failover, the connection must not be to a standby, which refuses every request.
    "target_session_attrs": "read-write",
    "connect_timeout": 3,  # seconds for each host
    # A host that disappears closes no connection. An idle connection to it, or one that waits for an answer, ends after
    # 5 + 3 * 2 seconds, and one with unacknowledged data after 10 (Linux; these don't apply to Unix sockets).
    "keepalives_idle": 5,  # seconds
    "keepalives_interval": 2,  # seconds
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # milliseconds
}
NUMBERS = {name for name, value in CONNECTION_DEFAULTS.items() if isinstance(value, int)} | {"keepalives"}
# Every request writes, if only its nonce.
WRITABLE = ("read-write", "primary")
HIGHEST_PORT = 65_535


def read(url: str) -> dict[str, Any]:
    """Return a database URL as Django's settings.

    :raises InvalidPart: a part of the URL is wrong
    :raises ValueError: it is not the URL of a PostgreSQL or SQLite database
    :raises KeyError: its scheme is unknown
    """
    scheme, _, rest = url.partition(":")
    engine = Env.DB_SCHEMES[scheme]
    if engine == SQLITE:
        return dict(Env.db_url_config(url))
    if engine != POSTGRESQL:
        raise ValueError
    return {"ENGINE": POSTGRESQL, **_postgresql(f"postgresql:{rest}")}


def with_session_parameters(options: dict[str, Any], **values: int) -> dict[str, Any]:
    """Add parameters of the server that apply to each session. They take precedence over the URL's `options`."""
    ours = [f"-c {name}={value}" for name, value in values.items()]
    return options | {"options": " ".join(filter(None, [options.get("options"), *ours]))}


def _postgresql(url: str) -> dict[str, Any]:
    try:
        parameters: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise ValueError from error
    name = parameters.get("dbname", "")
    if not name or name.startswith("/"):
        raise ValueError
    _check_hosts(parameters)
    _check_options(parameters)
    settings = {ours: parameters.pop(libpqs, "") for libpqs, ours in DJANGO_NAMES.items()}
    return {**settings, "OPTIONS": CONNECTION_DEFAULTS | parameters}


def _check_hosts(parameters: dict[str, Any]) -> None:
    hosts, ports = parameters.get("host", "").split(","), parameters.get("port", "").split(",")
    if len(ports) not in {1, len(hosts)}:
        raise InvalidPart("it must have one port, or one for each host")
    if len(hosts) > 1 and not all(hosts):
        raise InvalidPart("one of its hosts is empty")
    for port in ports:
        is_number = not port or (port.isascii() and port.isdecimal() and 0 < int(port) <= HIGHEST_PORT)
        if not is_number:
            raise InvalidPart(f"each port must be a number from 1 to {HIGHEST_PORT}")


def _check_options(parameters: dict[str, Any]) -> None:
    """Check what libpq itself would only find at each connection."""
    if parameters.get("target_session_attrs", "read-write") not in WRITABLE:
        raise InvalidPart(f"target_session_attrs must be {' or '.join(WRITABLE)}")
    for name in sorted(NUMBERS & parameters.keys()):
        value = parameters[name]
        if not (value.isascii() and value.isdecimal()):
            raise InvalidPart(f"{name} must be a whole number")

"""The database of this test run, for processes that a test starts."""

from urllib.parse import quote

from django.db import connection


def database_url() -> str:
    """Return the URL of the test database, in the format of DATABASE_URL."""
    address = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{address['NAME']}"
    password = f":{quote(address['PASSWORD'])}" if address["PASSWORD"] else ""
    host, port = address["HOST"] or "127.0.0.1", address["PORT"] or 5432
    return f"postgres://{quote(address['USER'])}{password}@{host}:{port}/{address['NAME']}"

"""The WSGI entry point of gunicorn."""

import os
from collections.abc import Callable
from typing import Any

from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

from config.logging import tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

tracing.start()
_django = get_wsgi_application()

from config import urls  # noqa: E402, F401  (load all pages now, not with the first request)


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
    """Serve a request, with an invalid Content-Type replaced so that Django doesn't fail."""
    content_type = environ.get("CONTENT_TYPE", "")
    if ";" in content_type:
        environ["CONTENT_TYPE"] = readable(content_type)
    return _django(environ, start_response)


def readable(content_type: str) -> str:
    """Return a Content-Type that Django can handle: without a charset other than UTF-8, empty if invalid."""
    try:
        media_type, parameters = parse_header_parameters(content_type)
    except ValueError:
        return ""
    return content_type if parameters.get("charset", "utf-8").lower() == "utf-8" else str(media_type)
